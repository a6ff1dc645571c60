// Grid barriers in loops: any number of trips, any source of bounds, nested in any way.
#include <fmt/format.h>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// 2 workgroups of 4 over `o`, with bounds in the uniform `n` and in the changing `m`. What an
// invocation reads of its neighbour shows whether the barriers hold.
void check_loops(std::string_view body, const Words& n, const Words& m, const Words& o,
                 std::optional<Words> m_after = std::nullopt) {
  CAPTURE(n);
  const std::string text =
      "program p workgroup(4) { uniform n: u32[4]; readwrite m: u32[]; output o: u32[8];"
      " let i = invocation.x; let other = (i + 3) % 8; " +
      std::string(body) + " }";
  check_all_forms(text, {bytes_of(n), bytes_of(m)}, on_grid(2),
                  {{bytes_of(m_after ? *m_after : m), bytes_of(o)}});
}

// o[i] = o[other] + add(trip), from all at once, for each trip.
template <class F>
Words passed_on(const std::vector<std::uint32_t>& trips, F add, Words o = Words(8)) {
  for (const std::uint32_t trip : trips) {
    const Words old = o;
    for (std::uint32_t i = 0; i < 8; ++i) o[i] = old[(i + 3) % 8] + add(trip, i);
  }
  return o;
}

std::vector<std::uint32_t> range(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> trips;
  for (std::uint32_t k = from; k < to; ++k) trips.push_back(k);
  return trips;
}

const char* const kIteration = "{ let v = o[other]; gridsync; o[i] = v + k * i + 1; gridsync; }";
std::uint32_t add_passed(std::uint32_t k, std::uint32_t i) { return k * i + 1; }

}  // namespace

TEST_CASE("literal bounds: no trip, one, many, and bounds the wrong way round") {
  for (const auto& [from, to] : {std::pair{0u, 0u},
                                 {0u, 1u},
                                 {3u, 4u},
                                 {0u, 37u},
                                 {5u, 5u},
                                 {7u, 2u},
                                 {0xFFFF'FFFDu, 0xFFFF'FFFFu},
                                 {0xFFFF'FFFFu, 0u}}) {
    check_loops(fmt::format("loop k in {}..{} {}", from, to, kIteration), {0, 0, 0, 0}, {0},
                passed_on(range(from, to), add_passed));
  }
}

TEST_CASE("bounds from a uniform buffer, the same program for all of them") {
  for (const auto& [from, to] :
       {std::pair{0u, 0u}, {0u, 1u}, {2u, 9u}, {9u, 2u}, {0u, 70u}, {0xFFFF'FFFEu, 0xFFFF'FFFFu}}) {
    check_loops(fmt::format("loop k in n[0]..n[1] {}", kIteration), {from, to, 0, 0}, {0},
                passed_on(range(from, to), add_passed));
  }
}

TEST_CASE("bounds from lengths, extents and arithmetic") {
  check_loops(fmt::format("loop k in 0..len(o) / 2 + num_workgroups.x * workgroup_size.x - n[2] {}",
                          kIteration),
              {0, 0, 5, 0}, {0}, passed_on(range(0, 7), add_passed));
  check_loops(fmt::format("loop k in min(n[0], 2)..max(n[1], len(m)) {}", kIteration), {9, 1, 0, 0},
              Words(6), passed_on(range(2, 6), add_passed));
}

TEST_CASE("bounds that are taken once, though the buffer changes in the loop") {
  check_loops(
      "loop k in m[0]..m[1] { gridsync; if i == 0 { m[1] = m[1] + 1; m[0] = 0; } o[i] = o[i] + 1;"
      " gridsync; }",
      {0, 0, 0, 0}, {2, 6}, Words(8, 4), Words{0, 10});
  check_loops(
      "loop k in 0..m[0] { gridsync; if i == 5 { m[0] = 0; } gridsync; o[i] = o[i] * 2 + k; }",
      {0, 0, 0, 0}, {4}, Words(8, 11), Words{0});
}

TEST_CASE("bounds that an earlier segment computed") {
  check_loops(
      "atomic_add(m[0], i); gridsync; loop k in 0..m[0] % 10 { o[i] = o[i] + 1; gridsync; }",
      {0, 0, 0, 0}, {7}, Words(8, 5), Words{35});
  check_loops(
      "if i == 3 { m[0] = 3; } gridsync; let bound = m[0]; gridsync; if i == 0 { m[0] = 9; }"
      " loop k in 0..bound { gridsync; o[i] = o[i] + k + 1; }",
      {0, 0, 0, 0}, {1}, Words(8, 6), Words{9});
}

TEST_CASE("a loop in which each trip sets the number of trips of an inner loop") {
  check_loops(
      "loop a in 0..4 { gridsync; if i == 0 { m[0] = a * a % 4; } gridsync;"
      " loop b in 0..m[0] { o[i] = o[i] * 3 + a + b; gridsync; } }",
      {0, 0, 0, 0}, {9}, Words(8, 6), Words{1});
}

TEST_CASE("the loop variable on both sides of the barrier") {
  check_loops(
      "loop k in n[0]..n[1] { o[i] = o[i] * 10 + k; gridsync; o[i] = o[i] * 10 + k; gridsync;"
      " o[i] = o[i] + k * i; }",
      {1, 4, 0, 0}, {0}, each(8, [](std::uint32_t i) {
        std::uint32_t o = 0;
        for (std::uint32_t k = 1; k < 4; ++k) o = o * 100 + k * 11 + k * i;
        return o;
      }));
}

TEST_CASE("what stands before, after and between belongs to the trips it belongs to") {
  // Without a barrier before the loop or after it, first and last segment reach around it.
  for (const std::uint32_t trips : {0u, 1u, 2u, 5u}) {
    Words o(8);
    for (std::uint32_t i = 0; i < 8; ++i) {
      std::uint32_t v = i + 1;
      for (std::uint32_t k = 0; k < trips; ++k) v = (v * 3 + k) * 2;
      o[i] = v + 7;
    }
    check_loops(
        "let v = i; v = v + 1; loop k in 0..n[0] { v = v * 3 + k; gridsync; v = v * 2; } v = v + 7;"
        " o[i] = v;",
        {trips, 0, 0, 0}, {0}, o);
    check_loops(
        "o[i] = i + 1; loop k in 0..n[0] { o[i] = o[i] * 3 + k; gridsync; o[i] = o[i] * 2; }"
        " o[i] = o[i] + 7;",
        {trips, 0, 0, 0}, {0}, o);
  }
}

TEST_CASE("nested loops: the inner bound from the outer variable") {
  Words o(8);
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = a; b < 4; ++b) {
      o = passed_on(
          {a * 10 + b}, [](std::uint32_t k, std::uint32_t) { return k; }, o);
    }
    for (std::uint32_t i = 0; i < 8; ++i) o[i] = o[i] * 2 + a;
  }
  check_loops(
      "loop a in 0..4 { loop b in a..n[0] { let v = o[other]; gridsync; o[i] = v + a * 10 + b;"
      " gridsync; } o[i] = o[i] * 2 + a; gridsync; }",
      {4, 0, 0, 0}, {0}, o);
}

