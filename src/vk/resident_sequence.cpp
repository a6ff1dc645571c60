#include "vk/resident_sequence.h"

#include "dispatch/resident_checks.h"
#include "dispatch/routing.h"
#include "dispatch/trace.h"
#include "felsite/validate.h"

namespace felsite::vk {
namespace {

using Grid = std::array<std::uint32_t, 3>;

constexpr std::uint64_t kResidentSubmission = 2;  // begins the key of its recordings

void add_to(RecordingKey& key, const ResidentHandle& handle) {
  key.add(handle.backend).add(std::uint64_t{handle.slot} << 32 | handle.generation);
}

void add_to(RecordingKey& key, const std::optional<Grid>& extents) {
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
  }
}

Result<void> add_step(Engine& engine, const ResidentStep& step, std::uint32_t position,
                      std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  DispatchConfig config;
  config.grid_override = step.grid_override;
  config.workgroup_override = step.workgroup_override;
  const ir::Program program = dispatch::configured(step.program, config);
  if (!engine.pipelines().has(program)) {
    if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
      return std::unexpected(ir::to_error(findings, program.name()));
    }
  }
  std::vector<SharedBuffer> resources;
  std::vector<std::uint64_t> sizes;
  for (const ResidentHandle& handle : step.resources) {
    auto buffer = engine.buffers().find(handle);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    sizes.push_back((*buffer)->bytes());
    resources.push_back(std::move(*buffer));
  }
  const auto plan = dispatch::plan_resources(program, sizes);
  if (!plan) return std::unexpected(plan.error());
  if (auto apart = dispatch::check_aliasing(program, step.resources); !apart) return apart;
  // The words of an indirect grid are not known before it runs; everything else is.
  const bool indirect = program.facts().has_indirect_dispatch;
  const auto grid =
      dispatch::plan_grid(program, *plan, config, indirect ? std::optional(Grid{}) : std::nullopt);
  if (!grid) return std::unexpected(grid.error());
  if (auto can = dispatch::check_route(program, config); !can) return can;

  std::vector<BufferSlice> slices(program.buffers().size());
  const std::vector<ir::BufferId> order = dispatch::resource_order(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    slices[order[i]] = {resources[i], 0, sizes[i]};
  }
  return bind_step(engine.pipelines(), engine.memory(),
                   {.program = program,
                    .plan = *plan,
                    .buffers = slices,
                    .grid = indirect ? std::nullopt : std::optional(*grid),
                    .name = step.label.empty() ? std::string(program.name()) : step.label,
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
    auto buffer = engine.buffers().find(upload.buffer);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    const auto range =
        dispatch::resolve_range(upload.offset, upload.bytes.size(), (*buffer)->bytes());
    if (!range) return std::unexpected(range.error());
    ranges.push_back({{std::move(*buffer), range->offset, range->length}, upload.bytes});
  }
  return ranges;
}

Result<std::vector<BufferSlice>> resolve_reads(Engine& engine,
                                               std::span<const ResidentRange> ranges) {
  std::vector<BufferSlice> slices;
  for (const ResidentRange& wanted : ranges) {
    auto buffer = engine.buffers().find(wanted.buffer);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    const auto range = dispatch::resolve_range(wanted.offset, wanted.length, (*buffer)->bytes());
    if (!range) return std::unexpected(range.error());
    slices.push_back({std::move(*buffer), range->offset, range->length});
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
    auto buffer = engine.buffers().find(fill.buffer);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    const auto range = dispatch::resolve_fill(fill, (*buffer)->bytes());
    if (!range) return std::unexpected(range.error());
    sequence.fills.push_back({{std::move(*buffer), range->offset, range->length}, fill.value});
  }
  auto uploads = resolve_uploads(engine, submission.uploads);
  if (!uploads) return std::unexpected(std::move(uploads.error()));
  for (UploadRange& upload : *uploads) sequence.uploads.push_back(std::move(upload.target));
  auto added = add_steps(engine, submission.prefix, 0, sequence.prefix, sequence.gates);
  if (added) {
    added = add_steps(engine, submission.repeated, submission.prefix.size(), sequence.repeated,
                      sequence.gates);
  }
  if (!added) return std::unexpected(std::move(added.error()));
  auto reads = resolve_reads(engine, submission.reads);
  if (!reads) return std::unexpected(std::move(reads.error()));
  sequence.reads = std::move(*reads);
  return sequence;
}

ir::Fingerprint key_of(const ResidentSubmission& submission, bool measured) {
  RecordingKey key;
  key.add(kResidentSubmission).add(measured ? 1 : 0).add(submission.count);
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
