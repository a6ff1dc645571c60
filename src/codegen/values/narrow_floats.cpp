// f16 and bf16: packing, unpacking and rounding on the bits of the f32 that stands for them.
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

using F32 = FloatLayout<Float>;
using F64 = FloatLayout<Double>;

constexpr std::uint32_t kHalfInfinity = 0x7C00;
constexpr std::uint32_t kHalfNan = 0x7E00;
constexpr std::uint32_t kHalfLeastNormal = 0x0400;
constexpr std::uint32_t kHalfFractionBits = 10;
constexpr std::uint32_t kDropped = F32::kFractionBits - kHalfFractionBits;
constexpr std::uint32_t kBiasDifference = (F32::kBias - 15U) << F32::kFractionBits;
constexpr std::uint32_t kLeastNormalHalf = 0x3880'0000U;  // 2^-14
constexpr std::uint32_t kBeyondHalf = 0x4780'0000U;       // 2^16
// Near one half, a unit of f32 is the least subnormal of f16.
constexpr float kSmallOffset = 0.5F;
constexpr std::uint32_t kSmallOffsetBits = 0x3F00'0000U;

Word unpacked_half(Word half) {
  const Word sign = (half & 0x8000U) << 16;
  const Word magnitude = half & 0x7FFFU;
  const Float offset = float_from_bits(magnitude | kSmallOffsetBits);
  const Word small = bits(offset - half.emitter->number(kSmallOffset));
  const Word moved = magnitude << kDropped;
  const Word finite = select(magnitude < kHalfLeastNormal, small, moved + kBiasDifference);
  const Word special = moved | F32::kInfinity;
  return select(magnitude >= kHalfInfinity, special, finite) | sign;
}

Word packed_half(Float x) {
  Emitter& e = *x.emitter;
  const Word magnitude = magnitude_bits(x);
  const Word small = bits(float_from_bits(magnitude) + e.number(kSmallOffset)) - kSmallOffsetBits;
  const Word normal = (magnitude - kBiasDifference) >> kDropped;
  const Word finite = select(magnitude < kLeastNormalHalf, small, normal);
  const Word bounded = select(magnitude >= F32::kInfinity, e.word(kHalfInfinity), finite);
  return select(is_nan(x), e.word(kHalfNan), bounded | (sign_bit(x) >> 16));
}

// The last `dropped` bits of the fraction rounded away. A carry runs into the exponent, as it
// should. Not for NaNs.
Word without_last_bits(Word all, std::uint32_t dropped) {
  const Word odd = (all >> dropped) & 1U;
  return (all + ((1U << (dropped - 1)) - 1) + odd) & ~((1U << dropped) - 1);
}

Word rounded_half(Float x) {
  Emitter& e = *x.emitter;
  const Word magnitude = magnitude_bits(x);
  const Float offset = e.number(kSmallOffset);
  const Word small = bits((float_from_bits(magnitude) + offset) - offset);
  const Word normal = without_last_bits(magnitude, kDropped);
  const Word finite = select(magnitude < kLeastNormalHalf, small, normal);
  const Word bounded = select(finite >= kBeyondHalf, e.word(F32::kInfinity), finite);
  return select(is_nan(x), magnitude, bounded) | sign_bit(x);
}

// A double that f32 can hold but for its range: overflow gives infinity, what is subnormal is
// flushed.
Float narrowed(Double x, Wide rounded) {
  Emitter& e = *x.emitter;
  constexpr std::uint32_t kRebias = (F64::kBias - F32::kBias) << F32::kFractionBits;
  constexpr std::uint64_t kLeast = std::uint64_t{F64::kBias - 126U} << F64::kFractionBits;
  constexpr std::uint64_t kBeyond = std::uint64_t{F64::kBias + 128U} << F64::kFractionBits;
  const Wide magnitude = rounded & F64::kMagnitude;
  const Word normal = low_word(magnitude >> (F64::kFractionBits - F32::kFractionBits)) - kRebias;
  const Word not_tiny = select(magnitude < kLeast, e.word(0), normal);
  const Word bounded = select(magnitude >= kBeyond, e.word(F32::kInfinity), not_tiny);
  const Word sign = high_word(bits(x)) & F32::kSign;
  return float_from_bits(select(is_nan(x), e.word(F32::kNan), bounded | sign));
}

