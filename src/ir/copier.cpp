#include "ir/copier.h"

#include <algorithm>

namespace felsite::ir {

Copier::Copier(const Program& from)
    : from_(from),
      buffers_(from.buffers().size(), kNone),
      vars_(from.vars().size(), kNone),
      ops_(from.ops().size(), kNone),
      is_needed_(from.ops().size(), false) {}

void Copier::write_to(Assembler& target) {
  to_ = &target;
  for (const OpId op : needed_ops_) is_needed_[op] = false;
  needed_ops_.clear();
}

void Copier::need_ops(NodeRange nodes) {
  if (!from_.facts().has_calls) return;
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    for (const ExprId root : from_.expressions(id)) need_ops(root);
  }
}

void Copier::need_ops(ExprId root) {
  if (!from_.facts().has_calls) return;
  for (ExprId row = from_.first_row(root); row <= root; ++row) {
    const Expr& expr = from_.expr(row);
    if (expr.kind != ExprKind::Call || is_needed_[expr.ref]) continue;
    is_needed_[expr.ref] = true;
    needed_ops_.push_back(expr.ref);
  }
}

void Copier::copy_ops() {
  for (std::size_t i = 0; i < needed_ops_.size(); ++i) {  // grows meanwhile
    need_ops(from_.ops()[needed_ops_[i]].body);
    need_ops(from_.ops()[needed_ops_[i]].result);
  }
  // An operation calls only those declared before it.
  std::ranges::sort(needed_ops_);
  for (const OpId op : needed_ops_) {
    const OpDecl& declared = from_.ops()[op];
    std::vector<Assembler::Param> params;
    for (std::uint32_t i = 0; i < declared.param_count; ++i) {
      const VarId param = declared.first_param + i;
      params.push_back({from_.var_name(param), from_.var(param).type});
    }
    const std::string_view name = from_.name(declared.name);
    const VarId first = to_->open_op(name, params, declared.result_type, 0);
    for (std::uint32_t i = 0; i < declared.param_count; ++i) {
      vars_[declared.first_param + i] = first + i;
    }
    nodes(declared.body);
    to_->close_op(expression(declared.result), 0, 0);
    ops_[op] = to_->op_ref(name);
  }
}

VarId Copier::loaded_by(ExprId id, ExprId root) const {
  const bool is_load = loaded && id <= root && from_.expr(id).kind == ExprKind::Load;
  return is_load && from_.first_row(id) + 1 == id ? loaded(id) : kNone;
}

ExprId Copier::expression(ExprId root) {
  const std::size_t base = pending_.size();
  for (ExprId id = from_.first_row(root); id <= root; ++id) {
    if (const VarId known = loaded_by(id + 1, root); known != kNone) {
      pending_.push_back(to_->variable(known));
      ++id;  // the load, behind its index
      continue;
    }
    const Expr& e = from_.expr(id);
    const std::size_t count = from_.operands(id).size();
    const std::span<const ExprId> args = std::span(pending_).last(count);
    ExprId made = kNone;
    switch (e.kind) {
      case ExprKind::Literal:
        made = to_->literal({e.type, e.literal_bits()});
        break;
      case ExprKind::Var:
        made = to_->variable(vars_[e.ref]);
        break;
      case ExprKind::Load:
        made = to_->load(buffer(e.ref), args[0]);
        break;
      case ExprKind::BufLen:
        made = to_->buffer_length(buffer(e.ref));
        break;
      case ExprKind::InvocationId:
      case ExprKind::WorkgroupId:
      case ExprKind::LocalId:
      case ExprKind::NumWorkgroups:
      case ExprKind::WorkgroupSize:
      case ExprKind::SubgroupLocalId:
      case ExprKind::SubgroupSize:
        made = to_->builtin(e.kind, e.aux);
        break;
      case ExprKind::Binary:
        made = to_->binary(e.binary(), args[0], args[1]);
        break;
      case ExprKind::Unary:
        made = to_->unary(e.unary(), args[0]);
        break;
      case ExprKind::Select:
        made = to_->select(args[0], args[1], args[2]);
        break;
      case ExprKind::Cast:
        made = to_->cast(e.type, args[0]);
        break;
      case ExprKind::Bitcast:
        made = to_->bitcast(e.type, args[0]);
        break;
      case ExprKind::Fma:
        made = to_->fma(args[0], args[1], args[2]);
        break;
      case ExprKind::Atomic:
        made = to_->atomic(e.atomic(), e.ordering(), buffer(e.ref), args);
        break;
      case ExprKind::SubgroupBallot:
        made = to_->subgroup_ballot(args[0]);
        break;
      case ExprKind::SubgroupShuffle:
        made = to_->subgroup_shuffle(args[0], args[1]);
        break;
      case ExprKind::SubgroupReduce:
        made = to_->subgroup_reduce(e.reduce(), args[0]);
        break;
      case ExprKind::Call:
        made = to_->call(ops_[e.ref], args);
        break;
    }
    pending_.resize(pending_.size() - count);
    pending_.push_back(made);
  }
  const ExprId made = pending_.back();
  pending_.resize(base);
  return made;
}

