// Integer operations against 128-bit arithmetic and loops over bits.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "arithmetic/kernels.h"
#include "felsite/ops.h"

namespace {

using namespace felsite::ir;
using felsite::arithmetic::binary_kernel;
using felsite::arithmetic::reduce_kernel;
using felsite::arithmetic::unary_kernel;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <class T>
inline constexpr Type kTypeOf = std::is_same_v<T, std::uint32_t>   ? Type::U32
                                : std::is_same_v<T, std::int32_t>  ? Type::I32
                                : std::is_same_v<T, std::uint64_t> ? Type::U64
                                                                   : Type::I64;
template <class T>
inline constexpr unsigned kWidth = sizeof(T) * 8;

constexpr std::uint64_t kIntegerSeed = 0x5EED'0001;

template <class T>
std::vector<T> interesting_integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values{0,
                        1,
                        2,
                        3,
                        T(-1),
                        T(-2),
                        Limits::max(),
                        Limits::min(),
                        T(Limits::max() - 1),
                        T(Limits::min() + 1)};
  for (unsigned bit = 1; bit < kWidth<T>; bit += (bit % 3) + 1) {
    const auto power = std::uint64_t{1} << bit;
    for (const std::uint64_t near : {power - 1, power, power + 1, 0 - power, 0 - power - 1}) {
      values.push_back(static_cast<T>(near));
    }
  }
  std::mt19937_64 random(kIntegerSeed);
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  return values;
}

template <class T>
bool bit_of(T value, unsigned bit) {
  return ((static_cast<std::uint64_t>(value) >> bit) & 1) != 0;
}

// The result, whose bit i is bit source(i) of the value, or `fill` where there is none.
template <class T, class Source>
T permuted(T value, bool fill, Source source) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < kWidth<T>; ++i) {
    const int from = source(static_cast<int>(i));
    const bool exists = from >= 0 && from < static_cast<int>(kWidth<T>);
    const bool set = exists ? bit_of(value, static_cast<unsigned>(from)) : fill;
    if (set) bits |= std::uint64_t{1} << i;
  }
  return static_cast<T>(bits);
}

template <class T>
T clamped(Wide value) {
  if (value > Wide{std::numeric_limits<T>::max()}) return std::numeric_limits<T>::max();
  if (value < Wide{std::numeric_limits<T>::min()}) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <class T>
T saturated_product(T a, T b) {
  if constexpr (std::is_signed_v<T>) return clamped<T>(Wide{a} * Wide{b});
  const UnsignedWide product =
      UnsignedWide{static_cast<std::uint64_t>(a)} * static_cast<std::uint64_t>(b);
  return product > UnsignedWide{static_cast<std::uint64_t>(std::numeric_limits<T>::max())}
             ? std::numeric_limits<T>::max()
             : static_cast<T>(product);
}

// The high half by schoolbook multiplication of the two's complement, one bit at a time.
template <class T>
T high_product(T a, T b) {
  const auto wide_bits = [](T value) { return static_cast<UnsignedWide>(Wide{value}); };
  UnsignedWide sum = 0;
  for (unsigned i = 0; i < 2 * kWidth<T>; ++i) {
    if (((wide_bits(b) >> i) & 1) != 0) sum += wide_bits(a) << i;
  }
  return static_cast<T>(sum >> kWidth<T>);
}

template <class T>
std::uint64_t expected(BinaryOp op, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  const Wide wa = a;
  const Wide wb = b;
  const int count = static_cast<int>(static_cast<std::uint64_t>(b) % kWidth<T>);
  const int width = static_cast<int>(kWidth<T>);
  const auto value = [](auto x) -> std::uint64_t { return static_cast<Unsigned>(x); };
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::WrappingAdd:
      return value(wa + wb);
    case BinaryOp::Sub:
    case BinaryOp::WrappingSub:
      return value(wa - wb);
    case BinaryOp::Mul:
      return value(static_cast<UnsignedWide>(wa) * static_cast<UnsignedWide>(wb));
    case BinaryOp::Div:
      return value(b == 0 ? Wide{-1} : wa / wb);
    case BinaryOp::Mod:
      return value(b == 0 ? Wide{0} : wa % wb);
    case BinaryOp::MulHigh:
      return value(high_product(a, b));
    case BinaryOp::BitAnd:
      return value(wa & wb);
    case BinaryOp::BitOr:
      return value(wa | wb);
    case BinaryOp::BitXor:
      return value(wa ^ wb);
    case BinaryOp::Shl:
      return value(permuted(a, false, [&](int i) { return i - count; }));
    case BinaryOp::Shr:
      return value(permuted(a, a < T{0}, [&](int i) { return i + count; }));
    case BinaryOp::RotateLeft:
      return value(permuted(a, false, [&](int i) { return (i - count + width) % width; }));
    case BinaryOp::RotateRight:
      return value(permuted(a, false, [&](int i) { return (i + count) % width; }));
    case BinaryOp::Eq:
      return wa == wb;
    case BinaryOp::Ne:
      return wa != wb;
    case BinaryOp::Lt:
      return wa < wb;
    case BinaryOp::Gt:
      return wa > wb;
    case BinaryOp::Le:
      return wa <= wb;
    case BinaryOp::Ge:
      return wa >= wb;
    case BinaryOp::Min:
      return value(wa < wb ? wa : wb);
    case BinaryOp::Max:
      return value(wa > wb ? wa : wb);
    case BinaryOp::AbsDiff:
      return value(wa > wb ? wa - wb : wb - wa);
    case BinaryOp::SaturatingAdd:
      return value(clamped<T>(wa + wb));
    case BinaryOp::SaturatingSub:
      return value(clamped<T>(wa - wb));
    case BinaryOp::SaturatingMul:
      return value(saturated_product(a, b));
    case BinaryOp::And:
    case BinaryOp::Or:
      break;
  }
  return 0;
}

