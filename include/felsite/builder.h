// A builder that reads like a kernel:
//
//   Builder k("saxpy", {64});
//   Buffer x = k.readonly("x", Type::F32);
//   Buffer y = k.readwrite("y", Type::F32);
//   Value i = k.let("i", k.invocation(0));
//   k.if_(i < k.length(y), [&] { y[i] = x[i] * 2.0f + y[i]; });
//   std::expected<Program, Findings> program = k.build();
//
// A value means what it meant where it was made. A value that is used twice, or used after a
// statement that could have changed it, is bound to a variable where it was made; a value that is
// used once and immediately stays inside its expression. Atomics happen where they are called. C++
// does not specify which operand of a + b is evaluated first, so write two atomics as two
// statements.
#pragma once

#include <array>
#include <expected>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/finding.h"
#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::ir {

class Builder;

class Value {
 public:
  Value() = default;
  // Literals can be used directly in expressions: x + 1u, y * 0.5f.
  template <class T>
  requires requires(T t) { literal(t); }
  Value(T value) : literal_(literal(value)) {}
  Value(Literal value) : literal_(value) {}

 private:
  friend class Builder;
  friend Value apply(BinaryOp op, Value a, Value b);
  friend Value apply(UnaryOp op, Value a);
  Value(Builder* builder, std::uint32_t id) : builder_(builder), id_(id) {}

  Builder* builder_ = nullptr;  // null: a literal, or no value
  std::uint32_t id_ = 0;
  Literal literal_;
};

// A variable that can change: x = x + 1u is an Assign node, and so is copying another Var into it.
class Var {
 public:
  Var(const Var&) = default;
  Var& operator=(Value value);
  Var& operator=(const Var& other) { return *this = Value(other); }
  operator Value() const;

 private:
  friend class Builder;
  Var(Builder* builder, std::uint32_t id) : builder_(builder), id_(id) {}
  Builder* builder_;
  std::uint32_t id_;
};

// buffer[i]: reads when it is used as a value, stores when it is assigned to.
class Element {
 public:
  Element& operator=(Value value);
  Element& operator=(const Element& other) { return *this = Value(other); }
  Element(const Element&) = default;
  operator Value() const;

 private:
  friend class Builder;
  friend class Buffer;
  Element(Builder* builder, BufferId buffer, Value index)
      : builder_(builder), buffer_(buffer), index_(index) {}
  Builder* builder_;
  BufferId buffer_;
  Value index_;
};

class Buffer {
 public:
  Element operator[](Value index) const { return Element(builder_, id_, index); }
  BufferId id() const { return id_; }

 private:
  friend class Builder;
  Buffer(Builder* builder, BufferId id) : builder_(builder), id_(id) {}
  Builder* builder_;
  BufferId id_;
};

struct OpHandle {
  OpId id;
};

class Builder {
 public:
  using Body = std::function<void()>;
  using OpBody = std::function<Value(std::span<const Value>)>;
  struct Param {
    std::string name;
    Type type;
  };

  Builder(std::string name, std::initializer_list<std::uint32_t> workgroup_size);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  void use_fast_floats();

  // Buffers are bound in the order of their declarations. A count of 0 is sized by the caller's
  // bytes.
  Buffer readonly(std::string name, Type element, std::uint32_t count = 0);
  Buffer readwrite(std::string name, Type element, std::uint32_t count = 0);
  Buffer writeonly(std::string name, Type element, std::uint32_t count);
  Buffer uniform(std::string name, Type element, std::uint32_t count = 0);
  Buffer output(std::string name, Type element, std::uint32_t count);
  Buffer workgroup(std::string name, Type element, std::uint32_t count);
  Buffer declare(BufferDecl decl);  // with everything explicit, including the binding

  // A user-defined operation: scalars in, one scalar out.
  OpHandle op(std::string name, std::vector<Param> params, Type result, const OpBody& body);

  // The position of the invocation along axis 0, 1 or 2.
  Value invocation(unsigned axis) { return builtin(ExprKind::InvocationId, axis); }
  Value workgroup_id(unsigned axis) { return builtin(ExprKind::WorkgroupId, axis); }
  Value local(unsigned axis) { return builtin(ExprKind::LocalId, axis); }
  Value num_workgroups(unsigned axis) { return builtin(ExprKind::NumWorkgroups, axis); }
  Value workgroup_size(unsigned axis) { return builtin(ExprKind::WorkgroupSize, axis); }
  Value subgroup_lane() { return builtin(ExprKind::SubgroupLocalId, 0); }
  Value subgroup_size() { return builtin(ExprKind::SubgroupSize, 0); }
  Value length(Buffer buffer);

  Value binary(BinaryOp op, Value a, Value b);
  Value unary(UnaryOp op, Value a);
  Value select(Value condition, Value a, Value b);
  Value cast(Type type, Value a);
  Value bitcast(Type type, Value a);
  Value fma(Value a, Value b, Value c);
  Value call(OpHandle op, std::vector<Value> arguments);
  Value subgroup_ballot(Value condition);
  Value subgroup_shuffle(Value value, Value lane);
  Value subgroup_reduce(ReduceOp op, Value value);
  Value atomic(AtomicOp op, Element element, Value value, Ordering ordering = Ordering::Relaxed);
  Value compare_exchange(Element element, Value expected, Value value,
                         Ordering ordering = Ordering::Relaxed);

