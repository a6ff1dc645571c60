#include "vk/engine.h"

#include <algorithm>
#include <utility>

#include "dispatch/trace.h"
#include "vk/vulkan_profile.h"

namespace felsite::vk {
namespace {

using Clock = std::chrono::steady_clock;

// What plain dispatches keep on the device to run again without allocating.
constexpr std::uint64_t kIdleBytes = std::uint64_t{256} << 20;

std::uint64_t nanoseconds(Clock::duration duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
}

// Of everything that a caller waits for in one call.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds timeout) {
    const Clock::time_point now = Clock::now();
    if (timeout < Clock::time_point::max() - now) end_ = now + timeout;
  }
  std::chrono::nanoseconds left() const {
    if (!end_) return kNoTimeout;
    return std::max<std::chrono::nanoseconds>(*end_ - Clock::now(), {});
  }

 private:
  std::optional<Clock::time_point> end_;
};

}  // namespace

Result<std::shared_ptr<Engine>> Engine::make(std::unique_ptr<Device> device,
                                             std::optional<std::filesystem::path> cache_folder,
                                             std::chrono::nanoseconds grace) {
  std::shared_ptr<Engine> engine(new Engine(grace));
  if (auto made = engine->make_parts(std::move(device), std::move(cache_folder)); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return engine;
}

Result<void> Engine::make_parts(std::unique_ptr<Device> device,
                                std::optional<std::filesystem::path> cache_folder) {
  Parts& parts = *parts_;
  parts.device = std::move(device);
  profile_ = profile_of(*parts.device);
  parts.memory = std::make_unique<Memory>(*parts.device);
  auto queue = WorkQueue::make(*parts.device, parts.device->compute_queue(), "compute queue");
  if (!queue) return std::unexpected(std::move(queue.error()));
  parts.queue = std::move(*queue);
  // Without timeline semaphores the queues could not wait for each other without the host.
  const DevicePlan& plan = parts.device->plan();
  const bool two_queues =
      plan.has(RuntimeFeature::TransferQueue) && plan.has(RuntimeFeature::TimelineSemaphores);
  if (two_queues) {
    auto copies = WorkQueue::make(*parts.device, parts.device->transfer_queue(), "transfer queue");
    if (!copies) return std::unexpected(std::move(copies.error()));
    parts.transfer_queue = std::move(*copies);
  }
  auto pipelines = Pipelines::make(*parts.device, std::move(cache_folder));
  if (!pipelines) return std::unexpected(std::move(pipelines.error()));
  parts.pipelines = std::move(*pipelines);
  auto transfers = Transfers::make(*parts.memory, two_queues ? *parts.transfer_queue : *parts.queue,
                                   *parts.queue);
  if (!transfers) return std::unexpected(std::move(transfers.error()));
  parts.transfers = std::move(*transfers);
  parts.buffers = std::make_unique<dispatch::ResidentTable<Buffer>>();
  parts.recordings = std::make_unique<RecordingPool>(kIdleBytes);
  return {};
}

bool Engine::drain() {
  const Clock::time_point end = Clock::now() + std::exchange(grace_, {});
  const auto ends = [&](const std::unique_ptr<WorkQueue>& queue) {
    return queue == nullptr || queue->drain(std::max(end - Clock::now(), Clock::duration::zero()));
  };
  return ends(parts_->queue) && ends(parts_->transfer_queue);
}

Engine::~Engine() {
  if (!drain()) {
    static_cast<void>(parts_.release());
  } else if (parts_->recordings != nullptr) {
    parts_->recordings->clear();
  }
}

Result<std::shared_ptr<Recording>> Engine::record(Sequence sequence) {
  const dispatch::HostSlice slice("record");
  auto recording = Recording::make(memory(), std::move(sequence));
  if (!recording) return std::unexpected(noted(std::move(recording.error())));
  ++recorded_;
  return recording;
}

Result<Running> Engine::start(std::shared_ptr<Recording> recording,
                              std::span<const ByteSpan> uploads) {
  const dispatch::HostSlice slice("submit");
  Running running{
      .recording = std::move(recording), .ticket = 0, .began = Clock::now(), .submitted = {}};
  const bool waits = transfers().has_own_queue();
  const auto ticket =
      running.recording->submit(queue(), uploads, waits ? parts_->transfer_queue.get() : nullptr,
                                waits ? transfers().last_upload() : 0);
  if (!ticket) {
    // A part of it may have been submitted.
    const Ticket last = running.recording->last_ticket();
    queue().keep(last, std::move(running.recording));
    return std::unexpected(noted(ticket.error()));
  }
  running.ticket = *ticket;
  running.submitted = Clock::now();
  return running;
}

Result<DispatchTiming> Engine::finish(Running& running, std::chrono::nanoseconds timeout) {
  const dispatch::HostSlice slice("wait");
  const Deadline deadline(timeout);
  DispatchTiming timing;
  timing.passes_run = 1;
  const auto give_up = [&](Error error) {
    abandon(std::move(running));
    return std::unexpected(noted(std::move(error)));
  };
  const Clock::time_point began = running.began;
  Clock::duration enqueued = running.submitted - began;
  while (true) {
    if (auto waited = queue().wait(running.ticket, deadline.left()); !waited) {
      return give_up(std::move(waited.error()));
    }
    const Clock::time_point ended = Clock::now();
    timing.enqueue_ns = nanoseconds(enqueued);
    timing.wait_ns = nanoseconds(ended - began - enqueued);
    timing.wall_ns = nanoseconds(ended - began);
    if (auto done = look_at_work(*running.recording, ended, timing); !done) {
      return std::unexpected(noted(std::move(done.error())));
    }
    const auto unfinished = running.recording->look();
    if (!unfinished) return std::unexpected(noted(unfinished.error()));
    if (!*unfinished) return timing;
    if (deadline.left().count() == 0) return give_up(queue().timed_out());

    const auto ticket = running.recording->go_on(queue(), ended - running.submitted);
    if (!ticket) return give_up(ticket.error());
    running.ticket = *ticket;
    running.submitted = Clock::now();
    enqueued += running.submitted - ended;
  }
}

// What a submission that has ended left: errors, and how long it took.
Result<void> Engine::look_at_work(Recording& recording, std::chrono::steady_clock::time_point ended,
                                  DispatchTiming& timing) {
  const Sequence& sequence = recording.sequence();
  for (const IndirectGate& gate : sequence.gates) {
    if (auto open = check_gate(gate, device()); !open) return open;
  }
  if (auto clean = recording.check_status(); !clean) return clean;
  if (!sequence.measured) return {};
  const auto times = recording.device_times();
  if (!times) return std::unexpected(times.error());
  if (!times->total_ns) return {};
  timing.device_ns = timing.device_ns.value_or(0) + *times->total_ns;
  const std::size_t prefix = sequence.prefix.size();
  timing.step_device_ns.resize(prefix + sequence.repeated.size());
  for (const DeviceTimes::Step& step : times->steps) timing.step_device_ns[step.step] += step.ns;
  if (!dispatch::tracing()) return {};
  // The device's clock and the host's have no common zero: all ends when the wait does.
  const auto begin = ended - std::chrono::nanoseconds(*times->total_ns);
  for (const auto& [i, begin_ns, ns] : times->steps) {
    const KernelStep& step = i < prefix ? sequence.prefix[i] : sequence.repeated[i - prefix];
    dispatch::note_device_slice(device().snapshot().name, step.name,
                                begin + std::chrono::nanoseconds(begin_ns),
                                std::chrono::nanoseconds(ns));
  }
  return {};
}

void Engine::abandon(Running running) {
  const Ticket ticket = running.ticket;
  queue().keep(ticket, std::make_shared<Running>(std::move(running)));
}

Result<void> Engine::wait_for_all() {
  for (WorkQueue* queue : {parts_->queue.get(), parts_->transfer_queue.get()}) {
    if (queue == nullptr) continue;
    const Ticket last = queue->last_ticket();
    if (last == 0) continue;
    if (auto done = queue->wait(last, kNoTimeout); !done) return done;
  }
  return {};
}

void Engine::report(MetricSnapshot& figures) {
  figures.resident_buffers = buffers().size();
  buffers().each([&](const Buffer& buffer) { figures.resident_bytes += buffer.bytes(); });
  figures.device_bytes = memory().bytes_in_use();
  figures.in_flight = queue().in_flight();
  figures.recordings = recorded_;
  figures.recordings_kept = recordings().size();
  figures.allocations = memory().allocations();
}

bool Engine::is_lost() const {
  const auto lost = [](const std::unique_ptr<WorkQueue>& queue) {
    return queue != nullptr && queue->is_lost();
  };
  return lost_ || lost(parts_->queue) || lost(parts_->transfer_queue);
}

Error Engine::noted(Error error) {
  if (error.code == ErrorCode::DeviceLost) lost_ = true;
  if (error.context.device.empty()) error.context.device = device().snapshot().name;
  return error;
}

}  // namespace felsite::vk
