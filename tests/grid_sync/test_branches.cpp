// Grid barriers in uniform ifs, in blocks and in regions, and all of these in each other.
#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

void check_branches(std::string_view body, const Words& n, const Words& o) {
  CAPTURE(n);
  const std::string text =
      "program p workgroup(4) { uniform n: u32[3]; output o: u32[8]; readwrite m: u32[1];"
      " let i = invocation.x; " +
      std::string(body) + " }";
  check_all_forms(text, {bytes_of(n), bytes_of(Words{5})}, on_grid(2),
                  {{bytes_of(o), bytes_of(Words{5})}});
}

}  // namespace

TEST_CASE("a barrier in one arm: the other arm, both ways") {
  const char* const then_only =
      "o[i] = i; if n[0] > 5 { gridsync; let v = o[7 - i]; gridsync; o[i] = v + 10; }"
      " else { o[i] = o[i] * 100; } o[i] = o[i] + 1;";
  check_branches(then_only, {6, 0, 0}, each(8, [](std::uint32_t i) { return 7 - i + 11; }));
  check_branches(then_only, {5, 0, 0}, each(8, [](std::uint32_t i) { return i * 100 + 1; }));
  const char* const else_only =
      "o[i] = i; if n[0] > 5 { o[i] = 3; } else { gridsync; let v = o[7 - i]; gridsync; o[i] = v; "
      "}";
  check_branches(else_only, {6, 0, 0}, Words(8, 3));
  check_branches(else_only, {5, 0, 0}, each(8, [](std::uint32_t i) { return 7 - i; }));
  const char* const no_else =
      "o[i] = i; if n[0] > 5 { gridsync; o[7 - i] = i + 20; } gridsync; o[i] = o[i] + 1;";
  check_branches(no_else, {6, 0, 0}, each(8, [](std::uint32_t i) { return 7 - i + 21; }));
  check_branches(no_else, {5, 0, 0}, each(8, [](std::uint32_t i) { return i + 1; }));
}

TEST_CASE("barriers in both arms, of different number, and locals assigned in each") {
  const char* const text =
      "let v = i; o[i] = v; if n[0] == 1 { v = v + 1; gridsync; v = v + o[7 - i]; gridsync; v = v "
      "* 2; }"
      " else { gridsync; v = 50; o[i] = v; } v = v + 1; gridsync; o[i] = v;";
  check_branches(text, {1, 0, 0}, Words(8, 17));
  check_branches(text, {0, 0, 0}, Words(8, 51));
}

TEST_CASE("an else-if chain with barriers in some of its arms") {
  const char* const text =
      "let v = 1; if n[0] == 0 { gridsync; v = 2; } else if n[0] == 1 { v = 3; } else if n[0] == 2 "
      "{"
      " v = 4; gridsync; v = v * 10; gridsync; } else { v = v + i; gridsync; v = v + i; } o[i] = "
      "v;";
  check_branches(text, {0, 0, 0}, Words(8, 2));
  check_branches(text, {1, 0, 0}, Words(8, 3));
  check_branches(text, {2, 0, 0}, Words(8, 40));
  check_branches(text, {3, 0, 0}, each(8, [](std::uint32_t i) { return 1 + 2 * i; }));
}

TEST_CASE("the condition is evaluated once, though its buffer changes") {
  const char* const text = R"(program p workgroup(4) {
    readwrite m: u32[2];
    output o: u32[8];
    let i = invocation.x;
    if m[0] == 5 {
      gridsync;
      if i == 6 { m[0] = 0; }
      gridsync;
      o[i] = m[0] + 1;
      gridsync;
      o[7 - i] = o[7 - i] + i;
    } else {
      o[i] = 900;
    }
    gridsync;
    if m[0] == 0 { gridsync; o[i] = o[i] + 100; }
  })";
  check_all_forms(
      text, {bytes_of(Words{5, 0})}, on_grid(2),
      {{bytes_of(Words{0, 0}), bytes_of(each(8, [](std::uint32_t i) { return 108 - i; }))}});
  check_all_forms(text, {bytes_of(Words{4, 0})}, on_grid(2),
                  {{bytes_of(Words{4, 0}), bytes_of(Words(8, 900))}});
}

TEST_CASE("a condition that an earlier segment computed, by atomics of all") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    output count: u32[1];
    output o: u32[8];
    let i = invocation.x;
    if x[i] > 3 { atomic_add(count[0], 1); }
    gridsync;
    let many = count[0] > 3;
    if many { o[i] = count[0]; gridsync; let v = o[7 - i]; gridsync; o[i] = o[i] + v; }
    else { gridsync; o[i] = 1; }
  })";
  check_all_forms(text, {bytes_of(counting(8))}, on_grid(2),
                  {{bytes_of(Words{4}), bytes_of(Words(8, 8))}});
  check_all_forms(text, {bytes_of(counting(7))}, on_grid(2),
                  {{bytes_of(Words{3}), bytes_of(Words(8, 1))}});
}

