// Locals of every type live across a barrier with all their bits, and many of them at once.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "grid_sync/forms.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// `made` of x[i], a u32, lives across two barriers in a local, also in one that is assigned; x is
// gone meanwhile, so that it cannot be made again.
template <class T>
void check_local(std::string_view type, std::string_view made, const Words& x,
                 const std::vector<T>& kept) {
  CAPTURE(type);
  REQUIRE(x.size() == 8);
  const std::string text = fmt::format(R"(program p workgroup(4) {{
    readwrite x: u32[8];
    output a: {0}[8];
    output b: {0}[8];
    let i = invocation.x;
    let word = x[i];
    let first = {1};
    let second = first;
    if i % 2 == 0 {{ word = x[(i + 1) % 8]; second = {1}; }}
    gridsync;
    x[i] = 1;
    a[7 - i] = first;
    gridsync;
    a[i] = first;
    b[i] = second;
  }})",
                                       type, made);
  std::vector<T> second = kept;
  for (std::size_t i = 0; i < 8; i += 2) second[i] = kept[i + 1];
  check_all_forms(text, {bytes_of(x)}, on_grid(2),
                  {{bytes_of(Words(8, 1)), bytes_of(kept), bytes_of(second)}});
}

const Words kWords{0,           1,           0x7FFF'FFFF, 0x8000'0000,
                   0xFFFF'FFFF, 0x1234'5678, 0x0000'FFFF, 0xDEAD'BEEF};

template <class T, class F>
std::vector<T> mapped(F value) {
  std::vector<T> values;
  for (const std::uint32_t word : kWords) values.push_back(static_cast<T>(value(word)));
  return values;
}

}  // namespace

TEST_CASE("locals of 32 bits live across barriers") {
  check_local<std::uint32_t>("u32", "word", kWords, kWords);
  check_local<std::int32_t>("i32", "i32(word)", kWords, mapped<std::int32_t>([](auto w) {
                              return std::bit_cast<std::int32_t>(w);
                            }));
  check_local<std::uint32_t>("bool", "(word & 1) == 1", kWords,
                             mapped<std::uint32_t>([](auto w) { return w & 1; }));
}

TEST_CASE("locals of 64 bits live across barriers") {
  const auto wide = [](std::uint32_t w) { return (std::uint64_t{w} << 32) ^ w ^ 0xFFFF; };
  check_local<std::uint64_t>("u64", "(u64(word) << 32u64) ^ u64(word) ^ 0xFFFFu64", kWords,
                             mapped<std::uint64_t>(wide));
  check_local<std::int64_t>("i64", "i64((u64(word) << 32u64) ^ u64(word) ^ 0xFFFFu64)", kWords,
                            mapped<std::int64_t>(wide));
}

TEST_CASE("narrow locals live across barriers") {
  check_local<std::uint8_t>("u8", "u8(word)", kWords,
                            mapped<std::uint8_t>([](auto w) { return w; }));
  check_local<std::int8_t>("i8", "i8(word)", kWords, mapped<std::int8_t>([](auto w) { return w; }));
  check_local<std::uint16_t>("u16", "u16(word)", kWords,
                             mapped<std::uint16_t>([](auto w) { return w; }));
  check_local<std::int16_t>("i16", "i16(word)", kWords,
                            mapped<std::int16_t>([](auto w) { return w; }));
}

