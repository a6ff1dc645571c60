#include "dispatch/facade/backend_core.h"

namespace felsite::dispatch {

Result<std::unique_ptr<BackendCore>> BackendCore::make(BackendSettings settings) {
  return base::guarded([&]() -> Result<std::unique_ptr<BackendCore>> {
    std::unique_ptr<BackendCore> core(new BackendCore(std::move(settings)));
    FELSITE_TRY(auto service, core->settings_.open());
    auto device = std::make_shared<OpenDevice>(std::move(service));
    core->use(device);
    return core;
  });
}

BackendCore::~BackendCore() {
  if (!gate_->closed()) static_cast<void>(shutdown());
}

void BackendCore::attach(Backend& backend) {
  static_uploads_.emplace(backend, settings_.static_budget,
                          [this](const ResidentHandle& buffer, bool is_protected) {
                            if (const auto open = current()) {
                              open->buffers.protect(buffer, is_protected);
                            }
                          });
}

// Leaves the device that was used before in `device`.
void BackendCore::use(SharedDevice& device) {
  DeviceProfile profile = device->profile();
  std::string feature_key = device->service->feature_key();
  device->free_caches = [this, open = device.get()] {
    open->recordings.clear();
    static_uploads_->free_unused();
  };
  const std::lock_guard lock(mutex_);
  std::swap(device_, device);
  profile_ = std::move(profile);
  feature_key_ = std::move(feature_key);
}

DeviceProfile BackendCore::profile() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

std::string BackendCore::feature_key() const {
  const std::lock_guard lock(mutex_);
  return feature_key_;
}

SharedDevice BackendCore::current() const {
  const std::lock_guard lock(mutex_);
  return device_;
}

Error BackendCore::on_last_device(Error error) const {
  const std::lock_guard lock(mutex_);
  return base::with_device(std::move(error), profile_.name);
}

BackendLink<BackendCore> BackendCore::link() {
  const std::lock_guard lock(mutex_);
  return {*this, gate_, profile_.name};
}

Result<SharedDevice> BackendCore::device() const {
  auto open = current();
  if (open == nullptr) return std::unexpected(on_last_device(after_shutdown()));
  if (open->service->is_lost()) return std::unexpected(open->service->lost_error());
  return open;
}

Result<void> BackendCore::flush() {
  gate_->wait_for_earlier();  // some of them run on their own threads
  return call("flush", [](const SharedDevice& open) -> Result<void> {
    FELSITE_CHECK(open->service->wait_for_all());
    open->service->save();
    return {};
  });
}

Result<void> BackendCore::shutdown() {
  const HostSlice slice("shutdown");
  gate_->close();
  SharedDevice last;
  {
    const std::lock_guard lock(mutex_);
    last = std::move(device_);
    device_ = nullptr;
  }
  if (static_uploads_) static_uploads_->forget();
  if (last == nullptr) return {};  // it did not open
  last->release_held();
  last->service->drain();  // work that does not end keeps running
  if (!last->service->is_lost()) last->service->save();
  last->recordings.clear();
  last->buffers.clear();
  return {};
}

bool BackendCore::is_lost() const {
  const auto open = current();
  return open != nullptr && open->service->is_lost();
}

Result<void> BackendCore::recover() {
  return base::guarded([&]() -> Result<void> {
    const HostSlice slice("try_recover");
    auto ticket = gate_->enter();
    if (!ticket) return std::unexpected(on_last_device(std::move(ticket.error())));
    const std::lock_guard recovering(recovery_mutex_);  // one of many callers opens the device
    if (!is_lost()) return {};
    FELSITE_TRY(auto service, settings_.open());
    auto device = std::make_shared<OpenDevice>(std::move(service));
    static_uploads_->forget();
    use(device);  // the lost one is destroyed without the lock, after its last user
    ++recoveries_;
    return {};
  });
}

void BackendCore::report(MetricSnapshot& figures) const {
  const auto open = current();
  if (open != nullptr) open->report(figures);
  const StaticUploadCache::Figures statics = static_uploads_->figures();
  figures.static_bytes = statics.bytes;
  figures.static_hits = statics.hits;
  figures.static_misses = statics.misses;
  figures.recoveries = recoveries_;
}

}  // namespace felsite::dispatch
