#include "felsite/builder.h"

#include <utility>

#include "felsite/validate.h"
#include "ir/build/builder_state.h"
#include "ir/guarded_findings.h"

namespace felsite::ir {

using Recorded = Builder::State::Recorded;
using Statement = Builder::State::Statement;

namespace {

// Directs statements to `scope` during its lifetime, even if the user's code throws.
class InScope {
 public:
  InScope(Builder::State& state, Builder::State::ScopeId scope)
      : state_(state), outer_(std::exchange(state.current, scope)) {}
  ~InScope() { state_.current = outer_; }
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;

 private:
  Builder::State& state_;
  Builder::State::ScopeId outer_;
};

}  // namespace

std::uint32_t Builder::State::add(Recorded expr) {
  expr.scope = current;
  expr.position = position();
  for (const std::uint32_t operand : std::span(expr.args).first(
           expr.kind == ExprKind::Call || expr.kind == ExprKind::Literal ? 0
                                                                         : info(expr.kind).arity)) {
    expr.changeable |= exprs[operand].changeable;
  }
  exprs.push_back(expr);
  return static_cast<std::uint32_t>(exprs.size() - 1);
}

std::span<const std::uint32_t> Builder::State::operands(std::uint32_t id) const {
  const Recorded& expr = exprs[id];
  if (expr.kind == ExprKind::Call) {
    return std::span(call_operands).subspan(expr.args[0], expr.args[1]);
  }
  std::size_t arity = info(expr.kind).arity;
  const bool compares =
      expr.kind == ExprKind::Atomic && static_cast<AtomicOp>(expr.op) == AtomicOp::CompareExchange;
  if (compares) ++arity;
  return std::span(expr.args).first(arity);
}

Builder::Builder(std::string name, std::initializer_list<std::uint32_t> workgroup_size)
    : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  std::size_t axis = 0;
  for (const std::uint32_t extent : workgroup_size) {
    if (axis < 3) state_->workgroup_size[axis++] = extent;
    // A fourth axis cannot be stored; an impossible extent makes validation report it.
    else
      state_->workgroup_size[2] = 0;
  }
  state_->entry = state_->open_scope();
}

Builder::~Builder() = default;

void Builder::use_fast_floats() { state_->float_mode = FloatMode::Fast; }

Buffer Builder::declare(BufferDecl decl) {
  if (decl.access != Access::Workgroup) state_->next_binding = decl.binding + 1;
  state_->buffers.push_back(std::move(decl));
  return Buffer(this, static_cast<BufferId>(state_->buffers.size() - 1));
}

namespace {
BufferDecl make_decl(std::string name, Type element, std::uint32_t count, Access access,
                     std::uint32_t binding) {
  BufferDecl decl;
  decl.name = std::move(name);
  decl.binding = access == Access::Workgroup ? 0 : binding;
  decl.element = element;
  decl.count = count;
  decl.access = access;
  return decl;
}
}  // namespace

Buffer Builder::readonly(std::string name, Type element, std::uint32_t count) {
  return declare(
      make_decl(std::move(name), element, count, Access::ReadOnly, state_->next_binding));
}
Buffer Builder::readwrite(std::string name, Type element, std::uint32_t count) {
  return declare(
      make_decl(std::move(name), element, count, Access::ReadWrite, state_->next_binding));
}
Buffer Builder::writeonly(std::string name, Type element, std::uint32_t count) {
  return declare(
      make_decl(std::move(name), element, count, Access::WriteOnly, state_->next_binding));
}
Buffer Builder::uniform(std::string name, Type element, std::uint32_t count) {
  return declare(make_decl(std::move(name), element, count, Access::Uniform, state_->next_binding));
}
Buffer Builder::workgroup(std::string name, Type element, std::uint32_t count) {
  return declare(make_decl(std::move(name), element, count, Access::Workgroup, 0));
}
Buffer Builder::output(std::string name, Type element, std::uint32_t count) {
  BufferDecl decl =
      make_decl(std::move(name), element, count, Access::ReadWrite, state_->next_binding);
  decl.output = true;
  return declare(std::move(decl));
}

