#include "dispatch/schedule/binding_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/errors.h"
#include "base/try.h"
#include "base/words.h"
#include "dispatch/schedule/grid.h"

namespace felsite::dispatch {
namespace {

using namespace ir;
using base::bad_inputs;

std::string input_names(const Program& program) {
  std::string names;
  for (const BufferDecl& buffer : program.buffers()) {
    if (!takes_caller_bytes(role_of(buffer))) continue;
    names +=
        fmt::format("{}{}: {}", names.empty() ? "" : ", ", buffer.name, info(buffer.element).name);
  }
  return names.empty() ? "none" : names;
}

Result<std::uint64_t> input_count(const Program& program, const BufferDecl& buffer,
                                  std::uint64_t bytes) {
  const std::uint64_t size = info(buffer.element).bytes;
  if (bytes % size != 0) {
    return std::unexpected(bad_inputs(
        fmt::format(
            "Buffer `{}` was given {}, which is no whole number of {} elements of {} bytes.",
            buffer.name, base::counted(bytes, "byte"), info(buffer.element).name, size),
        fmt::format("give a multiple of {} bytes.", size), program.name()));
  }
  const std::uint64_t count = bytes / size;
  if (buffer.count != 0 && count != buffer.count) {
    return std::unexpected(
        bad_inputs(fmt::format("Buffer `{}` takes {} and was given {}.", buffer.name,
                               base::counted(buffer.count, "element"), count),
                   fmt::format("give exactly {}, {}.", base::counted(buffer.count, "element"),
                               base::counted(buffer.count * size, "byte")),
                   program.name()));
  }
  if (count > UINT32_MAX) {
    return std::unexpected(bad_inputs(
        fmt::format("Buffer `{}` was given {} elements; indices have 32 bits.", buffer.name, count),
        "split the data over several buffers.", program.name()));
  }
  return count;
}

// Switches without a default: the compiler reports a value that is missing.
bool exists(GridSync form) {
  switch (form) {
    case GridSync::Automatic:
    case GridSync::HostSplit:
    case GridSync::Resident:
    case GridSync::OneWorkgroup:
      return true;
  }
  return false;
}

bool exists(Convergence::Kind kind) {
  switch (kind) {
    case Convergence::Kind::Automatic:
    case Convergence::Kind::Flag:
    case Convergence::Kind::None:
      return true;
  }
  return false;
}

bool exists(FloatMode mode) {
  switch (mode) {
    case FloatMode::Exact:
    case FloatMode::Fast:
      return true;
  }
  return false;
}

// There is one rank, so a broadcast can only come from rank 0.
Result<void> check_ranks(const Program& program) {
  if (!program.facts().has_collectives) return {};
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const Node& node = program.node(id);
    if (node.kind != NodeKind::Broadcast || node.extra == 0) continue;
    return std::unexpected(
        bad_inputs(fmt::format("A broadcast of `{}` comes from rank {}, and there is only rank 0.",
                               program.buffer(node.ref).name, node.extra),
                   "broadcast from rank 0.", program.name()));
  }
  return {};
}

Result<void> check_output_bytes(const Program& program, std::uint64_t bytes,
                                const DispatchConfig& config) {
  if (!config.max_output_bytes || bytes <= *config.max_output_bytes) return {};
  Error error = bad_inputs(fmt::format("The results take {} bytes; at most {} were allowed.", bytes,
                                       *config.max_output_bytes),
                           "raise max_output_bytes, or declare smaller outputs.", program.name());
  return std::unexpected(base::with_amounts(std::move(error), bytes, *config.max_output_bytes));
}

}  // namespace

Result<void> check_choices(const Program& program, const DispatchConfig& config) {
  const auto refused = [&](std::string_view what, auto value, std::string_view fix) {
    return std::unexpected(
        bad_inputs(fmt::format("{} number {} does not exist.", what, static_cast<unsigned>(value)),
                   std::string(fix), program.name()));
  };
  if (!exists(config.grid_sync)) {
    return refused("A form of grid barriers with the", config.grid_sync,
                   "set grid_sync to one of the values of GridSync.");
  }
  if (!exists(config.convergence.kind)) {
    return refused("A convergence with the", config.convergence.kind,
                   "set convergence.kind to one of the values of Convergence::Kind.");
  }
  if (config.float_mode && !exists(*config.float_mode)) {
    return refused("A float mode with the", *config.float_mode,
                   "set float_mode to one of the values of FloatMode, or leave it out.");
  }
  return {};
}

