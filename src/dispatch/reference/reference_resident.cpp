#include "dispatch/reference/reference_resident.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/reference/reference_run.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<HostFill>> prepare_fills(std::span<const ResidentFill> fills,
                                            const HostMemory& memory) {
  std::vector<HostFill> ready;
  for (const ResidentFill& fill : fills) {
    FELSITE_TRY(auto buffer, memory.find_writable(fill.buffer));
    FELSITE_TRY(auto range, resolve_fill(fill, buffer->bytes.size()));
    ready.push_back({std::move(buffer), range, fill.value});
  }
  return ready;
}

Result<HostStep> prepare_step(const ResidentStep& step, const HostMemory& memory,
                              PreparedPrograms& programs) {
  HostStep ready;
  ready.config = config_of(step);
  FELSITE_CHECK(check_choices(step.program, ready.config));
  FELSITE_TRY(auto interpreter, programs.get(configured(step.program, ready.config)));
  ready.interpreter = std::move(interpreter);
  const ir::Program& program = ready.interpreter->program();

  std::vector<std::shared_ptr<HostBuffer>> resources;
  std::vector<std::uint64_t> sizes;
  for (const ResidentResource& resource : step.resources) {
    FELSITE_TRY(auto buffer, memory.find(resource.buffer));
    sizes.push_back(buffer->bytes.size());
    resources.push_back(std::move(buffer));
  }
  FELSITE_TRY(const auto ranges, resolve_resources(program, step.resources, sizes));
  for (std::size_t i = 0; i < ranges.size(); ++i) sizes[i] = ranges[i].length;
  FELSITE_TRY(auto plan, plan_resources(program, sizes, ready.config));
  ready.plan = std::move(plan);
  FELSITE_CHECK(check_aliasing(program, step.resources, ranges));
  for (const ResidentHandle& handle : changed_resources(program, step.resources)) {
    FELSITE_CHECK(memory.find_writable(handle));
  }
  // The words of an indirect grid are unknown before it runs; everything else is known.
  std::optional<Extent3> indirect;
  if (program.facts().has_indirect_dispatch) indirect.emplace();
  FELSITE_CHECK(plan_grid(program, ready.plan, ready.config, indirect));
  ready.buffers.resize(program.buffers().size());
  const std::vector<ir::BufferId> order = resource_order(program);
  ready.offsets.resize(program.buffers().size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ready.buffers[order[i]] = resources[i];
    ready.offsets[order[i]] = ranges[i].offset;
  }
  return ready;
}

Result<std::vector<HostStep>> prepare_steps(std::span<const ResidentStep> steps, std::size_t first,
                                            const HostMemory& memory, PreparedPrograms& programs) {
  std::vector<HostStep> ready;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto step = prepare_step(steps[i], memory, programs);
    if (!step) {
      return std::unexpected(
          base::with_step(std::move(step.error()), first + i, steps[i].program.name()));
    }
    ready.push_back(std::move(*step));
  }
  return ready;
}

void run_fills(std::span<const HostFill> fills) {
  for (const HostFill& fill : fills) {
    std::fill_n(fill.buffer->bytes.data() + fill.range.offset, fill.range.length, fill.value);
  }
}

Result<void> run_step(const HostStep& step, reference::RunOptions& options,
                      reference::OutOfBounds& out_of_bounds) {
  const ir::Program& program = step.interpreter->program();
  std::vector<reference::BufferView> views;
  for (ir::BufferId id = 0; id < step.buffers.size(); ++id) {
    std::byte* data = nullptr;
    if (step.buffers[id]) data = step.buffers[id]->bytes.data() + step.offsets[id];
    views.push_back({.data = data, .count = step.plan.buffers[id].count});
  }
  const auto contents = [&](ir::BufferId id) {
    return ByteSpan(views[id].data, step.plan.buffers[id].bytes);
  };
  FELSITE_TRY(auto grid,
              plan_grid(program, step.plan, step.config, indirect_grid(program, contents)));
  options.grid = grid;
  const auto start = Clock::now();
  FELSITE_TRY(auto stats, step.interpreter->run(views, options));
  const std::string& label = step.config.label;
  note_device_slice("reference", label.empty() ? program.name() : label, start,
                    Clock::now() - start);
  count(Counter::Launches);
  add(out_of_bounds, stats.out_of_bounds);
  return {};
}

