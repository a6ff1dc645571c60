#include "dispatch/facade/resident_submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/facade/placed_step.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

// Where the grid is read from.
ir::BufferId grid_buffer(const ir::Program& program) {
  return program.node(program.entry().begin).ref;
}

// The beginning of that buffer, as far as the grid's words reach.
MemoryRange grid_words(const ir::Program& program, MemoryRange range) {
  const std::uint64_t most = (std::uint64_t{program.node(program.entry().begin).extra} + 3) * 4;
  range.bytes = std::min(range.bytes, most);
  return range;
}

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  return a.memory == b.memory &&
         std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
}

bool writes(const PlacedStep& step, const MemoryRange& range) {
  return std::ranges::any_of(changed_buffers(step.program),
                             [&](ir::BufferId id) { return overlap(step.memory[id], range); });
}

// Whether the kernels of a single step of a block can say that an iteration changed something, so
// that less memory has to be compared. They have one buffer more, and lowering may add two.
bool reports_changes(const PlacedStep& step, const DeviceProfile& device) {
  constexpr std::size_t kFurtherBuffers = 3;
  const ir::ValidProgram& program = step.program;
  const ir::Facts& facts = program.facts();
  const bool has_room = device.max_storage_buffers == 0 ||
                        program.buffers().size() + kFurtherBuffers <= device.max_storage_buffers;
  if (device.grid_sync || !has_room || facts.has_grid_sync || facts.has_collectives || !step.grid) {
    return false;
  }
  const GridSyncOptions options{.one_dimensional = (*step.grid)[1] == 1 && (*step.grid)[2] == 1};
  return !find_change_reports(program, changed_buffers(program), options).buffers.empty();
}

// Its only step does.
bool iterates(const PlacedBlock& block) {
  return block.steps.size() == 1 && is_repeated(block.steps.front().config);
}

BlockRepeat repeat_of(const Repeat& repeat) {
  switch (repeat.kind) {
    case Repeat::Kind::Times:
      break;
    case Repeat::Kind::UntilFlagIsZero:
      return {BlockRepeat::Kind::UntilFlag, repeat.bound};
    case Repeat::Kind::UntilUnchanged:
      return {BlockRepeat::Kind::UntilUnchanged, repeat.bound};
  }
  return {BlockRepeat::Kind::Times, repeat.bound};
}

// Puts a submission together, block by block.
class Resolver {
 public:
  Resolver(OpenDevice& open, Submission& out) : open_(open), out_(out) {}

  Result<void> add(std::span<const ResidentStep> steps, const BlockRepeat& repeat,
                   const ResidentResource* flag = nullptr) {
    PlacedBlock& block = out_.blocks.emplace_back();
    block.repeat = repeat;
    for (const ResidentStep& step : steps) {
      auto placed = base::guarded([&] { return add_step(step, block, steps.size() == 1); });
      if (!placed) {
        return std::unexpected(
            base::with_step(std::move(placed.error()), out_.step_count, step.program.name()));
      }
      ++out_.step_count;
    }
    if (flag != nullptr) FELSITE_CHECK(add_flag(*flag, block));
    return {};
  }

  Result<void> add_iterations(PlacedStep step) {
    const IterationRule rule = iteration_rule(step.program, step.config);
    PlacedBlock& block = out_.blocks.emplace_back();
    block.repeat.bound = rule.bound;
    if (rule.converges) {
      using Kind = BlockRepeat::Kind;
      block.repeat.kind = rule.flag ? Kind::UntilFlag : Kind::UntilUnchanged;
      if (rule.flag) block.flag = step.memory[*rule.flag];
    }
    step.config = one_iteration(std::move(step.config));
    step.host_reads_grid = true;
    FELSITE_CHECK(add_placed(std::move(step), block));
    ++out_.step_count;
    return finish();
  }

  // One step whose grid the host has read.
  Result<void> add_once(PlacedStep step) {
    out_.step_count = step.caller_step + 1;
    PlacedBlock& block = out_.blocks.emplace_back();
    FELSITE_CHECK(add_placed(std::move(step), block));
    return finish();
  }