Program configured(const Program& program, const DispatchConfig& config) {
  Program made = program;
  if (config.workgroup_override) made = made.with_workgroup_size(*config.workgroup_override);
  const bool other_floats = config.float_mode && *config.float_mode != made.float_mode();
  return other_floats ? made.with_float_mode(*config.float_mode) : made;
}

Result<void> check_config(const Program& program, const DispatchConfig& config) {
  FELSITE_CHECK(check_choices(program, config));
  if (config.fixpoint_iterations == 0u) {
    return std::unexpected(bad_inputs("A fixpoint of 0 iterations was asked for.",
                                      "ask for at least 1, or leave it out.", program.name()));
  }
  if (config.convergence.kind == Convergence::Kind::Flag) {
    const auto flag = program.find_buffer(config.convergence.flag);
    const bool usable = flag && program.buffer(*flag).element == Type::U32 &&
                        gives_result(role_of(program.buffer(*flag)));
    if (!usable) {
      return std::unexpected(bad_inputs(
          fmt::format("The convergence flag `{}` is not a u32 buffer that the program can set.",
                      config.convergence.flag),
          "name a readwrite or output buffer of u32.", program.name()));
    }
  }
  return {};
}

Result<BindingPlan> plan_bindings(const Program& program,
                                  std::span<const std::uint64_t> input_sizes,
                                  const DispatchConfig& config) {
  FELSITE_CHECK(check_ranks(program));
  BindingPlan plan;
  for (const BufferDecl& buffer : program.buffers()) {
    if (takes_caller_bytes(role_of(buffer))) ++plan.input_count;
  }
  if (input_sizes.size() != plan.input_count) {
    return std::unexpected(bad_inputs(
        fmt::format("The program takes {} and was given {}.",
                    base::counted(plan.input_count, "input"), input_sizes.size()),
        fmt::format("give these, in this order: {}.", input_names(program)), program.name()));
  }
  std::uint32_t next_input = 0;
  for (const BufferDecl& buffer : program.buffers()) {
    BoundBuffer bound{.role = role_of(buffer)};
    if (bound.role != Role::Shared) {
      bound.count = buffer.count;
      if (takes_caller_bytes(bound.role)) {
        bound.input = next_input++;
        FELSITE_TRY(const auto count, input_count(program, buffer, input_sizes[bound.input]));
        bound.count = count;
      }
      bound.bytes = bound.count * info(buffer.element).bytes;
    }
    if (gives_result(bound.role)) {
      bound.output = plan.output_count++;
      plan.output_bytes += bound.bytes;
    }
    plan.buffers.push_back(bound);
  }
  FELSITE_CHECK(check_output_bytes(program, plan.output_bytes, config));
  return plan;
}

Result<void> check_without_inputs(const Program& program, const DispatchConfig& config) {
  FELSITE_CHECK(check_config(program, config));
  // A grid that was given depends on no binding.
  if (config.grid_override) FELSITE_CHECK(plan_grid(program, {}, config, std::nullopt));
  std::uint64_t declared = 0;
  for (const BufferDecl& buffer : program.buffers()) {
    if (!gives_result(role_of(buffer))) continue;
    declared += std::uint64_t{buffer.count} * info(buffer.element).bytes;
  }
  return check_output_bytes(program, declared, config);
}

std::optional<BufferId> largest_buffer(const Program& program, const BindingPlan& plan,
                                       const DispatchConfig& config) {
  const bool flags = config.convergence.kind == Convergence::Kind::Flag;
  std::optional<BufferId> largest;
  for (BufferId id = 0; id < plan.buffers.size(); ++id) {
    const Role role = plan.buffers[id].role;
    if (role == Role::Shared || role == Role::Uniform) continue;
    if (flags && program.buffer(id).name == config.convergence.flag) continue;
    if (!largest || plan.buffers[id].count > plan.buffers[*largest].count) largest = id;
  }
  return largest;
}