VarId Copier::let(NodeId id) {
  const Node& node = from_.node(id);
  const ExprId value = expression(node.args[0]);
  return vars_[node.ref] = to_->let(from_.var_name(node.ref), value);
}

// Bodies are closed when the walk comes to their ends: no recursion follows the nesting.
void Copier::nodes(NodeRange range) {
  struct Open {
    NodeId node;
    bool in_else;
  };
  std::vector<Open> open;
  for (NodeId id = range.begin;;) {
    while (!open.empty()) {
      Open& top = open.back();
      const Node& around = from_.node(top.node);
      const bool is_if = around.kind == NodeKind::If;
      if (is_if && !top.in_else && id == around.extra && around.extra != around.end) {
        to_->open_else();
        top.in_else = true;
      }
      if (id != around.end) break;
      to_->close();
      open.pop_back();
    }
    if (id == range.end) return;
    const Node& node = from_.node(id);
    if (instead && instead(id)) {
      id = node.end;
      continue;
    }
    if (!info(node.kind).has_body) {
      leaf(id++);
      continue;
    }
    open_body(id);
    open.push_back({id++, false});
  }
}

void Copier::open_body(NodeId id) {
  const Node& node = from_.node(id);
  if (node.kind == NodeKind::If) {
    to_->open_if(expression(node.args[0]));
  } else if (node.kind == NodeKind::Loop) {
    const ExprId from = expression(node.args[0]);
    const ExprId to = expression(node.args[1]);
    vars_[node.ref] = to_->open_loop(from_.var_name(node.ref), from, to);
  } else if (node.kind == NodeKind::Region) {
    to_->open_region(from_.name(node.name));
  } else {
    to_->open_block();
  }
}

void Copier::node(NodeId id) { nodes({id, from_.node(id).end}); }

void Copier::leaf(NodeId id) {
  const Node& node = from_.node(id);
  switch (node.kind) {
    case NodeKind::Let:
      let(id);
      return;
    case NodeKind::Assign:
      to_->assign(vars_[node.ref], expression(node.args[0]));
      return;
    case NodeKind::Store: {
      const ExprId index = expression(node.args[0]);
      const ExprId value = expression(node.args[1]);
      to_->store(buffer(node.ref), index, value);
      return;
    }
    case NodeKind::Return:
      to_->plain(NodeKind::Return);
      return;
    case NodeKind::Barrier:
      to_->barrier(node.ordering());
      return;
    case NodeKind::IndirectDispatch:
      to_->indirect_dispatch(buffer(node.ref), node.extra);
      return;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore: {
      const ExprId to_index = expression(node.args[0]);
      const ExprId from_index = expression(node.args[1]);
      to_->async_copy(node.kind, buffer(node.ref), to_index, buffer(node.ref2), from_index,
                      node.extra, from_.name(node.name));
      return;
    }
    case NodeKind::AsyncWait:
    case NodeKind::Resume:
      to_->tagged(node.kind, from_.name(node.name));
      return;
    case NodeKind::Trap:
      to_->trap(expression(node.args[0]), from_.name(node.name));
      return;
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      to_->collective(node.kind, node.reduce(), buffer(node.ref),
                      node.ref2 == kNone ? kNone : buffer(node.ref2), node.extra);
      return;
    case NodeKind::If:
    case NodeKind::Loop:
    case NodeKind::Block:
    case NodeKind::Region:
      return;  // `nodes` opens them
  }
}

}  // namespace felsite::ir
