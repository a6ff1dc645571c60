#include "felsite/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/in_order.h"
#include "ir/fingerprint.h"

namespace felsite::ir {
namespace {

constexpr std::array<ExprKindInfo, kExprKindCount> kExprKinds{{
    {ExprKind::Literal, "Literal", 0, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Var, "Var", 0, Purity::ReadsVariable, DependsOn::Variable, Names::Variable},
    {ExprKind::Load, "Load", 1, Purity::ReadsMemory, DependsOn::Memory, Names::Buffer},
    {ExprKind::BufLen, "BufLen", 0, Purity::Pure, DependsOn::Grid, Names::Buffer},
    {ExprKind::InvocationId, "InvocationId", 0, Purity::Pure, DependsOn::Invocation,
     Names::Nothing},
    {ExprKind::WorkgroupId, "WorkgroupId", 0, Purity::Pure, DependsOn::Workgroup, Names::Nothing},
    {ExprKind::LocalId, "LocalId", 0, Purity::Pure, DependsOn::Local, Names::Nothing},
    {ExprKind::NumWorkgroups, "NumWorkgroups", 0, Purity::Pure, DependsOn::Grid, Names::Nothing},
    {ExprKind::WorkgroupSize, "WorkgroupSize", 0, Purity::Pure, DependsOn::Grid, Names::Nothing},
    {ExprKind::SubgroupLocalId, "SubgroupLocalId", 0, Purity::Pure, DependsOn::Lanes,
     Names::Nothing},
    {ExprKind::SubgroupSize, "SubgroupSize", 0, Purity::Pure, DependsOn::Device, Names::Nothing},
    {ExprKind::Binary, "Binary", 2, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Unary, "Unary", 1, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Select, "Select", 3, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Cast, "Cast", 1, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Bitcast, "Bitcast", 1, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Fma, "Fma", 3, Purity::Pure, DependsOn::Operands, Names::Nothing},
    {ExprKind::Atomic, "Atomic", 2, Purity::ChangesMemory, DependsOn::Memory, Names::Buffer},
    {ExprKind::SubgroupBallot, "SubgroupBallot", 1, Purity::ReadsLanes, DependsOn::Lanes,
     Names::Nothing},
    {ExprKind::SubgroupShuffle, "SubgroupShuffle", 2, Purity::ReadsLanes, DependsOn::Lanes,
     Names::Nothing},
    {ExprKind::SubgroupReduce, "SubgroupReduce", 1, Purity::ReadsLanes, DependsOn::Lanes,
     Names::Nothing},
    {ExprKind::Call, "Call", 0, Purity::Pure, DependsOn::Operands, Names::Operation},
}};

// Columns: expressions; body, branches, ends the invocation, issues a copy, allowed in an
// operation; variable, reads, writes, orders.
constexpr std::array<NodeKindInfo, kNodeKindCount> kNodeKinds{{
    {NodeKind::Let, "Let", 1, false, false, false, false, true, VariableUse::Declares,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Assign, "Assign", 1, false, false, false, false, true, VariableUse::Assigns,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Store, "Store", 2, false, false, false, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::Buffer, Orders::Nothing},
    {NodeKind::If, "If", 1, true, true, false, false, true, VariableUse::None, NodeMemory::None,
     NodeMemory::None, Orders::Nothing},
    {NodeKind::Loop, "Loop", 2, true, true, false, false, true, VariableUse::Declares,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Return, "Return", 0, false, false, true, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Block, "Block", 0, true, false, false, false, true, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Region, "Region", 0, true, false, false, false, true, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Barrier, "Barrier", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::ByOrdering},
    {NodeKind::IndirectDispatch, "IndirectDispatch", 0, false, false, false, false, false,
     VariableUse::None, NodeMemory::Buffer, NodeMemory::None, Orders::Nothing},
    {NodeKind::AsyncLoad, "AsyncLoad", 2, false, false, false, true, false, VariableUse::None,
     NodeMemory::Source, NodeMemory::None, Orders::Nothing},
    {NodeKind::AsyncStore, "AsyncStore", 2, false, false, false, true, false, VariableUse::None,
     NodeMemory::Source, NodeMemory::None, Orders::Nothing},
    {NodeKind::AsyncWait, "AsyncWait", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::Copies, Orders::Nothing},
    {NodeKind::Trap, "Trap", 1, false, false, true, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::Resume, "Resume", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::None, NodeMemory::None, Orders::Nothing},
    {NodeKind::AllReduce, "AllReduce", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::Buffer, NodeMemory::Buffer, Orders::Grid},
    {NodeKind::AllGather, "AllGather", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::Source, NodeMemory::Buffer, Orders::Grid},
    {NodeKind::ReduceScatter, "ReduceScatter", 0, false, false, false, false, false,
     VariableUse::None, NodeMemory::Source, NodeMemory::Buffer, Orders::Grid},
    {NodeKind::Broadcast, "Broadcast", 0, false, false, false, false, false, VariableUse::None,
     NodeMemory::Buffer, NodeMemory::Buffer, Orders::Grid},
}};

static_assert(base::in_order(kExprKinds, &ExprKindInfo::kind));
static_assert(base::in_order(kNodeKinds, &NodeKindInfo::kind));

template <class T>
std::size_t bytes_of(const std::vector<T>& rows) {
  return rows.capacity() * sizeof(T);
}

}  // namespace

const ExprKindInfo& info(ExprKind kind) { return kExprKinds[static_cast<std::size_t>(kind)]; }
const NodeKindInfo& info(NodeKind kind) { return kNodeKinds[static_cast<std::size_t>(kind)]; }

std::string_view to_string(Access access) {
  switch (access) {
    case Access::ReadOnly:
      return "readonly";
    case Access::ReadWrite:
      return "readwrite";
    case Access::WriteOnly:
      return "writeonly";
    case Access::Uniform:
      return "uniform";
    case Access::Workgroup:
      return "workgroup";
  }
  return "?";
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::Input:
      return "input";
    case Role::InputOutput:
      return "input-output";
    case Role::Output:
      return "output";
    case Role::Uniform:
      return "uniform";
    case Role::Shared:
      return "shared";
  }
  return "?";
}