  // Decides how all of it runs, and compiles what that takes.
  Result<void> finish() {
    for (const PlacedBlock& block : out_.blocks) {
      BlockTiming& timing = out_.block_timings.emplace_back();
      if (!block.repeat.converges()) {
        timing.iterations_run = block.repeat.bound;
      } else if (block.steps.empty()) {
        timing = {.iterations_run = 1, .converged = true};
      }
    }
    if (open_.profile().grid_sync) {
      FELSITE_CHECK(compile_programs());
      return allocate_lent_bytes();
    }
    FELSITE_CHECK(make_stages());
    out_.blocks.clear();
    return {};
  }

 private:
  Result<void> add_step(const ResidentStep& step, PlacedBlock& block, bool is_only) {
    FELSITE_TRY(auto placed, place_step(open_, step, config_of(step)));
    placed.caller_step = out_.step_count;
    const bool is_repeated = block.repeat.converges() || block.repeat.bound > 1;
    if (placed.host_reads_grid && is_repeated) placed.config = one_iteration(placed.config);
    if (is_only && block.repeat.kind == BlockRepeat::Kind::UntilUnchanged &&
        reports_changes(placed, open_.profile())) {
      placed.config.fixpoint_iterations = block.repeat.bound;
      placed.config.grid_sync = GridSync::Resident;
    }
    return add_placed(std::move(placed), block);
  }

  Result<void> add_placed(PlacedStep placed, PlacedBlock& block) {
    Schedule schedule;
    if (placed.host_reads_grid) {
      FELSITE_CHECK(check_late(placed));
    } else {
      FELSITE_TRY(schedule,
                  schedule_of(placed, facts_of(placed, open_.profile()), open_.profile()));
    }
    schedules_.push_back(std::move(schedule));
    block.steps.push_back(std::move(placed));
    return {};
  }

  Result<void> add_flag(const ResidentResource& flag, PlacedBlock& block) {
    if (flag.bytes) {
      return std::unexpected(base::bad_inputs("The flag of a block is not in a resident buffer.",
                                              "give a range of a resident buffer."));
    }
    FELSITE_TRY(auto buffer, open_.buffers.find_writable(flag.buffer));
    FELSITE_TRY(const auto range, resolve_range(flag.offset, flag.length, buffer->bytes()));
    if (range.offset % 4 != 0 || range.length % 4 != 0 || range.length == 0) {
      return std::unexpected(
          base::bad_inputs(fmt::format("The flag of a block has {} bytes from byte {} on.",
                                       range.length, range.offset),
                           "give one or more words, from a multiple of four on."));
    }
    block.flag = MemoryRange{std::move(buffer), range.offset, range.length};
    const auto writes_it = [&](const PlacedStep& step) { return writes(step, *block.flag); };
    if (block.steps.empty() || std::ranges::any_of(block.steps, writes_it)) return {};
    return std::unexpected(
        base::bad_inputs("No step of the block writes its flag, so that it would converge at once.",
                         "bind the flag to a buffer that a step of the block writes."));
  }

  Result<void> compile_programs() {
    for (PlacedBlock& block : out_.blocks) {
      for (const PlacedStep& step : block.steps) {
        auto kernel = open_.service->compile(step.program);
        if (!kernel) {
          return std::unexpected(
              base::with_step(std::move(kernel.error()), step.caller_step, step.program.name()));
        }
        block.kernels.push_back(std::move(*kernel));
      }
    }
    return {};
  }

  // Only once all is checked.
  Result<void> allocate_lent_bytes() {
    for (PlacedBlock& block : out_.blocks) {
      for (PlacedStep& step : block.steps) {
        for (const ir::BufferId id : step.lent) {
          MemoryRange& range = step.memory[id];
          const auto in_stages = std::ranges::find(memory_, range.memory, &MemoryRange::memory);
          FELSITE_CHECK(allocate_lent(open_, range, out_));
          if (in_stages != memory_.end()) in_stages->memory = range.memory;
        }
      }
    }
    return {};
  }

