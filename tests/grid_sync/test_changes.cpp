// What counts as a change of a buffer: its bytes at the end of an iteration against those at its
// start.
#include <bit>

#include "grid_sync/forms.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Iterations and outcome of a program over one buffer `x` that is rewritten in its last segment.
void check_one(std::string_view type, std::string_view body, const Bytes& start, const Bytes& end,
               std::uint32_t iterations, bool converged = true) {
  const std::string text = "program p workgroup(2) { readwrite x: " + std::string(type) +
                           "[]; let i = invocation.x; let mine = x[i]; gridsync; " +
                           std::string(body) + " }";
  check_all_forms(text, {start}, fixpoint(on_grid(3), 40), {{end}, iterations, converged});
}

template <class T>
Bytes six(T first, T second = {}) {
  return bytes_of(std::vector<T>{first, second, first, second, first, second});
}

}  // namespace

TEST_CASE("changes within an iteration that are undone at its end are none") {
  const char* const recount = R"(program p workgroup(4) {
    readwrite count: u32[1];
    if invocation.x == 0 { count[0] = 0; }
    gridsync;
    atomic_add(count[0], 1);
  })";
  check_all_forms(recount, {bytes_of(Words{0})}, fixpoint(on_grid(2), 40),
                  {{bytes_of(Words{8})}, 2, true});
  check_all_forms(recount, {bytes_of(Words{8})}, fixpoint(on_grid(2), 40),
                  {{bytes_of(Words{8})}, 1, true});
  const char* const there_and_back = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    x[i] = x[i] + 7;
    gridsync;
    let other = x[len(x) - 1 - i];
    gridsync;
    x[len(x) - 1 - i] = other - 7;
  })";
  const Bytes x = bytes_of(counting(8, 3));
  check_all_forms(there_and_back, {x}, fixpoint(on_grid(2), 40), {{x}, 1, true});
}

TEST_CASE("scratch that each iteration fills alike: changed by the first, not by the second") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    readwrite scratch: u32[];
    output o: u32[8];
    let i = invocation.x;
    scratch[i] = x[i] * 2;
    gridsync;
    o[i] = scratch[len(x) - 1 - i];
  })";
  Words twice(8);
  Words turned(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    twice[i] = (i + 3) * 2;
    turned[7 - i] = twice[i];
  }
  check_all_forms(text, {bytes_of(counting(8, 3)), zero_words(8)}, fixpoint(on_grid(2), 40),
                  {{bytes_of(twice), bytes_of(turned)}, 2, true});
}

TEST_CASE("stores of what stands there, past the end, or nowhere, are no change") {
  check_one("u32", "x[i] = mine;", bytes_of(counting(6)), bytes_of(counting(6)), 1);
  check_one("u32", "x[i + 6] = 9; x[0xFFFFFFFF] = 9;", bytes_of(counting(6)), bytes_of(counting(6)),
            1);
  check_one("u32", "if mine > 100 { x[i] = 9; }", bytes_of(counting(6)), bytes_of(counting(6)), 1);
  check_one("u32", "atomic_add(x[i], 0); atomic_or(x[i + 6], 1);", bytes_of(counting(6)),
            bytes_of(counting(6)), 1);
}

TEST_CASE("the value before a store, wherever the program has loaded it already") {
  const Bytes start = six(0u, 4u);
  const Bytes end = six(5u, 5u);
  check_one("u32", "x[i] = min(mine + 1, 5);", start, end, 6);
  check_one("u32", "x[i] = min(x[i] + 1, 5);", start, end, 6);
  check_one("u32", "let now = x[i]; x[i] = min(now + 1, 5);", start, end, 6);
  check_one("u32", "let now = x[i]; x[i] = select(x[i] < 5, x[i] + 1, now);", start, end, 6);
  check_one("u32", "let now = x[invocation.x]; x[i] = min(now + 1, 5);", start, end, 6);
  check_one("u32", "{ let now = x[i]; } x[i] = min(mine + 1, 5);", start, end, 6);
  check_one("u32", "let other = x[i ^ 1]; gridsync; x[i] = max(other, x[i]);", start, six(4u, 4u),
            2);
  // In one arm of a branch, the store in the other.
  check_one("u32", "if i % 2 == 0 { let now = x[i]; } else { x[i] = min(mine + 1, 5); }", start,
            six(0u, 5u), 2);
  // Before a branch that is a separate segment, and in it.
  check_one("u32", "let now = x[i]; if len(x) == 6 { x[i] = min(now + 1, 5); gridsync; }", start,
            end, 6);
  check_one("u32", "let now = x[i]; if len(x) == 6 { x[i] = min(x[i] + 1, 5); gridsync; }", start,
            end, 6);
  check_one("u32", "if len(x) == 6 { let now = x[i]; gridsync; x[i] = min(now + 1, 5); }", start,
            end, 6);
  // An invocation without an element changes nothing.
  check_one("u32", "let now = x[i]; x[i] = min(now + 1, 5);", bytes_of(Words{0, 1, 2, 3, 4}),
            bytes_of(Words(5, 5)), 6);
}

