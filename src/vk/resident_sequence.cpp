#include "vk/resident_sequence.h"

#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/trace.h"
#include "vk/grid/grid_sequence.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
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
    for (const ResidentHandle& handle : step.resources) add_to(key, handle);
    add_to(key, step.grid_override);
    add_to(key, step.workgroup_override);
    key.add(step.float_mode ? 1 + static_cast<std::uint64_t>(*step.float_mode) : 0);
    key.add(step.max_output_bytes ? 1 : 0).add(step.max_output_bytes.value_or(0));
    key.add(step.label);
  }
}

// A step that has passed all checks.
struct CheckedStep {
  ir::ValidProgram program;
  dispatch::BindingPlan plan{};
  Extent3 grid{};
  std::vector<BufferSlice> slices{};  // by BufferId
};

Result<CheckedStep> check_step(Engine& engine, const ResidentStep& step,
                               const DispatchConfig& config) {
  FELSITE_CHECK(dispatch::check_choices(step.program, config));
  FELSITE_TRY(auto valid, engine.pipelines().validate(dispatch::configured(step.program, config)));
  CheckedStep checked{.program = std::move(valid)};
  const ir::ValidProgram& program = checked.program;
  std::vector<SharedBuffer> resources;
  std::vector<std::uint64_t> sizes;
  for (const ResidentHandle& handle : step.resources) {
    FELSITE_TRY(auto buffer, engine.buffers().find(handle));
    sizes.push_back(buffer->bytes());
    resources.push_back(std::move(buffer));
  }
  FELSITE_TRY(auto plan, dispatch::plan_resources(program, sizes, config));
  checked.plan = std::move(plan);
  FELSITE_CHECK(dispatch::check_aliasing(program, step.resources));
  for (const ResidentHandle& handle : dispatch::changed_resources(program, step.resources)) {
    FELSITE_CHECK(engine.buffers().find_writable(handle));
  }
  // Only the words of an indirect grid are not known yet.
  const bool indirect = program.facts().has_indirect_dispatch;
  FELSITE_TRY(const auto grid,
              dispatch::plan_grid(program, checked.plan, config,
                                  indirect ? std::optional(Extent3{}) : std::nullopt));
  checked.grid = grid;
  checked.slices.resize(program.buffers().size());
  const std::vector<ir::BufferId> order = dispatch::resource_order(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    checked.slices[order[i]] = {resources[i], 0, sizes[i]};
  }
  return checked;
}

std::string name_of(const ResidentStep& step) {
  return step.label.empty() ? std::string(step.program.name()) : step.label;
}

Error needs_known_grid(const ir::Program& program) {
  Error error = unsupported(
      "The program has grid barriers or iterations, and only the device knows its grid.",
      "give the grid with the dispatch, and take `indirect_dispatch` out of the program.", "");
  error.context.program = program.name();
  return error;
}

// Appends the segments one after the other.
Result<void> add_segments(Engine& engine, const CheckedStep& checked, const ResidentStep& step,
                          std::uint32_t position, std::vector<KernelStep>& steps) {
  if (checked.program.facts().has_indirect_dispatch) {
    return std::unexpected(needs_known_grid(checked.program));
  }
  const DispatchConfig config = dispatch::config_of(step);
  Sequence segments;
  FELSITE_CHECK(add_grid_steps(engine,
                               {.program = checked.program,
                                .config = config,
                                .bindings = checked.plan,
                                .grid = checked.grid,
                                .buffers = checked.slices,
                                .route = dispatch::Route::Resident,
                                .name = name_of(step)},
                               segments));
  if (segments.watch) {
    return std::unexpected(unsupported(
        "A step of a sequence has grid barriers in loops or conditions that only the device can "
        "evaluate.",
        "run the program by itself, by dispatch_resident.", engine.device().snapshot().name));
  }
  for (KernelStep& segment : segments.prefix) {
    segment.caller_step = position;
    segment.counts_as_launch = true;
    steps.push_back(std::move(segment));
  }
  return {};
}

Result<void> add_step(Engine& engine, const ResidentStep& step, std::uint32_t position,
                      std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  const DispatchConfig config = dispatch::config_of(step);
  FELSITE_TRY(auto checked, check_step(engine, step, config));
  FELSITE_TRY(const auto route,
              dispatch::choose_route(checked.program, config, checked.grid, engine.profile()));
  if (route.route != dispatch::Route::Plain) {
    return add_segments(engine, checked, step, position, steps);
  }
  const bool indirect = checked.program.facts().has_indirect_dispatch;
  return bind_step(engine.pipelines(), engine.memory(),
                   {.program = checked.program,
                    .plan = checked.plan,
                    .buffers = checked.slices,
                    .grid = indirect ? std::nullopt : std::optional(checked.grid),
                    .name = name_of(step),
                    .caller_step = position},
                   steps, gates);
}