  // Where a range lies in the memory of the submission.
  BufferRef ref_of(const MemoryRange& range) {
    if (range.memory == nullptr) return {};
    auto found = std::ranges::find(memory_, range.memory, &MemoryRange::memory);
    if (found == memory_.end()) {
      memory_.push_back({range.memory, 0, range.memory->bytes()});
      found = std::prev(memory_.end());
    }
    return {static_cast<std::uint32_t>(found - memory_.begin()), range.offset, range.bytes};
  }

  Result<void> make_stages() {
    std::vector<SubmittedBlock> blocks;
    std::size_t step = 0;
    for (const PlacedBlock& placed : out_.blocks) {
      SubmittedBlock& block = blocks.emplace_back();
      if (!iterates(placed)) block.repeat = placed.repeat;
      if (placed.flag) block.flag = ref_of(*placed.flag);
      for (const PlacedStep& one : placed.steps) {
        SubmittedStep& made = block.steps.emplace_back(std::move(schedules_[step++]));
        made.caller_step = one.caller_step;
        if (iterates(placed)) made.iterates_block = static_cast<std::uint32_t>(blocks.size() - 1);
        made.is_late = one.host_reads_grid;
        for (const MemoryRange& range : one.memory) {
          made.memory.push_back(ref_of(bound_memory(range, open_.profile())));
        }
        if (!made.is_late) continue;
        for (const ir::BufferId id : changed_buffers(one.program)) {
          made.changed.push_back(made.memory[id]);
        }
      }
    }
    std::vector<std::uint64_t> sizes;
    for (const MemoryRange& range : memory_) sizes.push_back(range.bytes);
    FELSITE_TRY(auto made, make_submission_schedule(std::move(blocks), sizes, open_.profile(),
                                                    !out_.reads.empty()));
    out_.loops = std::move(made.loops);
    for (SubmissionStage& stage : made.stages) {
      auto kernels = compile_kernels(open_, stage.schedule);
      if (!kernels) return std::unexpected(on_step(std::move(kernels.error()), stage.schedule));
      out_.stages.push_back({.stage = std::move(stage), .kernels = std::move(*kernels)});
    }
    FELSITE_CHECK(allocate_lent_bytes());
    for (const PlannedBuffer& shared : made.shared) {
      FELSITE_TRY(auto buffer, open_.service->allocate(shared.bytes, out_.name, shared.name));
      out_.own_bytes += shared.bytes;
      memory_.push_back({std::move(buffer), 0, shared.bytes});
    }
    for (PlacedStage& stage : out_.stages) {
      const auto count = static_cast<std::ptrdiff_t>(stage.stage.memory_count);
      stage.memory.assign(memory_.begin(), memory_.begin() + count);
      if (stage.stage.late_step) stage.late = late_stage(*stage.stage.late_step);
    }
    return {};
  }

  LateStage late_stage(std::uint32_t caller_step) const {
    auto steps = out_.blocks | std::views::transform(&PlacedBlock::steps) | std::views::join;
    PlacedStep step = *std::ranges::find(steps, caller_step, &PlacedStep::caller_step);
    step.lent.clear();  // their memory is allocated, and uploads of the whole submission fill it
    const auto record = [&open = open_, name = out_.name, measured = out_.is_measured,
                         step](ByteSpan words) {
      auto made = open.with_eviction([&] {
        return base::guarded([&] { return record_late(open, name, measured, step, words); });
      });
      if (made) return made;
      return Result<std::shared_ptr<Recorded>>(std::unexpected(
          base::with_step(std::move(made.error()), step.caller_step, step.program.name())));
    };
    return {grid_words(step.program, step.memory[grid_buffer(step.program)]), record};
  }

