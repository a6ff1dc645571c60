#include "dispatch/state/recording_keys.h"

#include "dispatch/state/recording_pool.h"

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

// Of the caller's own bytes only how many there are: they come with each run.
void add_to(RecordingKey& key, const ResidentResource& resource) {
  add_to(key, resource.buffer);
  key.add(resource.offset).add(resource.length);
  key.add(resource.bytes ? 1 + resource.bytes->size() : 0);
}

void add_to(RecordingKey& key, std::span<const ResidentStep> steps) {
  key.add(steps.size());
  for (const ResidentStep& step : steps) {
    key.add(step.program.fingerprint()).add(step.resources.size());
    for (const ResidentResource& resource : step.resources) {
      add_to(key, resource);
    }
    add_to(key, step.grid_override);
    add_to(key, step.workgroup_override);
    key.add(step.float_mode ? 1 + static_cast<std::uint64_t>(*step.float_mode) : 0);
    key.add(step.max_output_bytes ? 1 : 0).add(step.max_output_bytes.value_or(0));
    key.add(step.label);
  }
}

}  // namespace

ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config,
                       const std::optional<Extent3>& grid, bool measured) {
  RecordingKey key;
  key.add(kGridDispatch).add(measured ? 1 : 0).add(config.fixpoint_iterations.value_or(1));
  key.add(static_cast<std::uint64_t>(config.convergence.kind));
  key.add(static_cast<std::uint64_t>(config.grid_sync));
  key.add(config.convergence.flag);
  add_to(key, grid);
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
  key.add(submission.blocks.size());
  for (const ResidentBlock& block : submission.blocks) {
    key.add(static_cast<std::uint64_t>(block.repeat.kind)).add(block.repeat.bound);
    add_to(key, block.repeat.flag);
    add_to(key, block.steps);
  }
  key.add(submission.reads.size());
  for (const ResidentRange& range : submission.reads) {
    add_to(key, range.buffer);
    key.add(range.offset).add(range.length);
  }
  return key.hash();
}

}  // namespace felsite::dispatch
