#include "dispatch/facade/plain_dispatch.h"

#include <algorithm>

#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/facade/resident_submission.h"
#include "dispatch/schedule/grid.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

constexpr std::uint64_t kPlainDispatch = 1;  // the first word of the keys of such recordings

}  // namespace

Result<PlainDispatch> PlainDispatch::start(std::shared_ptr<OpenDevice> open,
                                           ir::ValidProgram program,
                                           std::span<const ByteSpan> inputs,
                                           const DispatchConfig& config, bool may_borrow,
                                           bool can_try) {
  // Errors of the caller come before what the backend cannot do, as on every backend.
  FELSITE_TRY(auto bindings, plan_inputs(program, inputs, config));
  FELSITE_CHECK(check_result_memory(bindings, open->service->host_memory_limit()));
  std::string name = config.label.empty() ? std::string(program.name()) : config.label;
  PlainDispatch made(std::move(open),
                     {.program = std::move(program),
                      .config = config,
                      .bindings = std::move(bindings),
                      .name = std::move(name)},
                     can_try);
  PlacedStep& step = made.program_.step;
  // A convergence flag is cleared before each iteration, also before a single one.
  made.flag_ = iteration_rule(step.program, config).flag;
  const auto contents = [&](ir::BufferId id) {
    return made.has_input(id) ? inputs[step.bindings.buffers[id].input] : ByteSpan{};
  };
  FELSITE_TRY(const auto grid, plan_grid(step.program, step.bindings, config,
                                         indirect_grid(step.program, contents)));
  made.place_grid(grid);
  FELSITE_CHECK(made.choose_form(inputs));
  if (!base::check_timeout(config.timeout)) {
    FELSITE_CHECK(made.make_schedule());
    return made;  // nothing starts, and `finish` says why
  }
  // After a timeout the kernel goes on reading, while the caller may have freed what it reads.
  const bool ends_with_wait = made.open_->service->runs_in_wait();
  FELSITE_CHECK(made.bind(inputs, may_borrow && (ends_with_wait || !config.timeout)));
  return made;
}

// The host knows the grid that comes first. Later iterations may have others, which the device
// reads if it can: it takes no grid in parts.
void PlainDispatch::place_grid(const Extent3& first) {
  PlacedStep& step = program_.step;
  const DeviceProfile& device = open_->profile();
  if (device.grid_sync) return;
  if (!changes_own_grid(step.program, step.config)) {
    step.grid = first;
    return;
  }
  step.host_reads_grid =
      needs_known_grid(step.program) || !fits_one_dispatch(first, device.workgroups_per_dispatch);
}

// What was recorded for one form is not run for the other: so the form is part of the key, where
// it does not follow from the sizes alone.
Result<void> PlainDispatch::choose_form(std::span<const ByteSpan> inputs) {
  const DeviceProfile& device = open_->profile();
  if (!program_.step.grid ||
      !route_depends_on_contents(program_.step.program, program_.step.config, device))
    return {};
  const std::vector<BoundBuffer>& buffers = program_.step.bindings.buffers;
  std::vector<std::uint64_t> lengths;
  std::vector<ByteSpan> contents;
  for (ir::BufferId id = 0; id < buffers.size(); ++id) {
    lengths.push_back(buffers[id].count);
    contents.push_back(has_input(id) ? inputs[buffers[id].input] : ByteSpan{});
  }
  FELSITE_TRY(by_contents_,
              choose_route(program_.step.program, program_.step.config, *program_.step.grid, device,
                           {.lengths = lengths, .contents = contents, .can_try = can_try_}));
  return {};
}

bool PlainDispatch::has_input(ir::BufferId id) const {
  return program_.step.bindings.buffers[id].input != ir::kNone && !is_flag(id);
}