template <class T>
std::uint64_t expected(UnaryOp op, T a) {
  using Unsigned = std::make_unsigned_t<T>;
  const int top = static_cast<int>(kWidth<T>) - 1;
  std::uint64_t ones = 0;
  for (unsigned i = 0; i < kWidth<T>; ++i) ones += bit_of(a, i) ? 1u : 0u;
  std::uint64_t leading = 0;
  while (leading < kWidth<T> && !bit_of(a, kWidth<T> - 1 - static_cast<unsigned>(leading)))
    ++leading;
  std::uint64_t trailing = 0;
  while (trailing < kWidth<T> && !bit_of(a, static_cast<unsigned>(trailing))) ++trailing;
  const auto value = [](auto x) -> std::uint64_t { return static_cast<Unsigned>(x); };
  if (op == UnaryOp::Negate) return value(-Wide{a});
  if (op == UnaryOp::BitNot) return value(Wide{-1} - Wide{a});
  if (op == UnaryOp::Popcount) return ones;
  if (op == UnaryOp::Clz) return leading;
  if (op == UnaryOp::Ctz) return trailing;
  if (op == UnaryOp::ReverseBits) return value(permuted(a, false, [&](int i) { return top - i; }));
  if (op == UnaryOp::Abs) return value(a < T{0} ? -Wide{a} : Wide{a});
  if (op == UnaryOp::Sign) return value(a > T{0} ? 1 : a < T{0} ? -1 : 0);
  if (op == UnaryOp::Unpack4Low) return static_cast<std::uint64_t>(a) % 16;
  if (op == UnaryOp::Unpack4High) return static_cast<std::uint64_t>(a) / 16 % 16;
  if (op == UnaryOp::Unpack8Low) return static_cast<std::uint64_t>(a) % 256;
  return static_cast<std::uint64_t>(a) / 0x100'0000 % 256;
}

