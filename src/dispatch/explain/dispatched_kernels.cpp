#include "felsite/dispatched_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.h"
#include "base/guarded.h"
#include "dispatch/explain/assumed_sizes.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {
namespace {

class KernelLister {
 public:
  KernelLister(ir::ValidProgram program, const DispatchConfig& config, const ExplainInputs& inputs,
               const DeviceProfile& device)
      : program_(std::move(program)), config_(config), inputs_(inputs), device_(device) {}

  Result<DispatchedKernels> run() {
    FELSITE_CHECK(check_config(program_, config_));
    FELSITE_CHECK(find_sizes());
    FELSITE_CHECK(find_grid());
    FELSITE_TRY(const auto schedule,
                schedule_with(program_, config_, bindings_, grid_, device_, inputs_));
    out_.route = to_string(schedule.route.route);
    out_.reason = schedule.route.reason;
    switch (schedule.route.route) {
      case Route::Native:
        FELSITE_CHECK(add({.program = program_}, std::string(program_.name())));
        break;
      case Route::HostSplit:
        FELSITE_CHECK(add_split_segments());
        break;
      case Route::Plain:
      case Route::Resident:
      case Route::OneWorkgroup:
        FELSITE_CHECK(add_scheduled(schedule));
        break;
    }
    return std::move(out_);
  }

 private:
  Result<void> find_sizes() {
    const AssumedInputs assumed = assumed_inputs(program_, inputs_);
    if (!assumed.missing.empty()) {
      out_.assumptions.push_back(
          fmt::format("{} {} taken to have {} elements.", fmt::join(assumed.missing, ", "),
                      assumed.missing.size() == 1 ? "is" : "are", kAssumedElements));
    }
    FELSITE_TRY(bindings_, plan_bindings(program_, assumed.bytes, config_));
    return {};
  }

  Result<void> find_grid() {
    const bool indirect = program_.facts().has_indirect_dispatch;
    const bool is_known =
        indirect ? inputs_.indirect_grid.has_value()
                 : config_.grid_override || infer_grid(1, program_.workgroup_size()).has_value();
    const auto words = indirect ? inputs_.indirect_grid : std::nullopt;
    if (is_known) {
      FELSITE_TRY(grid_, plan_grid(program_, bindings_, config_, words));
      return {};
    }
    grid_ = assumed_grid(program_.workgroup_size());
    out_.assumptions.push_back(
        fmt::format("The grid is taken to be one for {} elements.", kAssumedElements));
    return {};
  }

  Result<void> add(const ScheduledKernel& kernel, std::string name) {
    FELSITE_TRY(auto valid, ir::require_valid(kernel.program));
    out_.kernels.push_back({std::move(name), kernel.as_segment(std::move(valid))});
    return {};
  }

  Result<void> add_scheduled(const Schedule& schedule) {
    for (std::uint32_t k = 0; k < schedule.kernels.size(); ++k) {
      std::string name(schedule.kernels[k].program.name());
      for (const auto* steps : {&schedule.repeated, &schedule.prefix}) {
        const auto step = std::ranges::find(*steps, k, &ScheduledStep::kernel);
        if (step != steps->end()) name = step->name;
      }
      FELSITE_CHECK(add(schedule.kernels[k], std::move(name)));
    }
    return {};
  }

  // The host runs each segment as a program.
  Result<void> add_split_segments() {
    const std::uint64_t binding = device_.max_storage_buffer_bytes;
    GridSyncOptions options{
        .many_iterations = config_.fixpoint_iterations.value_or(1) > 1,
        .spread = spread_that_fits(program_, grid_, binding != 0 ? binding : UINT64_MAX)};
    FELSITE_TRY(auto plan, plan_grid_sync(program_, options));
    if (!plan.host_resolvable) {
      options.store_choices = true;
      FELSITE_TRY(plan, plan_grid_sync(program_, options));
    }
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
      if (plan.segments[s].empty) continue;
      FELSITE_CHECK(add({.program = plan.segments[s].program},
                        fmt::format("{} segment {}", program_.name(), s)));
    }
    return {};
  }

  const ir::ValidProgram program_;
  const DispatchConfig& config_;
  const ExplainInputs& inputs_;
  const DeviceProfile& device_;
  BindingPlan bindings_;
  Extent3 grid_{};
  DispatchedKernels out_;
};

}  // namespace
}  // namespace felsite::dispatch

namespace felsite {

Result<DispatchedKernels> dispatched_kernels(const ir::Program& program,
                                             const DispatchConfig& config,
                                             const ExplainInputs& inputs,
                                             const DeviceProfile& device) {
  auto found = base::guarded([&]() -> Result<DispatchedKernels> {
    FELSITE_TRY(auto configured, dispatch::valid_configured(program, config));
    return dispatch::KernelLister(std::move(configured), config, inputs, device).run();
  });
  if (found) return found;
  return std::unexpected(base::with_program(std::move(found.error()), program.name()));
}

}  // namespace felsite