  static Result<std::shared_ptr<Recorded>> record_late(OpenDevice& open, const std::string& name,
                                                       bool measured, PlacedStep step,
                                                       ByteSpan words) {
    const auto contents = [&](ir::BufferId) { return words; };
    FELSITE_TRY(step.grid, plan_grid(step.program, step.bindings, step.config,
                                     indirect_grid(step.program, contents)));
    step.host_reads_grid = false;
    Submission one{.name = name, .is_measured = measured};
    FELSITE_CHECK(Resolver(open, one).add_once(std::move(step)));
    return open.record(std::move(one));
  }

  // Of the step that the program in the error's context belongs to.
  static Error on_step(Error error, const Schedule& schedule) {
    for (const auto* steps : {&schedule.prefix, &schedule.repeated}) {
      for (const ScheduledStep& step : *steps) {
        const ir::Program& program = schedule.kernels[step.kernel].program;
        if (!step.is_callers || program.name() != error.context.program) continue;
        return base::with_step(std::move(error), step.caller_step, program.name());
      }
    }
    return error;
  }

  OpenDevice& open_;
  Submission& out_;
  std::vector<Schedule> schedules_;  // by the caller's step
  std::vector<MemoryRange> memory_;  // whole allocations, each once
};

}  // namespace

Result<std::vector<MemoryRange>> resolve_uploads(OpenDevice& open,
                                                 std::span<const ResidentUpload> uploads) {
  std::vector<MemoryRange> targets;
  for (const ResidentUpload& upload : uploads) {
    FELSITE_TRY(auto buffer, open.buffers.find_writable(upload.buffer));
    FELSITE_TRY(const auto range,
                resolve_range(upload.offset, upload.bytes.size(), buffer->bytes()));
    targets.push_back({std::move(buffer), range.offset, range.length});
  }
  return targets;
}

Result<std::vector<MemoryRange>> resolve_reads(OpenDevice& open,
                                               std::span<const ResidentRange> ranges) {
  std::vector<MemoryRange> sources;
  for (const ResidentRange& wanted : ranges) {
    FELSITE_TRY(auto buffer, open.buffers.find(wanted.buffer));
    FELSITE_TRY(const auto range, resolve_range(wanted.offset, wanted.length, buffer->bytes()));
    sources.push_back({std::move(buffer), range.offset, range.length});
  }
  return sources;
}

Result<Submission> resolve(OpenDevice& open, const ResidentSubmission& submission,
                           const SubmissionConfig& config) {
  Submission resolved{.name = config.label.empty() ? "sequence" : config.label,
                      .is_measured = config.profile || tracing()};
  for (const ResidentFill& fill : submission.fills) {
    FELSITE_TRY(auto buffer, open.buffers.find_writable(fill.buffer));
    FELSITE_TRY(const auto range, resolve_fill(fill, buffer->bytes()));
    resolved.fills.push_back({{std::move(buffer), range.offset, range.length}, fill.value});
  }
  FELSITE_TRY(resolved.uploads, resolve_uploads(open, submission.uploads));
  Resolver resolver(open, resolved);
  FELSITE_CHECK(resolver.add(submission.prefix, {}));
  FELSITE_CHECK(resolver.add(submission.repeated, {.bound = submission.count}));
  for (std::size_t i = 0; i < submission.blocks.size(); ++i) {
    const ResidentBlock& block = submission.blocks[i];
    FELSITE_CHECK(check_repeat(block.repeat, i));
    const bool has_flag = block.repeat.kind == Repeat::Kind::UntilFlagIsZero;
    FELSITE_CHECK(resolver.add(block.steps, repeat_of(block.repeat),
                               has_flag ? &block.repeat.flag : nullptr));
  }
  FELSITE_TRY(resolved.reads, resolve_reads(open, submission.reads));
  FELSITE_CHECK(resolver.finish());
  return resolved;
}

Result<void> check_late(const PlacedStep& step) {
  if (!needs_known_grid(step.program)) return {};
  FELSITE_CHECK(plan_grid_sync(step.program, {}));
  return {};
}

