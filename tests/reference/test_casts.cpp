// All casts and bitcasts. Every value of every type is exact in a long double, so the truth is one
// rounding, or one truncation, of that.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic/kernels.h"
#include "felsite/literal.h"
#include "support/float_truth.h"

namespace {

using namespace felsite::ir;
using felsite::arithmetic::bitcast_kernel;
using felsite::arithmetic::bits_from_lane;
using felsite::arithmetic::cast_kernel;
using felsite::arithmetic::lane_from_bits;
namespace truth = felsite::truth;

constexpr std::uint64_t kCastSeed = 0x5EED'0003;
constexpr std::size_t kCastTypes = static_cast<std::size_t>(Type::F64) + 1;
using truth::mask_of;
using truth::width_of;

// Canonical element bits of the corners of the type, and of values near the corners of the others.
std::vector<std::uint64_t> interesting_for_casts(Type type) {
  std::vector<std::uint64_t> bits{0, 1};
  if (type == Type::Bool) return bits;
  std::mt19937_64 random(kCastSeed);
  for (int i = 0; i < 300; ++i) bits.push_back(random() >> (random() % 64));
  for (unsigned bit = 1; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (std::uint64_t near = 0; near < 5; ++near) bits.push_back(power + near - 2);
    // Half way between two neighbours of 8, 11, 24 and 53 bits, and one beside it.
    for (const unsigned precision : {8u, 11u, 24u, 53u}) {
      if (bit < precision) continue;
      const std::uint64_t half = power + (power >> precision);
      bits.insert(bits.end(), {half - 1, half, half + 1, half + (power >> (precision - 1))});
    }
  }
  const std::size_t positive = bits.size();
  for (std::size_t i = 0; i < positive; ++i) bits.push_back(0 - bits[i]);
  if (is_float(type)) {
    // As patterns, and as the values they were as integers.
    const std::size_t patterns = bits.size();
    for (std::size_t i = 0; i < patterns; ++i) {
      const auto integer = static_cast<long double>(static_cast<std::int64_t>(bits[i]));
      for (const long double scale : {1.0L, 0.25L, 0x1p-40L, 0x1p-140L, 0x1p-160L, 2.0L}) {
        bits.push_back(truth::encoded(truth::rounded(integer * scale, type), type));
      }
    }
    for (std::uint64_t& pattern : bits) pattern = truth::canonical(pattern & mask_of(type), type);
    bits.push_back(truth::encoded(std::numeric_limits<long double>::quiet_NaN(), type));
    bits.push_back(truth::encoded(std::numeric_limits<long double>::infinity(), type));
    bits.push_back(truth::encoded(-std::numeric_limits<long double>::infinity(), type));
    bits.push_back(truth::encoded(-0.0L, type));
  }
  for (std::uint64_t& pattern : bits) pattern &= mask_of(type);
  return bits;
}

std::uint64_t through(felsite::arithmetic::UnaryKernel kernel, Type from, Type to,
                      std::uint64_t bits) {
  std::uint64_t lane = 0;
  std::uint64_t result = 0;
  lane_from_bits(from, bits, &lane);
  kernel(&result, &lane, 1);
  return bits_from_lane(to, &result);
}

void check_casts_from(Type from) {
  const auto values = interesting_for_casts(from);
  for (std::size_t t = 0; t < kCastTypes; ++t) {
    const auto to = static_cast<Type>(t);
    const auto kernel = cast_kernel(from, to);
    REQUIRE((kernel != nullptr));
    std::size_t wrong = 0;
    for (const std::uint64_t bits : values) {
      if (through(kernel, from, to, bits) == truth::cast(from, to, bits) || ++wrong > 3) continue;
      CAPTURE(kCastSeed);
      CAPTURE(bits);
      CHECK(through(kernel, from, to, bits) == truth::cast(from, to, bits));
    }
    CHECK_MESSAGE(wrong == 0, info(from).name << " to " << info(to).name << ": " << wrong);
  }
}

std::uint64_t cast_float(Type from, Type to, long double value) {
  return through(cast_kernel(from, to), from, to, truth::encoded(value, from));
}

}  // namespace

TEST_CASE("casts from bool to every type") { check_casts_from(Type::Bool); }
TEST_CASE("casts from u8 to every type") { check_casts_from(Type::U8); }
TEST_CASE("casts from i8 to every type") { check_casts_from(Type::I8); }
TEST_CASE("casts from u16 to every type") { check_casts_from(Type::U16); }
TEST_CASE("casts from i16 to every type") { check_casts_from(Type::I16); }
TEST_CASE("casts from u32 to every type") { check_casts_from(Type::U32); }
TEST_CASE("casts from i32 to every type") { check_casts_from(Type::I32); }
TEST_CASE("casts from u64 to every type") { check_casts_from(Type::U64); }
TEST_CASE("casts from i64 to every type") { check_casts_from(Type::I64); }
TEST_CASE("casts from f16 to every type") { check_casts_from(Type::F16); }
TEST_CASE("casts from bf16 to every type") { check_casts_from(Type::BF16); }
TEST_CASE("casts from f32 to every type") { check_casts_from(Type::F32); }
TEST_CASE("casts from f64 to every type") { check_casts_from(Type::F64); }