// Rounded to `precision` bits, as though the exponent had no bounds.
Wide rounded_significand(Double x, std::uint32_t precision) {
  const std::uint32_t dropped = F64::kFractionBits + 1 - precision;
  const Wide all = bits(x);
  const Wide odd = (all >> dropped) & std::uint64_t{1};
  const std::uint64_t below_half = (std::uint64_t{1} << (dropped - 1)) - 1;
  return (all + below_half + odd) & ~((std::uint64_t{1} << dropped) - 1);
}

// Cut to the 24 bits of f32, the last of them set if anything was lost: a later rounding to fewer
// bits then gives what rounding the whole would.
Wide rounded_to_odd(Double x) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << (F64::kFractionBits - F32::kFractionBits);
  const Wide all = bits(x);
  const Flag is_exact = (all & (kUnit - 1)) == std::uint64_t{0};
  const Wide kept = all & ~(kUnit - 1);
  return select(is_exact, kept, kept | kUnit);
}

Float narrowed_by_helper(Double x, std::uint32_t precision, const char* name) {
  Emitter& e = *x.emitter;
  return e.as_float(
      e.call_helper(Helper::NarrowDouble, precision, name, e.type_float(), {e.type_double()},
                    {x.id}, [&](FunctionWriter& f) {
                      const Double operand = e.as_double(f.param(0));
                      return narrowed(operand, rounded_significand(operand, precision)).id;
                    }));
}

Float converted_natively(Double x) {
  Emitter& e = *x.emitter;
  return e.as_float(e.function().convert_float(e.type_float(), {x.id}));
}

}  // namespace

Float float_from_half_bits(Word half) {
  Emitter& e = *half.emitter;
  if (!e.exact()) {
    const Id both =
        e.glsl(GLSLstd450UnpackHalf2x16, e.module().type_vector(e.type_float(), 2), {half.id()});
    return e.as_float(e.function().extract(e.type_float(), {both, 0}));
  }
  return e.as_float(e.call_helper(
      Helper::UnpackHalf, 0, "unpack_f16", e.type_float(), {e.type_word()}, {half.id()},
      [&](FunctionWriter& f) { return float_from_bits(unpacked_half(e.as_word(f.param(0)))).id; }));
}

Word half_bits(Float x) {
  Emitter& e = *x.emitter;
  if (!e.exact()) {
    const Id both = e.function().construct(e.module().type_vector(e.type_float(), 2),
                                           {x.id, e.number(0.0F).id});
    return e.as_word(e.glsl(GLSLstd450PackHalf2x16, e.type_word(), {both}));
  }
  return e.as_word(
      e.call_helper(Helper::PackHalf, 0, "pack_f16", e.type_word(), {e.type_float()}, {x.id},
                    [&](FunctionWriter& f) { return packed_half(e.as_float(f.param(0))).id(); }));
}

Float float_from_brain_bits(Word half) {
  const Float value = float_from_bits(half << 16);
  return half.emitter->exact() ? flushed(value) : value;
}

// In fast mode too: a NaN may be one by its lower bits alone.
Word brain_bits(Float x) { return canonical_bits(x) >> 16; }

Float rounded_to_half(Float x) {
  Emitter& e = *x.emitter;
  if (!e.exact()) return e.as_float(e.function().quantize_to_half(e.type_float(), {x.id}));
  return e.as_float(e.call_helper(
      Helper::RoundHalf, 0, "round_to_f16", e.type_float(), {e.type_float()}, {x.id},
      [&](FunctionWriter& f) { return float_from_bits(rounded_half(e.as_float(f.param(0)))).id; }));
}

// No value of f32 is too small: the least normal numbers of both are the same.
Float rounded_to_brain(Float x) {
  return select(is_nan(x), x, float_from_bits(without_last_bits(bits(x), 16)));
}

Float rounded_to_float(Double x) {
  if (!x.emitter->exact()) return converted_natively(x);
  return narrowed_by_helper(x, F32::kFractionBits + 1, "f64_to_f32");
}

Float rounded_to_half(Double x) {
  if (!x.emitter->exact()) return rounded_to_half(converted_natively(x));
  return rounded_to_half(narrowed(x, rounded_to_odd(x)));
}

Float rounded_to_brain(Double x) {
  if (!x.emitter->exact()) return rounded_to_brain(converted_natively(x));
  return narrowed_by_helper(x, 8, "f64_to_bf16");
}

}  // namespace felsite::codegen
