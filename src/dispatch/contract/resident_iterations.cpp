// Iterations on resident buffers of a backend that runs grid barriers itself: the host compares.
#include <algorithm>

#include "base/deadline.h"
#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/iteration_rule.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/counters.h"
#include "felsite/backend.h"

namespace felsite {
namespace {

// The bytes of each resource that the program sees.
Result<std::vector<dispatch::ByteRange>> ranges_of(const Backend& backend,
                                                   const ir::Program& program,
                                                   std::span<const ResidentResource> resources) {
  std::vector<std::uint64_t> sizes;
  for (const ResidentResource& resource : resources) {
    FELSITE_TRY(const auto size, backend.resident_size(resource.buffer));
    sizes.push_back(size);
  }
  return dispatch::resolve_resources(program, resources, sizes);
}

Result<Extent3> grid_of(const ir::Program& given, std::span<const dispatch::ByteRange> ranges,
                        const DispatchConfig& config) {
  const ir::Program program = dispatch::configured(given, config);
  std::vector<std::uint64_t> sizes;
  for (const dispatch::ByteRange& range : ranges) sizes.push_back(range.length);
  FELSITE_TRY(const auto plan, dispatch::plan_resources(program, sizes, config));
  return dispatch::plan_grid(program, plan, config, std::nullopt);
}

}  // namespace

Result<DispatchTiming> Backend::dispatch_resident_iterations(
    const ir::Program& program, std::span<const ResidentResource> resources,
    const DispatchConfig& config) {
  const dispatch::IterationRule rule = dispatch::iteration_rule(program, config);
  const std::vector<ir::BufferId> order = dispatch::resource_order(program);
  FELSITE_TRY(const auto ranges, ranges_of(*this, program, resources));
  // What the host reads after each iteration.
  std::vector<ResidentRange> looked_at;
  std::vector<ResidentFill> cleared;
  const std::vector<ir::BufferId> changed = dispatch::changed_buffers(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [offset, length] = ranges[i];
    const ResidentHandle& buffer = resources[i].buffer;
    const bool is_flag = order[i] == rule.flag;
    if (is_flag) cleared.push_back({.buffer = buffer, .offset = offset, .length = length});
    const bool evolves = rule.compares && std::ranges::binary_search(changed, order[i]);
    if (is_flag || evolves) looked_at.push_back({buffer, offset, length});
  }
  ResidentStep step = dispatch::step_of(program, resources, config);
  // A step does not know which buffer is the flag, and the flag must not decide the grid.
  if (rule.flag && !config.grid_override && !program.facts().has_indirect_dispatch) {
    FELSITE_TRY(step.grid_override, grid_of(program, ranges, config));
  }
  std::vector<Bytes> before;
  if (rule.compares) {
    FELSITE_CHECK(download_resident_ranges_into(looked_at, before));
  }
  const base::Deadline deadline(config.timeout);
  std::vector<Bytes> after;
  std::optional<DispatchTiming> total;
  std::uint32_t iterations = 0;
  bool converged = false;
  while (iterations < rule.bound && !converged) {
    SubmissionConfig how{.profile = config.profile, .label = config.label};
    if (config.timeout) how.timeout = deadline.remaining();
    auto timing =
        submit_resident({.fills = cleared, .prefix = {&step, 1}, .reads = looked_at}, after, how);
    if (!timing) {
      return std::unexpected(base::with_program(std::move(timing.error()), program.name()));
    }
    total = total ? sum(*total, *timing) : std::move(*timing);
    ++iterations;
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (rule.compares) converged = after == before;
    if (rule.flag) converged = std::ranges::all_of(after.front(), is_zero);
    before.swap(after);
  }
  total->iterations_run = iterations;
  total->converged = converged;
  dispatch::count(Counter::IterationsRun, iterations);
  if (converged) dispatch::count(Counter::IterationsSkipped, rule.bound - iterations);
  return std::move(*total);
}

}  // namespace felsite