OpHandle Builder::op(std::string name, std::vector<Param> params, Type result, const OpBody& body) {
  State::RecordedOp recorded;
  recorded.name = std::move(name);
  recorded.params = std::move(params);
  recorded.result_type = result;
  recorded.body = state_->open_scope();
  const InScope scope(*state_, recorded.body);
  std::vector<Value> values;
  for (const Param& param : recorded.params) {
    state_->vars.push_back({.name = param.name});
    recorded.param_vars.push_back(static_cast<std::uint32_t>(state_->vars.size() - 1));
    values.push_back(read(recorded.param_vars.back()));
  }
  recorded.result = use(body(values));
  // The body may have declared operations itself: these come before this one.
  state_->ops.push_back(std::move(recorded));
  return {static_cast<OpId>(state_->ops.size() - 1)};
}

// Records that `value` is used here, and binds it where it was made if this use requires that.
std::uint32_t Builder::use(Value value) {
  if (value.builder_ != this) {
    // A literal; or a value without a builder or of another one, which no program can hold.
    Recorded literal{.kind = ExprKind::Literal};
    literal.type = value.builder_ == nullptr ? value.literal_.type : Type::None;
    literal.args = {static_cast<std::uint32_t>(value.literal_.bits),
                    static_cast<std::uint32_t>(value.literal_.bits >> 32), 0};
    return state_->add(literal);
  }
  Recorded& expr = state_->exprs[value.id_];
  const bool leaf = info(expr.kind).arity == 0 && expr.kind != ExprKind::Call;
  const bool moved = expr.scope != state_->current || expr.position != state_->position();
  ++expr.uses;
  if (expr.kind == ExprKind::Var) state_->vars[expr.ref].named = true;
  if ((expr.changeable && moved) || (!leaf && expr.uses > 1)) expr.bound = true;
  return value.id_;
}

Value Builder::builtin(ExprKind kind, unsigned axis) {
  Recorded expr{.kind = kind};
  expr.aux = static_cast<std::uint8_t>(axis > 2 ? 3 : axis);
  return Value(this, state_->add(expr));
}

Value Builder::length(Buffer buffer) {
  Recorded expr{.kind = ExprKind::BufLen};
  expr.ref = buffer.builder_ == this ? buffer.id_ : kUnresolved;
  return Value(this, state_->add(expr));
}

Value Builder::read(std::uint32_t variable) {
  Recorded expr{.kind = ExprKind::Var};
  expr.ref = variable;
  expr.changeable = state_->vars[variable].mutable_;
  return Value(this, state_->add(expr));
}

Value Builder::load(BufferId buffer, Value index) {
  Recorded expr{.kind = ExprKind::Load};
  expr.ref = buffer;
  expr.args[0] = use(index);
  expr.changeable = true;
  return Value(this, state_->add(expr));
}

Value Builder::binary(BinaryOp op, Value a, Value b) {
  Recorded expr{.kind = ExprKind::Binary};
  expr.op = static_cast<std::uint8_t>(op);
  expr.args[0] = use(a);
  expr.args[1] = use(b);
  return Value(this, state_->add(expr));
}

Value Builder::unary(UnaryOp op, Value a) {
  Recorded expr{.kind = ExprKind::Unary};
  expr.op = static_cast<std::uint8_t>(op);
  expr.args[0] = use(a);
  return Value(this, state_->add(expr));
}

Value Builder::select(Value condition, Value a, Value b) {
  Recorded expr{.kind = ExprKind::Select};
  expr.args[0] = use(condition);
  expr.args[1] = use(a);
  expr.args[2] = use(b);
  return Value(this, state_->add(expr));
}

Value Builder::cast(Type type, Value a) {
  Recorded expr{.kind = ExprKind::Cast};
  expr.type = type;
  expr.args[0] = use(a);
  return Value(this, state_->add(expr));
}

Value Builder::bitcast(Type type, Value a) {
  Recorded expr{.kind = ExprKind::Bitcast};
  expr.type = type;
  expr.args[0] = use(a);
  return Value(this, state_->add(expr));
}

Value Builder::fma(Value a, Value b, Value c) {
  Recorded expr{.kind = ExprKind::Fma};
  expr.args[0] = use(a);
  expr.args[1] = use(b);
  expr.args[2] = use(c);
  return Value(this, state_->add(expr));
}

Value Builder::call(OpHandle op, std::vector<Value> arguments) {
  Recorded expr{.kind = ExprKind::Call};
  // An operation must come before its callers; any other handle does not belong to this builder.
  expr.ref = op.id < state_->ops.size() ? op.id : kUnresolved;
  std::vector<std::uint32_t> used;
  for (const Value& argument : arguments) used.push_back(use(argument));
  for (const std::uint32_t operand : used) expr.changeable |= state_->exprs[operand].changeable;
  expr.args = {static_cast<std::uint32_t>(state_->call_operands.size()),
               static_cast<std::uint32_t>(used.size()), 0};
  state_->call_operands.insert(state_->call_operands.end(), used.begin(), used.end());
  return Value(this, state_->add(expr));
}

