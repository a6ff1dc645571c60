#include "dispatch/facade/resident_submission.h"

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

// The first words of the keys of such recordings.
constexpr std::uint64_t kResidentSubmission = 2;
constexpr std::uint64_t kGridDispatch = 3;

void add_to(RecordingKey& key, const ResidentHandle& handle) {
  key.add(handle.backend).add(std::uint64_t{handle.slot} << 32 | handle.generation);
}

void add_to(RecordingKey& key, const std::optional<Extent3>& extents) {
  key.add(extents ? 1 : 0);
  if (!extents) return;
  for (const std::uint32_t extent : *extents) key.add(extent);
}

void add_to(RecordingKey& key, std::span<const ResidentStep> steps) {
  key.add(steps.size());
  for (const ResidentStep& step : steps) {
    key.add(step.program.fingerprint()).add(step.resources.size());
    for (const ResidentResource& resource : step.resources) {
      add_to(key, resource.buffer);
      key.add(resource.offset).add(resource.length);
    }
    add_to(key, step.grid_override);
    add_to(key, step.workgroup_override);
    key.add(step.float_mode ? 1 + static_cast<std::uint64_t>(*step.float_mode) : 0);
    key.add(step.max_output_bytes ? 1 : 0).add(step.max_output_bytes.value_or(0));
    key.add(step.label);
  }
}

std::string name_of(const ResidentStep& step) {
  return step.label.empty() ? std::string(step.program.name()) : step.label;
}

// See RangePlace.
bool shares_last_word(const MemoryRange& range) {
  if (range.memory == nullptr) return false;
  const std::uint64_t end = range.offset + range.bytes;
  if (range.bytes == 0) return range.memory->bytes() != 0;
  return end % 4 != 0 && end != range.memory->bytes();
}

MemoryFacts facts_of(const PlacedStep& step, const DeviceProfile& device) {
  MemoryFacts facts;
  for (const MemoryRange& range : step.memory) {
    facts.bytes.push_back(range.bytes);
    facts.places.push_back({.start = range.offset - bound_memory(range, device).offset,
                            .shares_last_word = shares_last_word(range)});
  }
  return facts;
}

Result<PlacedStep> place_step(OpenDevice& open, const ResidentStep& step,
                              const DispatchConfig& config) {
  FELSITE_TRY(auto valid, prepare_program(open, step.program, config));
  PlacedStep placed{.program = std::move(valid), .config = config, .name = name_of(step)};
  const ir::ValidProgram& program = placed.program;
  std::vector<SharedAllocation> resources;
  std::vector<std::uint64_t> sizes;
  for (const ResidentResource& resource : step.resources) {
    FELSITE_TRY(auto buffer, open.buffers.find(resource.buffer));
    sizes.push_back(buffer->bytes());
    resources.push_back(std::move(buffer));
  }
  FELSITE_TRY(const auto ranges, resolve_resources(program, step.resources, sizes));
  for (std::size_t i = 0; i < ranges.size(); ++i) sizes[i] = ranges[i].length;
  FELSITE_TRY(placed.bindings, plan_resources(program, sizes, config));
  FELSITE_CHECK(check_aliasing(program, step.resources, ranges));
  for (const ResidentHandle& handle : changed_resources(program, step.resources)) {
    FELSITE_CHECK(open.buffers.find_writable(handle));
  }
  // Only the words of an indirect grid are not known yet.
  const bool indirect = program.facts().has_indirect_dispatch;
  FELSITE_TRY(const auto grid, plan_grid(program, placed.bindings, config,
                                         indirect ? std::optional(Extent3{}) : std::nullopt));
  if (!indirect) placed.grid = grid;
  placed.memory.resize(program.buffers().size());
  const std::vector<ir::BufferId> order = resource_order(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    placed.memory[order[i]] = {resources[i], ranges[i].offset, ranges[i].length};
  }
  FELSITE_CHECK(make_schedule(placed, facts_of(placed, open.profile()), open.profile()));
  return placed;
}

Result<void> add_steps(OpenDevice& open, std::span<const ResidentStep> steps, std::size_t first,
                       std::vector<PlacedStep>& out) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto added = base::guarded([&]() -> Result<void> {
      FELSITE_TRY(auto placed, place_step(open, steps[i], config_of(steps[i])));
      placed.caller_step = static_cast<std::uint32_t>(first + i);
      FELSITE_CHECK(compile_kernels(open, placed));
      out.push_back(std::move(placed));
      return {};
    });
    if (added) continue;
    return std::unexpected(
        base::with_step(std::move(added.error()), first + i, steps[i].program.name()));
  }
  return {};
}

}  // namespace

Result<ir::ValidProgram> prepare_program(OpenDevice& open, const ir::Program& given,
                                         const DispatchConfig& config) {
  FELSITE_CHECK(check_choices(given, config));
  FELSITE_TRY(auto program, open.programs.get(configured(given, config)));
  FELSITE_CHECK(check_config(program, config));
  return program;
}

