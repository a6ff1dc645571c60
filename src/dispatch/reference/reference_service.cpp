#include "dispatch/reference/reference_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/reference/reference_run.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::dispatch {
namespace {

constexpr const char* kReference = "reference";

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
  profile.backend = kReference;
  profile.name = "reference interpreter";
  profile.subgroup_ops = profile.subgroup_shuffle = profile.f64 = profile.int64 = true;
  profile.native_int_bits = 64;
  profile.mul_high = true;
  profile.traps = true;
  // Each dispatch in flight has a thread and memory of its own, see ReferenceRun.
  profile.async_compute = true;
  profile.indirect_dispatch = true;
  profile.grid_sync = true;
  profile.allows_host_grid_sync_split = true;
  profile.resident_dispatch = true;
  profile.max_workgroup_size.fill(ir::kMaxWorkgroupInvocations);
  profile.max_workgroup_count.fill(UINT32_MAX);
  profile.max_workgroup_invocations = ir::kMaxWorkgroupInvocations;
  profile.subgroup_size = options.subgroup_width;
  profile.compute_units =
      options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1u);
  profile.max_storage_buffer_bytes = profile.memory_bytes = memory_limit(options);
  profile.memory_heaps = {{profile.memory_bytes, true, true}};
  profile.shared_memory_bytes = ir::kMaxWorkgroupBytes;
  profile.cache_bytes = base::host_cache_bytes();
  profile.emulations = {"f16 and bf16 are computed in 32 bits and rounded.",
                        "For another workgroup size a program is prepared again."};
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
    const auto uses_it = [&](const PlacedBlock& block) {
      return (block.flag && is_it(*block.flag)) ||
             std::ranges::any_of(block.steps, [&](const PlacedStep& step) {
               return std::ranges::any_of(step.memory, is_it);
             });
    };
    return std::ranges::any_of(submission.blocks, uses_it) ||
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

const reference::Interpreter& interpreter_of(const SharedCompiledKernel& kernel) {
  return *static_cast<const InterpretedKernel&>(*kernel).interpreter;
}

// One program with all its iterations.
Result<void> run_program(const PlacedBlock& block, ReferenceContext& context,
                         DispatchTiming& timing) {
  FELSITE_TRY(const auto outcome,
              run_step(block.steps.front(), interpreter_of(block.kernels.front()), context));
  timing.iterations_run = outcome.iterations;
  timing.converged = outcome.converged;
  return {};
}

// The bytes that the steps of a block may change, each range as it is bound.
std::vector<Bytes> changed_bytes(const PlacedBlock& block) {
  std::vector<Bytes> bytes;
  for (const PlacedStep& step : block.steps) {
    for (const ir::BufferId id : changed_buffers(step.program)) {
      const std::byte* const from = data_of(step.memory[id]);
      bytes.emplace_back(from, from + step.memory[id].bytes);
    }
  }
  return bytes;
}

Result<void> run_iteration(const PlacedBlock& block, ReferenceContext& context) {
  // Steps without workgroups check no clock.
  if (auto reason = base::reason_to_end(context.options.deadline, context.options.stop)) {
    return std::unexpected(std::move(*reason));
  }
  for (std::size_t i = 0; i < block.steps.size(); ++i) {
    const PlacedStep& step = block.steps[i];
    if (auto outcome = run_step(step, interpreter_of(block.kernels[i]), context); !outcome) {
      return std::unexpected(
          base::with_step(std::move(outcome.error()), step.caller_step, step.program.name()));
    }
  }
  return {};
}

Result<BlockTiming> run_converging(const PlacedBlock& block, ReferenceContext& context) {
  BlockTiming timing;
  std::span<std::byte> flag;
  if (block.flag) flag = {data_of(*block.flag), block.flag->bytes};
  std::vector<Bytes> before;
  if (!block.flag) before = changed_bytes(block);
  while (timing.iterations_run < block.repeat.bound && !timing.converged) {
    std::ranges::fill(flag, std::byte{0});
    FELSITE_CHECK(run_iteration(block, context));
    ++timing.iterations_run;
    if (block.flag) {
      timing.converged = is_all_zero(flag);
      continue;
    }
    std::vector<Bytes> now = changed_bytes(block);
    timing.converged = now == before;
    before = std::move(now);
  }
  return timing;
}

Result<void> run_blocks(std::span<const PlacedBlock> blocks, ReferenceContext& context,
                        DispatchTiming& timing) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const PlacedBlock& block = blocks[i];
    if (block.steps.empty()) continue;
    if (block.repeat.converges()) {
      FELSITE_TRY(timing.blocks[i], run_converging(block, context));
      continue;
    }
    for (std::uint32_t run = 0; run < block.repeat.bound; ++run) {
      FELSITE_CHECK(run_iteration(block, context));
    }
  }
  return {};
}

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

bool ReferenceService::keeps_grid(const ir::ValidProgram& program, const Extent3& grid) const {
  return check_kept_groups(program, grid, memory_->limit).has_value();
}

Result<SharedAllocation> ReferenceService::allocate(std::uint64_t bytes, std::string_view /*owner*/,
                                                    std::string_view /*label*/) {
  return HostBuffer::make(memory_, bytes);
}

std::optional<MemoryRange> ReferenceService::borrow(ByteSpan bytes, std::string_view /*owner*/,
                                                    std::string_view /*label*/) {
  count(Counter::UploadBytes, bytes.size());  // as if they were copied
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
  count(Counter::Waits);
  ReferenceContext context;
  context.options.reference = options_;
  context.options.deadline = deadline;
  context.options.stop = stop;
  context.counts_iterations = submission.is_one_program;
  DispatchTiming timing{.iterations_run = 1, .blocks = submission.block_timings};
  auto done = submission.is_one_program ? run_program(submission.blocks.front(), context, timing)
                                        : run_blocks(submission.blocks, context, timing);
  {
    const std::lock_guard lock(mutex_);
    out_of_bounds_.add(context.out_of_bounds);
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
  std::unique_ptr<ReferenceBackend> made;
  base::best_effort([&] {
    auto core = dispatch::BackendCore::make(
        {.id = dispatch::kReference,
         .open = [options]() -> Result<std::shared_ptr<dispatch::Service>> {
           return std::make_shared<dispatch::ReferenceService>(options);
         }});
    if (core) made.reset(new ReferenceBackend(std::move(*core)));
  });
  return made;
}

}  // namespace felsite
