#include "ir/assembler.h"

#include <utility>

namespace felsite::ir {
namespace {

bool is_of_subgroups(ExprKind kind) {
  return kind == ExprKind::SubgroupLocalId || kind == ExprKind::SubgroupSize ||
         kind == ExprKind::SubgroupBallot || kind == ExprKind::SubgroupShuffle ||
         kind == ExprKind::SubgroupReduce;
}

}  // namespace

Assembler::Assembler(Positions positions)
    : arena_(std::make_unique<Arena>()), positions_(positions) {
  // The segments of a program are many and small: most have room in this.
  arena_->exprs.reserve(16);
  arena_->nodes.reserve(8);
  if (positions_ == Positions::None) return;
  arena_->source.exprs.reserve(16);
  arena_->source.nodes.reserve(8);
}

NameId Assembler::intern(std::string_view text) {
  if (const auto found = name_ids_.find(text); found != name_ids_.end()) return found->second;
  const auto id = static_cast<NameId>(arena_->names.size());
  arena_->names.emplace_back(text);
  name_ids_.emplace(text, id);
  named_.emplace_back();
  return id;
}

BufferId Assembler::add_buffer(BufferDecl buffer, std::uint32_t at) {
  const auto id = static_cast<BufferId>(arena_->buffers.size());
  const NameId name = intern(buffer.name);
  if (named_[name].buffer == kNone) named_[name].buffer = id;
  arena_->buffers.push_back(std::move(buffer));
  if (positions_ == Positions::Text) arena_->source.buffers.push_back(at);
  return id;
}

std::uint32_t Assembler::buffer_ref(std::string_view text) {
  const NameId name = intern(text);
  return named_[name].buffer != kNone ? named_[name].buffer : (kUnresolved | name);
}

std::uint32_t Assembler::variable_ref(std::string_view text) {
  const NameId name = intern(text);
  return named_[name].variable != kNone ? named_[name].variable : (kUnresolved | name);
}

std::uint32_t Assembler::op_ref(std::string_view text) {
  const NameId name = intern(text);
  return named_[name].op != kNone ? named_[name].op : (kUnresolved | name);
}

VarId Assembler::declare(std::string_view text, Type type, VarKind kind) {
  const NameId name = intern(text);
  const auto id = static_cast<VarId>(arena_->vars.size());
  arena_->vars.push_back({.name = name, .type = type, .kind = kind, .assigned = false, .uses = 0});
  // Nothing can refer to `_`: it takes a value that is not used.
  if (text != "_") {
    undo_.push_back({name, named_[name].variable});
    named_[name].variable = id;
  }
  return id;
}

void Assembler::close_scope() {
  const std::size_t start = scope_starts_.back();
  scope_starts_.pop_back();
  while (undo_.size() > start) {
    named_[undo_.back().name].variable = undo_.back().before;
    undo_.pop_back();
  }
}

VarId Assembler::open_op(std::string_view text, std::span<const Param> params, Type result,
                         std::uint32_t at) {
  const NameId name = intern(text);
  const auto id = static_cast<OpId>(arena_->ops.size());
  // The operation is visible in its own body, so that validation reports recursion as such.
  if (named_[name].op == kNone) named_[name].op = id;
  open_scope();
  const auto first_param = static_cast<VarId>(arena_->vars.size());
  for (const Param& param : params) declare(param.name, param.type, VarKind::Param);
  const auto begin = static_cast<NodeId>(arena_->nodes.size());
  arena_->ops.push_back({.name = name,
                         .first_param = first_param,
                         .param_count = static_cast<std::uint32_t>(params.size()),
                         .result_type = result,
                         .body = {begin, begin},
                         .result = kNone});
  if (positions_ == Positions::Text) arena_->source.ops.push_back(at);
  return first_param;
}

void Assembler::close_op(ExprId result, std::uint32_t at, std::uint32_t end) {
  OpDecl& op = arena_->ops.back();
  op.body.end = static_cast<NodeId>(arena_->nodes.size());
  op.result = result;
  if (positions_ == Positions::Text) {
    arena_->source.op_results.push_back(at);
    arena_->source.op_ends.push_back(end);
  }
  close_scope();
}

ExprId Assembler::append(const Expr& expr, std::span<const ExprId> operands, std::uint32_t at) {
  Facts& facts = arena_->facts;
  facts.has_atomics |= expr.kind == ExprKind::Atomic;
  facts.has_subgroup_ops |= is_of_subgroups(expr.kind);
  facts.has_calls |= expr.kind == ExprKind::Call;
  if (expr.kind == ExprKind::Var && is_resolved(expr.ref)) ++arena_->vars[expr.ref].uses;
  const Type type = type_of(expr, operands);
  Expr& row = arena_->exprs.emplace_back(expr);
  row.type = type;
  if (expr.kind == ExprKind::Literal) {
    row.set_literal_bits(canonical_bits(type, expr.literal_bits()));
  } else if (expr.kind == ExprKind::Call) {
    std::vector<ExprId>& all = arena_->call_operands;
    row.args = {static_cast<std::uint32_t>(all.size()), static_cast<std::uint32_t>(operands.size()),
                kNone};
    all.insert(all.end(), operands.begin(), operands.end());
  } else {
    for (std::size_t i = 0; i < 3; ++i) row.args[i] = i < operands.size() ? operands[i] : kNone;
  }
  if (positions_ != Positions::None) arena_->source.exprs.push_back(at != 0 ? at : here_);
  return static_cast<ExprId>(arena_->exprs.size() - 1);
}

// None if an operand has a type that does not fit, or a name means nothing.
Type Assembler::type_of(const Expr& expr, std::span<const ExprId> operands) const {
  const auto of = [&](std::size_t i) { return type(operands[i]); };
  switch (expr.kind) {
    case ExprKind::Literal:
    case ExprKind::Cast:
    case ExprKind::Bitcast:
      return expr.type;
    case ExprKind::Var:
      return is_resolved(expr.ref) ? arena_->vars[expr.ref].type : Type::None;
    case ExprKind::Load:
    case ExprKind::Atomic:
      return is_resolved(expr.ref) ? info(arena_->buffers[expr.ref].element).loaded : Type::None;
    case ExprKind::BufLen:
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize:
      return Type::U32;
    case ExprKind::Binary:
      return of(0) == of(1) ? result_type(info(expr.binary()).rule, of(0)) : Type::None;
    case ExprKind::Unary:
      return result_type(info(expr.unary()).rule, of(0));
    case ExprKind::Select:
      return of(1) == of(2) ? of(1) : Type::None;
    case ExprKind::Fma:
      return of(0) == of(1) && of(1) == of(2) && kFloatTypes.has(of(0)) ? of(0) : Type::None;
    case ExprKind::SubgroupBallot:
      return Type::U64;
    case ExprKind::SubgroupShuffle:
      return of(0);
    case ExprKind::SubgroupReduce:
      return info(expr.reduce()).operands.has(of(0)) ? of(0) : Type::None;
    case ExprKind::Call:
      return is_resolved(expr.ref) ? arena_->ops[expr.ref].result_type : Type::None;
  }
  return Type::None;
}

VarId Assembler::append(Node node, std::uint32_t at, std::string_view declared) {
  const NodeKindInfo& kind = info(node.kind);
  Facts& facts = arena_->facts;
  facts.has_grid_sync |= is_grid_sync(node);
  facts.has_barrier |= node.kind == NodeKind::Barrier && !is_grid_sync(node);
  facts.has_indirect_dispatch |= node.kind == NodeKind::IndirectDispatch;
  facts.has_async |= kind.issues_copy;
  facts.has_trap |= node.kind == NodeKind::Trap;
  facts.has_collectives |= kind.orders == Orders::Grid;
  const auto id = static_cast<NodeId>(arena_->nodes.size());
  if (kind.has_body) {
    open_nodes_.push_back(id);
    open_scope();
  }
  // The variable of a loop lives in the scope of the body.
  if (node.kind == NodeKind::Loop) node.ref = declare(declared, Type::U32, VarKind::Loop);
  if (node.kind == NodeKind::Let) node.ref = declare(declared, type(node.args[0]), VarKind::Let);
  if (kind.variable == VariableUse::Assigns && is_resolved(node.ref)) {
    arena_->vars[node.ref].assigned = true;
  }
  if (node.kind == NodeKind::If) node.extra = kNone;  // until open_else or close
  node.end = id + 1;
  arena_->nodes.push_back(node);
  if (positions_ != Positions::None) arena_->source.nodes.push_back(at != 0 ? at : here_);
  if (positions_ == Positions::Text) {
    arena_->source.node_ends.push_back(at);
    arena_->source.else_arms.push_back(0);
  }
  just_closed_ = id;
  return kind.variable == VariableUse::Declares ? node.ref : kNone;
}

void Assembler::open_else(std::uint32_t at) {
  close_scope();
  open_scope();
  arena_->nodes[open_nodes_.back()].extra = static_cast<NodeId>(arena_->nodes.size());
  if (positions_ == Positions::Text) arena_->source.else_arms[open_nodes_.back()] = at;
}

void Assembler::close() {
  const NodeId id = open_nodes_.back();
  open_nodes_.pop_back();
  close_scope();
  Node& node = arena_->nodes[id];
  node.end = static_cast<NodeId>(arena_->nodes.size());
  if (node.kind == NodeKind::If && node.extra == kNone) node.extra = node.end;
  just_closed_ = id;
}

void Assembler::end_node_at(std::uint32_t at) {
  if (just_closed_ != kNone) arena_->source.node_ends[just_closed_] = at;
}

void Assembler::keep_positions(std::vector<std::uint32_t> line_starts, std::uint32_t program_begin,
                               std::uint32_t program_end) {
  arena_->source.line_starts =
      std::make_shared<const std::vector<std::uint32_t>>(std::move(line_starts));
  arena_->source.program_begin = program_begin;
  arena_->source.program_end = program_end;
}

void Assembler::keep_positions(const SourceMap& source) {
  arena_->source.line_starts = source.line_starts;
  arena_->source.program_begin = source.program_begin;
  arena_->source.program_end = source.program_end;
  here_ = source.program_begin;
}

Program Assembler::finish(std::string_view program_name, Extent3 workgroup_size,
                          FloatMode float_mode) {
  const NodeId begin = arena_->ops.empty() ? 0 : arena_->ops.back().body.end;
  arena_->entry = {begin, static_cast<NodeId>(arena_->nodes.size())};
  return Program(std::string(program_name), workgroup_size, float_mode,
                 std::shared_ptr<const Arena>(std::move(arena_)));
}

}  // namespace felsite::ir
