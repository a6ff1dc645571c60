#include "felsite/builder.h"

#include <utility>

#include "felsite/validate.h"
#include "ir/build/builder_state.h"
#include "ir/guarded_findings.h"

namespace felsite::ir {

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

void record_body(Builder::State& state, Builder::State::ScopeId scope, const Builder::Body& body) {
  const InScope inside(state, scope);
  body();
}

}  // namespace

std::uint32_t Builder::State::add(const Expr& row) {
  bool changeable =
      row.kind == ExprKind::Var ? vars[row.ref].mutable_ : info(row.kind).purity != Purity::Pure;
  for (const std::uint32_t operand : operands(row)) changeable |= exprs[operand].changeable;
  exprs.push_back({.row = row, .changeable = changeable, .scope = current, .position = position()});
  return static_cast<std::uint32_t>(exprs.size() - 1);
}

std::span<const std::uint32_t> Builder::State::operands(const Expr& row) const {
  if (row.kind == ExprKind::Call) {
    return std::span(call_operands).subspan(row.args[0], row.args[1]);
  }
  return std::span(row.args).first(row.arity());
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

Buffer Builder::declare(std::string name, Type element, std::uint32_t count, Access access,
                        bool output) {
  return declare({.name = std::move(name),
                  .binding = access == Access::Workgroup ? 0 : state_->next_binding,
                  .element = element,
                  .count = count,
                  .access = access,
                  .output = output});
}

Buffer Builder::readonly(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::ReadOnly);
}
Buffer Builder::readwrite(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::ReadWrite);
}
Buffer Builder::writeonly(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::WriteOnly);
}
Buffer Builder::uniform(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::Uniform);
}
Buffer Builder::workgroup(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::Workgroup);
}
Buffer Builder::output(std::string name, Type element, std::uint32_t count) {
  return declare(std::move(name), element, count, Access::ReadWrite, /*output=*/true);
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
    recorded.param_vars.push_back(state_->add_var(param.name));
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
    Expr literal{.kind = ExprKind::Literal};
    if (value.builder_ == nullptr) literal.type = value.literal_.type;
    literal.set_literal_bits(value.literal_.bits);
    return state_->add(literal);
  }
  State::Recorded& expr = state_->exprs[value.id_];
  const bool leaf = expr.row.arity() == 0 && expr.row.kind != ExprKind::Call;
  const bool moved = expr.scope != state_->current || expr.position != state_->position();
  ++expr.uses;
  if (expr.row.kind == ExprKind::Var) state_->vars[expr.row.ref].named = true;
  if ((expr.changeable && moved) || (!leaf && expr.uses > 1)) expr.bound = true;
  return value.id_;
}

Value Builder::record(Expr row, std::initializer_list<Value> operands) {
  std::size_t count = 0;
  for (const Value& operand : operands) row.args[count++] = use(operand);
  return Value(this, state_->add(row));
}

Value Builder::builtin(ExprKind kind, unsigned axis) {
  return record({.kind = kind, .aux = static_cast<std::uint8_t>(axis > 2 ? 3 : axis)});
}

Value Builder::length(Buffer buffer) {
  return record({.kind = ExprKind::BufLen, .ref = ref(buffer)});
}

Value Builder::read(std::uint32_t variable) {
  return record({.kind = ExprKind::Var, .ref = variable});
}

Value Builder::load(BufferId buffer, Value index) {
  return record({.kind = ExprKind::Load, .ref = buffer}, {index});
}

Value Builder::binary(BinaryOp op, Value a, Value b) {
  return record({.kind = ExprKind::Binary, .op = static_cast<std::uint8_t>(op)}, {a, b});
}

Value Builder::unary(UnaryOp op, Value a) {
  return record({.kind = ExprKind::Unary, .op = static_cast<std::uint8_t>(op)}, {a});
}

Value Builder::select(Value condition, Value a, Value b) {
  return record({.kind = ExprKind::Select}, {condition, a, b});
}

Value Builder::cast(Type type, Value a) {
  return record({.kind = ExprKind::Cast, .type = type}, {a});
}

Value Builder::bitcast(Type type, Value a) {
  return record({.kind = ExprKind::Bitcast, .type = type}, {a});
}

Value Builder::fma(Value a, Value b, Value c) { return record({.kind = ExprKind::Fma}, {a, b, c}); }

Value Builder::call(OpHandle op, std::vector<Value> arguments) {
  const std::size_t first = state_->call_operands.size();
  for (const Value& argument : arguments) state_->call_operands.push_back(use(argument));
  // An operation must come before its callers; any other handle does not belong to this builder.
  return record({.kind = ExprKind::Call,
                 .ref = op.id < state_->ops.size() ? op.id : kUnresolved,
                 .args = {static_cast<std::uint32_t>(first),
                          static_cast<std::uint32_t>(arguments.size()), 0}});
}

Value Builder::subgroup_ballot(Value condition) {
  return record({.kind = ExprKind::SubgroupBallot}, {condition});
}

Value Builder::subgroup_shuffle(Value value, Value lane) {
  return record({.kind = ExprKind::SubgroupShuffle}, {value, lane});
}

Value Builder::subgroup_reduce(ReduceOp op, Value value) {
  return record({.kind = ExprKind::SubgroupReduce, .op = static_cast<std::uint8_t>(op)}, {value});
}