bool gives_word(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
bool gives_word(UnaryOp op) { return op >= UnaryOp::Popcount && op <= UnaryOp::Ctz; }
bool is_integer_op(BinaryOp op) { return op != BinaryOp::And && op != BinaryOp::Or; }
bool is_integer_op(UnaryOp op, Type type) {
  const bool is_signed = type == Type::I32 || type == Type::I64;
  if (op == UnaryOp::Abs || op == UnaryOp::Sign) return is_signed;
  if (op >= UnaryOp::Unpack4Low) return type == Type::U32;
  return op == UnaryOp::Negate || op == UnaryOp::BitNot ||
         (op >= UnaryOp::Popcount && op <= UnaryOp::ReverseBits);
}

template <class T>
std::uint64_t lane(const std::vector<T>& lanes, std::size_t i, bool word) {
  if (word) return reinterpret_cast<const std::uint32_t*>(lanes.data())[i];
  return static_cast<std::make_unsigned_t<T>>(lanes[i]);
}

template <class T>
void check_binary(BinaryOp op) {
  const std::vector<T> values = interesting_integers<T>();
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : values) {
    for (const T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  std::vector<T> result(a.size());
  const auto kernel = binary_kernel(op, kTypeOf<T>);
  REQUIRE((kernel != nullptr));
  kernel(result.data(), a.data(), b.data(), a.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lane(result, i, gives_word(op)) == expected(op, a[i], b[i]) || ++wrong > 5) continue;
    CAPTURE(kIntegerSeed);
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    CHECK(lane(result, i, gives_word(op)) == expected(op, a[i], b[i]));
  }
  CHECK_MESSAGE(wrong == 0, info(op).name << " on " << info(kTypeOf<T>).name);
}

template <class T>
void check_unary(UnaryOp op) {
  if (!is_integer_op(op, kTypeOf<T>)) return;
  const std::vector<T> values = interesting_integers<T>();
  std::vector<T> result(values.size());
  const auto kernel = unary_kernel(op, kTypeOf<T>);
  REQUIRE((kernel != nullptr));
  kernel(result.data(), values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(info(op).name);
    CAPTURE(kIntegerSeed);
    CAPTURE(values[i]);
    CHECK(lane(result, i, gives_word(op)) == expected(op, values[i]));
  }
}

template <class T>
void check_all_binary() {
  for (std::size_t i = 0; i < kBinaryOpCount; ++i) {
    const auto op = static_cast<BinaryOp>(i);
    if (is_integer_op(op)) check_binary<T>(op);
  }
}

template <class T>
void check_all_unary() {
  for (std::size_t i = 0; i < kUnaryOpCount; ++i) check_unary<T>(static_cast<UnaryOp>(i));
}

template <class T>
T once(BinaryOp op, T a, T b) {
  T result{};
  binary_kernel(op, kTypeOf<T>)(&result, &a, &b, 1);
  return result;
}

}  // namespace

TEST_CASE("u32 binary operations agree with 128-bit arithmetic") {
  check_all_binary<std::uint32_t>();
}
TEST_CASE("i32 binary operations agree with 128-bit arithmetic") {
  check_all_binary<std::int32_t>();
}
TEST_CASE("u64 binary operations agree with 128-bit arithmetic") {
  check_all_binary<std::uint64_t>();
}
TEST_CASE("i64 binary operations agree with 128-bit arithmetic") {
  check_all_binary<std::int64_t>();
}

TEST_CASE("u32 unary operations agree with loops over bits") { check_all_unary<std::uint32_t>(); }
TEST_CASE("i32 unary operations agree with loops over bits") { check_all_unary<std::int32_t>(); }
TEST_CASE("u64 unary operations agree with loops over bits") { check_all_unary<std::uint64_t>(); }
TEST_CASE("i64 unary operations agree with loops over bits") { check_all_unary<std::int64_t>(); }