Result<void> run_steps(std::span<const HostStep> steps, std::size_t first,
                       reference::RunOptions& options, reference::OutOfBounds& out_of_bounds) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto done = run_step(steps[i], options, out_of_bounds);
    if (!done) {
      return std::unexpected(base::with_step(std::move(done.error()), first + i,
                                             steps[i].interpreter->program().name()));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<HostUpload>> prepare_uploads(std::span<const ResidentUpload> uploads,
                                                const HostMemory& memory) {
  std::vector<HostUpload> ready;
  for (const ResidentUpload& upload : uploads) {
    FELSITE_TRY(auto buffer, memory.find_writable(upload.buffer));
    FELSITE_CHECK(resolve_range(upload.offset, upload.bytes.size(), buffer->bytes.size()));
    ready.push_back({std::move(buffer), upload.offset, upload.bytes});
  }
  return ready;
}

Result<std::vector<HostRead>> prepare_reads(std::span<const ResidentRange> ranges,
                                            const HostMemory& memory) {
  std::vector<HostRead> ready;
  for (const ResidentRange& range : ranges) {
    FELSITE_TRY(auto buffer, memory.find(range.buffer));
    FELSITE_TRY(auto resolved, resolve_range(range.offset, range.length, buffer->bytes.size()));
    ready.push_back({std::move(buffer), resolved});
  }
  return ready;
}

Result<HostSubmission> prepare_submission(const ResidentSubmission& submission,
                                          const HostMemory& memory, PreparedPrograms& programs) {
  HostSubmission ready;
  ready.count = submission.count;
  FELSITE_TRY(auto fills, prepare_fills(submission.fills, memory));
  ready.fills = std::move(fills);
  FELSITE_TRY(auto uploads, prepare_uploads(submission.uploads, memory));
  ready.uploads = std::move(uploads);
  FELSITE_TRY(auto prefix, prepare_steps(submission.prefix, 0, memory, programs));
  ready.prefix = std::move(prefix);
  FELSITE_TRY(auto repeated,
              prepare_steps(submission.repeated, submission.prefix.size(), memory, programs));
  ready.repeated = std::move(repeated);
  FELSITE_TRY(auto reads, prepare_reads(submission.reads, memory));
  ready.reads = std::move(reads);
  return ready;
}

void run_uploads(std::span<const HostUpload> uploads) {
  for (const HostUpload& upload : uploads) {
    std::copy(upload.bytes.begin(), upload.bytes.end(),
              upload.buffer->bytes.data() + upload.offset);
    count(Counter::UploadBytes, upload.bytes.size());
  }
}

void run_reads(std::span<const HostRead> reads, std::vector<Bytes>& outputs) {
  std::vector<std::uint64_t> sizes;
  for (const HostRead& read : reads) sizes.push_back(read.range.length);
  count_slots(outputs, sizes);
  outputs.resize(reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const std::byte* const begin = reads[i].buffer->bytes.data() + reads[i].range.offset;
    outputs[i].assign(begin, begin + reads[i].range.length);
    count(Counter::DownloadBytes, reads[i].range.length);
  }
}

Result<DispatchTiming> run_submission(const HostSubmission& submission, std::vector<Bytes>& outputs,
                                      const SubmissionConfig& config,
                                      const ReferenceOptions& options,
                                      reference::OutOfBounds& out_of_bounds) {
  const auto start = Clock::now();
  FELSITE_CHECK(base::check_timeout(config.timeout));
  reference::RunOptions run{.reference = options, .deadline = base::Deadline(config.timeout)};
  count(Counter::Submissions);
  run_fills(submission.fills);
  run_uploads(submission.uploads);
  auto done = run_steps(submission.prefix, 0, run, out_of_bounds);
  for (std::uint32_t iteration = 0; done && iteration < submission.count; ++iteration) {
    if (submission.repeated.empty()) break;
    // Steps without workgroups check no clock.
    if (auto reason = base::reason_to_end(run.deadline, nullptr)) {
      return std::unexpected(std::move(*reason));
    }
    done = run_steps(submission.repeated, submission.prefix.size(), run, out_of_bounds);
  }
  if (!done) return std::unexpected(std::move(done.error()));
  run_reads(submission.reads, outputs);
  DispatchTiming timing;
  timing.wall_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
  timing.iterations_run = submission.repeated.empty() ? 1 : submission.count;
  return timing;
}

}  // namespace felsite::dispatch