TEST_CASE("float locals live across barriers: NaN, infinities, zeros of both signs") {
  const Words bits{0x7FC0'0000, 0x7F80'0000, 0xFF80'0000, 0x8000'0000,
                   0,           0x3F80'0001, 0x0080'0000, 0xFF7F'FFFF};
  check_local<std::uint32_t>("f32", "bitcast<f32>(word)", bits, bits);
  const Words halves{0x7E00, 0x7C00, 0xFC00, 0x8000, 0, 0x3C01, 0x0001, 0xFBFF};
  check_local<std::uint16_t>("f16", "bitcast<f16>(u16(word))", halves,
                             {0x7E00, 0x7C00, 0xFC00, 0x8000, 0, 0x3C01, 0x0001, 0xFBFF});
  const Words brains{0x7FC0, 0x7F80, 0xFF80, 0x8000, 0, 0x3F81, 0x0080, 0xFF7F};
  check_local<std::uint16_t>("bf16", "bitcast<bf16>(u16(word))", brains,
                             {0x7FC0, 0x7F80, 0xFF80, 0x8000, 0, 0x3F81, 0x0080, 0xFF7F});
}

TEST_CASE("f64 locals live across barriers") {
  FELSITE_SKIP_IF(!tested_has(codegen::Feature::Float64), "the device lacks f64");
  const Words high{0x7FF8'0000, 0x7FF0'0000, 0xFFF0'0000, 0x8000'0000,
                   0,           0x3FF0'0000, 0x0010'0000, 0xC000'0001};
  std::vector<std::uint64_t> bits;
  for (const std::uint32_t word : high) bits.push_back(std::uint64_t{word} << 32);
  check_local<std::uint64_t>("f64", "bitcast<f64>(u64(word) << 32u64)", high, bits);
}

TEST_CASE("f32 values go on with the same bits, also into arithmetic after the barrier") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: f32[8];
    let i = invocation.x;
    let third = x[i] / 3.0;
    let root = sqrt(x[i]);
    let zero = x[i] * 0.0;
    gridsync;
    x[i] = third + root * 2.0 - 1.0 / (1.0 / zero);
  })";
  std::vector<float> x{1, 2, 3, 5, 7, 11, 13, 1e10f};
  std::vector<float> truth;
  for (const float v : x) truth.push_back(v / 3.0f + std::sqrt(v) * 2.0f - 0.0f);
  check_all_forms(text, {bytes_of(x)}, on_grid(2), {{bytes_of(truth)}});
}

TEST_CASE("more than 32 bools live across a barrier at once") {
  constexpr std::uint32_t kCount = 75;
  std::string lets;
  std::string sums;
  for (std::uint32_t k = 0; k < kCount; ++k) {
    lets += fmt::format("let b{0} = (x[(i + {0}) % 8] >> {1}) % 2 == 1;\n", k, k % 31);
    sums += fmt::format("if b{0} {{ s = s * 3 + {0}; }} else {{ s = s * 5 + 1; }}\n", k);
  }
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[8]; output o: u32[8]; let i = invocation.x;\n" +
      lets + "gridsync; x[i] = 0; gridsync; let s = 0;\n" + sums + "o[i] = s; }";
  Words o(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    std::uint32_t s = 0;
    for (std::uint32_t k = 0; k < kCount; ++k) {
      const bool bit = (kWords[(i + k) % 8] >> (k % 31)) % 2 == 1;
      s = bit ? s * 3 + k : s * 5 + 1;
    }
    o[i] = s;
  }
  check_all_forms(text, {bytes_of(kWords)}, on_grid(2), {{zero_words(8), bytes_of(o)}});
}

TEST_CASE("a hundred locals of mixed types live across barriers in a loop") {
  std::string lets;
  std::string changes;
  std::string sums;
  for (std::uint32_t k = 0; k < 25; ++k) {
    lets += fmt::format(
        "let p{0} = x[i] * {1}; let q{0} = f32(x[i] % {1});"
        " let w{0} = u64(x[i]) * {1}u64; let s{0} = i32(x[i]) - {1}i32;\n",
        k, k + 3);
    changes += fmt::format(
        "p{0} = p{0} + trip; q{0} = q{0} + 0.5; w{0} = w{0} ^ u64(p{0});"
        " s{0} = -s{0};\n",
        k);
    sums += fmt::format("t = t * 7u64 + u64(p{0}) + u64(q{0} * 2.0) + w{0} + u64(i64(s{0}));\n", k);
  }
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[8]; output o: u64[8]; let i = invocation.x;\n" +
      lets + "loop trip in 0..3 {\n gridsync; x[(i + trip) % 8] = 0;\n" + changes +
      "gridsync; }\n let t = 0u64;\n" + sums + "o[i] = t; }";
  std::vector<std::uint64_t> o;
  for (std::uint32_t x = 1000; x < 1008; ++x) {
    std::uint64_t t = 0;
    for (std::uint32_t k = 0; k < 25; ++k) {
      std::uint32_t u = x * (k + 3);
      float f = static_cast<float>(x % (k + 3));
      std::uint64_t w = std::uint64_t{x} * (k + 3);
      std::int32_t s = static_cast<std::int32_t>(x) - static_cast<std::int32_t>(k + 3);
      for (std::uint32_t trip = 0; trip < 3; ++trip) {
        u += trip;
        f += 0.5f;
        w ^= u;
        s = -s;
      }
      t = t * 7 + u + static_cast<std::uint64_t>(f * 2.0f) + w +
          static_cast<std::uint64_t>(std::int64_t{s});
    }
    o.push_back(t);
  }
  check_all_forms(text, {bytes_of(counting(8, 1000))}, on_grid(2), {{zero_words(8), bytes_of(o)}});
}