TEST_CASE("the last of several stores decides") {
  check_one("u32", "x[i] = mine + 1; x[i] = mine + 2; x[i] = min(mine, 3);", six(9u, 2u),
            six(3u, 2u), 2);
  check_one("u32", "x[i] = 0; if mine < 5 { x[i] = mine + 1; } else { x[i] = 5; }", six(0u, 4u),
            six(5u, 5u), 6);
}

TEST_CASE("changes by atomics of every kind") {
  check_one("u32", "atomic_min(x[i], 5 - min(mine, 5));", six(6u, 0u), six(0u, 0u), 2);
  check_one("u32", "atomic_max(x[5 - i], i);", six(0u, 2u), bytes_of(Words{5, 4, 3, 2, 1, 2}), 2);
  check_one("u32", "atomic_exchange(x[i], mine >> 1);", six(16u, 1u), six(0u, 0u), 6);
  check_one("i32", "atomic_compare_exchange(x[i], 3i32, -3i32);", six(3, 4), six(-3, 4), 2);
  check_one("u32", "atomic_xor(x[i], 1);", six(2u, 3u), six(2u, 3u), 40, false);
  // Those that go one way report by themselves. Past the end, or without effect, nothing changes.
  check_one("u32", "atomic_or(x[i + 6], 1);", six(2u, 3u), six(2u, 3u), 1);
  check_one("u32", "atomic_max(x[0xFFFFFFFF], 9);", six(2u, 3u), six(2u, 3u), 1);
  check_one("u32", "atomic_or(x[i], mine);", six(2u, 3u), six(2u, 3u), 1);
  check_one("u32", "if mine > 9 { atomic_or(x[i], 16); }", six(2u, 3u), six(2u, 3u), 1);
  check_one("u32", "let was = atomic_and(x[i], 6); atomic_and(x[i], was & 5);", six(7u, 3u),
            six(4u, 0u), 2);
  check_one("u32", "loop k in 0..3 { atomic_or(x[i], 1 << k + mine % 2); }", six(8u, 0u),
            six(15u, 15u), 3);
  check_one("i32", "atomic_max(x[i], min(mine + 1i32, 2i32));", six(-2, 2), six(2, 2), 5);
  check_one("u32", "atomic_or(x[0], 1 << i); atomic_and(x[1], ~(1 << i));", six(0u, 0xFFu),
            bytes_of(Words{0x3F, 0xC0, 0, 0xFF, 0, 0xFF}), 2);
  // Added and taken away again, by different invocations.
  check_one("u32", "atomic_add(x[i], 3); atomic_sub(x[5 - i], 3);", six(1u, 2u), six(1u, 2u), 1);
}

TEST_CASE("narrow elements: one byte, also the last of an odd number") {
  check_one("u8", "if i == 4 && mine < 7 { x[i] = mine + 1; }", Bytes(5),
            Bytes{{}, {}, {}, {}, std::byte{7}}, 8);
  check_one("i8", "if mine > -3i32 { x[i] = mine - 1i32; }", Bytes(3), Bytes(3, std::byte{0xFD}),
            4);
  check_one("u16", "if mine < 300 { x[i] = mine + 100; }", six<std::uint16_t>(0, 250),
            six<std::uint16_t>(300, 350), 4);
  check_one("i16", "if i == 2 { x[i] = mine / 2i32; }",
            bytes_of(std::vector<std::int16_t>{5, 5, -5}),
            bytes_of(std::vector<std::int16_t>{5, 5, 0}), 4);
  // A store cuts: what is above the byte is no change.
  check_one("u8", "x[i] = mine + 256;", Bytes(6, std::byte{9}), Bytes(6, std::byte{9}), 1);
}

TEST_CASE("wide elements: only the upper half changes") {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 62;
  check_one("u64", "if i == 5 && mine < 0x4000000000000000u64 { x[i] = mine * 2u64; }",
            six<std::uint64_t>(3, std::uint64_t{1} << 59),
            bytes_of(std::vector<std::uint64_t>{3, kTop / 8, 3, kTop / 8, 3, kTop}), 4);
  check_one("i64", "x[i] = mine / 65536i64;", six<std::int64_t>(-(std::int64_t{1} << 40), 5),
            six<std::int64_t>(0, 0), 4);
}

