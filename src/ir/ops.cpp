#include "felsite/ops.h"

#include <algorithm>

#include "base/in_order.h"
#include "ir/op_tables.h"

namespace felsite::ir {
namespace {

static_assert(base::in_order(kTypes, &TypeInfo::type));
static_assert(base::in_order(kBinaryOps, &BinaryOpInfo::op));
static_assert(base::in_order(kUnaryOps, &UnaryOpInfo::op));
static_assert(base::in_order(kAtomicOps, &AtomicOpInfo::op));
static_assert(base::in_order(kReduceOps, &ReduceOpInfo::op));
static_assert(base::in_order(kOrderings, &OrderingInfo::ordering));

template <class Table, class Member>
auto find_named(const Table& table, std::string_view name, Member member)
    -> std::optional<std::remove_cvref_t<decltype(table[0].*member)>> {
  const auto row = std::ranges::find(table, name, [](const auto& r) { return r.name; });
  if (row == table.end()) return std::nullopt;
  return (*row).*member;
}

}  // namespace

const BinaryOpInfo& info(BinaryOp op) { return kBinaryOps[static_cast<std::size_t>(op)]; }
const UnaryOpInfo& info(UnaryOp op) { return kUnaryOps[static_cast<std::size_t>(op)]; }
const AtomicOpInfo& info(AtomicOp op) { return kAtomicOps[static_cast<std::size_t>(op)]; }
const ReduceOpInfo& info(ReduceOp op) { return kReduceOps[static_cast<std::size_t>(op)]; }
const OrderingInfo& info(Ordering o) { return kOrderings[static_cast<std::size_t>(o)]; }

std::optional<Type> type_named(std::string_view name) {
  const auto type = find_named(kTypes, name, &TypeInfo::type);
  return type == Type::None ? std::nullopt : type;
}
std::optional<BinaryOp> binary_op_named(std::string_view name) {
  return find_named(kBinaryOps, name, &BinaryOpInfo::op);
}
std::optional<UnaryOp> unary_op_named(std::string_view name) {
  return find_named(kUnaryOps, name, &UnaryOpInfo::op);
}
std::optional<AtomicOp> atomic_op_named(std::string_view name) {
  return find_named(kAtomicOps, name, &AtomicOpInfo::op);
}
std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  return find_named(kReduceOps, name, &ReduceOpInfo::op);
}
std::optional<Ordering> ordering_named(std::string_view name) {
  return find_named(kOrderings, name, &OrderingInfo::ordering);
}

Type result_type(TypeRule rule, Type operand) {
  if (!rule.operands.has(operand)) return Type::None;
  switch (rule.result) {
    case ResultRule::Operand:
      return operand;
    case ResultRule::Bool:
      return Type::Bool;
    case ResultRule::U32:
      return Type::U32;
    case ResultRule::Unsigned:
      return info(operand).as_unsigned;
  }
  return Type::None;
}

}  // namespace felsite::ir