TEST_CASE("loops in loops in loops, with barriers in the innermost only, or in the outermost") {
  std::uint32_t inner = 0;
  for (std::uint32_t a = 0; a < 3; ++a)
    for (std::uint32_t b = 0; b < 2; ++b)
      for (std::uint32_t c = 1; c < 4; ++c) inner = inner * 3 + a + b * c;
  check_loops(
      "loop a in 0..3 { loop b in 0..n[0] { loop c in 1..4 { gridsync; o[i] = o[i] * 3 + a + b * c;"
      " } } }",
      {2, 0, 0, 0}, {0}, Words(8, inner));
  check_loops(
      "loop a in 0..3 { let s = 0; loop b in 0..i { loop c in 0..b { s = s + a * c; } }"
      " gridsync; o[i] = o[i] + s; }",
      {0, 0, 0, 0}, {0}, each(8, [](std::uint32_t i) {
        std::uint32_t sum = 0;
        for (std::uint32_t b = 0; b < i; ++b)
          for (std::uint32_t c = 0; c < b; ++c) sum += 3 * c;
        return sum;
      }));
}

TEST_CASE("a uniform local as the bound, which the loop around changes") {
  check_loops(
      "let t = 1; loop a in 0..n[0] { loop b in 0..t { gridsync; o[i] = o[i] + 1; } t = t * 2; }"
      " gridsync; o[i] = o[i] * 100 + t;",
      {5, 0, 0, 0}, {0}, Words(8, 3132));
}

TEST_CASE("two loops in a row, with and without anything between") {
  check_loops(
      "loop k in 0..n[0] { gridsync; o[i] = o[i] + k; } loop k in 0..n[1] { o[i] = o[i] * 2; "
      "gridsync;"
      " } loop k in 0..0 { gridsync; o[i] = 99; }",
      {4, 3, 0, 0}, {0}, Words(8, 48));
}

TEST_CASE("a loop of a thousand trips") {
  Words o(8);
  o = passed_on(range(0, 1000), add_passed);
  check_loops(fmt::format("loop k in 0..1000 {}", kIteration), {0, 0, 0, 0}, {0}, o);
  check_loops(fmt::format("loop k in 0..n[3] {}", kIteration), {0, 0, 0, 1000}, {0}, o);
}

TEST_CASE("a loop of a hundred thousand trips of which none is run, and one that all have left") {
  check_loops("loop k in n[0]..100000 { gridsync; o[i] = 1; }", {100'000, 0, 0, 0}, {0},
              Words(8, 0));
  check_loops("o[i] = 2; if n[0] > 0 { return; } loop k in 0..2000 { gridsync; o[i] = 1; }",
              {1, 0, 0, 0}, {0}, Words(8, 2));
}

TEST_CASE("a hundred barriers one after the other") {
  std::string body;
  for (std::uint32_t k = 0; k < 100; ++k) {
    body += fmt::format("let v{0} = o[other]; gridsync; o[i] = v{0} + {0} * i + 1; gridsync;\n", k);
  }
  check_loops(body, {0, 0, 0, 0}, {0}, passed_on(range(0, 100), add_passed));
}