TEST_CASE("casts of floats to integers, as the contract writes them") {
  const long double inf = std::numeric_limits<long double>::infinity();
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  CHECK(cast_float(Type::F32, Type::U32, -1.5L) == 0);
  CHECK(cast_float(Type::F32, Type::U32, 0x1p32L) == 0xFFFF'FFFFu);
  CHECK(cast_float(Type::F32, Type::I32, -1.9L) == 0xFFFF'FFFFu);
  CHECK(cast_float(Type::F32, Type::I32, nan) == 0);
  CHECK(cast_float(Type::F32, Type::I32, inf) == 0x7FFF'FFFFu);
  CHECK(cast_float(Type::F32, Type::I32, -inf) == 0x8000'0000u);
  CHECK(cast_float(Type::F64, Type::U64, inf) == ~std::uint64_t{0});
  CHECK(cast_float(Type::F32, Type::U8, 300.0L) == 255);
  CHECK(cast_float(Type::F32, Type::I8, -300.0L) == 0x80);
  CHECK(cast_float(Type::F32, Type::Bool, nan) == 1);
  CHECK(cast_float(Type::F32, Type::Bool, -0.0L) == 0);
}

TEST_CASE("u64 to bf16 and f16 round once") {
  // Just above half way between two bf16; f32 would round it to the tie, and the tie to even.
  const std::uint64_t above = (std::uint64_t{0x101} << 40) + 1;
  CHECK(through(cast_kernel(Type::U64, Type::BF16), Type::U64, Type::BF16, above) ==
        truth::encoded(std::ldexp(129.0L, 41), Type::BF16));
  const std::uint64_t half = 2049 * 16 + 0;  // a tie of f16
  CHECK(through(cast_kernel(Type::U64, Type::F16), Type::U64, Type::F16, half) ==
        truth::encoded(2048.0L * 16, Type::F16));
}

TEST_CASE("bitcasts keep the bits, in canonical form") {
  std::mt19937_64 random(kCastSeed);
  for (std::size_t f = 1; f < kCastTypes; ++f) {
    for (std::size_t t = 1; t < kCastTypes; ++t) {
      const auto from = static_cast<Type>(f);
      const auto to = static_cast<Type>(t);
      const auto kernel = bitcast_kernel(from, to);
      CAPTURE(info(from).name);
      CAPTURE(info(to).name);
      REQUIRE((kernel != nullptr) == (info(from).bytes == info(to).bytes));
      if (kernel == nullptr) continue;
      const std::uint64_t all = width_of(from) <= 16 ? mask_of(from) + 1 : 3000;
      std::size_t wrong = 0;
      for (std::uint64_t i = 0; i < all; ++i) {
        const std::uint64_t raw = width_of(from) <= 16 ? i : random() & mask_of(from);
        const std::uint64_t bits = is_float(from) ? truth::canonical(raw, from) : raw;
        const std::uint64_t wanted = is_float(to) ? truth::canonical(bits, to) : bits;
        if (through(kernel, from, to, raw) != wanted) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("bool has no bitcast") {
  for (std::size_t t = 0; t < kCastTypes; ++t) {
    CHECK((bitcast_kernel(Type::Bool, static_cast<Type>(t)) == nullptr));
    CHECK((bitcast_kernel(static_cast<Type>(t), Type::Bool) == nullptr));
  }
}

TEST_CASE("lanes and element bits convert back and forth, canonically") {
  for (std::size_t t = 0; t < kCastTypes; ++t) {
    const auto type = static_cast<Type>(t);
    CAPTURE(info(type).name);
    for (const std::uint64_t bits : interesting_for_casts(type)) {
      std::uint64_t lane = 0;
      lane_from_bits(type, bits, &lane);
      CHECK(bits_from_lane(type, &lane) == bits);
    }
  }
  std::uint32_t lane = 0;
  lane_from_bits(Type::Bool, 0x8000'0000u, &lane);
  CHECK(lane == 1);
}

TEST_CASE("canonical_bits agrees with the formats") {
  std::mt19937_64 random(kCastSeed);
  for (const Type type : {Type::F16, Type::BF16, Type::F32, Type::F64}) {
    for (std::uint64_t i = 0; i < 65536; ++i) {
      const std::uint64_t raw = width_of(type) == 16 ? i : random() & mask_of(type);
      if (canonical_bits(type, raw) == truth::canonical(raw, type)) continue;
      CAPTURE(raw);
      CHECK(canonical_bits(type, raw) == truth::canonical(raw, type));
    }
  }
}

TEST_CASE("a bitcast to a float is canonical at once, and bits that stand for a number are kept") {
  const Words bits{1,           0x007F'FFFF, 0x8000'0001, 0x807F'FFFF, 0x0080'0000,
                   0x8080'0000, 0x7F80'0001, 0xFFFF'FFFF, 0x3F80'0000, 0x8000'0000};
  const Words kept{0,           0,           0x8000'0000, 0x8000'0000, 0x0080'0000,
                   0x8080'0000, 0x7FC0'0000, 0x7FC0'0000, 0x3F80'0000, 0x8000'0000};
  CHECK(words_of(run("program p workgroup(10) { readwrite x: u32[10]; let i = local.x; "
                     "x[i] = bitcast<u32>(bitcast<f32>(x[i])); }",
                     {bytes_of(bits)})[0]) == kept);
}
