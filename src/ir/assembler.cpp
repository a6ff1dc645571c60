#include "ir/assembler.h"

#include <utility>

namespace felsite::ir {
namespace {

Expr row(ExprKind kind, Type type) {
  return {
      .kind = kind, .op = 0, .type = type, .aux = 0, .ref = kNone, .args = {kNone, kNone, kNone}};
}

Node node_row(NodeKind kind) {
  return {.kind = kind,
          .op = 0,
          .ref = kNone,
          .ref2 = kNone,
          .name = kNone,
          .extra = 0,
          .args = {kNone, kNone},
          .end = 0};
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

ExprId Assembler::append(Expr expr, std::uint32_t at) {
  arena_->exprs.push_back(expr);
  if (positions_ != Positions::None) arena_->source.exprs.push_back(at != 0 ? at : here_);
  return static_cast<ExprId>(arena_->exprs.size() - 1);
}

ExprId Assembler::literal(Literal value, std::uint32_t at) {
  Expr expr = row(ExprKind::Literal, value.type);
  const std::uint64_t bits = canonical_bits(value.type, value.bits);
  expr.args = {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0};
  return append(expr, at);
}

ExprId Assembler::variable(std::uint32_t ref, std::uint32_t at) {
  Expr expr = row(ExprKind::Var, Type::None);
  expr.ref = ref;
  if (is_resolved(ref)) {
    expr.type = arena_->vars[ref].type;
    ++arena_->vars[ref].uses;
  }
  return append(expr, at);
}

ExprId Assembler::load(std::uint32_t buffer, ExprId index, std::uint32_t at) {
  Expr expr = row(ExprKind::Load, Type::None);
  expr.ref = buffer;
  expr.args[0] = index;
  if (is_resolved(buffer)) expr.type = info(arena_->buffers[buffer].element).loaded;
  return append(expr, at);
}

ExprId Assembler::buffer_length(std::uint32_t buffer, std::uint32_t at) {
  Expr expr = row(ExprKind::BufLen, Type::U32);
  expr.ref = buffer;
  return append(expr, at);
}

ExprId Assembler::builtin(ExprKind kind, std::uint8_t axis, std::uint32_t at) {
  if (kind == ExprKind::SubgroupLocalId || kind == ExprKind::SubgroupSize) {
    arena_->facts.has_subgroup_ops = true;
  }
  Expr expr = row(kind, Type::U32);
  expr.aux = axis;
  return append(expr, at);
}

ExprId Assembler::binary(BinaryOp op, ExprId a, ExprId b, std::uint32_t at) {
  const bool same = type(a) == type(b);
  Expr expr = row(ExprKind::Binary, same ? result_type(info(op).rule, type(a)) : Type::None);
  expr.op = static_cast<std::uint8_t>(op);
  expr.args = {a, b, kNone};
  return append(expr, at);
}

ExprId Assembler::unary(UnaryOp op, ExprId a, std::uint32_t at) {
  Expr expr = row(ExprKind::Unary, result_type(info(op).rule, type(a)));
  expr.op = static_cast<std::uint8_t>(op);
  expr.args[0] = a;
  return append(expr, at);
}

ExprId Assembler::select(ExprId condition, ExprId a, ExprId b, std::uint32_t at) {
  Expr expr = row(ExprKind::Select, type(a) == type(b) ? type(a) : Type::None);
  expr.args = {condition, a, b};
  return append(expr, at);
}

ExprId Assembler::cast(Type target, ExprId a, std::uint32_t at) {
  Expr expr = row(ExprKind::Cast, target);
  expr.args[0] = a;
  return append(expr, at);
}

ExprId Assembler::bitcast(Type target, ExprId a, std::uint32_t at) {
  Expr expr = row(ExprKind::Bitcast, target);
  expr.args[0] = a;
  return append(expr, at);
}

ExprId Assembler::fma(ExprId a, ExprId b, ExprId c, std::uint32_t at) {
  const bool fits = type(a) == type(b) && type(b) == type(c) && kFloatTypes.has(type(a));
  Expr expr = row(ExprKind::Fma, fits ? type(a) : Type::None);
  expr.args = {a, b, c};
  return append(expr, at);
}

ExprId Assembler::atomic(AtomicOp op, Ordering ordering, std::uint32_t buffer,
                         std::span<const ExprId> operands, std::uint32_t at) {
  arena_->facts.has_atomics = true;
  Expr expr = row(ExprKind::Atomic, Type::None);
  expr.op = static_cast<std::uint8_t>(op);
  expr.aux = static_cast<std::uint8_t>(ordering);
  expr.ref = buffer;
  for (std::size_t i = 0; i < operands.size() && i < 3; ++i) expr.args[i] = operands[i];
  if (is_resolved(buffer)) expr.type = info(arena_->buffers[buffer].element).loaded;
  return append(expr, at);
}

ExprId Assembler::subgroup_ballot(ExprId condition, std::uint32_t at) {
  arena_->facts.has_subgroup_ops = true;
  Expr expr = row(ExprKind::SubgroupBallot, Type::U64);
  expr.args[0] = condition;
  return append(expr, at);
}

ExprId Assembler::subgroup_shuffle(ExprId value, ExprId lane, std::uint32_t at) {
  arena_->facts.has_subgroup_ops = true;
  Expr expr = row(ExprKind::SubgroupShuffle, type(value));
  expr.args = {value, lane, kNone};
  return append(expr, at);
}

ExprId Assembler::subgroup_reduce(ReduceOp op, ExprId value, std::uint32_t at) {
  arena_->facts.has_subgroup_ops = true;
  Expr expr =
      row(ExprKind::SubgroupReduce, info(op).operands.has(type(value)) ? type(value) : Type::None);
  expr.op = static_cast<std::uint8_t>(op);
  expr.args[0] = value;
  return append(expr, at);
}

ExprId Assembler::call(std::uint32_t op, std::span<const ExprId> operands, std::uint32_t at) {
  arena_->facts.has_calls = true;
  Expr expr = row(ExprKind::Call, is_resolved(op) ? arena_->ops[op].result_type : Type::None);
  expr.ref = op;
  expr.args = {static_cast<std::uint32_t>(arena_->call_operands.size()),
               static_cast<std::uint32_t>(operands.size()), kNone};
  arena_->call_operands.insert(arena_->call_operands.end(), operands.begin(), operands.end());
  return append(expr, at);
}

ExprId Assembler::append_like(const Expr& like, std::uint32_t ref, std::span<const ExprId> args,
                              std::uint32_t at) {
  switch (like.kind) {
    case ExprKind::Literal:
      return literal({like.type, like.literal_bits()}, at);
    case ExprKind::Var:
      return variable(ref, at);
    case ExprKind::Load:
      return load(ref, args[0], at);
    case ExprKind::BufLen:
      return buffer_length(ref, at);
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize:
      return builtin(like.kind, like.aux, at);
    case ExprKind::Binary:
      return binary(like.binary(), args[0], args[1], at);
    case ExprKind::Unary:
      return unary(like.unary(), args[0], at);
    case ExprKind::Select:
      return select(args[0], args[1], args[2], at);
    case ExprKind::Cast:
      return cast(like.type, args[0], at);
    case ExprKind::Bitcast:
      return bitcast(like.type, args[0], at);
    case ExprKind::Fma:
      return fma(args[0], args[1], args[2], at);
    case ExprKind::Atomic:
      return atomic(like.atomic(), like.ordering(), ref, args, at);
    case ExprKind::SubgroupBallot:
      return subgroup_ballot(args[0], at);
    case ExprKind::SubgroupShuffle:
      return subgroup_shuffle(args[0], args[1], at);
    case ExprKind::SubgroupReduce:
      return subgroup_reduce(like.reduce(), args[0], at);
    case ExprKind::Call:
      return call(ref, args, at);
  }
  return kNone;
}

NodeId Assembler::append(Node node, std::uint32_t at) {
  const auto id = static_cast<NodeId>(arena_->nodes.size());
  node.end = id + 1;
  arena_->nodes.push_back(node);
  if (positions_ != Positions::None) arena_->source.nodes.push_back(at != 0 ? at : here_);
  if (positions_ == Positions::Text) {
    arena_->source.node_ends.push_back(at);
    arena_->source.else_arms.push_back(0);
  }
  just_closed_ = id;
  return id;
}

void Assembler::open(NodeId node) {
  open_nodes_.push_back(node);
  open_scope();
}

VarId Assembler::let(std::string_view name, ExprId value, std::uint32_t at) {
  Node node = node_row(NodeKind::Let);
  node.ref = declare(name, type(value), VarKind::Let);
  node.args[0] = value;
  append(node, at);
  return node.ref;
}

void Assembler::assign(std::uint32_t variable, ExprId value, std::uint32_t at) {
  Node node = node_row(NodeKind::Assign);
  node.ref = variable;
  node.args[0] = value;
  if (is_resolved(variable)) arena_->vars[variable].assigned = true;
  append(node, at);
}

void Assembler::store(std::uint32_t buffer, ExprId index, ExprId value, std::uint32_t at) {
  Node node = node_row(NodeKind::Store);
  node.ref = buffer;
  node.args = {index, value};
  append(node, at);
}

void Assembler::open_if(ExprId condition, std::uint32_t at) {
  Node node = node_row(NodeKind::If);
  node.args[0] = condition;
  node.extra = kNone;
  open(append(node, at));
}

void Assembler::open_else(std::uint32_t at) {
  close_scope();
  open_scope();
  arena_->nodes[open_nodes_.back()].extra = static_cast<NodeId>(arena_->nodes.size());
  if (positions_ == Positions::Text) arena_->source.else_arms[open_nodes_.back()] = at;
}

VarId Assembler::open_loop(std::string_view variable, ExprId from, ExprId to, std::uint32_t at) {
  Node node = node_row(NodeKind::Loop);
  node.args = {from, to};
  const NodeId id = append(node, at);
  open(id);
  // The loop variable lives in the scope of the body.
  const VarId var = declare(variable, Type::U32, VarKind::Loop);
  arena_->nodes[id].ref = var;
  return var;
}

void Assembler::open_block(std::uint32_t at) { open(append(node_row(NodeKind::Block), at)); }

void Assembler::open_region(std::string_view name, std::uint32_t at) {
  Node node = node_row(NodeKind::Region);
  node.name = intern(name);
  open(append(node, at));
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

void Assembler::plain(NodeKind kind, std::uint32_t at) { append(node_row(kind), at); }

void Assembler::barrier(Ordering ordering, std::uint32_t at) {
  Node node = node_row(NodeKind::Barrier);
  node.op = static_cast<std::uint8_t>(ordering);
  (ordering == Ordering::GridSync ? arena_->facts.has_grid_sync : arena_->facts.has_barrier) = true;
  append(node, at);
}

void Assembler::indirect_dispatch(std::uint32_t buffer, std::uint32_t offset, std::uint32_t at) {
  Node node = node_row(NodeKind::IndirectDispatch);
  node.ref = buffer;
  node.extra = offset;
  arena_->facts.has_indirect_dispatch = true;
  append(node, at);
}

void Assembler::async_copy(NodeKind kind, std::uint32_t to, ExprId to_index, std::uint32_t from,
                           ExprId from_index, std::uint32_t count, std::string_view tag,
                           std::uint32_t at) {
  Node node = node_row(kind);
  node.ref = to;
  node.ref2 = from;
  node.args = {to_index, from_index};
  node.extra = count;
  node.name = intern(tag);
  arena_->facts.has_async = true;
  append(node, at);
}

void Assembler::tagged(NodeKind kind, std::string_view tag, std::uint32_t at) {
  Node node = node_row(kind);
  node.name = intern(tag);
  append(node, at);
}

void Assembler::trap(ExprId address, std::string_view tag, std::uint32_t at) {
  Node node = node_row(NodeKind::Trap);
  node.args[0] = address;
  node.name = intern(tag);
  arena_->facts.has_trap = true;
  append(node, at);
}

void Assembler::collective(NodeKind kind, ReduceOp op, std::uint32_t to, std::uint32_t from,
                           std::uint32_t root, std::uint32_t at) {
  Node node = node_row(kind);
  node.op = static_cast<std::uint8_t>(op);
  node.ref = to;
  node.ref2 = from;
  node.extra = root;
  arena_->facts.has_collectives = true;
  append(node, at);
}

VarId Assembler::append_like(const Node& like, std::string_view declared, std::string_view text,
                             std::uint32_t at) {
  switch (like.kind) {
    case NodeKind::Let:
      return let(declared, like.args[0], at);
    case NodeKind::Loop:
      return open_loop(declared, like.args[0], like.args[1], at);
    case NodeKind::Assign:
      assign(like.ref, like.args[0], at);
      break;
    case NodeKind::Store:
      store(like.ref, like.args[0], like.args[1], at);
      break;
    case NodeKind::If:
      open_if(like.args[0], at);
      break;
    case NodeKind::Block:
      open_block(at);
      break;
    case NodeKind::Region:
      open_region(text, at);
      break;
    case NodeKind::Return:
      plain(like.kind, at);
      break;
    case NodeKind::Barrier:
      barrier(like.ordering(), at);
      break;
    case NodeKind::IndirectDispatch:
      indirect_dispatch(like.ref, like.extra, at);
      break;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore:
      async_copy(like.kind, like.ref, like.args[0], like.ref2, like.args[1], like.extra, text, at);
      break;
    case NodeKind::AsyncWait:
    case NodeKind::Resume:
      tagged(like.kind, text, at);
      break;
    case NodeKind::Trap:
      trap(like.args[0], text, at);
      break;
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      collective(like.kind, like.reduce(), like.ref, like.ref2, like.extra, at);
      break;
  }
  return kNone;
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
