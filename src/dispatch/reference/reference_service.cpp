#include "dispatch/reference/reference_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/reference/reference_run.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::dispatch {
namespace {

using Clock = std::chrono::steady_clock;
using InFlight = std::shared_ptr<std::atomic<std::uint64_t>>;

bool exists(WorkgroupOrder order) {
  switch (order) {
    case WorkgroupOrder::Forward:
    case WorkgroupOrder::Reversed:
    case WorkgroupOrder::Shuffled:
      return true;
  }
  return false;
}

// No vector holds more than PTRDIFF_MAX bytes, whatever the caller allows.
std::uint64_t memory_limit(const ReferenceOptions& options) {
  const std::uint64_t bytes =
      options.memory_limit != 0 ? options.memory_limit : base::default_memory_limit();
  return std::min<std::uint64_t>(bytes, PTRDIFF_MAX);
}

DeviceProfile profile_of(const ReferenceOptions& options) {
  DeviceProfile profile;
  profile.name = "reference interpreter";
  profile.subgroup_ops = profile.f16 = profile.bf16 = profile.f64 = profile.int64 = true;
  profile.async_compute = true;
  profile.indirect_dispatch = true;
  profile.grid_sync = true;
  profile.resident_dispatch = true;
  profile.max_workgroup_size.fill(ir::kMaxWorkgroupInvocations);
  profile.max_workgroup_count.fill(UINT32_MAX);
  profile.max_workgroup_invocations = ir::kMaxWorkgroupInvocations;
  profile.subgroup_size = options.subgroup_width;
  profile.max_storage_buffer_bytes = profile.memory_bytes = memory_limit(options);
  profile.shared_memory_bytes = ir::kMaxWorkgroupBytes;
  profile.timing_quality = "host clock";
  return profile;
}

class InterpretedKernel final : public CompiledKernel {
 public:
  explicit InterpretedKernel(std::shared_ptr<const reference::Interpreter> ready)
      : interpreter(std::move(ready)) {}

  std::vector<Use> uses() const override {
    std::vector<Use> uses;
    const ir::Program& program = interpreter->program();
    for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
      const ir::Role role = role_of(program.buffer(id));
      if (role != ir::Role::Shared) uses.push_back({id, ir::gives_result(role)});
    }
    return uses;
  }

  const std::shared_ptr<const reference::Interpreter> interpreter;
};

// The interpreter records nothing: it keeps what it was given.
class ReferenceRecorded final : public Recorded {
 public:
  explicit ReferenceRecorded(Submission given) : submission(std::move(given)) {}

  bool uses(const Allocation& memory) const override {
    const auto is_it = [&](const MemoryRange& range) { return range.memory.get() == &memory; };
    const auto uses_it = [&](const PlacedStep& step) {
      return std::ranges::any_of(step.memory, is_it);
    };
    return std::ranges::any_of(submission.prefix, uses_it) ||
           std::ranges::any_of(submission.repeated, uses_it) ||
           std::ranges::any_of(submission.uploads, is_it) ||
           std::ranges::any_of(submission.reads, is_it) ||
           std::ranges::any_of(submission.fills, is_it, &Submission::Fill::target);
  }
  // Kernels have no owners here.
  bool uses(const CompiledKernel& /*kernel*/) const override { return false; }
  std::uint64_t own_bytes() const override { return submission.own_bytes; }
  std::vector<std::uint64_t> read_sizes() const override {
    std::vector<std::uint64_t> sizes;
    for (const MemoryRange& read : submission.reads) sizes.push_back(read.bytes);
    return sizes;
  }
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const override {
    const std::byte* const from =
        submission.is_alone ? data_of(submission.reads[index]) : results[index].data();
    std::copy_n(from, bytes.size(), bytes.begin());
    count(Counter::DownloadBytes, bytes.size());
    return {};
  }

  const Submission submission;
  // What the last run read. Of memory that nobody else uses it is read later.
  std::vector<Bytes> results;
};