Result<void> PlainDispatch::bind(std::span<const ByteSpan> inputs, bool may_borrow) {
  const DispatchConfig& config = program_.step.config;
  const std::vector<BoundBuffer>& buffers = program_.step.bindings.buffers;
  RecordingKey key;
  key.add(kPlainDispatch).add(program_.step.program.fingerprint()).add(config.label);
  key.add(config.profile || tracing() ? 1 : 0);
  // All that the schedule depends on.
  key.add(static_cast<std::uint64_t>(config.grid_sync)).add(can_try_ ? 1 : 0);
  key.add(config.cooperative ? 1 : 0);
  key.add(static_cast<std::uint64_t>(by_contents_.value_or(RouteChoice{}).route));
  key.add(program_.step.host_reads_grid ? 1 : 0);
  key.add(config.fixpoint_iterations.value_or(1));
  key.add(static_cast<std::uint64_t>(config.convergence.kind));
  for (const std::uint32_t extent :
       program_.step.grid.value_or(config.grid_override.value_or(Extent3{}))) {
    key.add(extent);
  }
  for (ir::BufferId id = 0; id < buffers.size(); ++id) {
    key.add(buffers[id].bytes).add(is_flag(id) ? 1 : 0);
  }
  key_ = key.hash();

  borrowed_.resize(buffers.size());
  PooledRecording pooled = open_->recordings.take(key_);
  recorded_ = std::move(pooled.recorded);
  bound_ = std::move(pooled.buffers);
  if (recorded_ == nullptr) {
    FELSITE_TRY(recorded_, record(inputs, may_borrow));
  }
  std::vector<ByteSpan> uploads;
  std::vector<bool> is_bound(buffers.size());
  for (const auto [id, is_written] : bound_) {
    is_bound[id] = true;
    if (has_input(id) && !borrowed_[id]) uploads.push_back(inputs[buffers[id].input]);
  }
  unbound_outputs_.resize(program_.step.bindings.output_count);
  for (ir::BufferId id = 0; id < buffers.size(); ++id) {
    if (is_bound[id] || buffers[id].output == ir::kNone) continue;
    Bytes& contents = unbound_outputs_[buffers[id].output];
    if (has_input(id)) {
      const ByteSpan input = inputs[buffers[id].input];
      contents.assign(input.begin(), input.end());
    }
    contents.resize(buffers[id].bytes);
  }
  auto run = open_->service->start(recorded_, uploads, kNoTimeout);
  if (!run) {
    if (!is_pooled_) open_->service->wait_until_idle();  // a part of it may have been started
    // Where memory is missing, the caller tries again without what is kept.
    if (run.error().code == ErrorCode::DeviceOutOfMemory) {
      return std::unexpected(std::move(run.error()));
    }
    failed_ = open_->noted(std::move(run.error()));
    return {};
  }
  run_ = std::move(*run);
  for (const ByteSpan input : inputs) count(Counter::InputBytes, input.size());
  return {};
}

Result<void> PlainDispatch::make_schedule() {
  if (program_.step.host_reads_grid) {
    FELSITE_TRY(auto route,
                route_on_any_grid(program_.step.program, program_.step.config, open_->profile()));
    if (route) program_.schedule.route = *std::move(route);
    return check_late(program_.step);
  }
  MemoryFacts memory{.fresh_outputs = true, .can_try = can_try_, .route = by_contents_};
  for (const BoundBuffer& buffer : program_.step.bindings.buffers) {
    memory.bytes.push_back(buffer.role == ir::Role::Shared ? 0 : buffer.bytes);
  }
  FELSITE_TRY(program_.schedule, schedule_of(program_.step, memory, open_->profile()));
  return {};
}

// A single kernel has its own list of buffers. Several kernels share all buffers of the program.
std::vector<CompiledKernel::Use> PlainDispatch::bound_buffers() const {
  if (program_.schedule.route.route == Route::Plain) return program_.kernels.front()->uses();
  std::vector<CompiledKernel::Use> all;
  for (ir::BufferId id = 0; id < program_.step.bindings.buffers.size(); ++id) {
    if (program_.step.bindings.buffers[id].role != ir::Role::Shared) all.push_back({id, true});
  }
  return all;
}