// An atomic is bound immediately: it happens here, once, whether or not its value is used.
Value Builder::atomic(AtomicOp op, Element element, Value value, Ordering ordering) {
  const Expr row{.kind = ExprKind::Atomic,
                 .op = static_cast<std::uint8_t>(op),
                 .aux = static_cast<std::uint8_t>(ordering),
                 .ref = ref(element)};
  return let("", record(row, {element.index_, value}));
}

Value Builder::compare_exchange(Element element, Value expected, Value value, Ordering ordering) {
  const Expr row{.kind = ExprKind::Atomic,
                 .op = static_cast<std::uint8_t>(AtomicOp::CompareExchange),
                 .aux = static_cast<std::uint8_t>(ordering),
                 .ref = ref(element)};
  return let("", record(row, {element.index_, expected, value}));
}

Value Builder::let(std::string name, Value value) {
  const std::uint32_t used = use(value);
  const std::uint32_t variable = state_->add_var(std::move(name));
  state_->add(Node{.kind = NodeKind::Let, .ref = variable, .args = {used, kNone}});
  return read(variable);
}

Var Builder::var(std::string name, Value value) {
  let(std::move(name), value);
  state_->vars.back().mutable_ = true;
  return Var(this, static_cast<std::uint32_t>(state_->vars.size() - 1));
}

void Builder::assign(std::uint32_t variable, Value value) {
  state_->add(Node{.kind = NodeKind::Assign, .ref = variable, .args = {use(value), kNone}});
  state_->vars[variable].named = true;
}

void Builder::store(BufferId buffer, Value index, Value value) {
  state_->add(Node{.kind = NodeKind::Store, .ref = buffer, .args = {use(index), use(value)}});
}

void Builder::if_(Value condition, const Body& then) { if_(condition, then, nullptr); }

void Builder::if_(Value condition, const Body& then, const Body& otherwise) {
  const Node node{.kind = NodeKind::If, .args = {use(condition), kNone}};
  const State::ScopeId then_scope = state_->open_scope();
  const State::ScopeId else_scope = otherwise ? state_->open_scope() : kNone;
  state_->add(node, then_scope, else_scope);
  record_body(*state_, then_scope, then);
  if (otherwise) record_body(*state_, else_scope, otherwise);
}

void Builder::loop(std::string variable, Value from, Value to,
                   const std::function<void(Value)>& body) {
  Node node{.kind = NodeKind::Loop, .args = {use(from), use(to)}};
  node.ref = state_->add_var(std::move(variable));
  const State::ScopeId scope = state_->open_scope();
  state_->add(node, scope);
  record_body(*state_, scope, [&] { body(read(node.ref)); });
}

void Builder::block(const Body& body) {
  const State::ScopeId scope = state_->open_scope();
  state_->add(Node{.kind = NodeKind::Block}, scope);
  record_body(*state_, scope, body);
}

void Builder::region(std::string name, const Body& body) {
  const State::ScopeId scope = state_->open_scope();
  state_->add(Node{.kind = NodeKind::Region, .name = state_->text(std::move(name))}, scope);
  record_body(*state_, scope, body);
}

void Builder::return_() { state_->add(Node{.kind = NodeKind::Return}); }

void Builder::barrier(Ordering ordering) {
  state_->add(Node{.kind = NodeKind::Barrier, .op = static_cast<std::uint8_t>(ordering)});
}

void Builder::indirect_dispatch(Buffer buffer, std::uint32_t offset) {
  state_->add(Node{.kind = NodeKind::IndirectDispatch, .ref = ref(buffer), .extra = offset});
}

void Builder::async_copy(NodeKind kind, Element to, Element from, std::uint32_t count,
                         std::string tag) {
  state_->add(Node{.kind = kind,
                   .ref = ref(to),
                   .ref2 = ref(from),
                   .name = state_->text(std::move(tag)),
                   .extra = count,
                   .args = {use(to.index_), use(from.index_)}});
}

void Builder::async_wait(std::string tag) {
  state_->add(Node{.kind = NodeKind::AsyncWait, .name = state_->text(std::move(tag))});
}

void Builder::trap(Value address, std::string tag) {
  state_->add(Node{
      .kind = NodeKind::Trap, .name = state_->text(std::move(tag)), .args = {use(address), kNone}});
}

void Builder::resume(std::string tag) {
  state_->add(Node{.kind = NodeKind::Resume, .name = state_->text(std::move(tag))});
}

void Builder::all_reduce(ReduceOp op, Buffer buffer) {
  state_->add(
      Node{.kind = NodeKind::AllReduce, .op = static_cast<std::uint8_t>(op), .ref = ref(buffer)});
}

void Builder::all_gather(Buffer to, Buffer from) {
  state_->add(Node{.kind = NodeKind::AllGather, .ref = ref(to), .ref2 = ref(from)});
}

void Builder::reduce_scatter(ReduceOp op, Buffer to, Buffer from) {
  state_->add(Node{.kind = NodeKind::ReduceScatter,
                   .op = static_cast<std::uint8_t>(op),
                   .ref = ref(to),
                   .ref2 = ref(from)});
}

void Builder::broadcast(Buffer buffer, std::uint32_t root) {
  state_->add(Node{.kind = NodeKind::Broadcast, .ref = ref(buffer), .extra = root});
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