void write_inputs(const Submission& submission, std::span<const ByteSpan> uploads) {
  for (const auto& [target, value] : submission.fills) {
    std::fill_n(data_of(target), target.bytes, value);
  }
  for (std::size_t i = 0; i < uploads.size(); ++i) {
    std::ranges::copy(uploads[i], data_of(submission.uploads[i]));
    count(Counter::UploadBytes, uploads[i].size());
  }
}

// Everything happens in the wait, while the queue is locked: what others do to the same memory
// comes before or after the whole submission.
class ReferenceRun final : public Run {
 public:
  ReferenceRun(ReferenceService& service, std::shared_ptr<ReferenceRecorded> recorded,
               std::span<const ByteSpan> uploads, InFlight in_flight)
      : service_(service), recorded_(std::move(recorded)), in_flight_(std::move(in_flight)) {
    if (recorded_->submission.is_alone) {
      write_inputs(recorded_->submission, uploads);
    } else {
      for (const ByteSpan bytes : uploads) staged_.emplace_back(bytes.begin(), bytes.end());
    }
    ++*in_flight_;
  }
  ~ReferenceRun() override { --*in_flight_; }

  bool advance() override { return false; }

  Result<DispatchTiming> wait(std::chrono::nanoseconds timeout,
                              const base::StopFlag* stop) override {
    const Submission& submission = recorded_->submission;
    const base::Deadline deadline(timeout == kNoTimeout ? std::nullopt : std::optional(timeout));
    if (submission.is_alone) return service_.run(submission, deadline, stop);
    const std::lock_guard lock(service_.queue());
    write_inputs(submission, std::vector<ByteSpan>(staged_.begin(), staged_.end()));
    auto timing = service_.run(submission, deadline, stop);
    if (!timing) return timing;
    recorded_->results.resize(submission.reads.size());
    for (std::size_t i = 0; i < submission.reads.size(); ++i) {
      const std::byte* const from = data_of(submission.reads[i]);
      recorded_->results[i].assign(from, from + submission.reads[i].bytes);
    }
    return timing;
  }

 private:
  ReferenceService& service_;
  const std::shared_ptr<ReferenceRecorded> recorded_;
  std::vector<Bytes> staged_;
  const InFlight in_flight_;
};

}  // namespace

ReferenceService::ReferenceService(const ReferenceOptions& options)
    : options_(options),
      memory_(std::make_shared<MemoryLimit>(memory_limit(options))),
      profile_(profile_of(options)) {}

std::string ReferenceService::feature_key() const {
  return fmt::format("reference-{}-subgroup{}", FELSITE_VERSION, options_.subgroup_width);
}

Result<void> ReferenceService::check_options() const {
  if (!exists(options_.order)) {
    return std::unexpected(
        base::bad_inputs(fmt::format("An order of workgroups with the number {} does not exist.",
                                     static_cast<unsigned>(options_.order)),
                         "make the backend with one of the values of WorkgroupOrder."));
  }
  if (options_.subgroup_width >= 1 && options_.subgroup_width <= 64) return {};
  return std::unexpected(base::bad_inputs(
      fmt::format("A subgroup width of {} is not from 1 to 64.", options_.subgroup_width),
      "make the backend with a width from 1 to 64."));
}

Result<SharedAllocation> ReferenceService::allocate(std::uint64_t bytes, std::string_view /*owner*/,
                                                    std::string_view /*label*/) {
  return HostBuffer::make(memory_, bytes);
}

std::optional<MemoryRange> ReferenceService::borrow(ByteSpan bytes, std::string_view /*owner*/,
                                                    std::string_view /*label*/) {
  return MemoryRange{HostBuffer::borrow(bytes), 0, bytes.size()};
}

Result<void> ReferenceService::write(std::span<const WriteRange> writes) {
  const std::lock_guard lock(queue_);
  for (const auto& [target, bytes] : writes) {
    std::ranges::copy(bytes, data_of(target));
    count(Counter::UploadBytes, bytes.size());
  }
  return {};
}

