// A fused multiply-add that rounds once, on integers: the whole product and the addend meet in a
// word of twice the width.
#include "codegen/values/emitter.h"
#include "codegen/values/exact_arithmetic.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

// 128 bits: a Quad is to a Wide what a Wide is to a Word.
struct Quad {
  Wide low;
  Wide high;
};

Quad operator+(Quad a, Quad b) {
  Emitter& e = *a.low.emitter;
  const Wide low = a.low + b.low;
  const Wide carry = select(low < a.low, e.wide(1), e.wide(0));
  return {low, a.high + b.high + carry};
}
Quad operator-(Quad a, Quad b) {
  Emitter& e = *a.low.emitter;
  const Wide borrow = select(a.low < b.low, e.wide(1), e.wide(0));
  return {a.low - b.low, a.high - b.high - borrow};
}
// As for a Wide on words: the count is below 128, and what crosses over goes in two steps.
Quad operator<<(Quad a, Word count) {
  const Word within = count & 63U;
  const Flag whole = count > 63U;
  const Wide low = a.low << within;
  const Wide high = (a.high << within) | ((a.low >> 1U) >> (within ^ 63U));
  return {select(whole, a.low.emitter->wide(0), low), select(whole, low, high)};
}
Quad operator>>(Quad a, Word count) {
  const Word within = count & 63U;
  const Flag whole = count > 63U;
  const Wide high = a.high >> within;
  const Wide low = (a.low >> within) | ((a.high << 1U) << (within ^ 63U));
  return {select(whole, high, low), select(whole, a.low.emitter->wide(0), high)};
}
Flag operator==(Quad a, Quad b) {
  return ((a.low ^ b.low) | (a.high ^ b.high)) == std::uint64_t{0};
}
Quad select(Flag condition, Quad a, Quad b) {
  return {select(condition, a.low, b.low), select(condition, a.high, b.high)};
}
Word clz(Quad a) { return select(a.high == std::uint64_t{0}, clz(a.low) + 64U, clz(a.high)); }

// The halves of a double word, and making one of them.
Word low_half(Wide a) { return low_word(a); }
Word high_half(Wide a) { return high_word(a); }
Wide low_half(const Quad& a) { return a.low; }
Wide high_half(const Quad& a) { return a.high; }
Wide joined(Word low, Word high) { return wide(low, high); }
Quad joined(Wide low, Wide high) { return {low, high}; }
Wide whole_product(Word a, Word b) { return widen(a) * widen(b); }
Quad whole_product(Wide a, Wide b) { return {a * b, mul_high(a, b)}; }

// With the last bit set if anything was shifted out: enough for rounding to decide.
template <class Twice>
Twice shift_right_sticky(Twice a, Word count, std::uint32_t width) {
  Emitter& e = *count.emitter;
  const Word bounded = min(count, e.word(width - 1));
  const Twice kept = a >> bounded;
  const auto low = low_half(kept);
  const Flag is_exact = kept << bounded == a;
  return joined(select(is_exact, low, low | 1U), high_half(kept));
}

// Rounded to nearest even, with an exponent that has no bounds until it is known. The leading bit
// is at the top; `exponent` is the field it stands for.
template <class F, class Twice>
BitsOf<F> rounded_and_packed(Twice normal, Word exponent) {
  using Layout = FloatLayout<F>;
  using Raw = typename Layout::Raw;
  Emitter& e = *exponent.emitter;
  constexpr std::uint32_t kDropped = Layout::kWidth - Layout::kFractionBits - 1;
  constexpr Raw kHalf = Raw{1} << (kDropped - 1);
  const auto zero = Layout::constant(e, 0);
  const auto one = Layout::constant(e, 1);
  const auto top = high_half(normal);
  const auto sticky = select(low_half(normal) == zero, zero, one);
  const auto cut = (top & ((Raw{1} << kDropped) - 1)) | sticky;
  const auto digits = top >> kDropped;
  const Flag rounds_up = cut + (digits & Raw{1}) >= kHalf + 1;
  const auto rounded = select(rounds_up, digits + one, digits);
  const Word carried = exponent + low_word(rounded >> (Layout::kFractionBits + 1));
  const auto packed = Layout::exponent_bits(exponent - 1U) + rounded;
  const auto not_tiny = select(signed_less(carried, e.word(1)), zero, packed);
  const Flag is_huge = signed_less(e.word(Layout::kSpecialExponent - 1), carried);
  return select(is_huge, Layout::constant(e, Layout::kInfinity), not_tiny);
}

