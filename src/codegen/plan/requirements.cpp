// Refuses what a program needs and a mask lacks, by the feature's name and at the place of its use.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "codegen/plan/plan.h"
#include "ir/analysis/workgroup_memory.h"
#include "ir/op_tables.h"
#include "ir/place.h"
#include "ir/walk.h"

namespace felsite::codegen {
namespace {

using ir::ExprKind;
using ir::NodeId;
using ir::NodeKind;
using ir::Type;

std::string place_text(const ir::Finding& place) {
  if (place.line == 0) return place.path;
  return fmt::format("line {}, column {}", place.line, place.column);
}

class Requirements {
 public:
  Requirements(const Segment& segment, const Plan& plan, const ir::UniformityMap& uniformity,
               const Capabilities& mask)
      : program_(segment.program),
        plan_(plan),
        uniformity_(uniformity),
        mask_(mask),
        places_(segment.program),
        is_one_workgroup_(segment.one_workgroup.has_value()) {}

  Result<void> check() {
    FELSITE_CHECK(check_limits());
    for (ir::Walk walk(program_, plan_.nodes); walk.next();) {
      if (walk.step() != ir::Walk::Step::Leaf && walk.step() != ir::Walk::Step::Enter) continue;
      around_ = walk.around();
      FELSITE_CHECK(check_node(walk.id()));
    }
    around_ = {};
    for (const ir::OpDecl& op : program_.ops()) {
      for (NodeId id = op.body.begin; id < op.body.end; ++id) {
        FELSITE_CHECK(check_node(id));
      }
      FELSITE_CHECK(check_tree(op.result));
    }
    return {};
  }

 private:
  Result<void> check_limits() const {
    const DeviceLimits& limits = mask_.limits;
    if (plan_.folding) return check_folded_limits();
    return ir::check_workgroup(
        program_, {limits.workgroup_size, limits.workgroup_invocations, limits.shared_bytes});
  }

  Result<void> check_folded_limits() const {
    if (!plan_.memory.workgroup_buffers.empty()) {
      return std::unexpected(base::unsupported(
          fmt::format(
              "The grid cannot run as one workgroup: each of its workgroups has its own `{}`.",
              program_.buffer(plan_.memory.workgroup_buffers[0]).name),
          "run the grid in another form.", program_.name()));
    }
    const std::uint64_t available = std::uint64_t{most_lanes(mask_.limits)} * kMaxTurns;
    if (plan_.folding->invocations > available) {
      return std::unexpected(base::over_limit("invocations for its grid as one workgroup",
                                              plan_.folding->invocations, available,
                                              "run the grid in another form.", program_.name()));
    }
    return {};
  }

  Result<void> check_node(NodeId id) {
    const ir::Node& node = program_.node(id);
    const auto refuse_node = [&](std::string_view what, std::string_view fix) {
      ir::Finding place;
      places_.at_node(id, place);
      return std::unexpected(base::unsupported(fmt::format("{} ({}).", what, place_text(place)),
                                               std::string(fix), program_.name()));
    };
    const bool of_grid = ir::is_grid_sync(node);
    if (node.kind == NodeKind::Barrier && !of_grid && plan_.folding) {
      return refuse_node(
          "The grid cannot run as one workgroup: this barrier is for one of its workgroups",
          "run the grid in another form.");
    }
    if (of_grid && !is_one_workgroup_) {
      return refuse_node("No device has grid_sync, the barrier of the whole grid, inside a kernel",
                         "split the program at its grid barriers and lower each segment.");
    }
    if (ir::info(node.kind).orders == ir::Orders::Grid) {
      return refuse_node("No device has collectives inside a kernel",
                         "split the program at its collectives and lower each segment.");
    }
    const bool is_copy = ir::info(node.kind).issues_copy;
    if (is_copy && program_.buffer(node.ref).element == Type::F64 && !mask_.has(Feature::Float64)) {
      return refuse_node("The program needs float64, which the device lacks",
                         fix_for(Feature::Float64));
    }
    if (is_copy && may_be_queued(id)) {
      return refuse_node(
          fmt::format("async_queue: the copy `{}` may be issued again before it is waited for",
                      program_.name(node.name)),
          "wait for it in the body of the same loop.");
    }
    for (const ir::ExprId root : program_.expressions(id)) {
      current_ = id;
      FELSITE_CHECK(check_tree(root));
    }
    return {};
  }

