// An invocation that returned stays returned, whatever changes after it.
#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// As in test_locals.cpp: 3 workgroups of 4 over `x` and `o`, twelve words each.
void check_returns(std::string_view body, const Words& o, const Words& x = counting(12, 100)) {
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[]; output o: u32[12]; uniform n: u32[2];"
      " let i = invocation.x; " +
      std::string(body) + " }";
  check_all_forms(text, {bytes_of(counting(12, 100)), bytes_of(Words{3, 5})}, on_grid(3),
                  {{bytes_of(x), bytes_of(o)}});
}

}  // namespace

TEST_CASE("a guard on ids and lengths") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output total: u32[1];
    if invocation.x >= len(x) { return; }
    atomic_add(total[0], x[invocation.x]);
    gridsync;
    x[invocation.x] = total[0];
    gridsync;
    atomic_add(total[0], 1);
  })";
  check_all_forms(text, {bytes_of(counting(9, 1))}, on_grid(4),
                  {{bytes_of(Words(9, 45)), bytes_of(Words{54})}});
}

TEST_CASE("a guard on data") {
  check_returns("if x[i] % 2 == 0 { return; } gridsync; o[i] = 1; gridsync; o[i] = o[i] + 1;",
                each(12, [](auto i) { return i % 2 == 1 ? 2u : 0u; }));
}

TEST_CASE("a guard on data that changes afterwards, so that it would now say otherwise") {
  check_returns(
      "if x[i] % 2 == 0 { return; } gridsync; x[(i + 1) % 12] = 1; x[i] = 0; gridsync; o[i] = 7;"
      " gridsync; o[i] = o[i] + i;",
      each(12, [](auto i) { return i % 2 == 1 ? 7 + i : 0u; }),
      each(12, [](auto i) { return i % 2 == 0 ? 1u : 0u; }));
  check_returns(
      "if atomic_add(x[i], 1) == 105 { return; } gridsync; x[5] = 105; gridsync; o[i] = x[i];",
      each(12, [](auto i) { return i == 5 ? 0 : 101 + i; }),
      each(12, [](auto i) { return i == 5 ? 105 : 101 + i; }));
}

TEST_CASE("a guard on a local that changes afterwards") {
  check_returns("let a = i; if a > 5 { return; } a = 100; gridsync; o[i] = a;",
                each(12, [](auto i) { return i > 5 ? 0u : 100u; }));
}

TEST_CASE("returns one after the other, each in another segment") {
  check_returns(
      "o[i] = 1; if i % 3 == 0 { return; } gridsync; o[i] = 2; if i % 3 == 1 { return; } gridsync;"
      " o[i] = 3; if i > 5 { return; } o[i] = 4; gridsync; o[i] = o[i] + 1;",
      each(12, [](auto i) {
        return i % 3 == 0 ? 1u : i % 3 == 1 ? 2u : i > 5 ? 3u : 5u;
      }));
}

TEST_CASE("a return in a loop with a barrier: each trip loses some") {
  check_returns("loop k in 0..12 { if k == i { return; } gridsync; o[i] = o[i] + 1; }",
                each(12, [](auto i) { return i; }));
  check_returns(
      "loop k in 0..5 { gridsync; o[i] = k + 1; if x[i] == 100 + k { return; } x[i] = x[i] + 0; }"
      " gridsync; o[i] = o[i] + 100;",
      each(12, [](auto i) { return i < 5 ? i + 1 : 105; }));
  // The memory that said so is changed by those who stay.
  check_returns(
      "loop k in 0..4 { let leaves = x[i] == 100 + k; gridsync; x[(i + 11) % 12] = 0;"
      " if leaves { return; } gridsync; o[i] = o[i] + 1; }",
      each(12, [](auto i) { return i == 0 ? 0u : 4u; }), Words(12, 0));
}

TEST_CASE("a return in nested loops and ifs, on either side of a barrier") {
  check_returns(
      "loop a in 0..2 { loop b in 0..2 { if i == a * 2 + b { o[i] = o[i] + 50; return; } gridsync;"
      " if i > 7 { if i == 8 + a + b { return; } } o[i] = o[i] + 1; } gridsync; }"
      " o[i] = o[i] + 10;",
      each(12, [](auto i) {
        if (i < 4) return i + 50;
        if (i < 8) return 14u;
        return i == 8 ? 0u : i == 9 ? 1u : i == 10 ? 3u : 14u;
      }));
}