Result<void> add_iterations(OpenDevice& open, Submission& submission, PlacedStep step) {
  return Resolver(open, submission).add_iterations(std::move(step));
}

void note_iterations(DispatchTiming& timing, const DispatchConfig& config) {
  if (timing.blocks.empty()) return;
  timing.iterations_run = timing.blocks.front().iterations_run;
  timing.converged = timing.blocks.front().converged;
  timing.blocks.clear();
  count(Counter::IterationsRun, timing.iterations_run);
  if (!timing.converged) return;
  count(Counter::IterationsSkipped, config.fixpoint_iterations.value_or(1) - timing.iterations_run);
}

Result<std::optional<Extent3>> read_grid(OpenDevice& open, const ResidentStep& step,
                                         const DispatchConfig& config) {
  const bool is_indirect = step.program.facts().has_indirect_dispatch;
  if (!is_indirect || !needs_known_grid(step.program) || open.profile().grid_sync) {
    return std::nullopt;
  }
  // Only of a valid program it is known where the statement stands.
  FELSITE_TRY(const auto program, prepare_program(open, step.program, config));
  if (changes_own_grid(program, config)) return std::nullopt;
  const std::vector<ir::BufferId> order = resource_order(program);
  const auto place =
      static_cast<std::size_t>(std::ranges::find(order, grid_buffer(program)) - order.begin());
  if (place >= step.resources.size()) return std::nullopt;  // found and refused later
  const ResidentResource& resource = step.resources[place];
  Bytes bytes;
  if (resource.bytes) {
    bytes.assign(resource.bytes->begin(), resource.bytes->end());
  } else {
    FELSITE_TRY(auto buffer, open.buffers.find(resource.buffer));
    FELSITE_TRY(const auto range, resolve_range(resource.offset, resource.length, buffer->bytes()));
    auto words = grid_words(program, {std::move(buffer), range.offset, range.length});
    bytes.resize(words.bytes);
    const ReadRange read{std::move(words), bytes};
    FELSITE_CHECK(open.service->read({&read, 1}));
  }
  return indirect_grid(program, [&](ir::BufferId) { return ByteSpan(bytes); });
}

Result<Submission> resolve_iterations(OpenDevice& open, const ResidentStep& step,
                                      const DispatchConfig& config,
                                      const std::optional<Extent3>& grid) {
  Submission resolved{.name = name_of(step), .is_measured = config.profile || tracing()};
  FELSITE_TRY(auto placed, place_step(open, step, config));
  if (grid) placed.grid = grid;
  if (placed.host_reads_grid && changes_own_grid(placed.program, config)) {
    FELSITE_TRY(const auto route, route_on_any_grid(placed.program, config, open.profile()));
    if (route && route->route == Route::HostSplit) {
      return std::unexpected(host_split_on_resident(placed.program));
    }
    FELSITE_CHECK(add_iterations(open, resolved, std::move(placed)));
    return resolved;
  }
  OneProgram program{std::move(placed)};
  FELSITE_TRY(program.schedule,
              schedule_of(program.step, facts_of(program.step, open.profile()), open.profile()));
  if (program.schedule.route.route == Route::HostSplit) {
    return std::unexpected(host_split_on_resident(program.step.program));
  }
  FELSITE_CHECK(compile_kernels(open, program));
  for (const ir::BufferId id : program.step.lent) {
    FELSITE_CHECK(allocate_lent(open, program.step.memory[id], resolved));
  }
  if (config.convergence.kind == Convergence::Kind::Flag) {
    const ir::BufferId flag = *program.step.program.find_buffer(config.convergence.flag);
    resolved.fills.push_back({program.step.memory[flag], std::byte{0}});
    // A single iteration converges where it leaves the flag zero, which is seen by reading it.
    if (!is_repeated(config)) resolved.reads.push_back(program.step.memory[flag]);
  }
  add_to(resolved, std::move(program), open.profile());
  return resolved;
}

}  // namespace felsite::dispatch