  // Whether two copies of one statement can be in flight: it is in a loop, and no wait for it is
  // in every trip of that loop. A wait directly in one of the bodies around the copy, from the
  // loop's own inwards, comes whenever the copy does.
  bool may_be_queued(NodeId copy) const {
    for (auto holder = around_.rbegin(); holder != around_.rend(); ++holder) {
      const ir::NodeRange then = program_.then_body(*holder);
      const bool in_then = copy >= then.begin && copy < then.end;
      if (has_wait(in_then ? then : program_.else_body(*holder), program_.node(copy).name)) {
        return false;
      }
      if (program_.node(*holder).kind == NodeKind::Loop) return true;
    }
    return false;
  }

  bool has_wait(ir::NodeRange body, ir::NameId tag) const {
    for (NodeId id = body.begin; id < body.end; id = program_.node(id).end) {
      const ir::Node& node = program_.node(id);
      if (node.kind == NodeKind::AsyncWait && node.name == tag) return true;
    }
    return false;
  }

  Result<void> check_tree(ir::ExprId root) {
    for (const ir::ExprId id : program_.rows(root)) {
      const ir::Expr& expr = program_.expr(id);
      if (expr.type == Type::F64 || operand_is_f64(id)) {
        FELSITE_CHECK(need(Feature::Float64, id));
      }
      if (expr.kind == ExprKind::Atomic) {
        FELSITE_CHECK(check_atomic(id));
      }
      const bool lanes = ir::info(expr.kind).purity == ir::Purity::ReadsLanes;
      if ((lanes || expr.kind == ExprKind::SubgroupLocalId) && plan_.folding) {
        return refuse("the subgroups of each workgroup of a grid that runs as one", id,
                      "run the grid in another form.");
      }
      if (lanes && plan_.subgroups == Subgroups::Emulated) {
        FELSITE_CHECK(check_emulated(id));
      }
    }
    return {};
  }

  bool operand_is_f64(ir::ExprId id) const {
    return std::ranges::any_of(program_.operands(id), [&](ir::ExprId operand) {
      return program_.expr(operand).type == Type::F64;
    });
  }

  Result<void> check_atomic(ir::ExprId id) {
    const ir::Expr& expr = program_.expr(id);
    const bool shared = program_.buffer(expr.ref).access == ir::Access::Workgroup;
    if (expr.type == Type::F32) {
      return need(shared ? Feature::SharedFloatAtomicAdd : Feature::FloatAtomicAdd, id);
    }
    if (ir::info(expr.type).bytes < 8) return {};
    FELSITE_CHECK(need(Feature::Int64, id));
    return need(shared ? Feature::SharedAtomics64 : Feature::Atomics64, id);
  }

  // The emulation through workgroup memory works only where all invocations meet.
  Result<void> check_emulated(ir::ExprId id) {
    if (uniformity_.control[current_] != ir::Uniformity::Divergent && !has_divergent_exit()) {
      return {};
    }
    return refuse("subgroup operations in divergent control flow", id,
                  "move the operation out of conditions and behind no return, or choose a device "
                  "with subgroup_ballot, subgroup_shuffle and linear_subgroups.");
  }

  bool has_divergent_exit() {
    if (!divergent_exit_) {
      divergent_exit_ = false;
      for (NodeId id = plan_.nodes.begin; id < plan_.nodes.end; ++id) {
        const NodeKind kind = program_.node(id).kind;
        const bool exits = ir::info(kind).ends_invocation;
        if (exits && uniformity_.control[id] == ir::Uniformity::Divergent) divergent_exit_ = true;
      }
    }
    return *divergent_exit_;
  }

