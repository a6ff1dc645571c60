#include "ir/copier.h"

#include <algorithm>

#include "ir/walk.h"

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

void Copier::collect_ops(NodeRange nodes) {
  if (!from_.facts().has_calls) return;
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    for (const ExprId root : from_.expressions(id)) collect_ops(root);
  }
}

void Copier::collect_ops(ExprId root) {
  if (!from_.facts().has_calls) return;
  for (const ExprId row : from_.rows(root)) {
    const Expr& expr = from_.expr(row);
    if (expr.kind != ExprKind::Call || is_needed_[expr.ref]) continue;
    is_needed_[expr.ref] = true;
    needed_ops_.push_back(expr.ref);
  }
}

void Copier::copy_ops() {
  for (std::size_t i = 0; i < needed_ops_.size(); ++i) {  // grows during the loop
    collect_ops(from_.ops()[needed_ops_[i]].body);
    collect_ops(from_.ops()[needed_ops_[i]].result);
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

// Returns the outermost replaced expressions, last first.
std::vector<ExprId> Copier::replaced_in(ExprId root) const {
  std::vector<ExprId> found;
  if (!is_replaced) return found;
  const ExprId first = from_.first_row(root);
  for (ExprId behind = root + 1; behind > first;) {
    const ExprId id = behind - 1;
    const bool is_one = is_replaced(id);
    if (is_one) found.push_back(id);
    behind = is_one ? from_.first_row(id) : id;
  }
  return found;
}

ExprId Copier::expression(ExprId root) {
  const std::size_t base = pending_.size();
  std::vector<ExprId> replaced = replaced_in(root);
  for (ExprId id = from_.first_row(root); id <= root; ++id) {
    if (!replaced.empty() && id == from_.first_row(replaced.back())) {
      id = replaced.back();
      replaced.pop_back();
      pending_.push_back(replacement(id));
      continue;
    }
    Expr like = from_.expr(id);
    like.ref = reference(like);
    const std::size_t count = from_.operands(id).size();
    const ExprId made = to_->append(like, std::span(pending_).last(count), at_expr(id));
    pending_.resize(pending_.size() - count);
    pending_.push_back(made);
  }
  const ExprId made = pending_.back();
  pending_.resize(base);
  return made;
}

std::uint32_t Copier::reference(const Expr& expr) const {
  switch (info(expr.kind).names) {
    case Names::Nothing:
      return kNone;
    case Names::Variable:
      return vars_[expr.ref];
    case Names::Buffer:
      return buffers_[expr.ref];
    case Names::Operation:
      return ops_[expr.ref];
  }
  return kNone;
}

void Copier::nodes(NodeRange range) {
  for (Walk walk(from_, range); walk.next();) {
    switch (walk.step()) {
      case Walk::Step::Leaf:
        if (!is_rewritten(walk.id())) append(walk.id());
        break;
      case Walk::Step::Enter:
        if (is_rewritten(walk.id())) {
          walk.skip_body();
        } else {
          append(walk.id());
        }
        break;
      case Walk::Step::Else:
        to_->open_else();
        break;
      case Walk::Step::Leave:
        to_->close();
        break;
    }
  }
}

bool Copier::is_rewritten(NodeId id) {
  set_position(id);
  return rewrite && rewrite(id);
}

// Opens the body of a node that has one.
void Copier::append(NodeId id) {
  Node like = from_.node(id);
  const NodeKindInfo& facts = info(like.kind);
  const VarId variable = like.ref;
  for (std::size_t i = 0; i < facts.arity; ++i) like.args[i] = expression(like.args[i]);
  const bool declares = facts.variable == VariableUse::Declares;
  if (facts.variable == VariableUse::None) like.ref = buffer(like.ref);
  if (facts.variable == VariableUse::Assigns) like.ref = vars_[variable];
  like.ref2 = buffer(like.ref2);
  if (like.name != kNone) like.name = to_->intern(from_.name(like.name));
  const VarId declared = to_->append(like, 0, declares ? from_.var_name(variable) : "");
  if (declares) vars_[variable] = declared;
}

}  // namespace felsite::ir