Result<void> check_grid_size(const Program& program, const Extent3& grid) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
  const auto groups = base::volume(grid);
  if (groups && *groups <= kMax) return {};
  return std::unexpected(base::with_amounts(
      base::unsupported(
          fmt::format("A grid of {} x {} x {} workgroups is too large.", grid[0], grid[1], grid[2]),
          "use fewer workgroups, 2^48 at the most.", program.name()),
      groups.value_or(UINT64_MAX), kMax));
}

namespace {

// A workgroup size that the caller gave may extend along an axis whose ids the program does not
// read. The grid would be inferred along that axis too, and nearly all invocations would be alike.
Result<void> check_inferred_axis(const Program& program, const DispatchConfig& config) {
  if (!config.workgroup_override) return {};
  const Extent3& size = program.workgroup_size();
  const auto extends = std::ranges::find_if(size, [](std::uint32_t extent) { return extent > 1; });
  if (extends == size.end()) return {};
  const auto axis = static_cast<std::size_t>(extends - size.begin());
  std::array<bool, 3> is_read{};
  for (const ir::Expr& expr : program.exprs()) {
    const bool is_id = expr.kind == ir::ExprKind::InvocationId ||
                       expr.kind == ir::ExprKind::WorkgroupId || expr.kind == ir::ExprKind::LocalId;
    if (is_id) is_read[expr.aux] = true;
  }
  const auto other = std::ranges::find(is_read, true);
  if (is_read[axis] || other == is_read.end()) return {};
  const char along = "xyz"[other - is_read.begin()];
  return std::unexpected(bad_inputs(
      fmt::format("A workgroup of ({}, {}, {}) extends along {}, the program only reads ids along "
                  "other axes, and no grid was given.",
                  size[0], size[1], size[2], "xyz"[axis]),
      fmt::format("give a workgroup size along {}, or pass a grid.", along), program.name()));
}

}  // namespace

Result<Extent3> plan_grid(const Program& program, const BindingPlan& plan,
                          const DispatchConfig& config, const std::optional<Extent3>& indirect) {
  if (config.grid_override && program.facts().has_indirect_dispatch) {
    return std::unexpected(bad_inputs(
        "The program reads its grid from a buffer, and a grid was given as well.",
        "leave the grid out, or take `indirect_dispatch` out of the program.", program.name()));
  }
  Extent3 grid{};
  if (indirect) {
    grid = *indirect;
  } else if (config.grid_override) {
    grid = *config.grid_override;
  } else {
    const auto largest = largest_buffer(program, plan, config);
    const auto inferred =
        infer_grid(largest ? plan.buffers[*largest].count : 1, program.workgroup_size());
    if (!inferred) {
      const auto& size = program.workgroup_size();
      return std::unexpected(bad_inputs(
          fmt::format("A workgroup of ({}, {}, {}) has more than one axis, and no grid was given.",
                      size[0], size[1], size[2]),
          "pass a grid: the number of workgroups on each axis.", program.name()));
    }
    grid = *inferred;
    FELSITE_CHECK(check_inferred_axis(program, config));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    constexpr std::uint64_t kMaxInvocations = std::uint64_t{1} << 32;
    const std::uint64_t invocations = std::uint64_t{grid[axis]} * program.workgroup_size()[axis];
    if (invocations > kMaxInvocations) {
      Error error = bad_inputs(
          fmt::format("{} workgroups of {} invocations on axis {} have ids of more than 32 bits.",
                      grid[axis], program.workgroup_size()[axis], "xyz"[axis]),
          "use fewer workgroups on that axis.", program.name());
      return std::unexpected(base::with_amounts(std::move(error), invocations, kMaxInvocations));
    }
  }
  FELSITE_CHECK(check_grid_size(program, grid));
  return grid;
}

std::string grid_reason(const Program& program, const BindingPlan& plan,
                        const DispatchConfig& config) {
  if (program.facts().has_indirect_dispatch) return "read from a buffer";
  if (config.grid_override) return "as given";
  const auto largest = largest_buffer(program, plan, config);
  if (!largest) return "the program has no storage buffer that would ask for more";
  const std::uint64_t count = plan.buffers[*largest].count;
  return fmt::format("for the {} of `{}`", base::counted(count, "element"),
                     program.buffer(*largest).name);
}

}  // namespace felsite::dispatch
