#include "vk/vulkan_backend.h"

#include "base/errors.h"
#include "base/try.h"
#include "felsite/vulkan.h"
#include "vk/device/vulkan_profile.h"
#include "vk/kernel/pipeline_cache_file.h"

namespace felsite::vk {

VulkanBackend::VulkanBackend(BackendSettings settings)
    : settings_(std::move(settings)),
      static_uploads_(*this, settings_.static_budget,
                      [this](const ResidentHandle& buffer, bool on) {
                        if (const auto engine = current()) engine->buffers().protect(buffer, on);
                      }) {}

Result<std::unique_ptr<VulkanBackend>> VulkanBackend::make(BackendSettings settings) {
  return base::guarded([&]() -> Result<std::unique_ptr<VulkanBackend>> {
    std::unique_ptr<VulkanBackend> backend(new VulkanBackend(std::move(settings)));
    FELSITE_TRY(auto engine, backend->open_engine());
    backend->profile_ = engine->profile();
    backend->feature_key_ = feature_key_of(engine->device());
    backend->engine_ = std::move(engine);
    return backend;
  });
}

VulkanBackend::~VulkanBackend() {
  if (!gate_->closed()) static_cast<void>(shutdown());
}

Result<std::shared_ptr<Engine>> VulkanBackend::open_engine() const {
  FELSITE_TRY(auto device, settings_.open());
  return Engine::make(std::move(device), settings_.cache_folder, settings_.grace, settings_.budget);
}

std::string_view VulkanBackend::version() const { return FELSITE_VERSION; }

std::vector<std::string> VulkanBackend::supported_ops() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ir::kExprKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::ExprKind>(i)).name);
  }
  for (std::size_t i = 0; i < ir::kNodeKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::NodeKind>(i)).name);
  }
  return names;
}

DeviceProfile VulkanBackend::device_profile() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

std::string VulkanBackend::device_feature_cache_key() const {
  const std::lock_guard lock(mutex_);
  return feature_key_;
}

std::shared_ptr<Engine> VulkanBackend::current() const {
  const std::lock_guard lock(mutex_);
  return engine_;
}

Error VulkanBackend::on_last_device(Error error) const {
  const std::lock_guard lock(mutex_);
  error.context.device = profile_.name;
  return error;
}

dispatch::BackendLink<VulkanBackend> VulkanBackend::link() {
  const std::lock_guard lock(mutex_);
  return {*this, gate_, profile_.name};
}

Result<std::shared_ptr<Engine>> VulkanBackend::engine() const {
  auto open = current();
  if (open == nullptr) return std::unexpected(on_last_device(dispatch::after_shutdown()));
  if (!open->is_lost()) return open;
  Error error = base::make_error(ErrorCode::DeviceLost, "The device was lost earlier.",
                                 "call try_recover, then upload again what was on the device.");
  base::set_if_possible(error.context.device, open->profile().name);
  error.context.vk_result = VK_ERROR_DEVICE_LOST;
  return std::unexpected(std::move(error));
}

Result<void> VulkanBackend::prepare() {
  return call("prepare", [](const std::shared_ptr<Engine>&) -> Result<void> { return {}; });
}

Result<void> VulkanBackend::flush() {
  gate_->wait_for_earlier();  // some of them run on their own threads
  return call("flush", [](const std::shared_ptr<Engine>& engine) -> Result<void> {
    FELSITE_CHECK(engine->wait_for_all());
    engine->pipelines().save();
    return {};
  });
}

Result<void> VulkanBackend::shutdown() {
  const dispatch::HostSlice slice("shutdown");
  gate_->close();
  std::shared_ptr<Engine> last;
  {
    const std::lock_guard lock(mutex_);
    last = std::move(engine_);
    engine_ = nullptr;
  }
  static_uploads_.forget();
  if (last == nullptr) return {};
  last->release_held();
  static_cast<void>(last->drain());  // work that does not end keeps running, see ~Engine
  if (!last->is_lost()) last->pipelines().save();
  last->recordings().clear();
  last->buffers().clear();
  return {};
}

bool VulkanBackend::device_lost() const {
  const auto open = current();
  return open != nullptr && open->is_lost();
}

Result<void> VulkanBackend::try_recover() {
  return base::guarded([&]() -> Result<void> {
    const dispatch::HostSlice slice("try_recover");
    auto ticket = gate_->enter();
    if (!ticket) return std::unexpected(on_last_device(std::move(ticket.error())));
    const std::lock_guard recovering(recovery_mutex_);  // one of many callers opens the device
    if (!device_lost()) return {};
    FELSITE_TRY(auto fresh, open_engine());
    std::shared_ptr<Engine> lost = std::move(fresh);
    // This may be another device, since the lost one may be gone.
    DeviceProfile profile = lost->profile();
    std::string feature_key = feature_key_of(lost->device());
    static_uploads_.forget();
    const std::lock_guard lock(mutex_);
    std::swap(engine_, lost);  // the lost one is destroyed without the lock, after its last user
    profile_ = std::move(profile);
    feature_key_ = std::move(feature_key);
    ++recoveries_;
    return {};
  });
}

PipelineCacheSnapshot VulkanBackend::pipeline_cache_snapshot() const {
  const auto open = current();
  return open != nullptr ? open->pipelines().snapshot() : PipelineCacheSnapshot{};
}

MetricSnapshot VulkanBackend::metric_snapshot() const {
  MetricSnapshot figures;
  const auto open = current();
  if (open != nullptr) open->report(figures);
  const dispatch::StaticUploadCache::Figures statics = static_uploads_.figures();
  figures.static_bytes = statics.bytes;
  figures.static_hits = statics.hits;
  figures.static_misses = statics.misses;
  figures.recoveries = recoveries_;
  return figures;
}

}  // namespace felsite::vk

namespace felsite {

Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanOptions& options) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    const vk::DeviceWish wish{.device = options.device, .mask = options.mask};
    return vk::VulkanBackend::make({.open = [wish] { return vk::open_device(wish); },
                                    .cache_folder = vk::cache_folder(),
                                    .static_budget = options.static_upload_budget,
                                    .grace = options.close_timeout});
  });
}

}  // namespace felsite