TEST_CASE("the division rules of the contract, as written there") {
  constexpr auto kMin32 = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
  CHECK(once<std::uint32_t>(BinaryOp::Div, 7, 0) == 0xFFFF'FFFFu);
  CHECK(once<std::uint32_t>(BinaryOp::Mod, 7, 0) == 0);
  CHECK(once<std::uint64_t>(BinaryOp::Div, 7, 0) == ~std::uint64_t{0});
  CHECK(once<std::uint64_t>(BinaryOp::Mod, 7, 0) == 0);
  CHECK(once<std::int32_t>(BinaryOp::Div, 7, 0) == -1);
  CHECK(once<std::int32_t>(BinaryOp::Div, -7, 0) == -1);
  CHECK(once<std::int32_t>(BinaryOp::Mod, -7, 0) == 0);
  CHECK(once<std::int32_t>(BinaryOp::Div, kMin32, -1) == kMin32);
  CHECK(once<std::int32_t>(BinaryOp::Mod, kMin32, -1) == 0);
  CHECK(once<std::int64_t>(BinaryOp::Div, kMin64, -1) == kMin64);
  CHECK(once<std::int64_t>(BinaryOp::Mod, kMin64, -1) == 0);
  CHECK(once<std::int32_t>(BinaryOp::Div, -7, 2) == -3);
  CHECK(once<std::int32_t>(BinaryOp::Mod, -7, 2) == -1);
  CHECK(once<std::int32_t>(BinaryOp::Mod, 7, -2) == 1);
}

TEST_CASE("shift counts beyond the width are masked, negative ones too") {
  CHECK(once<std::uint32_t>(BinaryOp::Shl, 1, 33) == 2);
  CHECK(once<std::uint32_t>(BinaryOp::Shr, 4, 0xFFFF'FFE1u) == 2);
  CHECK(once<std::int32_t>(BinaryOp::Shl, 1, -1) == std::numeric_limits<std::int32_t>::min());
  CHECK(once<std::int32_t>(BinaryOp::Shr, -8, 33) == -4);
  CHECK(once<std::uint64_t>(BinaryOp::Shl, 1, 65) == 2);
  CHECK(once<std::int64_t>(BinaryOp::Shr, -8, -63) == -4);
  CHECK(once<std::uint64_t>(BinaryOp::RotateLeft, 0x8000'0000'0000'0001u, 64) ==
        0x8000'0000'0000'0001u);
}

TEST_CASE("bool operations over all values") {
  const std::uint32_t a[4] = {0, 0, 1, 1};
  const std::uint32_t b[4] = {0, 1, 0, 1};
  const auto table = [&](BinaryOp op) {
    std::uint32_t result[4] = {9, 9, 9, 9};
    REQUIRE((binary_kernel(op, Type::Bool) != nullptr));
    binary_kernel(op, Type::Bool)(result, a, b, 4);
    return result[0] * 1000 + result[1] * 100 + result[2] * 10 + result[3];
  };
  CHECK(table(BinaryOp::And) == 1);
  CHECK(table(BinaryOp::Or) == 111);
  CHECK(table(BinaryOp::Eq) == 1001);
  CHECK(table(BinaryOp::Ne) == 110);
  std::uint32_t flipped[2] = {9, 9};
  unary_kernel(UnaryOp::LogicalNot, Type::Bool)(flipped, b, 2);
  CHECK(flipped[0] == 1);
  CHECK(flipped[1] == 0);
}

TEST_CASE("a kernel exists exactly where the typing rules admit the operation") {
  for (std::size_t t = 0; t < kTypeCount; ++t) {
    const auto type = static_cast<Type>(t);
    for (std::size_t i = 0; i < kBinaryOpCount; ++i) {
      const auto op = static_cast<BinaryOp>(i);
      CAPTURE(info(op).name);
      CAPTURE(info(type).name);
      CHECK((binary_kernel(op, type) != nullptr) == info(op).rule.operands.has(type));
    }
    for (std::size_t i = 0; i < kUnaryOpCount; ++i) {
      const auto op = static_cast<UnaryOp>(i);
      CAPTURE(info(op).name);
      CAPTURE(info(type).name);
      CHECK((unary_kernel(op, type) != nullptr) == info(op).rule.operands.has(type));
    }
    for (std::size_t i = 0; i < kReduceOpCount; ++i) {
      const auto op = static_cast<ReduceOp>(i);
      CHECK((reduce_kernel(op, type) != nullptr) == info(op).operands.has(type));
    }
  }
}

TEST_CASE("a result may overwrite either operand, for any number of lanes") {
  for (std::size_t lanes = 0; lanes < 40; ++lanes) {
    for (const BinaryOp op : {BinaryOp::Sub, BinaryOp::MulHigh, BinaryOp::Div, BinaryOp::Lt}) {
      std::vector<std::int32_t> a(lanes + 1, 77);
      std::vector<std::int32_t> b(lanes + 1, 88);
      for (std::size_t i = 0; i < lanes; ++i) {
        a[i] = static_cast<std::int32_t>(i * 2654435761u);
        b[i] = static_cast<std::int32_t>(i * 40503u) - 50000;
      }
      auto in_a = a;
      auto in_b = b;
      binary_kernel(op, Type::I32)(in_a.data(), in_a.data(), b.data(), lanes);
      binary_kernel(op, Type::I32)(in_b.data(), a.data(), in_b.data(), lanes);
      for (std::size_t i = 0; i < lanes; ++i) {
        CHECK(static_cast<std::uint32_t>(in_a[i]) == expected(op, a[i], b[i]));
        CHECK(static_cast<std::uint32_t>(in_b[i]) == expected(op, a[i], b[i]));
      }
      CHECK(in_a[lanes] == 77);
      CHECK(in_b[lanes] == 88);
    }
  }
}