  // Statements.
  Value let(std::string name, Value value);
  Var var(std::string name, Value value);
  void if_(Value condition, const Body& then);
  void if_(Value condition, const Body& then, const Body& otherwise);
  void loop(std::string variable, Value from, Value to, const std::function<void(Value)>& body);
  void block(const Body& body);
  void region(std::string name, const Body& body);
  void return_();
  void barrier(Ordering ordering = Ordering::AcqRel);
  void grid_sync() { barrier(Ordering::GridSync); }
  void indirect_dispatch(Buffer buffer, std::uint32_t offset);
  void async_load(Element to, Element from, std::uint32_t count, std::string tag) {
    async_copy(NodeKind::AsyncLoad, to, from, count, std::move(tag));
  }
  void async_store(Element to, Element from, std::uint32_t count, std::string tag) {
    async_copy(NodeKind::AsyncStore, to, from, count, std::move(tag));
  }
  void async_wait(std::string tag);
  void trap(Value address, std::string tag);
  void resume(std::string tag);
  void all_reduce(ReduceOp op, Buffer buffer);
  void all_gather(Buffer to, Buffer from);
  void reduce_scatter(ReduceOp op, Buffer to, Buffer from);
  void broadcast(Buffer buffer, std::uint32_t root);

  // The program, or everything that is wrong with it, with paths such as entry[2].then[0].value.
  std::expected<Program, Findings> build() const;
  // The program without validation; whoever takes it validates it.
  Program build_unvalidated() const;

  struct State;

 private:
  friend class Var;
  friend class Element;

  // A buffer of another builder stays unresolved.
  BufferId ref(const Buffer& of) const { return of.builder_ == this ? of.id_ : kUnresolved; }
  BufferId ref(const Element& of) const { return of.builder_ == this ? of.buffer_ : kUnresolved; }
  Buffer declare(std::string name, Type element, std::uint32_t count, Access access,
                 bool output = false);
  Value builtin(ExprKind kind, unsigned axis);
  std::uint32_t use(Value value);
  Value record(Expr row, std::initializer_list<Value> operands = {});
  Value load(BufferId buffer, Value index);
  void store(BufferId buffer, Value index, Value value);
  Value read(std::uint32_t variable);
  void assign(std::uint32_t variable, Value value);
  void async_copy(NodeKind kind, Element to, Element from, std::uint32_t count, std::string tag);

  std::unique_ptr<State> state_;
};

Value apply(BinaryOp op, Value a, Value b);
Value apply(UnaryOp op, Value a);

inline Value operator+(Value a, Value b) { return apply(BinaryOp::Add, a, b); }
inline Value operator-(Value a, Value b) { return apply(BinaryOp::Sub, a, b); }
inline Value operator*(Value a, Value b) { return apply(BinaryOp::Mul, a, b); }
inline Value operator/(Value a, Value b) { return apply(BinaryOp::Div, a, b); }
inline Value operator%(Value a, Value b) { return apply(BinaryOp::Mod, a, b); }
inline Value operator&(Value a, Value b) { return apply(BinaryOp::BitAnd, a, b); }
inline Value operator|(Value a, Value b) { return apply(BinaryOp::BitOr, a, b); }
inline Value operator^(Value a, Value b) { return apply(BinaryOp::BitXor, a, b); }
inline Value operator<<(Value a, Value b) { return apply(BinaryOp::Shl, a, b); }
inline Value operator>>(Value a, Value b) { return apply(BinaryOp::Shr, a, b); }
inline Value operator==(Value a, Value b) { return apply(BinaryOp::Eq, a, b); }
inline Value operator!=(Value a, Value b) { return apply(BinaryOp::Ne, a, b); }
inline Value operator<(Value a, Value b) { return apply(BinaryOp::Lt, a, b); }
inline Value operator>(Value a, Value b) { return apply(BinaryOp::Gt, a, b); }
inline Value operator<=(Value a, Value b) { return apply(BinaryOp::Le, a, b); }
inline Value operator>=(Value a, Value b) { return apply(BinaryOp::Ge, a, b); }
// Both sides are always evaluated, as everywhere in the IR.
inline Value operator&&(Value a, Value b) { return apply(BinaryOp::And, a, b); }
inline Value operator||(Value a, Value b) { return apply(BinaryOp::Or, a, b); }
inline Value operator-(Value a) { return apply(UnaryOp::Negate, a); }
inline Value operator~(Value a) { return apply(UnaryOp::BitNot, a); }
inline Value operator!(Value a) { return apply(UnaryOp::LogicalNot, a); }
inline Value min(Value a, Value b) { return apply(BinaryOp::Min, a, b); }
inline Value max(Value a, Value b) { return apply(BinaryOp::Max, a, b); }
inline Value sqrt(Value a) { return apply(UnaryOp::Sqrt, a); }
inline Value abs(Value a) { return apply(UnaryOp::Abs, a); }

}  // namespace felsite::ir
