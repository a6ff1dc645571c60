#include "dispatch/state/open_device.h"

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {

Error Service::lost_error() const {
  Error error = base::make_error(ErrorCode::DeviceLost, "The device was lost earlier.",
                                 "call try_recover, then upload again what was on the device.");
  return base::with_device(std::move(error), profile().name);
}

OpenDevice::OpenDevice(std::shared_ptr<Service> opened)
    : service(std::move(opened)), recordings(service->idle_memory_limit()) {}

OpenDevice::~OpenDevice() { service->drain(); }

Error OpenDevice::noted(Error error) const {
  service->note(error);
  if (error.context.device.empty()) {
    base::set_if_possible(error.context.device, profile().name);
  }
  return error;
}

Result<std::shared_ptr<Recorded>> OpenDevice::record(Submission submission) {
  const HostSlice slice("record");
  FELSITE_TRY(auto recorded, service->record(std::move(submission)));
  ++recorded_;
  count(Counter::Recordings);
  return recorded;
}

void OpenDevice::track(const std::shared_ptr<Held>& held) {
  const std::lock_guard lock(held_mutex_);
  if (held_.size() >= sweep_at_) {
    std::erase_if(held_, [](const std::weak_ptr<Held>& other) { return other.expired(); });
    sweep_at_ = 16 + 2 * held_.size();
  }
  held_.push_back(held);
}

// One by one, so that nothing is allocated and each is released without the lock.
void OpenDevice::release_held() {
  while (true) {
    std::shared_ptr<Held> held;
    {
      const std::lock_guard lock(held_mutex_);
      if (held_.empty()) return;
      held = held_.back().lock();
      held_.pop_back();
    }
    if (held != nullptr) held->release();
  }
}

void OpenDevice::drop_users(const Allocation& memory) {
  recordings.drop_users(memory);
  while (take_held_user(memory) != nullptr) {
  }
}

// One of those that callers hold; the caller of this destroys it without a lock.
std::shared_ptr<Recorded> OpenDevice::take_held_user(const Allocation& memory) {
  const std::lock_guard lock(held_mutex_);
  for (const std::weak_ptr<Held>& other : held_) {
    const auto held = other.lock();
    if (held == nullptr) continue;
    if (auto user = held->take_user(memory)) return user;
  }
  return nullptr;
}

void OpenDevice::drop_unwanted(KernelOwner& owner) {
  service->release(owner, [&](const CompiledKernel& kernel) { recordings.drop_users(kernel); });
}

void OpenDevice::report(MetricSnapshot& figures) const {
  service->report(figures);
  figures.resident_buffers = buffers.size();
  buffers.each([&](const Allocation& buffer) { figures.resident_bytes += buffer.bytes(); });
  figures.recordings = recorded_;
  figures.recordings_kept = recordings.size();
  figures.recording_bytes = recordings.own_bytes();
  const PipelineCacheSnapshot pipelines = service->pipeline_cache();
  figures.pipelines_kept = pipelines.entries;
  figures.pipeline_bytes = pipelines.bytes;
  figures.pipeline_driver_bytes = pipelines.driver_bytes;
  figures.pipeline_disk_bytes = pipelines.disk_bytes;
  figures.pipeline_hits = pipelines.hits;
  figures.pipeline_misses = pipelines.misses;
  figures.pipeline_evictions = pipelines.evictions;
  figures.validated_programs = programs.size();
  figures.validated_bytes = programs.bytes();
}

}  // namespace felsite::dispatch