Result<void> make_schedule(PlacedStep& step, const MemoryFacts& memory,
                           const DeviceProfile& device) {
  if (device.grid_sync) {
    FELSITE_TRY(auto route, route_on_any_grid(step.program, step.config, device));
    if (route) step.schedule.route = *std::move(route);
    return {};
  }
  std::vector<std::uint64_t> counts;
  for (const BoundBuffer& buffer : step.bindings.buffers) counts.push_back(buffer.count);
  FELSITE_TRY(step.schedule, dispatch::make_schedule({.program = step.program,
                                                      .config = step.config,
                                                      .counts = counts,
                                                      .bytes = memory.bytes,
                                                      .contents = memory.contents,
                                                      .places = memory.places,
                                                      .grid = step.grid,
                                                      .fresh_outputs = memory.fresh_outputs,
                                                      .can_try = memory.can_try,
                                                      .name = step.name},
                                                     device));
  return {};
}

Result<void> compile_kernels(OpenDevice& open, PlacedStep& step) {
  if (open.profile().grid_sync) {
    FELSITE_TRY(auto kernel, open.service->compile(step.program));
    step.kernels.push_back(std::move(kernel));
    return {};
  }
  for (const ScheduledKernel& scheduled : step.schedule.kernels) {
    auto compiled = base::guarded([&]() -> Result<SharedCompiledKernel> {
      FELSITE_TRY(auto valid, open.programs.get(scheduled.program));
      return open.service->compile(scheduled.as_segment(std::move(valid)));
    });
    if (!compiled) {
      compiled.error().context.segment =
          segment_of(step.schedule, static_cast<std::uint32_t>(step.kernels.size()));
      return std::unexpected(std::move(compiled.error()));
    }
    step.kernels.push_back(std::move(*compiled));
  }
  return {};
}

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
                      .count = submission.count,
                      .is_measured = config.profile || tracing()};
  for (const ResidentFill& fill : submission.fills) {
    FELSITE_TRY(auto buffer, open.buffers.find_writable(fill.buffer));
    FELSITE_TRY(const auto range, resolve_fill(fill, buffer->bytes()));
    resolved.fills.push_back({{std::move(buffer), range.offset, range.length}, fill.value});
  }
  FELSITE_TRY(resolved.uploads, resolve_uploads(open, submission.uploads));
  FELSITE_CHECK(add_steps(open, submission.prefix, 0, resolved.prefix));
  FELSITE_CHECK(add_steps(open, submission.repeated, submission.prefix.size(), resolved.repeated));
  FELSITE_TRY(resolved.reads, resolve_reads(open, submission.reads));
  return resolved;
}

Result<Submission> resolve_iterations(OpenDevice& open, const ResidentStep& step,
                                      const DispatchConfig& config) {
  FELSITE_TRY(auto placed, place_step(open, step, config));
  if (placed.schedule.route.route == Route::HostSplit) {
    return std::unexpected(host_split_on_resident(placed.program));
  }
  FELSITE_CHECK(compile_kernels(open, placed));
  Submission resolved{
      .name = name_of(step), .is_one_program = true, .is_measured = config.profile || tracing()};
  if (config.convergence.kind == Convergence::Kind::Flag) {
    const ir::BufferId flag = *placed.program.find_buffer(config.convergence.flag);
    resolved.fills.push_back({placed.memory[flag], std::byte{0}});
    // A single iteration converges where it leaves the flag zero, which is seen by reading it.
    if (!is_repeated(config)) resolved.reads.push_back(placed.memory[flag]);
  }
  resolved.prefix.push_back(std::move(placed));
  return resolved;
}

ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config, bool measured) {
  RecordingKey key;
  key.add(kGridDispatch).add(measured ? 1 : 0).add(config.fixpoint_iterations.value_or(1));
  key.add(static_cast<std::uint64_t>(config.convergence.kind));
  key.add(static_cast<std::uint64_t>(config.grid_sync));
  key.add(config.convergence.flag);
  add_to(key, std::span(&step, 1));
  return key.hash();
}

ir::Fingerprint key_of(const ResidentSubmission& submission, std::string_view label,
                       bool measured) {
  RecordingKey key;
  key.add(kResidentSubmission).add(measured ? 1 : 0).add(submission.count).add(label);
  key.add(submission.fills.size());
  for (const ResidentFill& fill : submission.fills) {
    add_to(key, fill.buffer);
    key.add(fill.offset).add(fill.length).add(static_cast<std::uint64_t>(fill.value));
  }
  key.add(submission.uploads.size());
  for (const ResidentUpload& upload : submission.uploads) {
    add_to(key, upload.buffer);
    key.add(upload.offset).add(upload.bytes.size());
  }
  add_to(key, submission.prefix);
  add_to(key, submission.repeated);
  key.add(submission.reads.size());
  for (const ResidentRange& range : submission.reads) {
    add_to(key, range.buffer);
    key.add(range.offset).add(range.length);
  }
  return key.hash();
}

}  // namespace felsite::dispatch
