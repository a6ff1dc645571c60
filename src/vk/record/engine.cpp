#include "vk/record/engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"
#include "vk/device/vulkan_profile.h"

namespace felsite::vk {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds(Clock::duration duration) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
}

// Like WorkQueue::wait. Another thread cannot end a wait of Vulkan, so this is a loop of short
// waits.
Result<void> wait_unless_stopped(WorkQueue& queue, Ticket ticket, const base::Deadline& deadline,
                                 const base::StopFlag* stop) {
  constexpr std::chrono::nanoseconds kPollInterval = std::chrono::milliseconds(20);
  if (stop == nullptr) return queue.wait(ticket, deadline.remaining());
  while (true) {
    const std::chrono::nanoseconds left = deadline.remaining();
    auto waited = queue.wait(ticket, std::min(left, kPollInterval));
    const bool waits_on =
        !waited && waited.error().code == ErrorCode::Timeout && left > kPollInterval;
    if (!waits_on) return waited;
    if (auto reason = base::reason_to_end({}, stop)) {
      return std::unexpected(std::move(*reason));
    }
  }
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::make(std::unique_ptr<Device> device,
                                             std::optional<std::filesystem::path> cache_folder,
                                             std::chrono::nanoseconds grace,
                                             const std::shared_ptr<MemoryBudget>& budget) {
  std::shared_ptr<Engine> engine(new Engine(grace));
  FELSITE_CHECK(engine->make_parts(std::move(device), std::move(cache_folder), budget));
  return engine;
}

Result<void> Engine::make_parts(std::unique_ptr<Device> device,
                                std::optional<std::filesystem::path> cache_folder,
                                const std::shared_ptr<MemoryBudget>& budget) {
  Parts& parts = *parts_;
  parts.device = std::move(device);
  profile_ = profile_of(parts.device->snapshot(), parts.device->plan(), host_processor());
  parts.memory = budget == nullptr ? std::make_unique<Memory>(*parts.device)
                                   : std::make_unique<Memory>(*parts.device, budget);
  FELSITE_TRY(auto queue,
              WorkQueue::make(*parts.device, parts.device->compute_queue(), "compute queue"));
  parts.queue = std::move(queue);
  const bool two_queues = parts.device->plan().has(RuntimeFeature::TransferQueue);
  if (two_queues) {
    FELSITE_TRY(parts.transfer_queue,
                WorkQueue::make(*parts.device, parts.device->transfer_queue(), "transfer queue"));
  }
  FELSITE_TRY(auto pipelines, Pipelines::make(*parts.device, std::move(cache_folder)));
  parts.pipelines = std::move(pipelines);
  FELSITE_TRY(auto transfers,
              Transfers::make(*parts.memory, two_queues ? *parts.transfer_queue : *parts.queue,
                              *parts.queue));
  parts.transfers = std::move(transfers);
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
  if (!drain()) static_cast<void>(parts_.release());
}

Result<std::shared_ptr<Recording>> Engine::record(Sequence sequence) {
  auto recording = Recording::make(memory(), std::move(sequence));
  if (!recording) return std::unexpected(noted(std::move(recording.error())));
  return recording;
}

Result<Running> Engine::start(std::shared_ptr<Recording> recording,
                              std::span<const ByteSpan> uploads) {
  std::vector<std::shared_ptr<Recording>> one{std::move(recording)};
  FELSITE_TRY(auto running, start(std::move(one), uploads));
  return std::move(running.front());
}

Result<std::vector<Running>> Engine::start(std::vector<std::shared_ptr<Recording>> recordings,
                                           std::span<const ByteSpan> uploads) {
  const dispatch::HostSlice slice("submit");
  const Clock::time_point began = Clock::now();
  std::vector<Running> all;
  std::vector<Recording*> each;
  for (std::shared_ptr<Recording>& recording : recordings) {
    each.push_back(recording.get());
    Running& running = all.emplace_back();
    running.recording = std::move(recording);
    running.began = began;
    running.place = WorkQueue::make_place();
    running.abandoned.emplace_back();
  }
  const bool waits = transfers().has_own_queue();
  auto ticket = base::guarded([&] {
    return each.back()->submit(queue(), uploads, waits ? parts_->transfer_queue.get() : nullptr,
                               waits ? transfers().last_upload() : 0,
                               std::span(each).first(each.size() - 1));
  });
  const Clock::time_point submitted = Clock::now();
  for (Running& running : all) {
    if (!ticket) {
      // A part of it may have been submitted.
      const Ticket last = running.recording->last_ticket();
      queue().keep(last, std::move(running.recording), std::move(running.place));
      continue;
    }
    running.ticket = *ticket;
    running.submitted = submitted;
  }
  if (!ticket) return std::unexpected(noted(std::move(ticket.error())));
  all.front().enqueued = submitted - began;
  return all;
}

Result<DispatchTiming> Engine::finish(Running& running, std::chrono::nanoseconds timeout,
                                      const base::StopFlag* stop) {
  const dispatch::HostSlice slice("wait");
  const base::Deadline deadline(timeout);
  while (!running.ended && !running.failed) {
    dispatch::count(Counter::Waits);
    auto waited =
        base::guarded([&] { return wait_unless_stopped(queue(), running.ticket, deadline, stop); });
    if (!waited) {
      abandon(std::move(running));
      return std::unexpected(noted(std::move(waited.error())));
    }
    FELSITE_TRY(const auto more, inspect_submission(running));
    if (!more) break;
    if (deadline.remaining().count() == 0) {
      abandon(std::move(running));
      return std::unexpected(noted(queue().timed_out()));
    }
    // The wait itself does not see the flag where every submission ends quickly.
    if (auto reason = base::reason_to_end({}, stop)) {
      abandon(std::move(running));
      return std::unexpected(noted(std::move(*reason)));
    }
    FELSITE_CHECK(submit_next(running));
  }
  if (running.failed) return std::unexpected(*running.failed);
  return running.timing;
}

bool Engine::advance(Running& running) {
  while (!running.ended && !running.failed && queue().is_done(running.ticket)) {
    if (is_lost()) return true;  // the wait will report it
    auto advanced = base::guarded([&]() -> Result<void> {
      FELSITE_TRY(const auto more, inspect_submission(running));
      return more ? submit_next(running) : Result<void>{};
    });
    if (!advanced) running.failed = std::move(advanced.error());
  }
  return running.ended || running.failed;
}

// Reads what an ended submission left: errors, times, and whether there is more to do.
Result<bool> Engine::inspect_submission(Running& running) {
  Recording& recording = *running.recording;
  const Clock::time_point ended = Clock::now();
  DispatchTiming& timing = running.timing;
  timing.iterations_run = 1;
  timing.enqueue_ns = nanoseconds(running.enqueued);
  timing.wait_ns = nanoseconds(ended - running.began - running.enqueued);
  timing.wall_ns = nanoseconds(ended - running.began);
  for (const IndirectGate& gate : recording.sequence().gates) {
    if (auto open = check_gate(gate, profile_); !open) {
      return std::unexpected(noted(std::move(open.error())));
    }
  }
  Result<void> fine = recording.check_status();
  if (fine) fine = add_device_times(running, ended);
  if (!fine) return std::unexpected(noted(std::move(fine.error())));
  const auto more = recording.poll_watch();
  if (!more) return std::unexpected(noted(more.error()));
  running.ended = !*more;
  return *more;
}

Result<void> Engine::add_device_times(Running& running, Clock::time_point ended) {
  const Recording& recording = *running.recording;
  const Sequence& sequence = recording.sequence();
  DispatchTiming& timing = running.timing;
  if (!recording.has_times()) return {};
  const auto times = recording.device_times();
  if (!times) return std::unexpected(times.error());
  if (!times->total_ns) return {};
  timing.device_ns = timing.device_ns.value_or(0) + *times->total_ns;
  const std::size_t prefix = sequence.prefix.size();
  timing.step_device_ns.resize(prefix + sequence.repeated.size());
  for (const DeviceTimes::Step& step : times->steps) timing.step_device_ns[step.step] += step.ns;
  if (!dispatch::tracing()) return {};
  // The clocks of device and host have no common zero, so the work is drawn to end with the wait.
  const auto begin = ended - std::chrono::nanoseconds(*times->total_ns);
  for (const auto& [i, begin_ns, ns] : times->steps) {
    const KernelStep& step = i < prefix ? sequence.prefix[i] : sequence.repeated[i - prefix];
    dispatch::note_device_slice(device().snapshot().name, step.name,
                                begin + std::chrono::nanoseconds(begin_ns),
                                std::chrono::nanoseconds(ns));
  }
  return {};
}

Result<void> Engine::submit_next(Running& running) {
  const Clock::time_point begin = Clock::now();
  auto ticket = base::guarded(
      [&] { return running.recording->submit_next(queue(), begin - running.submitted); });
  if (!ticket) {
    running.ticket = running.recording->last_ticket();  // a part of it may have been submitted
    abandon(std::move(running));
    return std::unexpected(noted(std::move(ticket.error())));
  }
  running.ticket = *ticket;
  running.submitted = Clock::now();
  running.enqueued += running.submitted - begin;
  return {};
}

void Engine::abandon(Running running) noexcept {
  if (running.recording == nullptr) return;
  {
    const std::lock_guard lock(users_mutex_);
    forget_ended();
    running.abandoned.front() = {running.ticket, running.recording};
    abandoned_.splice(abandoned_.end(), running.abandoned);
  }
  queue().keep(running.ticket, std::move(running.recording), std::move(running.place));
}

// With the lock held.
void Engine::forget_ended() {
  std::erase_if(abandoned_, [](const Running::Abandoned& run) { return run.recording.expired(); });
}

Result<void> Engine::wait_until_unused(const Buffer& buffer, std::chrono::nanoseconds timeout) {
  Ticket last = 0;
  {
    const std::lock_guard lock(users_mutex_);
    forget_ended();
    for (const Running::Abandoned& run : abandoned_) {
      const auto recording = run.recording.lock();
      if (recording != nullptr && recording->uses(&buffer)) last = std::max(last, run.ticket);
    }
  }
  if (last == 0 || queue().is_done(last)) return {};
  auto waited = queue().wait(last, std::min(patience_, timeout));
  if (waited || waited.error().code != ErrorCode::Timeout) return waited;
  waited.error().message = "Work that was given up after its timeout still uses the buffer.";
  waited.error().fix = "wait for it with flush, or use another buffer.";
  return waited;
}

void Engine::wait_until_idle() noexcept {
  const Ticket last = queue().last_ticket();
  while (last != 0 && !queue().is_done(last) && !is_lost()) {
    const auto waited = base::guarded([&] { return queue().wait(last, kNoTimeout); });
    if (!waited) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> Engine::wait_for_all() {
  for (WorkQueue* queue : {parts_->queue.get(), parts_->transfer_queue.get()}) {
    if (queue == nullptr) continue;
    const Ticket last = queue->last_ticket();
    if (last == 0) continue;
    FELSITE_CHECK(queue->wait(last, kNoTimeout));
  }
  return {};
}

void Engine::report(MetricSnapshot& figures) {
  const Memory::Figures in_all = memory().figures();
  figures.device_bytes = in_all.in_use;
  figures.idle_bytes = in_all.idle;
  figures.in_flight = queue().in_flight();
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
  if (error.context.device.empty()) {
    base::set_if_possible(error.context.device, device().snapshot().name);
  }
  return error;
}

}  // namespace felsite::vk