Value Builder::subgroup_ballot(Value condition) {
  Recorded expr{.kind = ExprKind::SubgroupBallot};
  expr.args[0] = use(condition);
  expr.changeable = true;
  return Value(this, state_->add(expr));
}

Value Builder::subgroup_shuffle(Value value, Value lane) {
  Recorded expr{.kind = ExprKind::SubgroupShuffle};
  expr.args[0] = use(value);
  expr.args[1] = use(lane);
  expr.changeable = true;
  return Value(this, state_->add(expr));
}

Value Builder::subgroup_reduce(ReduceOp op, Value value) {
  Recorded expr{.kind = ExprKind::SubgroupReduce};
  expr.op = static_cast<std::uint8_t>(op);
  expr.args[0] = use(value);
  expr.changeable = true;
  return Value(this, state_->add(expr));
}

// An atomic is bound immediately: it happens here, once, whether or not its value is used.
Value Builder::atomic(AtomicOp op, Element element, Value value, Ordering ordering) {
  Recorded expr{.kind = ExprKind::Atomic};
  expr.op = static_cast<std::uint8_t>(op);
  expr.aux = static_cast<std::uint8_t>(ordering);
  expr.ref = element.builder_ == this ? element.buffer_ : kUnresolved;
  expr.args[0] = use(element.index_);
  expr.args[1] = use(value);
  return let("", Value(this, state_->add(expr)));
}

Value Builder::compare_exchange(Element element, Value expected, Value value, Ordering ordering) {
  Recorded expr{.kind = ExprKind::Atomic};
  expr.op = static_cast<std::uint8_t>(AtomicOp::CompareExchange);
  expr.aux = static_cast<std::uint8_t>(ordering);
  expr.ref = element.builder_ == this ? element.buffer_ : kUnresolved;
  expr.args[0] = use(element.index_);
  expr.args[1] = use(expected);
  expr.args[2] = use(value);
  return let("", Value(this, state_->add(expr)));
}

Value Builder::let(std::string name, Value value) {
  Statement statement{.kind = NodeKind::Let};
  statement.args[0] = use(value);
  state_->vars.push_back({.name = std::move(name)});
  statement.ref = static_cast<std::uint32_t>(state_->vars.size() - 1);
  state_->add(statement);
  return read(statement.ref);
}

Var Builder::var(std::string name, Value value) {
  let(std::move(name), value);
  state_->vars.back().mutable_ = true;
  return Var(this, static_cast<std::uint32_t>(state_->vars.size() - 1));
}

void Builder::assign(std::uint32_t variable, Value value) {
  Statement statement{.kind = NodeKind::Assign};
  statement.ref = variable;
  statement.args[0] = use(value);
  state_->vars[variable].named = true;
  state_->add(statement);
}

void Builder::store(BufferId buffer, Value index, Value value) {
  Statement statement{.kind = NodeKind::Store};
  statement.ref = buffer;
  statement.args[0] = use(index);
  statement.args[1] = use(value);
  state_->add(statement);
}

void Builder::if_(Value condition, const Body& then) { if_(condition, then, nullptr); }

void Builder::if_(Value condition, const Body& then, const Body& otherwise) {
  Statement statement{.kind = NodeKind::If};
  statement.args[0] = use(condition);
  statement.body = state_->open_scope();
  statement.otherwise = otherwise ? state_->open_scope() : kNone;
  state_->add(statement);
  {
    const InScope scope(*state_, statement.body);
    then();
  }
  if (otherwise) {
    const InScope scope(*state_, statement.otherwise);
    otherwise();
  }
}

void Builder::loop(std::string variable, Value from, Value to,
                   const std::function<void(Value)>& body) {
  Statement statement{.kind = NodeKind::Loop};
  statement.args[0] = use(from);
  statement.args[1] = use(to);
  statement.body = state_->open_scope();
  state_->vars.push_back({.name = std::move(variable)});
  statement.ref = static_cast<std::uint32_t>(state_->vars.size() - 1);
  state_->add(statement);
  const InScope scope(*state_, statement.body);
  body(read(statement.ref));
}

void Builder::block(const Body& body) {
  Statement statement{.kind = NodeKind::Block};
  statement.body = state_->open_scope();
  state_->add(statement);
  const InScope scope(*state_, statement.body);
  body();
}

