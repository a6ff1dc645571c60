#include "dispatch/binding_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/grid.h"

namespace felsite::dispatch {
namespace {

using namespace ir;

Error bad_inputs(const Program& program, std::string message, std::string fix) {
  Error error{.code = ErrorCode::BadInputs,
              .message = std::move(message),
              .fix = std::move(fix),
              .context = {}};
  error.context.program = program.name();
  return error;
}

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
        program,
        fmt::format(
            "Buffer `{}` was given {} bytes, which is no whole number of {} elements of {} bytes.",
            buffer.name, bytes, info(buffer.element).name, size),
        fmt::format("give a multiple of {} bytes.", size)));
  }
  const std::uint64_t count = bytes / size;
  if (buffer.count != 0 && count != buffer.count) {
    return std::unexpected(bad_inputs(
        program,
        fmt::format("Buffer `{}` takes {} elements, {} were given.", buffer.name, buffer.count,
                    count),
        fmt::format("give exactly {} elements, {} bytes.", buffer.count, buffer.count * size)));
  }
  if (count > UINT32_MAX) {
    return std::unexpected(bad_inputs(
        program,
        fmt::format("Buffer `{}` was given {} elements; indices have 32 bits.", buffer.name, count),
        "split the data over several buffers."));
  }
  return count;
}

}  // namespace

Program configured(const Program& program, const DispatchConfig& config) {
  Program made = program;
  if (config.workgroup_override) made = made.with_workgroup_size(*config.workgroup_override);
  const bool other_floats = config.float_mode && *config.float_mode != made.float_mode();
  return other_floats ? made.with_float_mode(*config.float_mode) : made;
}

Result<void> check_config(const Program& program, const DispatchConfig& config) {
  if (config.fixpoint_iterations == 0u) {
    return std::unexpected(bad_inputs(program, "A fixpoint of 0 iterations was asked for.",
                                      "ask for at least 1, or leave it out."));
  }
  if (config.convergence.kind == Convergence::Kind::Flag) {
    const auto flag = program.find_buffer(config.convergence.flag);
    const bool usable = flag && program.buffer(*flag).element == Type::U32 &&
                        gives_result(role_of(program.buffer(*flag)));
    if (!usable) {
      return std::unexpected(bad_inputs(
          program,
          fmt::format("The convergence flag `{}` is not a u32 buffer that the program can set.",
                      config.convergence.flag),
          "name a readwrite or output buffer of u32."));
    }
  }
  return {};
}

Result<BindingPlan> plan_bindings(const Program& program,
                                  std::span<const std::uint64_t> input_sizes,
                                  const DispatchConfig& config) {
  BindingPlan plan;
  for (const BufferDecl& buffer : program.buffers()) {
    if (takes_caller_bytes(role_of(buffer))) ++plan.input_count;
  }
  if (input_sizes.size() != plan.input_count) {
    return std::unexpected(
        bad_inputs(program,
                   fmt::format("The program takes {} inputs, {} were given.", plan.input_count,
                               input_sizes.size()),
                   fmt::format("give these, in this order: {}.", input_names(program))));
  }
  std::uint64_t largest_output = 0;
  std::uint64_t largest_input_output = 0;
  bool has_output = false;
  std::uint32_t next_input = 0;
  for (const BufferDecl& buffer : program.buffers()) {
    BoundBuffer bound{.role = role_of(buffer)};
    if (bound.role != Role::Shared) {
      bound.count = buffer.count;
      if (takes_caller_bytes(bound.role)) {
        bound.input = next_input++;
        const auto count = input_count(program, buffer, input_sizes[bound.input]);
        if (!count) return std::unexpected(count.error());
        bound.count = *count;
      }
      bound.bytes = bound.count * info(buffer.element).bytes;
    }
    if (gives_result(bound.role)) {
      bound.output = plan.output_count++;
      plan.output_bytes += bound.bytes;
    }
    if (bound.role == Role::Output) {
      has_output = true;
      largest_output = std::max(largest_output, bound.count);
    }
    if (bound.role == Role::InputOutput) {
      largest_input_output = std::max(largest_input_output, bound.count);
    }
    plan.buffers.push_back(bound);
  }
  plan.largest_result_count = has_output ? largest_output : largest_input_output;
  if (config.max_output_bytes && plan.output_bytes > *config.max_output_bytes) {
    Error error = bad_inputs(program,
                             fmt::format("The results take {} bytes; at most {} were allowed.",
                                         plan.output_bytes, *config.max_output_bytes),
                             "raise max_output_bytes, or declare smaller outputs.");
    error.context.requested = plan.output_bytes;
    error.context.available = *config.max_output_bytes;
    return std::unexpected(std::move(error));
  }
  return plan;
}

Result<std::array<std::uint32_t, 3>> plan_grid(
    const Program& program, const BindingPlan& plan, const DispatchConfig& config,
    const std::optional<std::array<std::uint32_t, 3>>& indirect) {
  if (config.grid_override && program.facts().has_indirect_dispatch) {
    return std::unexpected(bad_inputs(
        program, "The program reads its grid from a buffer, and a grid was given as well.",
        "leave the grid out, or take `indirect_dispatch` out of the program."));
  }
  std::array<std::uint32_t, 3> grid{};
  if (indirect) {
    grid = *indirect;
  } else if (config.grid_override) {
    grid = *config.grid_override;
  } else {
    const bool has_result = plan.output_count > 0;
    grid = infer_grid(has_result ? plan.largest_result_count : 1, program.workgroup_size());
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    constexpr std::uint64_t kMostInvocations = std::uint64_t{1} << 32;
    const std::uint64_t invocations = std::uint64_t{grid[axis]} * program.workgroup_size()[axis];
    if (invocations > kMostInvocations) {
      Error error = bad_inputs(
          program,
          fmt::format("{} workgroups of {} invocations on axis {} have ids of more than 32 bits.",
                      grid[axis], program.workgroup_size()[axis], "xyz"[axis]),
          "use fewer workgroups on that axis.");
      error.context.requested = invocations;
      error.context.available = kMostInvocations;
      return std::unexpected(std::move(error));
    }
  }
  return grid;
}

}  // namespace felsite::dispatch