TEST_CASE("a return of all, before the first barrier, between two, and in a uniform if") {
  check_returns("o[i] = 3; if i < 100 { return; } gridsync; o[i] = 4;", Words(12, 3));
  check_returns("gridsync; o[i] = 3; if n[0] == 3 { return; } o[i] = 9; gridsync; o[i] = 4;",
                Words(12, 3));
  check_returns("if n[0] == 3 { gridsync; o[i] = 5; return; } gridsync; o[i] = 4;", Words(12, 5));
  check_returns("if n[0] == 4 { gridsync; o[i] = 5; return; } gridsync; o[i] = 4;", Words(12, 4));
  check_returns("loop k in 0..n[1] { o[i] = k + 1; gridsync; if k == n[0] { return; } } o[i] = 99;",
                Words(12, 4));
}

TEST_CASE("a return as the last word of each side") {
  check_returns(
      "if n[0] > 2 { o[i] = 1; gridsync; o[i] = o[i] + 1; return; } else { gridsync; return; }",
      Words(12, 2));
}

TEST_CASE("a whole workgroup returns; the others go on with their own memory") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[16];
    workgroup t: u32[4];
    t[local.x] = invocation.x;
    if workgroup_id.x == 1 { return; }
    loop k in 0..3 {
      gridsync;
      o[invocation.x] = o[invocation.x] + t[3 - local.x] + k;
    }
  })";
  Words o(16);
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (i / 4 != 1) o[i] = (i / 4 * 4 + 3 - i % 4) * 3 + 3;
  }
  check_all_forms(text, {}, on_grid(4), {{bytes_of(o)}});
}

TEST_CASE("workgroup barriers after returns, on both sides of a grid barrier") {
  const char* const text = R"(program p workgroup(8) {
    readonly stays: u32[];
    output o: u32[24];
    workgroup t: u32[8];
    let lane = local.x;
    t[lane] = invocation.x + 1;
    if stays[invocation.x] == 0 { return; }
    barrier;
    let a = t[7 - lane];
    barrier;
    t[lane] = a * 10;
    gridsync;
    let b = t[(lane + 1) % 8];
    barrier;
    t[lane] = b + 1;
    barrier;
    o[invocation.x] = t[(lane + 3) % 8];
  })";
  Words stays(24);
  for (std::uint32_t i = 0; i < 24; ++i) stays[i] = (i * 5 + i / 7) % 3;
  Words o(24);
  for (std::uint32_t group = 0; group < 24; group += 8) {
    Words t(8);
    for (std::uint32_t lane = 0; lane < 8; ++lane) t[lane] = group + lane + 1;
    const auto step = [&](auto value) {
      const Words old = t;
      for (std::uint32_t lane = 0; lane < 8; ++lane) {
        if (stays[group + lane] != 0) t[lane] = value(old, lane);
      }
    };
    step([](const Words& old, std::uint32_t lane) { return old[7 - lane] * 10; });
    step([](const Words& old, std::uint32_t lane) { return old[(lane + 1) % 8] + 1; });
    for (std::uint32_t lane = 0; lane < 8; ++lane) {
      if (stays[group + lane] != 0) o[group + lane] = t[(lane + 3) % 8];
    }
  }
  check_all_forms(text, {bytes_of(stays)}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("uniform is what those who are left agree on") {
  // After the guard all of the rest have the same bound; the others would run another number.
  const char* const text = R"(program p workgroup(4) {
    readonly bound: u32[1];
    output o: u32[8];
    let i = invocation.x;
    if i % 2 == 1 { return; }
    loop k in 0..bound[0] {
      o[i] = o[i] + 1;
      gridsync;
      o[i] = o[i] + o[(i + 2) % 8] * 0 + 10;
      gridsync;
    }
  })";
  check_all_forms(text, {bytes_of(Words{4})}, on_grid(2),
                  {{bytes_of(Words{44, 0, 44, 0, 44, 0, 44, 0})}});
}
