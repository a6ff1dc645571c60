#include "codegen/values/arithmetic.h"

namespace felsite::codegen {
namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

// The two widths behind one set of names, so that every operation is written once.
struct Words {
  using Int = Word;
  static constexpr std::uint32_t kWidth = 32;
  static Int of(const Value& value) { return value.word(); }
  static Int constant(Emitter& e, std::uint64_t value) {
    return e.word(static_cast<std::uint32_t>(value));
  }
  static Word count_of(Int a) { return a & 31U; }
};

struct Wides {
  using Int = Wide;
  static constexpr std::uint32_t kWidth = 64;
  static Int of(const Value& value) { return value.wide(); }
  static Int constant(Emitter& e, std::uint64_t value) { return e.wide(value); }
  // Masked before it is narrowed: lavapipe drops a mask on a narrowed count and then shifts
  // wrongly.
  static Word count_of(Int a) { return low_word(a & 63U); }
};

Word trailing_zeros(Word a) { return ctz(a); }
Word trailing_zeros(Wide a) {
  const Word low = low_word(a);
  return select(low == 0U, ctz(high_word(a)) + 32U, ctz(low));
}
Word set_bits(Word a) { return popcount(a); }
Word set_bits(Wide a) { return popcount(low_word(a)) + popcount(high_word(a)); }
Wide reverse_bits(Wide a) { return wide(reverse_bits(high_word(a)), reverse_bits(low_word(a))); }
using codegen::reverse_bits;

template <class Kit>
class IntegerOps {
 public:
  using Int = typename Kit::Int;

  IntegerOps(Emitter& emitter, Type type) : e_(emitter), signed_(is_signed(type)) {}

  Flag less(Int a, Int b) const { return signed_ ? signed_less(a, b) : a < b; }
  Int zero() const { return constant(0); }
  Int ones() const { return constant(~std::uint64_t{0}); }
  Int least() const { return signed_ ? constant(std::uint64_t{1} << (Kit::kWidth - 1)) : zero(); }
  Int greatest() const { return signed_ ? ~least() : ones(); }
  Flag negative(Int a) const { return signed_less(a, zero()); }
  Int negated(Int a) const { return zero() - a; }
  Int magnitude(Int a) const { return select(negative(a), negated(a), a); }

  // x / 0 is all ones, x % 0 is 0; signed division by -1 wraps. The device sees neither divisor.
  Int quotient(Int a, Int b) const {
    const Flag by_zero = b == zero();
    if (!signed_) return select(by_zero, ones(), divide(a, select(by_zero, constant(1), b)));
    const Flag by_minus_one = b == ones();
    const Int divisor = select(by_zero, constant(1), select(by_minus_one, constant(1), b));
    const Int value = select(by_minus_one, negated(a), signed_divide(a, divisor));
    return select(by_zero, ones(), value);
  }
  // Signed, from the quotient: Vulkan leaves the remainder of negative operands open.
  Int remainder(Int a, Int b) const {
    const Flag by_zero = b == zero();
    if (!signed_) return select(by_zero, zero(), modulo(a, select(by_zero, constant(1), b)));
    const Flag by_minus_one = b == ones();
    const Int divisor = select(by_zero, constant(1), select(by_minus_one, constant(1), b));
    return a - signed_divide(a, divisor) * divisor;
  }

  // The signed one is the unsigned one, less each factor where the other is negative.
  Int product_high(Int a, Int b) const {
    const Int unsigned_high = mul_high(a, b);
    if (!signed_) return unsigned_high;
    return unsigned_high - select(negative(a), b, zero()) - select(negative(b), a, zero());
  }

  Int saturated_sum(Int a, Int b) const {
    const Int sum = a + b;
    if (!signed_) return select(sum < a, ones(), sum);
    // It overflows if both operands have the sign that the sum lacks.
    const Flag overflow = negative((a ^ sum) & (b ^ sum));
    return select(overflow, bound_for(a), sum);
  }
  Int saturated_difference(Int a, Int b) const {
    const Int difference = a - b;
    if (!signed_) return select(a < b, zero(), difference);
    const Flag overflow = negative((a ^ b) & (a ^ difference));
    return select(overflow, bound_for(a), difference);
  }
  Int saturated_product(Int a, Int b) const {
    const Int low = a * b;
    const Int high = product_high(a, b);
    if (!signed_) return select(high == zero(), low, ones());
    // It fits if the upper half only repeats the lower one's sign.
    const Flag fits = high == select(negative(low), ones(), zero());
    return select(fits, low, bound_for(a ^ b));
  }

  Int shifted_left(Int a, Int b) const { return a << Kit::count_of(b); }
  Int shifted_right(Int a, Int b) const {
    const Word count = Kit::count_of(b);
    return signed_ ? signed_shift_right(a, count) : a >> count;
  }
  Int rotated_left(Int a, Word count) const {
    const Word back = (e_.word(0) - count) & (Kit::kWidth - 1);
    return (a << count) | (a >> back);
  }
  Word opposite(Int b) const { return (e_.word(0) - Kit::count_of(b)) & (Kit::kWidth - 1); }

  Int sign_of(Int a) const {
    return select(negative(a), ones(), select(a == zero(), zero(), constant(1)));
  }
  Int difference(Int a, Int b) const { return select(less(a, b), b - a, a - b); }