TEST_CASE("bool: any word that is not zero reads as true, and one is written") {
  check_one("bool", "x[i] = mine;", six(7u, 0u), six(1u, 0u), 2);
  check_one("bool", "x[i] = mine;", six(1u, 0u), six(1u, 0u), 1);
  check_one("bool", "if i > 10 { x[i] = mine; }", six(7u, 0x80000000u), six(7u, 0x80000000u), 1);
  check_one("bool", "x[i] = !mine;", six(1u, 0u), six(1u, 0u), 40, false);
}

TEST_CASE("NaNs are compared by their bits: one with a payload is rewritten once") {
  check_one("f32", "x[i] = mine;", six(0x7FC1'2345u, 0xFFFF'FFFFu), six(0x7FC0'0000u, 0x7FC0'0000u),
            2);
  check_one("f32", "x[i] = mine + 1.0;", six(0x7FC0'0000u, 0x7F80'0000u),
            six(0x7FC0'0000u, 0x7F80'0000u), 1);
  // Where nothing is written the payload stays.
  check_one("f32", "if i == 0 { x[i] = 1.0; }", bytes_of(Words{0x7FC1'2345, 0xFF80'0001, 1}),
            bytes_of(Words{0x3F80'0000, 0xFF80'0001, 1}), 2);
  check_one("f16", "x[i] = mine;", six<std::uint16_t>(0x7E01, 0xFC01),
            six<std::uint16_t>(0x7E00, 0x7E00), 2);
  check_one("bf16", "x[i] = mine;", six<std::uint16_t>(0x7FC1, 0xFF81),
            six<std::uint16_t>(0x7FC0, 0x7FC0), 2);
}

TEST_CASE("zeros of either sign differ, though they are equal") {
  constexpr std::uint32_t kMinusZero = 0x8000'0000;
  check_one("f32", "x[i] = mine;", six(kMinusZero, 0u), six(kMinusZero, 0u), 1);
  check_one("f32", "x[i] = mine + 0.0;", six(kMinusZero, 0u), six(0u, 0u), 2);
  check_one("f32", "x[i] = -mine;", six(kMinusZero, 0u), six(kMinusZero, 0u), 40, false);
  check_one("f32", "x[i] = mine;", six(kMinusZero + 1, 1u), six(kMinusZero, 0u), 2);
}

TEST_CASE("floats halve until they are zero") {
  // 2^-120 needs 7 halvings to pass 2^-126, where what is subnormal becomes zero.
  check_one("f32", "x[i] = mine * 0.5;", six(std::bit_cast<std::uint32_t>(0x1p-120f), 0u),
            six(0u, 0u), 8);
  // f16 keeps its subnormals: 2^-14 and ten more, and the half of the last rounds to zero.
  check_one("f16", "x[i] = mine * 0.5f16;", six<std::uint16_t>(0x0400, 0), six<std::uint16_t>(0, 0),
            12);
}

TEST_CASE("f64: a change of the last bit") {
  FELSITE_SKIP_IF(!tested_has(codegen::Feature::Float64), "the device lacks f64");
  check_one("f64", "x[i] = mine + 1.0f64;", six(0x1p53 - 3.0, 0x1p60), six(0x1p53, 0x1p60), 4);
}

TEST_CASE("every changing buffer counts, and each of its elements") {
  const char* const text = R"(program p workgroup(32) {
    readwrite a: u32[];
    readwrite b: u8[];
    output c: u16[5];
    readonly where: u32[4];
    gridsync;
    if invocation.x == 0 {
      if a[where[0]] < where[3] { a[where[0]] = a[where[0]] + 1; }
      else if b[where[1]] < where[3] { b[where[1]] = b[where[1]] + 1; }
      else if c[where[2]] < where[3] { c[where[2]] = c[where[2]] + 1; }
    }
  })";
  for (const std::size_t at : {0u, 1u, 255u, 256u, 1023u, 4095u, 4096u, 70'000u}) {
    CAPTURE(at);
    Words a(70'001);
    Bytes b(70'001);
    std::vector<std::uint16_t> c(5);
    const Words where{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(70'000 - at),
                      static_cast<std::uint32_t>(at % 5), 3};
    const std::vector<Bytes> inputs{bytes_of(a), b, bytes_of(where)};
    a[at] = 3;
    b[70'000 - at] = std::byte{3};
    c[at % 5] = 3;
    check_all_forms(text, inputs, fixpoint(on_grid(1), 40),
                    {{bytes_of(a), b, bytes_of(c)}, 10, true});
  }
}

TEST_CASE("a program that changes nothing it was given converges at once") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    readwrite untouched: u32[];
    output empty: u32[3];
    let mine = x[invocation.x];
    gridsync;
    if mine > 100 { empty[0] = mine; }
  })";
  check_all_forms(text, {bytes_of(counting(8)), bytes_of(counting(5, 9))}, fixpoint(on_grid(2), 50),
                  {{bytes_of(counting(5, 9)), zero_words(3)}, 1, true});
}