TEST_CASE("several outputs of several types, each written in another segment") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    output a: u8[9];
    writeonly b: u64[8];
    output c: bool[8];
    readwrite d: i16[];
    live_out e: f16[8];
    output f: u32[3];
    let i = invocation.x;
    a[i] = x[i];
    gridsync;
    b[7 - i] = u64(a[i]) << 40u64;
    c[i] = a[(i + 1) % 8] > 4;
    gridsync;
    d[i] = d[i] * 2i32;
    if i % 2 == 0 { a[i] = 200; }
    gridsync;
    e[i] = f16(d[7 - i]);
    if i == 3 { b[0] = 1u64; }
  })";
  std::vector<std::uint8_t> a(9);
  std::vector<std::uint64_t> b(8);
  Words c(8);
  std::vector<std::int16_t> d(8);
  std::vector<std::uint16_t> e(8);
  std::vector<std::int16_t> given(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    a[i] = static_cast<std::uint8_t>(i + 1);
    b[7 - i] = std::uint64_t{i + 1} << 40;
    c[i] = (i + 1) % 8 + 1 > 4 ? 1 : 0;
    given[i] = static_cast<std::int16_t>(i < 4 ? 1 : -2);
    d[i] = static_cast<std::int16_t>(given[i] * 2);
  }
  for (std::uint32_t i = 0; i < 8; ++i) {
    if (i % 2 == 0) a[i] = 200;
    e[i] = d[7 - i] == 2 ? 0x4000 : 0xC400;  // 2 and -4
  }
  b[0] = 1;
  check_all_forms(
      text, {bytes_of(counting(8, 1)), bytes_of(given)}, on_grid(2),
      {{bytes_of(a), bytes_of(b), bytes_of(c), bytes_of(d), bytes_of(e), zero_words(3)}});
}

TEST_CASE("atomics of 64 bits, on storage and in workgroup memory, across barriers") {
  if (!tested_has(codegen::Feature::Atomics64) || !tested_has(codegen::Feature::SharedAtomics64)) {
    return;
  }
  const char* const text = R"(program p workgroup(4) {
    readwrite total: u64[2];
    output o: u64[8];
    workgroup best: i64[1];
    let i = invocation.x;
    let before = atomic_add(total[0], u64(i) << 33u64) * 0u64;
    atomic_max(best[0], i64(i) * 10000000000i64);
    gridsync;
    atomic_add(total[1], before + 1u64);
    o[i] = total[0] + u64(best[0]);
    gridsync;
    if i == 0 { total[0] = total[1]; }
  })";
  std::vector<std::uint64_t> o(8);
  for (std::uint64_t i = 0; i < 8; ++i) {
    o[i] = (std::uint64_t{28} << 33) + (i < 4 ? 3 : 7) * 10'000'000'000ull;
  }
  check_all_forms(text, {Bytes(16)}, on_grid(2),
                  {{bytes_of(std::vector<std::uint64_t>{8, 8}), bytes_of(o)}});
}
