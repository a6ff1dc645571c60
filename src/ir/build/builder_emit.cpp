// Turns what a builder recorded into rows: values that must be bound become variables, everything
// else is written where it is used, in evaluation order.
#include <fmt/format.h>

#include <unordered_set>

#include "ir/assembler.h"
#include "ir/build/builder_state.h"

namespace felsite::ir {
namespace {

using State = Builder::State;
using Statement = State::Statement;

class Emitter {
 public:
  explicit Emitter(const State& state)
      : state_(state), var_refs_(state.vars.size(), kNone), bound_refs_(state.exprs.size(), kNone) {
    for (const State::RecordedVar& var : state.vars) taken_.insert(var.name);
    bound_in_scope_.resize(state.scopes.size());
    for (std::uint32_t id = 0; id < state.exprs.size(); ++id) {
      if (state.exprs[id].bound) bound_in_scope_[state.exprs[id].scope].push_back(id);
    }
  }

  Program run() {
    for (const BufferDecl& buffer : state_.buffers) assembler_.add_buffer(buffer);
    for (const State::RecordedOp& op : state_.ops) emit_op(op);
    emit_scope(state_.entry);
    return assembler_.finish(state_.name, state_.workgroup_size, state_.float_mode);
  }

 private:
  // A scope that is being written, and the statement that owns it; null for the outermost one.
  struct Open {
    State::ScopeId scope;
    const Statement* owner;
    std::size_t next_statement;
    std::size_t next_bound;
    std::size_t visible_before;
  };
  // An entry of var_refs_ or bound_refs_ that becomes invisible at the end of its scope.
  struct Visible {
    std::vector<std::uint32_t>* refs;
    std::uint32_t id;
  };
  struct Work {
    std::uint32_t id;
    bool operands_done;
  };

  void emit_op(const State::RecordedOp& op);
  void emit_scope(State::ScopeId root);
  bool step();
  void leave();
  void emit(const Statement& statement);
  ExprId emit_expr(std::uint32_t root, bool binding = false);
  ExprId emit_row(std::uint32_t id, std::span<const ExprId> operands);

  void enter(State::ScopeId scope, const Statement* owner) {
    open_.push_back({scope, owner, 0, 0, visible_.size()});
  }
  void show(std::vector<std::uint32_t>& refs, std::uint32_t id, VarId var) {
    refs[id] = var;
    visible_.push_back({&refs, id});
  }
  void hide_down_to(std::size_t count) {
    for (; visible_.size() > count; visible_.pop_back()) {
      (*visible_.back().refs)[visible_.back().id] = kNone;
    }
  }
  // Outside its scope a variable is only a name, which validation reports.
  std::uint32_t variable_ref(std::uint32_t var) {
    if (var_refs_[var] != kNone) return var_refs_[var];
    const std::string& name = state_.vars[var].name;
    return kUnresolved | assembler_.intern(name.empty() ? "_" : name);
  }
  // A buffer or operation of another builder becomes an unknown name.
  std::uint32_t known_ref(std::uint32_t ref) {
    return ref == kUnresolved ? kUnresolved | assembler_.intern("_") : ref;
  }
  // The text form cannot distinguish two variables `_`, so a variable that is used gets a name.
  std::string declared_name(std::uint32_t var) {
    const State::RecordedVar& recorded = state_.vars[var];
    if (!recorded.name.empty() && recorded.name != "_") return recorded.name;
    return recorded.named ? fresh_name() : "_";
  }
  std::string fresh_name() {
    std::string name;
    do {
      name = fmt::format("_{}", fresh_++);
    } while (taken_.contains(name));
    return name;
  }