  Result<void> need(Feature feature, ir::ExprId id) {
    if (mask_.has(feature)) return {};
    return refuse(info(feature).name, id, fix_for(feature));
  }

  static std::string fix_for(Feature feature) {
    return fmt::format("choose a device that has it ({}), or do without.", info(feature).means);
  }

  Result<void> refuse(std::string_view what, ir::ExprId id, std::string fix) {
    ir::Finding place;
    places_.at_expr(id, place);
    return std::unexpected(base::unsupported(
        fmt::format("The program needs {} ({}), which the device lacks.", what, place_text(place)),
        std::move(fix), program_.name()));
  }

  const ir::Program& program_;
  const Plan& plan_;
  const ir::UniformityMap& uniformity_;
  const Capabilities& mask_;
  ir::Places places_;
  const bool is_one_workgroup_;
  std::span<const NodeId> around_;  // the constructs around the current node
  NodeId current_ = 0;
  std::optional<bool> divergent_exit_;
};

}  // namespace

Result<void> check_requirements(const Segment& segment, const Plan& plan,
                                const ir::UniformityMap& uniformity, const Capabilities& mask) {
  return Requirements(segment, plan, uniformity, mask).check();
}

namespace {

// Buffers that Felsite adds are counted apart: the author cannot find them in the program. Those
// that a cut at grid barriers adds have names with this prefix.
Result<void> check_storage_buffers(const ir::Program& program, const Kernel& kernel,
                                   std::uint64_t most) {
  std::size_t kept = 0;
  for (const BufferBinding& binding : kernel.buffers) {
    if (program.buffer(binding.buffer).name.starts_with("felsite_")) ++kept;
  }
  const std::size_t own =
      kept + (kernel.status_binding ? 1 : 0) + (kernel.parameter_binding ? 1 : 0);
  const std::size_t all = kernel.buffers.size() - kept + own;
  if (all <= most) return {};
  std::vector<std::string> added;
  if (kept != 0) added.push_back(fmt::format("{} for what lives across grid barriers", kept));
  if (kernel.status_binding) added.emplace_back("1 for traps and loop budgets");
  if (kernel.parameter_binding) added.emplace_back("1 for lengths and the grid");
  std::string what = "storage buffers";
  if (own != 0) {
    what += fmt::format(" ({} of its own, and Felsite adds {})", all - own, fmt::join(added, ", "));
  }
  return std::unexpected(
      base::over_limit(what, all, most,
                       kept != 0 ? "use fewer buffers, put several into one, or keep less across "
                                   "grid barriers."
                                 : "use fewer buffers, or put several into one.",
                       program.name()));
}

}  // namespace

Result<void> check_kernel_limits(const ir::Program& program, const Kernel& kernel,
                                 const DeviceLimits& limits) {
  FELSITE_CHECK(check_storage_buffers(program, kernel, limits.storage_buffers));
  if (kernel.shared_bytes > limits.shared_bytes) {
    return std::unexpected(
        base::over_limit("bytes of workgroup memory", kernel.shared_bytes, limits.shared_bytes,
                         "give the workgroup buffers fewer elements.", program.name()));
  }
  return {};
}

bool has_native_subgroups(const ir::Program& program, const Capabilities& mask) {
  const auto& size = program.workgroup_size();
  const bool one_row = size[1] * size[2] == 1;
  const bool whole_rows = size[0] % mask.subgroup_size == 0;
  return mask.has(Feature::LinearSubgroups) && mask.has(Feature::SubgroupBallot) &&
         mask.has(Feature::SubgroupShuffle) && mask.subgroup_size <= 64 && (one_row || whole_rows);
}

}  // namespace felsite::codegen
