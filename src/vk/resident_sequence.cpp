#include "vk/resident_sequence.h"

#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/schedule/schedule.h"
#include "dispatch/telemetry/trace.h"
#include "vk/instance/vulkan_error.h"
#include "vk/schedule/materialize.h"

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

// A step that has passed all checks.
struct CheckedStep {
  ir::ValidProgram program;
  dispatch::BindingPlan plan{};
  std::optional<Extent3> grid{};      // absent: the device reads it
  std::vector<BufferSlice> slices{};  // by BufferId
};

// The memory to bind for a range begins where the device can bind it.
BufferSlice bound_memory(const BufferSlice& range, const DeviceProfile& device) {
  const std::uint64_t start = range.offset % dispatch::binding_alignment(device);
  return {range.buffer, range.offset - start, range.bytes + start};
}

Result<CheckedStep> check_step(Engine& engine, const ResidentStep& step,
                               const DispatchConfig& config) {
  FELSITE_CHECK(dispatch::check_choices(step.program, config));
  FELSITE_TRY(auto valid, engine.pipelines().validate(dispatch::configured(step.program, config)));
  CheckedStep checked{.program = std::move(valid)};
  const ir::ValidProgram& program = checked.program;
  std::vector<SharedBuffer> resources;
  std::vector<std::uint64_t> sizes;
  for (const ResidentResource& resource : step.resources) {
    FELSITE_TRY(auto buffer, engine.buffers().find(resource.buffer));
    sizes.push_back(buffer->bytes());
    resources.push_back(std::move(buffer));
  }
  FELSITE_TRY(const auto ranges, dispatch::resolve_resources(program, step.resources, sizes));
  for (std::size_t i = 0; i < ranges.size(); ++i) sizes[i] = ranges[i].length;
  FELSITE_TRY(auto plan, dispatch::plan_resources(program, sizes, config));
  checked.plan = std::move(plan);
  FELSITE_CHECK(dispatch::check_aliasing(program, step.resources, ranges));
  for (const ResidentHandle& handle : dispatch::changed_resources(program, step.resources)) {
    FELSITE_CHECK(engine.buffers().find_writable(handle));
  }
  // Only the words of an indirect grid are not known yet.
  const bool indirect = program.facts().has_indirect_dispatch;
  FELSITE_TRY(const auto grid,
              dispatch::plan_grid(program, checked.plan, config,
                                  indirect ? std::optional(Extent3{}) : std::nullopt));
  if (!indirect) checked.grid = grid;
  checked.slices.resize(program.buffers().size());
  const std::vector<ir::BufferId> order = dispatch::resource_order(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    checked.slices[order[i]] = {resources[i], ranges[i].offset, ranges[i].length};
  }
  return checked;
}

std::string name_of(const ResidentStep& step) {
  return step.label.empty() ? std::string(step.program.name()) : step.label;
}

Result<dispatch::Schedule> make_schedule(Engine& engine, const CheckedStep& checked,
                                         const DispatchConfig& config, std::string name) {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const dispatch::BoundBuffer& buffer : checked.plan.buffers) counts.push_back(buffer.count);
  std::vector<dispatch::RangePlace> places;
  for (const BufferSlice& slice : checked.slices) {
    bytes.push_back(slice.bytes);
    const std::uint64_t end = slice.offset + slice.bytes;
    places.push_back(
        {.start = slice.offset - bound_memory(slice, engine.profile()).offset,
         .shares_last_word = slice.buffer && end % 4 != 0 && end != slice.buffer->bytes()});
  }
  return dispatch::make_schedule({.program = checked.program,
                                  .config = config,
                                  .counts = counts,
                                  .bytes = bytes,
                                  .places = places,
                                  .grid = checked.grid,
                                  .name = std::move(name)},
                                 engine.profile());
}

Result<void> materialize(Engine& engine, const dispatch::Schedule& schedule,
                         const CheckedStep& checked, Sequence& sequence) {
  FELSITE_TRY(const auto kernels, kernels_of(engine.pipelines(), schedule));
  std::vector<BufferSlice> bound;
  for (const BufferSlice& slice : checked.slices) {
    bound.push_back(bound_memory(slice, engine.profile()));
  }
  return materialize(engine, schedule, kernels, bound, sequence);
}

Result<void> add_step(Engine& engine, const ResidentStep& step, std::uint32_t position,
                      std::vector<KernelStep>& steps, Sequence& sequence) {
  const DispatchConfig config = dispatch::config_of(step);
  FELSITE_TRY(const auto checked, check_step(engine, step, config));
  FELSITE_TRY(const auto schedule, make_schedule(engine, checked, config, name_of(step)));
  if (schedule.watch) {
    return std::unexpected(unsupported(
        "A step of a sequence has grid barriers in loops or conditions that only the device can "
        "evaluate.",
        "run the program by itself, by dispatch_resident.", engine.device().snapshot().name));
  }
  Sequence own;
  own.name = sequence.name;
  FELSITE_CHECK(materialize(engine, schedule, checked, own));
  for (KernelStep& made : own.prefix) {
    if (made.caller_step) {
      made.caller_step = position;
      made.counts_as_launch = true;
    }
    steps.push_back(std::move(made));
  }
  for (IndirectGate& gate : own.gates) sequence.gates.push_back({std::move(gate.words), position});
  std::ranges::move(own.host_words, std::back_inserter(sequence.host_words));
  sequence.own_bytes += own.own_bytes;
  return {};
}

Result<void> add_steps(Engine& engine, std::span<const ResidentStep> steps, std::size_t first,
                       std::vector<KernelStep>& out, Sequence& sequence) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto position = static_cast<std::uint32_t>(first + i);
    auto added = add_step(engine, steps[i], position, out, sequence);
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
  auto added = add_steps(engine, submission.prefix, 0, sequence.prefix, sequence);
  if (added) {
    added = add_steps(engine, submission.repeated, submission.prefix.size(), sequence.repeated,
                      sequence);
  }
  if (!added) return std::unexpected(std::move(added.error()));
  FELSITE_TRY(auto reads, resolve_reads(engine, submission.reads));
  sequence.reads = std::move(reads);
  return sequence;
}

Result<Sequence> make_grid_sequence(Engine& engine, const ResidentStep& step,
                                    const DispatchConfig& config) {
  FELSITE_TRY(auto checked, check_step(engine, step, config));
  FELSITE_TRY(const auto schedule, make_schedule(engine, checked, config, name_of(step)));
  if (schedule.route.route == dispatch::Route::HostSplit) {
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
  FELSITE_CHECK(materialize(engine, schedule, checked, sequence));
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