 private:
  Int constant(std::uint64_t value) const { return Kit::constant(e_, value); }
  Int bound_for(Int a) const { return select(negative(a), least(), greatest()); }

  Emitter& e_;
  bool signed_;
};

template <class Kit>
Value binary(BinaryOp op, const Value& left, const Value& right) {
  const Type type = left.type;
  const IntegerOps<Kit> ops(left.emitter(), type);
  const auto a = Kit::of(left);
  const auto b = Kit::of(right);
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::WrappingAdd:
      return {type, a + b};
    case BinaryOp::Sub:
    case BinaryOp::WrappingSub:
      return {type, a - b};
    case BinaryOp::Mul:
      return {type, a * b};
    case BinaryOp::Div:
      return {type, ops.quotient(a, b)};
    case BinaryOp::Mod:
      return {type, ops.remainder(a, b)};
    case BinaryOp::MulHigh:
      return {type, ops.product_high(a, b)};
    case BinaryOp::BitAnd:
      return {type, a & b};
    case BinaryOp::BitOr:
      return {type, a | b};
    case BinaryOp::BitXor:
      return {type, a ^ b};
    case BinaryOp::Shl:
      return {type, ops.shifted_left(a, b)};
    case BinaryOp::Shr:
      return {type, ops.shifted_right(a, b)};
    case BinaryOp::RotateLeft:
      return {type, ops.rotated_left(a, Kit::count_of(b))};
    case BinaryOp::RotateRight:
      return {type, ops.rotated_left(a, ops.opposite(b))};
    case BinaryOp::Eq:
      return {Type::Bool, a == b};
    case BinaryOp::Ne:
      return {Type::Bool, a != b};
    case BinaryOp::Lt:
      return {Type::Bool, ops.less(a, b)};
    case BinaryOp::Gt:
      return {Type::Bool, ops.less(b, a)};
    case BinaryOp::Le:
      return {Type::Bool, !ops.less(b, a)};
    case BinaryOp::Ge:
      return {Type::Bool, !ops.less(a, b)};
    case BinaryOp::Min:
      return {type, select(ops.less(b, a), b, a)};
    case BinaryOp::Max:
      return {type, select(ops.less(a, b), b, a)};
    case BinaryOp::AbsDiff:
      return {ir::info(type).as_unsigned, ops.difference(a, b)};
    case BinaryOp::SaturatingAdd:
      return {type, ops.saturated_sum(a, b)};
    case BinaryOp::SaturatingSub:
      return {type, ops.saturated_difference(a, b)};
    case BinaryOp::SaturatingMul:
      return {type, ops.saturated_product(a, b)};
    case BinaryOp::And:
    case BinaryOp::Or:
      break;  // for bools
  }
  return {};
}

template <class Kit>
Value unary(UnaryOp op, const Value& operand) {
  const Type type = operand.type;
  const IntegerOps<Kit> ops(operand.emitter(), type);
  const auto a = Kit::of(operand);
  switch (op) {
    case UnaryOp::Negate:
      return {type, ops.negated(a)};
    case UnaryOp::BitNot:
      return {type, ~a};
    case UnaryOp::Popcount:
      return {Type::U32, set_bits(a)};
    case UnaryOp::Clz:
      return {Type::U32, clz(a)};
    case UnaryOp::Ctz:
      return {Type::U32, trailing_zeros(a)};
    case UnaryOp::ReverseBits:
      return {type, reverse_bits(a)};
    case UnaryOp::Abs:
      return {type, ops.magnitude(a)};
    case UnaryOp::Sign:
      return {type, ops.sign_of(a)};
    case UnaryOp::Unpack4Low:
      return {type, low_word(a) & 0xFU};
    case UnaryOp::Unpack4High:
      return {type, (low_word(a) >> 4) & 0xFU};
    case UnaryOp::Unpack8Low:
      return {type, low_word(a) & 0xFFU};
    case UnaryOp::Unpack8High:
      return {type, low_word(a) >> 24};
    case UnaryOp::LogicalNot:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round:
    case UnaryOp::Trunc:
    case UnaryOp::Sqrt:
    case UnaryOp::InverseSqrt:
    case UnaryOp::Reciprocal:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tan:
    case UnaryOp::Asin:
    case UnaryOp::Acos:
    case UnaryOp::Atan:
    case UnaryOp::Sinh:
    case UnaryOp::Cosh:
    case UnaryOp::Tanh:
    case UnaryOp::Exp:
    case UnaryOp::Exp2:
    case UnaryOp::Log:
    case UnaryOp::Log2:
    case UnaryOp::IsNan:
    case UnaryOp::IsInf:
    case UnaryOp::IsFinite:
      break;  // not for integers
  }
  return {};
}

}  // namespace

Value lower_integer_binary(BinaryOp op, Value a, Value b) {
  return is_wide_integer(a.type) ? binary<Wides>(op, a, b) : binary<Words>(op, a, b);
}

Value lower_integer_unary(UnaryOp op, Value a) {
  return is_wide_integer(a.type) ? unary<Wides>(op, a) : unary<Words>(op, a);
}

}  // namespace felsite::codegen