// Both factors normal numbers, the addend a finite one. The product fills its place from the
// third bit from the top, or from the fourth: one bit is for the carry, one for the sign. The
// addend is laid beside it with its leading bit fourth. What lies below is zero for as many bits as
// a cancellation could bring up, so that the sticky bit never comes near the rounding.
template <class F>
F sum_of_product(F a, F b, F c) {
  using Layout = FloatLayout<F>;
  constexpr std::uint32_t kDoubled = 2 * Layout::kWidth;
  constexpr std::uint32_t kFraction = Layout::kFractionBits;
  Emitter& e = *a.emitter;
  const auto zero = Layout::constant(e, 0);
  const auto digits_of = [&](F x) {
    return (bits(x) & (Layout::kLeastNormal - 1)) | Layout::kLeastNormal;
  };
  const auto c_digits = select(magnitude_bits(c) == zero, zero, digits_of(c));
  const auto product = whole_product(digits_of(a), digits_of(b))
                       << e.word(kDoubled - 4 - 2 * kFraction);
  const auto addend = joined(zero, c_digits << (Layout::kWidth - 4 - kFraction));
  const Word c_exponent = Layout::exponent_of(bits(c));
  const Word product_exponent =
      Layout::exponent_of(bits(a)) + Layout::exponent_of(bits(b)) - Layout::kBias;

  const Flag addend_leads = signed_less(product_exponent, c_exponent);
  const Word exponent = select(addend_leads, c_exponent, product_exponent);
  const Word distance = (exponent - product_exponent) + (exponent - c_exponent);
  const auto leading = select(addend_leads, addend, product);
  const auto other = shift_right_sticky(select(addend_leads, product, addend), distance, kDoubled);
  const auto product_sign = (bits(a) ^ bits(b)) & Layout::kSign;
  const auto addend_sign = sign_bit(c);
  const Flag subtracts = product_sign != addend_sign;
  const auto sum = select(subtracts, leading - other, leading + other);
  const Flag turns = high_half(sum) >= Layout::kSign;
  const auto total = select(turns, joined(zero, zero) - sum, sum);
  const auto leading_sign = select(addend_leads, addend_sign, product_sign);
  const auto sign = select(turns, leading_sign ^ Layout::kSign, leading_sign);

  const Word zeros = clz(total);
  const auto normal = total << (zeros & (kDoubled - 1));
  const auto size = rounded_and_packed<F>(normal, exponent + 3U - zeros);
  // What cancels wholly is +0.
  return from_bits(select(zeros == kDoubled, zero, size | sign));
}

template <class F>
F fma_body(F a, F b, F c) {
  using Layout = FloatLayout<F>;
  const auto is_normal = [](F x) {
    return magnitude_bits(x) - Layout::kLeastNormal < Layout::kInfinity - Layout::kLeastNormal;
  };
  const Flag factors_are_normal = is_normal(a) && is_normal(b);
  const Flag addend_is_finite = magnitude_bits(c) < Layout::kInfinity;
  // A product that is infinite, NaN or zero is so without rounding, and the sum has nothing to
  // round either. An infinite or NaN addend is itself the sum, even where a product overflows.
  const F plain = select(addend_is_finite, sum_of_product(a, b, c), c);
  return select(factors_are_normal, plain, exact_add(exact_mul(a, b), c));
}

}  // namespace

template <class F>
F exact_fma(F a, F b, F c) {
  Emitter& e = *a.emitter;
  constexpr auto kType = FloatLayout<F>::kType;
  const Id type = e.type_of(kType);
  const auto body = [&](FunctionWriter& f) {
    return fma_body(F{&e, f.param(0)}, F{&e, f.param(1)}, F{&e, f.param(2)}).id;
  };
  const char* const name = kType == ir::Type::F32 ? "fma_f32" : "fma_f64";
  return {&e, e.call_helper(Helper::FusedMultiplyAdd, static_cast<std::uint32_t>(kType), name, type,
                            {type, type, type}, {a.id, b.id, c.id}, body)};
}

template Float exact_fma(Float, Float, Float);
template Double exact_fma(Double, Double, Double);

}  // namespace felsite::codegen