Result<std::shared_ptr<Recorded>> PlainDispatch::record(std::span<const ByteSpan> inputs,
                                                        bool may_borrow) {
  const bool one_by_one = program_.step.host_reads_grid;
  FELSITE_CHECK(make_schedule());
  if (!one_by_one) FELSITE_CHECK(compile_kernels(*open_, program_));
  bound_ = bound_buffers();
  Submission submission{.name = program_.step.name,
                        .is_alone = !one_by_one,  // its stages use the same memory
                        .is_measured = program_.step.config.profile || tracing()};
  program_.step.memory.resize(program_.step.bindings.buffers.size());
  is_pooled_ = true;
  borrowed_.assign(program_.step.bindings.buffers.size(), false);
  for (const auto [id, is_written] : bound_) {
    FELSITE_CHECK(place(id, is_written, inputs, may_borrow, submission));
  }
  if (one_by_one) {
    FELSITE_CHECK(add_iterations(*open_, submission, program_.step));
  } else {
    add_to(submission, program_, open_->profile());
  }
  return open_->record(std::move(submission));
}

Result<void> PlainDispatch::place(ir::BufferId id, bool is_written,
                                  std::span<const ByteSpan> inputs, bool may_borrow,
                                  Submission& submission) {
  const BoundBuffer& buffer = program_.step.bindings.buffers[id];
  const std::string& name = program_.step.program.buffer(id).name;
  // An input that is also a result needs memory that belongs to the dispatch.
  const bool can_borrow = has_input(id) && buffer.output == ir::kNone && !is_written;
  if (can_borrow && may_borrow) {
    if (auto range = open_->service->borrow(inputs[buffer.input], program_.step.name, name)) {
      program_.step.memory[id] = std::move(*range);
      is_pooled_ = false;
      borrowed_[id] = true;
      return {};
    }
  }
  FELSITE_TRY(auto made, open_->service->allocate(buffer.bytes, program_.step.name, name));
  const MemoryRange range{std::move(made), 0, buffer.bytes};
  program_.step.memory[id] = range;
  submission.own_bytes += buffer.bytes;
  if (has_input(id)) {
    submission.uploads.push_back(range);
  } else {
    submission.fills.push_back({range, std::byte{0}});
  }
  if (buffer.output != ir::kNone) submission.reads.push_back(range);
  return {};
}

Result<void> PlainDispatch::read_outputs(std::vector<Bytes>& outputs, Slots slots) {
  std::vector<std::uint64_t> sizes(program_.step.bindings.output_count);
  for (const BoundBuffer& buffer : program_.step.bindings.buffers) {
    if (buffer.output != ir::kNone) sizes[buffer.output] = buffer.bytes;
  }
  if (slots == Slots::Callers) count_slots(outputs, sizes);
  outputs.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes& unbound = unbound_outputs_[i];
    outputs[i].assign(unbound.begin(), unbound.end());
    outputs[i].resize(sizes[i]);
  }
  std::size_t read = 0;
  for (const auto [id, is_written] : bound_) {
    const std::uint32_t output = program_.step.bindings.buffers[id].output;
    if (output == ir::kNone) continue;
    FELSITE_CHECK(recorded_->read(read++, outputs[output]));
  }
  count(Counter::OutputBytes, program_.step.bindings.output_bytes);
  return {};
}

Result<DispatchTiming> PlainDispatch::finish(std::vector<Bytes>& outputs,
                                             const base::StopFlag* stop, Slots slots) {
  Service& service = *open_->service;
  if (run_ == nullptr) return std::unexpected(failed_ ? *failed_ : service.timeout_error());
  auto timing = run_->wait(program_.step.config.timeout.value_or(kNoTimeout), stop);
  const bool was_given_up = run_->was_given_up();
  run_.reset();
  // The caller may reuse its memory only when the kernel no longer reads it.
  if (was_given_up && !is_pooled_) service.wait_until_idle();
  Result<void> read;
  if (timing) read = read_outputs(outputs, slots);
  if (!was_given_up && is_pooled_ && !service.is_lost()) {
    open_->recordings.release(key_, {std::move(recorded_), std::move(bound_)});
  }
  recorded_.reset();
  if (!timing) return timing;
  if (!read) return std::unexpected(std::move(read.error()));
  note_iterations(*timing, program_.step.config);
  if (!needs_grid_sync_form(program_.step.program, program_.step.config)) {
    count(Counter::IterationsRun, timing->iterations_run);
  }
  if (flag_)
    timing->converged = is_all_zero(outputs[program_.step.bindings.buffers[*flag_].output]);
  return timing;
}

}  // namespace felsite::dispatch