Result<void> ReferenceService::read(std::span<const ReadRange> reads) {
  const std::lock_guard lock(queue_);
  for (const auto& [source, bytes] : reads) {
    std::copy_n(data_of(source), bytes.size(), bytes.begin());
    count(Counter::DownloadBytes, bytes.size());
  }
  return {};
}

Result<SharedCompiledKernel> ReferenceService::compile(const codegen::Segment& segment) {
  FELSITE_CHECK(check_options());
  FELSITE_TRY(auto interpreter, programs_.get(segment.program));
  return std::make_shared<const InterpretedKernel>(std::move(interpreter));
}

Result<std::shared_ptr<Recorded>> ReferenceService::record(Submission submission) {
  return std::make_shared<ReferenceRecorded>(std::move(submission));
}

Result<std::unique_ptr<Run>> ReferenceService::start(const std::shared_ptr<Recorded>& recorded,
                                                     std::span<const ByteSpan> uploads,
                                                     std::chrono::nanoseconds /*timeout*/) {
  return std::make_unique<ReferenceRun>(
      *this, std::static_pointer_cast<ReferenceRecorded>(recorded), uploads, in_flight_);
}

Result<DispatchTiming> ReferenceService::run(const Submission& submission,
                                             const base::Deadline& deadline,
                                             const base::StopFlag* stop) {
  const auto start = Clock::now();
  count(Counter::Submissions);
  ReferenceContext context;
  context.options.reference = options_;
  context.options.deadline = deadline;
  context.options.stop = stop;
  DispatchTiming timing{.iterations_run = 1};
  const auto run_all = [&](std::span<const PlacedStep> steps) -> Result<void> {
    for (const PlacedStep& step : steps) {
      const auto& kernel = static_cast<const InterpretedKernel&>(*step.kernels.front());
      auto outcome = run_step(step, *kernel.interpreter, context);
      if (!outcome) {
        if (submission.is_one_program) return std::unexpected(std::move(outcome.error()));
        return std::unexpected(
            base::with_step(std::move(outcome.error()), step.caller_step, step.program.name()));
      }
      if (!submission.is_one_program) continue;
      timing.iterations_run = outcome->iterations;
      timing.converged = outcome->converged;
    }
    return {};
  };
  Result<void> done = run_all(submission.prefix);
  if (!submission.repeated.empty()) timing.iterations_run = submission.count;
  for (std::uint32_t i = 0; done && !submission.repeated.empty() && i < submission.count; ++i) {
    // Steps without workgroups check no clock.
    if (auto reason = base::reason_to_end(deadline, stop)) {
      done = std::unexpected(std::move(*reason));
      break;
    }
    done = run_all(submission.repeated);
  }
  {
    const std::lock_guard lock(mutex_);
    add(out_of_bounds_, context.out_of_bounds);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  timing.wall_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  return timing;
}

void ReferenceService::report(MetricSnapshot& figures) const {
  figures.device_bytes = memory_->taken;
  figures.allocations = memory_->allocations;
  figures.in_flight = *in_flight_;
}

OutOfBoundsCounts ReferenceService::out_of_bounds() const {
  const std::lock_guard lock(mutex_);
  return {out_of_bounds_.loads, out_of_bounds_.stores, out_of_bounds_.atomics};
}

}  // namespace felsite::dispatch

namespace felsite {

OutOfBoundsCounts ReferenceBackend::out_of_bounds() const {
  const auto open = dispatch::BackendCore::of(*this).current();
  if (open == nullptr) return {};
  return static_cast<const dispatch::ReferenceService&>(*open->service).out_of_bounds();
}

std::unique_ptr<ReferenceBackend> make_reference_backend(ReferenceOptions options) {
  auto core = dispatch::BackendCore::make(
      {.id = "reference", .open = [options]() -> Result<std::shared_ptr<dispatch::Service>> {
         return std::make_shared<dispatch::ReferenceService>(options);
       }});
  std::unique_ptr<ReferenceBackend> made;
  if (!core) return made;
  base::best_effort([&] { made.reset(new ReferenceBackend(std::move(*core))); });
  return made;
}

}  // namespace felsite