void Builder::region(std::string name, const Body& body) {
  Statement statement{.kind = NodeKind::Region};
  statement.text = state_->text(std::move(name));
  statement.body = state_->open_scope();
  state_->add(statement);
  const InScope scope(*state_, statement.body);
  body();
}

void Builder::return_() { state_->add(Statement{.kind = NodeKind::Return}); }

void Builder::barrier(Ordering ordering) {
  Statement statement{.kind = NodeKind::Barrier};
  statement.op = static_cast<std::uint8_t>(ordering);
  state_->add(statement);
}

void Builder::indirect_dispatch(Buffer buffer, std::uint32_t offset) {
  Statement statement{.kind = NodeKind::IndirectDispatch};
  statement.ref = buffer.builder_ == this ? buffer.id_ : kUnresolved;
  statement.extra = offset;
  state_->add(statement);
}

void Builder::async_load(Element to, Element from, std::uint32_t count, std::string tag) {
  Statement statement{.kind = NodeKind::AsyncLoad};
  statement.ref = to.builder_ == this ? to.buffer_ : kUnresolved;
  statement.ref2 = from.builder_ == this ? from.buffer_ : kUnresolved;
  statement.args = {use(to.index_), use(from.index_)};
  statement.extra = count;
  statement.text = state_->text(std::move(tag));
  state_->add(statement);
}

void Builder::async_store(Element to, Element from, std::uint32_t count, std::string tag) {
  async_load(to, from, count, std::move(tag));
  state_->scopes[state_->current].statements.back().kind = NodeKind::AsyncStore;
}

void Builder::async_wait(std::string tag) {
  Statement statement{.kind = NodeKind::AsyncWait};
  statement.text = state_->text(std::move(tag));
  state_->add(statement);
}

void Builder::trap(Value address, std::string tag) {
  Statement statement{.kind = NodeKind::Trap};
  statement.args[0] = use(address);
  statement.text = state_->text(std::move(tag));
  state_->add(statement);
}

void Builder::resume(std::string tag) {
  Statement statement{.kind = NodeKind::Resume};
  statement.text = state_->text(std::move(tag));
  state_->add(statement);
}

void Builder::all_reduce(ReduceOp op, Buffer buffer) {
  Statement statement{.kind = NodeKind::AllReduce};
  statement.op = static_cast<std::uint8_t>(op);
  statement.ref = buffer.builder_ == this ? buffer.id_ : kUnresolved;
  state_->add(statement);
}

void Builder::all_gather(Buffer to, Buffer from) {
  Statement statement{.kind = NodeKind::AllGather};
  statement.ref = to.builder_ == this ? to.id_ : kUnresolved;
  statement.ref2 = from.builder_ == this ? from.id_ : kUnresolved;
  state_->add(statement);
}

void Builder::reduce_scatter(ReduceOp op, Buffer to, Buffer from) {
  Statement statement{.kind = NodeKind::ReduceScatter};
  statement.op = static_cast<std::uint8_t>(op);
  statement.ref = to.builder_ == this ? to.id_ : kUnresolved;
  statement.ref2 = from.builder_ == this ? from.id_ : kUnresolved;
  state_->add(statement);
}

void Builder::broadcast(Buffer buffer, std::uint32_t root) {
  Statement statement{.kind = NodeKind::Broadcast};
  statement.ref = buffer.builder_ == this ? buffer.id_ : kUnresolved;
  statement.extra = root;
  state_->add(statement);
}

Program Builder::build_unvalidated() const { return state_->emit(); }

std::expected<Program, Findings> Builder::build() const {
  using Outcome = std::expected<Program, Findings>;
  return guarded_findings<Outcome>([&]() -> Outcome { return validated(state_->emit()); });
}

Var& Var::operator=(Value value) {
  builder_->assign(id_, value);
  return *this;
}
Var::operator Value() const { return builder_->read(id_); }

Element& Element::operator=(Value value) {
  builder_->store(buffer_, index_, value);
  return *this;
}
Element::operator Value() const { return builder_->load(buffer_, index_); }

Value apply(BinaryOp op, Value a, Value b) {
  Builder* builder = a.builder_ != nullptr ? a.builder_ : b.builder_;
  return builder != nullptr ? builder->binary(op, a, b) : Value();
}

Value apply(UnaryOp op, Value a) {
  return a.builder_ != nullptr ? a.builder_->unary(op, a) : Value();
}

}  // namespace felsite::ir