Role role_of(const BufferDecl& buffer) {
  if (buffer.access == Access::Workgroup) return Role::Shared;
  if (buffer.output || buffer.pipeline_live_out) return Role::Output;
  switch (buffer.access) {
    case Access::ReadOnly:
      return Role::Input;
    case Access::ReadWrite:
      return Role::InputOutput;
    case Access::WriteOnly:
      return Role::Output;
    case Access::Uniform:
      return Role::Uniform;
    case Access::Workgroup:
      break;
  }
  return Role::Shared;
}

std::string to_string(Fingerprint fingerprint) {
  return fmt::format("{:016x}{:016x}", fingerprint.high, fingerprint.low);
}

LineColumn line_column(const SourceMap& map, std::uint32_t offset) {
  if (map.empty()) return {};
  const std::vector<std::uint32_t>& starts = *map.line_starts;
  const auto after = std::ranges::upper_bound(starts, offset);
  const auto line = static_cast<std::uint32_t>(after - starts.begin());
  return {line, offset - starts[line - 1] + 1};
}

Program::Program() : Program("", {1, 1, 1}, FloatMode::Exact, std::make_shared<const Arena>()) {}

Program::Program(std::string name, Extent3 workgroup_size, FloatMode float_mode,
                 std::shared_ptr<const Arena> arena)
    : arena_(std::move(arena)) {
  const Fingerprint fingerprint = fingerprint_of(name, workgroup_size, float_mode, *arena_);
  header_ =
      std::make_shared<const Header>(std::move(name), workgroup_size, float_mode, fingerprint);
}

std::size_t Expr::arity() const {
  const bool compares = kind == ExprKind::Atomic && atomic() == AtomicOp::CompareExchange;
  return info(kind).arity + (compares ? 1u : 0u);
}

std::span<const ExprId> Program::operands(ExprId id) const {
  const Expr& e = expr(id);
  if (e.kind == ExprKind::Call) {
    return std::span(arena_->call_operands).subspan(e.args[0], e.args[1]);
  }
  return std::span(e.args).first(e.arity());
}

std::span<const ExprId> Program::expressions(NodeId id) const {
  const Node& n = node(id);
  return std::span(n.args).first(info(n.kind).arity);
}

ExprId Program::first_row(ExprId root) const {
  // In post-order, the rows of a tree start with those of its first operand.
  for (auto args = operands(root); !args.empty(); args = operands(root)) root = args.front();
  return root;
}

RowRange Program::rows_of_node(NodeId id) const {
  const auto roots = expressions(id);
  if (roots.empty()) return {0, 0};
  return {first_row(roots.front()), roots.back() + 1};
}

NodeRange Program::then_body(NodeId id) const {
  const Node& n = node(id);
  if (!info(n.kind).has_body) return {id + 1, id + 1};
  return {id + 1, n.kind == NodeKind::If ? n.extra : n.end};
}

NodeRange Program::else_body(NodeId id) const {
  const Node& n = node(id);
  if (n.kind != NodeKind::If) return {n.end, n.end};
  return {n.extra, n.end};
}

std::optional<BufferId> Program::find_buffer(std::string_view name) const {
  const auto found = std::ranges::find(arena_->buffers, name, &BufferDecl::name);
  if (found == arena_->buffers.end()) return std::nullopt;
  return static_cast<BufferId>(found - arena_->buffers.begin());
}

Program Program::with_float_mode(FloatMode mode) const {
  return Program(header_->name, header_->workgroup_size, mode, arena_);
}

Program Program::with_workgroup_size(Extent3 size) const {
  return Program(header_->name, size, header_->float_mode, arena_);
}

std::size_t Program::storage_bytes() const {
  const Arena& a = *arena_;
  std::size_t bytes = sizeof(Arena) + bytes_of(a.exprs) + bytes_of(a.call_operands) +
                      bytes_of(a.nodes) + bytes_of(a.vars) + bytes_of(a.names) +
                      bytes_of(a.buffers) + bytes_of(a.ops) + bytes_of(a.source.exprs) +
                      bytes_of(a.source.nodes) + bytes_of(a.source.node_ends) +
                      bytes_of(a.source.else_arms);
  if (a.source.line_starts) bytes += bytes_of(*a.source.line_starts);
  for (const std::string& name : a.names) bytes += name.capacity();
  return bytes;
}

}  // namespace felsite::ir
