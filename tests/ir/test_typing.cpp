// Which types every operation takes and gives, from a separate table, written from the contract.
#include <set>

#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::kAllTypes;
using felsite::test::nth_expr;
using felsite::test::parsed;

namespace {

// Operand classes as the contract has them: arithmetic exists on u32 i32 u64 i64 and the floats.
const std::set<Type> kInt{Type::U32, Type::I32, Type::U64, Type::I64};
const std::set<Type> kFloat{Type::F16, Type::BF16, Type::F32, Type::F64};
const std::set<Type> kShortFloat{Type::F16, Type::BF16, Type::F32};
const std::set<Type> kBool{Type::Bool};
const std::set<Type> kU32{Type::U32};
const std::set<Type> kSigned{Type::I32, Type::I64};

std::set<Type> operator+(std::set<Type> a, const std::set<Type>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

enum class Gives { Same, Bool, U32, Unsigned };

Type expected_type(const std::set<Type>& operands, Gives gives, Type operand) {
  if (!operands.contains(operand)) return Type::None;
  if (gives == Gives::Bool) return Type::Bool;
  if (gives == Gives::U32) return Type::U32;
  if (gives == Gives::Unsigned && operand == Type::I32) return Type::U32;
  if (gives == Gives::Unsigned && operand == Type::I64) return Type::U64;
  return operand;
}

}  // namespace

TEST_CASE("typing: every binary operation on every type") {
  using B = BinaryOp;
  struct Rule {
    std::set<Type> operands;
    Gives gives;
    std::vector<B> ops;
  };
  const std::vector<Rule> rules{
      {kInt + kFloat, Gives::Same, {B::Add, B::Sub, B::Mul, B::Div, B::Min, B::Max}},
      {kInt,
       Gives::Same,
       {B::Mod, B::MulHigh, B::BitAnd, B::BitOr, B::BitXor, B::Shl, B::Shr, B::RotateLeft,
        B::RotateRight, B::SaturatingAdd, B::SaturatingSub, B::SaturatingMul, B::WrappingAdd,
        B::WrappingSub}},
      {kInt, Gives::Unsigned, {B::AbsDiff}},
      {kInt + kFloat + kBool, Gives::Bool, {B::Eq, B::Ne}},
      {kInt + kFloat, Gives::Bool, {B::Lt, B::Gt, B::Le, B::Ge}},
      {kBool, Gives::Bool, {B::And, B::Or}},
  };
  std::size_t covered = 0;
  for (const Rule& rule : rules) {
    for (const B op : rule.ops) {
      ++covered;
      for (const Type type : kAllTypes) {
        Builder k("p", {1});
        const Value a = k.cast(type, k.local(0));
        k.let("x", k.binary(op, a, k.cast(type, 1u)));
        const Program program = k.build_unvalidated();
        const Type given = program.expr(nth_expr(program, ExprKind::Binary)).type;
        INFO(info(op).name, " on ", info(type).name, " gives ", info(given).name);
        CHECK(given == expected_type(rule.operands, rule.gives, type));
        CHECK(k.build().has_value() == rule.operands.contains(type));
      }
    }
  }
  CHECK(covered == kBinaryOpCount);
}

TEST_CASE("typing: every unary operation on every type") {
  using U = UnaryOp;
  struct Rule {
    std::set<Type> operands;
    Gives gives;
    std::vector<U> ops;
  };
  const std::vector<Rule> rules{
      {kInt + kFloat, Gives::Same, {U::Negate}},
      {kInt, Gives::Same, {U::BitNot, U::ReverseBits}},
      {kBool, Gives::Bool, {U::LogicalNot}},
      {kInt, Gives::U32, {U::Popcount, U::Clz, U::Ctz}},
      {kSigned + kFloat, Gives::Same, {U::Abs, U::Sign}},
      {kFloat,
       Gives::Same,
       {U::Floor, U::Ceil, U::Round, U::Trunc, U::Sqrt, U::InverseSqrt, U::Reciprocal}},
      {kShortFloat,
       Gives::Same,
       {U::Sin, U::Cos, U::Tan, U::Asin, U::Acos, U::Atan, U::Sinh, U::Cosh, U::Tanh, U::Exp,
        U::Exp2, U::Log, U::Log2}},
      {kFloat, Gives::Bool, {U::IsNan, U::IsInf, U::IsFinite}},
      {kU32, Gives::U32, {U::Unpack4Low, U::Unpack4High, U::Unpack8Low, U::Unpack8High}},
  };
  std::size_t covered = 0;
  for (const Rule& rule : rules) {
    for (const U op : rule.ops) {
      ++covered;
      for (const Type type : kAllTypes) {
        Builder k("p", {1});
        k.let("x", k.unary(op, k.cast(type, k.local(0))));
        const Program program = k.build_unvalidated();
        const Type given = program.expr(nth_expr(program, ExprKind::Unary)).type;
        INFO(info(op).name, " on ", info(type).name, " gives ", info(given).name);
        CHECK(given == expected_type(rule.operands, rule.gives, type));
        CHECK(k.build().has_value() == rule.operands.contains(type));
      }
    }
  }
  CHECK(covered == kUnaryOpCount);
}

TEST_CASE("typing: mixed operands have no type, casts have their target's") {
  for (const Type a : kAllTypes) {
    for (const Type b : kAllTypes) {
      if (a == b) continue;
      Builder k("p", {1});
      k.let("x", k.cast(a, k.local(0)) == k.cast(b, k.local(0)));
      const Program program = k.build_unvalidated();
      CHECK(program.expr(nth_expr(program, ExprKind::Binary)).type == Type::None);
      CHECK(program.expr(nth_expr(program, ExprKind::Cast, 0)).type == a);
      CHECK(program.expr(nth_expr(program, ExprKind::Cast, 1)).type == b);
      CHECK_FALSE(k.build().has_value());
    }
  }
}

TEST_CASE("typing: loads widen, atomics and reductions keep the type, a ballot is u64") {
  const Program p = parsed(R"(program p workgroup(1) {
    readonly n: i8[]; readwrite w: i64[]; readonly h: bf16[];
    let a = n[0]; let b = atomic_add(w[0], 1i64); let c = subgroup_max(h[0]);
    let d = subgroup_ballot(true); let e = subgroup_shuffle(h[0], 1); let f = len(n);
  })");
  const std::vector<Type> expected{Type::I32, Type::I64,  Type::BF16,
                                   Type::U64, Type::BF16, Type::U32};
  REQUIRE(p.vars().size() == expected.size());
  for (VarId id = 0; id < p.vars().size(); ++id) CHECK(p.var(id).type == expected[id]);
}