  const State& state_;
  Assembler assembler_;
  std::vector<std::uint32_t> var_refs_;    // VarId of a recorded variable, while it is visible
  std::vector<std::uint32_t> bound_refs_;  // VarId of a bound value, while it is visible
  std::vector<std::vector<std::uint32_t>> bound_in_scope_;  // in the order in which they were made
  std::unordered_set<std::string> taken_;
  std::uint32_t fresh_ = 0;
  std::vector<Visible> visible_;
  std::vector<Open> open_;
  std::vector<Work> work_;
  std::vector<ExprId> results_;
};

void Emitter::emit_op(const State::RecordedOp& op) {
  std::vector<Assembler::Param> params;
  for (const Builder::Param& param : op.params) params.push_back({param.name, param.type});
  const VarId first = assembler_.open_op(op.name, params, op.result_type, 0);
  for (std::size_t i = 0; i < op.param_vars.size(); ++i) {
    show(var_refs_, op.param_vars[i], first + static_cast<VarId>(i));
  }
  emit_scope(op.body);
  assembler_.close_op(emit_expr(op.result), 0, 0);
  hide_down_to(0);
}

// What the outermost scope declared stays visible, for the result of an operation.
void Emitter::emit_scope(State::ScopeId root) {
  enter(root, nullptr);
  while (step()) {
  }
  open_.pop_back();
}

// Emits one statement, or ends one scope. Returns false at the end of the outermost scope.
bool Emitter::step() {
  Open& top = open_.back();
  const State::Scope& scope = state_.scopes[top.scope];
  const std::vector<std::uint32_t>& bound = bound_in_scope_[top.scope];
  // Values that were made before the next statement are bound before it.
  while (top.next_bound < bound.size() &&
         state_.exprs[bound[top.next_bound]].position <= top.next_statement) {
    const std::uint32_t id = bound[top.next_bound++];
    const ExprId value = emit_expr(id, true);
    show(bound_refs_, id, assembler_.let(fresh_name(), value));
  }
  if (top.next_statement == scope.statements.size()) {
    if (top.owner == nullptr) return false;
    leave();
    return true;
  }
  emit(scope.statements[top.next_statement++]);
  return true;
}

void Emitter::leave() {
  const Open closing = open_.back();
  open_.pop_back();
  hide_down_to(closing.visible_before);
  const bool has_else = closing.owner->otherwise != kNone;
  if (has_else && closing.scope == closing.owner->body) {
    assembler_.open_else();
    enter(closing.owner->otherwise, closing.owner);
  } else {
    assembler_.close();
  }
}

// Appends the statement, and opens its body if it has one.
void Emitter::emit(const Statement& s) {
  Node node = s.node;
  const NodeKindInfo& facts = info(node.kind);
  const bool declares = facts.variable == VariableUse::Declares;
  const bool assigns = facts.variable == VariableUse::Assigns;
  node.ref = assigns ? variable_ref(node.ref) : known_ref(node.ref);
  node.ref2 = known_ref(node.ref2);
  for (std::size_t i = 0; i < facts.arity; ++i) node.args[i] = emit_expr(node.args[i]);
  if (node.name != kNone) node.name = assembler_.intern(state_.texts[node.name]);
  const VarId var = assembler_.append(node, 0, declares ? declared_name(s.node.ref) : "");
  if (s.body != kNone) enter(s.body, &s);
  if (declares) show(var_refs_, s.node.ref, var);
}

// Works in post-order without recursion: recorded expressions may be a million deep.
ExprId Emitter::emit_expr(std::uint32_t root, bool binding) {
  work_.push_back({root, false});
  while (!work_.empty()) {
    const Work item = work_.back();
    const bool is_bound = state_.exprs[item.id].bound && !(binding && item.id == root);
    const auto operands = state_.operands(state_.exprs[item.id].row);
    if (is_bound) {
      work_.pop_back();
      // Out of its scope it becomes a name that nothing visible has.
      const std::uint32_t ref = bound_refs_[item.id] != kNone
                                    ? bound_refs_[item.id]
                                    : (kUnresolved | assembler_.intern("_"));
      results_.push_back(assembler_.variable(ref));
    } else if (!item.operands_done && !operands.empty()) {
      work_.back().operands_done = true;
      for (std::size_t i = operands.size(); i-- > 0;) work_.push_back({operands[i], false});
    } else {
      work_.pop_back();
      const auto ready = std::span(results_).last(operands.size());
      const ExprId row = emit_row(item.id, ready);
      results_.resize(results_.size() - operands.size());
      results_.push_back(row);
    }
  }
  const ExprId result = results_.back();
  results_.pop_back();
  return result;
}

ExprId Emitter::emit_row(std::uint32_t id, std::span<const ExprId> args) {
  Expr row = state_.exprs[id].row;
  row.ref = row.kind == ExprKind::Var ? variable_ref(row.ref) : known_ref(row.ref);
  return assembler_.append(row, args);
}

}  // namespace

Program Builder::State::emit() const { return Emitter(*this).run(); }

}  // namespace felsite::ir
