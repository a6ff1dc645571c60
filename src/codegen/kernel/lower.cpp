// From a program to a kernel: the steps, in their order.
#include <fmt/format.h>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "codegen/kernel/kernel_writer.h"
#include "codegen/plan/plan.h"
#include "felsite/validate.h"
#include "ir/analysis/workgroup_memory.h"

namespace felsite::codegen {
namespace {

// Known if the size is fixed and the lanes are a row, as those of a folded grid are.
bool is_one_subgroup(const Segment& segment, const Plan& plan, const Capabilities& mask) {
  const auto& size = segment.program.workgroup_size();
  return segment.one_workgroup && (plan.folding || size[1] * size[2] == 1) &&
         mask.has(Feature::LinearSubgroups) && plan.lanes <= mask.subgroup_size;
}

// The analyses come first: each reads the IR alone and makes plain data. Then what cannot be
// lowered is refused; from there on only the device's limits can fail.
Plan make_plan(const Segment& segment, const ir::UniformityMap& uniformity,
               const Capabilities& mask) {
  const ir::Program& program = segment.program;
  Plan plan;
  plan.nodes = program.entry();
  plan.bounds = prove_indices(program, plan.nodes, mask);
  plan.folding = plan_folding(segment, mask.limits);
  for (const std::uint32_t extent : program.workgroup_size()) plan.lanes *= extent;
  if (plan.folding) {
    plan.lanes = plan.folding->lanes;
    plan.turns = plan.folding->turns;
  }
  plan.regions = plan_regions(program, plan.nodes, uniformity, plan.folding);
  std::optional<std::uint32_t> taken = 0;  // of the loop budget
  if (segment.one_workgroup && segment.one_workgroup->iterations) {
    plan.iterations = plan_iterations(segment, mask);
    plan.iterations.trips_around = trips_around_iteration(segment, plan.lanes);
    const auto& changed = segment.one_workgroup->iterations->changed;
    taken = plan.iterations.trips_around * 2;  // before the first iteration, and behind it
    if (changed && program.buffer(*changed).count == 0) taken.reset();
  }
  plan.loops = plan_loops(program, plan.nodes, plan.regions, plan.turns, mask, taken);
  plan.subgroups = has_native_subgroups(program, mask) ? Subgroups::Native : Subgroups::Emulated;
  plan.memory = memory_use(segment, plan.nodes);
  plan.zeroed = ir::buffers_to_zero(program, plan.nodes, plan.memory.workgroup_buffers);
  // The lowering's own workgroup memory is among what barriers order.
  const bool emulated = program.facts().has_subgroup_ops && plan.subgroups == Subgroups::Emulated;
  plan.memory.workgroup_memory = plan.memory.workgroup_memory || plan.regions.needed || emulated;
  plan.memory.one_subgroup = is_one_subgroup(segment, plan, mask);
  plan.iterations.changes = choose_change_check(segment, plan.memory);
  return plan;
}

void declare_modes(Emitter& e) {
  SpirvModule& m = e.module();
  if (e.has(Feature::MemoryModel)) {
    m.memory_model(spv::MemoryModel::Vulkan);
    m.need(spv::Capability::VulkanMemoryModel);
    if (m.version() < 0x0001'0500) m.need_extension("SPV_KHR_vulkan_memory_model");
  }
  if (!e.exact()) return;
  const auto declare = [&](Feature feature, spv::Capability capability, spv::ExecutionMode mode,
                           std::uint32_t width) {
    if (!e.has(feature)) return;
    m.need(capability);
    if (m.version() < 0x0001'0400) m.need_extension("SPV_KHR_float_controls");
    m.execution_mode(mode, {width});
  };
  declare(Feature::PreserveSpecials32, spv::Capability::SignedZeroInfNanPreserve,
          spv::ExecutionMode::SignedZeroInfNanPreserve, 32);
  declare(Feature::RoundToEven32, spv::Capability::RoundingModeRTE,
          spv::ExecutionMode::RoundingModeRTE, 32);
  if (!m.needs(spv::Capability::Float64)) return;
  declare(Feature::PreserveSpecials64, spv::Capability::SignedZeroInfNanPreserve,
          spv::ExecutionMode::SignedZeroInfNanPreserve, 64);
  declare(Feature::RoundToEven64, spv::Capability::RoundingModeRTE,
          spv::ExecutionMode::RoundingModeRTE, 64);
}

// The largest that a mask accepts.
constexpr std::uint32_t kLargestSubgroup = 128;

Result<Kernel> lower_segment(const Segment& segment, const Capabilities& given,
                             const LowerOptions& options) {
  const ir::Program& program = segment.program;
  Capabilities mask = given;
  if (mask.subgroup_size == 0 || mask.subgroup_size > kLargestSubgroup) {
    return std::unexpected(
        base::unsupported(fmt::format("A subgroup size of {} is not from 1 to {}.",
                                      mask.subgroup_size, kLargestSubgroup),
                          "give the mask the size that the device states."));
  }
  if (segment.grid_in_parts) mask.limits.workgroup_count.fill(UINT32_MAX);
  if (segment.one_workgroup) mask.limits.workgroup_count = segment.one_workgroup->grid;
  FELSITE_CHECK(check_segment(segment));
  // Only what concerns several invocations at once depends on uniformity.
  const ir::Facts& facts = program.facts();
  const bool together = facts.has_barrier || facts.has_grid_sync || facts.has_subgroup_ops;
  const ir::UniformityMap uniformity =
      together ? ir::analyze_uniformity(program) : ir::UniformityMap{};
  const Plan plan = make_plan(segment, uniformity, mask);
  FELSITE_CHECK(check_requirements(segment, plan, uniformity, mask));

  Emitter emitter(mask, program.float_mode() == ir::FloatMode::Exact, options.names);
  Interface interface(emitter, segment, plan.folding);
  Buffers buffers(emitter, interface, program, plan.memory);
  KernelWriter writer(KernelPart(emitter, interface, buffers, segment, plan, options));
  const Id entry = writer.write();

  Kernel kernel;
  interface.finish(kernel);
  buffers.finish(kernel);
  kernel.trap_tags = writer.take_trap_tags();
  kernel.workgroup_size_is_fixed = segment.one_workgroup || facts.has_subgroup_ops ||
                                   plan.loops.counts_on_size ||
                                   plan.zeroed.size() != plan.memory.workgroup_buffers.size();
  SpirvModule& module = emitter.module();
  module.entry_point(entry);
  module.execution_mode(
      spv::ExecutionMode::LocalSize,
      {kernel.workgroup_size[0], kernel.workgroup_size[1], kernel.workgroup_size[2]});
  declare_modes(emitter);
  FELSITE_CHECK(check_kernel_limits(program, kernel, mask.limits));
  kernel.words = module.finish();
  return kernel;
}

}  // namespace

Result<Kernel> lower(const Segment& segment, const Capabilities& given,
                     const LowerOptions& options) {
  return base::guarded([&] { return lower_segment(segment, given, options); });
}

}  // namespace felsite::codegen
