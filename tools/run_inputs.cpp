#include "run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"
#include "base/try.h"
#include "element_text.h"
#include "run_results.h"

namespace felsite::tool {
namespace {

using Extents = Extent3;

// The smallest grid with at least so many invocations on each axis.
Extents covering_grid(const Extents& invocations, const Extents& workgroup) {
  Extents grid{};
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    const std::uint32_t size = workgroup[axis];  // never 0: --workgroup and validation refuse that
    grid[axis] = invocations[axis] / size + (invocations[axis] % size != 0 ? 1 : 0);
  }
  return grid;
}

}  // namespace

DispatchConfig make_config(const RunArguments& args, const ir::Program& program) {
  DispatchConfig config;
  config.grid_override = parse_extents(args.grid);
  config.workgroup_override = parse_extents(args.workgroup);
  if (const auto invocations = parse_extents(args.invocations)) {
    config.grid_override =
        covering_grid(*invocations, config.workgroup_override.value_or(program.workgroup_size()));
  }
  config.fixpoint_iterations = args.fixpoint;
  if (args.convergence == "none") {
    config.convergence.kind = Convergence::Kind::None;
  } else if (args.convergence.starts_with("flag:")) {
    config.convergence = {Convergence::Kind::Flag, args.convergence.substr(5)};
  }
  if (args.grid_sync == "host-split") config.grid_sync = GridSync::HostSplit;
  if (args.grid_sync == "resident") config.grid_sync = GridSync::Resident;
  if (args.grid_sync == "one-workgroup") config.grid_sync = GridSync::OneWorkgroup;
  if (args.timeout_seconds > 0) {
    config.timeout = std::chrono::nanoseconds(
        static_cast<std::int64_t>(std::min(args.timeout_seconds, 1e9) * 1e9));
  }
  config.profile = args.timing;
  return config;
}

Result<std::vector<Bytes>> make_inputs(const ir::Program& program, const RunArguments& args) {
  std::vector<std::string> names;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (takes_caller_bytes(role_of(buffer))) names.push_back(buffer.name);
  }
  FELSITE_TRY(const auto specs, split_pairs(args.inputs, names, "input"));
  std::vector<Bytes> inputs;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!takes_caller_bytes(role_of(buffer))) continue;
    const auto spec = specs.find(buffer.name);
    if (spec == specs.end()) {
      return std::unexpected(
          base::bad_inputs(fmt::format("The input `{}` ({}) is missing.", buffer.name,
                                       ir::info(buffer.element).name),
                           fmt::format("add --input {}=…, such as {}=zeros:{}.", buffer.name,
                                       buffer.name, buffer.count != 0 ? buffer.count : 16)));
    }
    FELSITE_TRY(auto bytes, make_input(buffer, spec->second));
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

Result<ExplainInputs> known_inputs(const ir::Program& program, const RunArguments& args) {
  std::vector<std::string> names;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (takes_caller_bytes(role_of(buffer))) names.push_back(buffer.name);
  }
  FELSITE_TRY(const auto specs, split_pairs(args.inputs, names, "input"));
  ExplainInputs inputs;
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    const ir::BufferDecl& buffer = program.buffer(id);
    if (!takes_caller_bytes(role_of(buffer))) continue;
    inputs.bytes.emplace_back();
    inputs.contents.emplace_back();
    const auto spec = specs.find(buffer.name);
    if (spec == specs.end()) continue;
    FELSITE_TRY(inputs.contents.back(), make_input(buffer, spec->second));
    const Bytes& bytes = inputs.contents.back();
    inputs.bytes.back() = bytes.size();
    const ir::Node& first = program.node(program.entry().begin);
    if (!program.facts().has_indirect_dispatch || first.ref != id) continue;
    // Past the end reads as zero.
    inputs.indirect_grid.emplace();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint64_t at = (std::uint64_t{first.extra} + axis) * 4;
      if (at + 4 <= bytes.size()) {
        std::memcpy(&(*inputs.indirect_grid)[axis], bytes.data() + at, 4);
      }
    }
  }
  return inputs;
}

}  // namespace felsite::tool