Result<void> add_steps(Engine& engine, std::span<const ResidentStep> steps, std::size_t first,
                       std::vector<KernelStep>& out, std::vector<IndirectGate>& gates) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto position = static_cast<std::uint32_t>(first + i);
    auto added = add_step(engine, steps[i], position, out, gates);
    if (added) continue;
    added.error().context.program = steps[i].program.name();
    added.error().context.step = position;
    return added;
  }
  return {};
}

}  // namespace

Result<std::vector<UploadRange>> resolve_uploads(Engine& engine,
                                                 std::span<const ResidentUpload> uploads) {
  std::vector<UploadRange> ranges;
  for (const ResidentUpload& upload : uploads) {
    FELSITE_TRY(auto buffer, engine.buffers().find_writable(upload.buffer));
    FELSITE_TRY(const auto range,
                dispatch::resolve_range(upload.offset, upload.bytes.size(), buffer->bytes()));
    ranges.push_back({{std::move(buffer), range.offset, range.length}, upload.bytes});
  }
  return ranges;
}

Result<std::vector<BufferSlice>> resolve_reads(Engine& engine,
                                               std::span<const ResidentRange> ranges) {
  std::vector<BufferSlice> slices;
  for (const ResidentRange& wanted : ranges) {
    FELSITE_TRY(auto buffer, engine.buffers().find(wanted.buffer));
    FELSITE_TRY(const auto range,
                dispatch::resolve_range(wanted.offset, wanted.length, buffer->bytes()));
    slices.push_back({std::move(buffer), range.offset, range.length});
  }
  return slices;
}

Result<Sequence> make_sequence(Engine& engine, const ResidentSubmission& submission,
                               const SubmissionConfig& config) {
  Sequence sequence;
  sequence.name = config.label.empty() ? "sequence" : config.label;
  sequence.measured = config.profile || dispatch::tracing();
  sequence.count = submission.count;
  for (const ResidentFill& fill : submission.fills) {
    FELSITE_TRY(auto buffer, engine.buffers().find_writable(fill.buffer));
    FELSITE_TRY(const auto range, dispatch::resolve_fill(fill, buffer->bytes()));
    sequence.fills.push_back({{std::move(buffer), range.offset, range.length}, fill.value});
  }
  FELSITE_TRY(auto uploads, resolve_uploads(engine, submission.uploads));
  for (UploadRange& upload : uploads) sequence.uploads.push_back(std::move(upload.target));
  auto added = add_steps(engine, submission.prefix, 0, sequence.prefix, sequence.gates);
  if (added) {
    added = add_steps(engine, submission.repeated, submission.prefix.size(), sequence.repeated,
                      sequence.gates);
  }
  if (!added) return std::unexpected(std::move(added.error()));
  FELSITE_TRY(auto reads, resolve_reads(engine, submission.reads));
  sequence.reads = std::move(reads);
  return sequence;
}

Result<Sequence> make_grid_sequence(Engine& engine, const ResidentStep& step,
                                    const DispatchConfig& config) {
  FELSITE_TRY(auto checked, check_step(engine, step, config));
  if (checked.program.facts().has_indirect_dispatch) {
    return std::unexpected(needs_known_grid(checked.program));
  }
  std::vector<std::uint64_t> lengths;
  for (const dispatch::BoundBuffer& buffer : checked.plan.buffers) lengths.push_back(buffer.count);
  FELSITE_TRY(const auto route, dispatch::choose_route(checked.program, config, checked.grid,
                                                       engine.profile(), {.lengths = lengths}));
  if (route.route == dispatch::Route::HostSplit) {
    return std::unexpected(dispatch::host_split_on_resident(checked.program));
  }
  Sequence sequence;
  sequence.name = name_of(step);
  sequence.measured = config.profile || dispatch::tracing();
  if (config.convergence.kind == Convergence::Kind::Flag) {
    const ir::BufferId flag = *checked.program.find_buffer(config.convergence.flag);
    sequence.fills.push_back({checked.slices[flag], std::byte{0}});
    sequence.flag = checked.slices[flag];
  }
  FELSITE_CHECK(add_grid_steps(engine,
                               {.program = checked.program,
                                .config = config,
                                .bindings = checked.plan,
                                .grid = checked.grid,
                                .buffers = checked.slices,
                                .route = route.route,
                                .name = sequence.name},
                               sequence));
  return sequence;
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

}  // namespace felsite::vk