TEST_CASE(
    "uniform conditions of every source: lengths, extents, literals, locals, loop variables") {
  check_branches("if len(o) == 8 && num_workgroups.x == 2 { gridsync; o[i] = 1; }", {0, 0, 0},
                 Words(8, 1));
  check_branches("if workgroup_size.x > 4 { gridsync; o[i] = 1; } else { gridsync; o[i] = 2; }",
                 {0, 0, 0}, Words(8, 2));
  check_branches("if true { gridsync; o[i] = 1; } if false { gridsync; o[i] = 2; }", {0, 0, 0},
                 Words(8, 1));
  check_branches(
      "let t = n[0]; t = t + 1; if t == 4 { gridsync; o[i] = t; t = 9; } gridsync; o[i] = o[i] + "
      "t;",
      {3, 0, 0}, Words(8, 13));
  check_branches("if m[0] == 5 { gridsync; o[i] = select(n[0] > 1, 7, 8); }", {3, 0, 0},
                 Words(8, 7));
}

TEST_CASE("a loop that takes another branch in each trip") {
  const char* const text =
      "loop k in 0..n[0] { if k % 3 == 0 { o[i] = o[i] + 1; gridsync; } else if k % 3 == 1 {"
      " o[i] = o[i] * 2; } else { gridsync; o[i] = o[i] + o[i] * 0 + 5; gridsync; } o[i] = o[i] + "
      "k; }";
  for (const std::uint32_t trips : {0u, 1u, 2u, 3u, 8u}) {
    std::uint32_t o = 0;
    for (std::uint32_t k = 0; k < trips; ++k) {
      o = (k % 3 == 0 ? o + 1 : k % 3 == 1 ? o * 2 : o + 5) + k;
    }
    check_branches(text, {trips, 0, 0}, Words(8, o));
  }
}

TEST_CASE("an if in a loop in an if, and a loop in each arm") {
  const char* const text =
      "if n[0] > 0 { loop k in 0..n[1] { if k == 1 { gridsync; o[i] = o[i] + 10; } else {"
      " o[i] = o[i] + 1; } gridsync; } } else { loop k in 0..n[2] { gridsync; o[i] = o[i] + 100; } "
      "}"
      " o[i] = o[i] * 2;";
  check_branches(text, {1, 4, 3}, Words(8, 26));
  check_branches(text, {0, 4, 3}, Words(8, 600));
  check_branches(text, {1, 0, 3}, Words(8, 0));
  check_branches(text, {0, 4, 0}, Words(8, 0));
}

TEST_CASE("divergent ifs and loops around nothing but plain work, beside barriers") {
  check_branches(
      "if i % 2 == 0 { o[i] = 1; } else { loop k in 0..i { o[i] = o[i] + 2; } } gridsync;"
      " let v = o[7 - i]; gridsync; if v > 1 { loop k in 0..v { o[i] = o[i] + 100; } }",
      {0, 0, 0}, each(8, [](std::uint32_t i) {
        const auto first = [](std::uint32_t k) { return k % 2 == 0 ? 1u : 2 * k; };
        return first(i) + (first(7 - i) > 1 ? 100u * first(7 - i) : 0u);
      }));
}

TEST_CASE("blocks and regions, nested, with barriers at any depth") {
  check_branches(
      "region \"a\" { let x = i * 2; { o[i] = x; gridsync; x = x + o[7 - i]; } region \"b\" {"
      " { { gridsync; } } o[i] = x; } } region \"a\" { gridsync; { o[i] = o[i] + 1; gridsync; } }",
      {0, 0, 0}, Words(8, 15));
  check_branches(
      "{ { { gridsync; o[i] = 1; } gridsync; } } region \"empty\" { gridsync; } { gridsync; "
      "gridsync;"
      " o[7 - i] = o[7 - i] + 1; }",
      {0, 0, 0}, Words(8, 2));
}

TEST_CASE("barriers sixty bodies deep") {
  std::string text = "let v = i; ";
  std::string end;
  for (std::uint32_t k = 0; k < 20; ++k) {
    text += "{ region \"deep\" { if n[0] == 1 { v = v + 1; ";
    end += "gridsync; v = v * 3; } } } ";
  }
  text += "o[i] = v; gridsync; v = o[7 - i]; " + end + "o[i] = v;";
  std::uint32_t power = 1;
  for (std::uint32_t k = 0; k < 20; ++k) power *= 3;
  check_branches(text, {1, 0, 0}, each(8, [&](std::uint32_t i) { return (7 - i + 20) * power; }));
}

TEST_CASE("a barrier separates a condition, or a bound, from the write behind it") {
  // Every invocation takes the branch, and every trip, although the first of them writes what was
  // read.
  const char* const branch = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    if x[0] == 1 { gridsync; x[i] = x[i] + 10; }
  })";
  check_all_forms(branch, {bytes_of(counting(12, 1))}, on_grid(3), {{bytes_of(counting(12, 11))}});
  check_all_forms(branch, {bytes_of(counting(12, 2))}, on_grid(3), {{bytes_of(counting(12, 2))}});
  const char* const loop = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    loop k in 0..x[0] { gridsync; x[i] = x[i] + k; }
  })";
  check_all_forms(loop, {bytes_of(counting(12, 5))}, on_grid(3), {{bytes_of(counting(12, 15))}});
}
