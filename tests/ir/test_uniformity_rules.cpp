// Barriers in uniform control flow: what counts as uniform, to the fixpoint.
#include <doctest/doctest.h>

#include <string>

#include "support/fels_text.h"

namespace {

using namespace felsite;
using test::around;
using test::first_message;
using test::found;

// A barrier or a gridsync, on line 4, under a condition.
std::string barrier_if(std::string_view condition) {
  return found(around(fmt::format("if {} {{\nbarrier; }}", condition)));
}
std::string grid_if(std::string_view condition) {
  return found(around(fmt::format("if {} {{\ngridsync; }}", condition)));
}

TEST_CASE("uniformity: what all invocations of the grid agree on") {
  for (const std::string_view condition :
       {"true", "len(r) > 4", "num_workgroups.x > 1", "workgroup_size.y == 1", "n[0] == 0",
        "n[n[1]] == 0", "r[7] == 0", "subgroup_size == 32", "local.y == 0",
        "select(n[0] > 1, f32(n[1]), 2.0) > 1.0"}) {
    INFO(condition);
    CHECK(barrier_if(condition) == "valid");
    CHECK(grid_if(condition) == "valid");
  }
}

TEST_CASE("uniformity: what only a workgroup agrees on") {
  for (const std::string_view condition :
       {"workgroup_id.x == 0", "workgroup_id.y < n[0]", "t[0] == 1", "invocation.y == 0",
        "r[workgroup_id.x] == 0"}) {
    INFO(condition);
    CHECK(barrier_if(condition) == "valid");
    CHECK(grid_if(condition) == "F020@4:1");
  }
}

TEST_CASE("uniformity: what differs between invocations") {
  for (const std::string_view condition :
       {"invocation.x == 0", "local.x < 32", "r[invocation.x] == 0", "t[local.x] == 0",
        "subgroup_lane == 0", "subgroup_add(1) == 4", "subgroup_ballot(true) == 1u64",
        "subgroup_shuffle(n[0], 0) == 1", "atomic_add(b[0], 1) == 0", "n[0] + local.x * 0 == 1"}) {
    INFO(condition);
    CHECK(barrier_if(condition) == "F019@4:1");
    CHECK(grid_if(condition) == "F020@4:1");
  }
}

TEST_CASE("uniformity: the finding names the expression that differs") {
  CHECK(first_message(around("if invocation.x < len(b) { gridsync; }")) ==
        "Not all invocations of the grid get here together: `invocation.x < len(b)` may differ "
        "between them.");
  CHECK(first_message(around("if n[0] == 1 { loop i in 0..local.x { if true { barrier; } } }")) ==
        "Not all invocations of the workgroup get here together: `local.x` may differ between "
        "them.");
  // The nearest one, of two.
  CHECK(first_message(around("if local.x == 1 { if invocation.x == 2 { barrier; } }")) ==
        "Not all invocations of the workgroup get here together: `invocation.x == 2` may differ "
        "between them.");
}

TEST_CASE("uniformity: both arms of an if, loop bounds, blocks and regions") {
  CHECK(found(around("if local.x == 0 { } else {\nbarrier; }")) == "F019@4:1");
  CHECK(found(around("if true { } else if local.x == 0 {\nbarrier; } else {\nbarrier; }")) ==
        "F019@4:1 F019@5:1");
  CHECK(found(around("loop i in local.x..9 {\nbarrier; }")) == "F019@4:1");
  CHECK(found(around("loop i in 0..local.x {\nbarrier; }")) == "F019@4:1");
  CHECK(found(around("loop i in 0..n[0] { if i > 2 { barrier; gridsync; } }")) == "valid");
  CHECK(found(around("if local.x == 0 { { region \"r\" {\nbarrier; } } }")) == "F019@4:1");
  CHECK(found(around("{ region \"r\" { barrier; gridsync; } }")) == "valid");
}

TEST_CASE("uniformity: a value keeps what it was computed from") {
  CHECK(found(around("let a = local.x; let c = a + 1; let d = c * 0;\nif d == 0 { barrier; }")) ==
        "F019@4:13");
  CHECK(found(around("let a = n[0]; let c = a + 1; if c == 0 { barrier; gridsync; }")) == "valid");
  CHECK(found("program p workgroup(8) { op f(x: u32) -> u32 { yield x; } if f(local.x) == 0 "
              "{\nbarrier; } }") == "F019@2:1");
  CHECK(found("program p workgroup(8) { op f(x: u32) -> u32 { yield x; } if f(3) == 0 { gridsync; "
              "} }") == "valid");
}

TEST_CASE("uniformity: an assignment under a divergent condition makes the variable divergent") {
  CHECK(found(around("let a = 0; if local.x == 0 { a = 1; }\nif a == 0 { barrier; }")) ==
        "F019@4:13");
  CHECK(found(around("let a = 0; if n[0] == 0 { a = 1; } if a == 0 { barrier; gridsync; }")) ==
        "valid");
  CHECK(found(around("let a = 0; loop i in 0..local.x { a = i; }\nif a == 0 { barrier; }")) ==
        "F019@4:13");
  CHECK(found(around(
            "let a = 0; if workgroup_id.x == 0 { a = 1; } if a == 0 { barrier;\ngridsync; }")) ==
        "F020@4:1");
}

TEST_CASE("uniformity: a variable made divergent late in a loop body is divergent at its top") {
  CHECK(found(around("let a = 0; loop i in 0..4 {\nif a == 0 { barrier; }\na = local.x; }")) ==
        "F019@4:13");
  CHECK(found(around("let a = 0; loop i in 0..4 {\nif a == 0 { barrier; }\na = i; }")) == "valid");
}

TEST_CASE("uniformity: the fixpoint goes through chains of variables and nested loops") {
  CHECK(found(around("let a = 0; let c = 0; let d = 0; loop i in 0..9 {\nif a == 0 { barrier; }\n"
                     "loop k in 0..9 { a = c; c = d; } d = local.x; }")) == "F019@4:13");
  // Divergence by control, which itself diverges only in a later trip.
  CHECK(found(around("let a = 0; let c = 0; loop i in 0..9 {\nif c == 0 { barrier; }\n"
                     "if a == 1 { c = 1; } a = local.x; }")) == "F019@4:13");
}

TEST_CASE("uniformity: a loop variable is as uniform as its bounds") {
  CHECK(found(around("loop i in 0..n[0] { if i == 3 { barrier; } }")) == "valid");
  CHECK(found(around("loop i in local.x..n[0] { b[0] = i; }\nlet k = 0; loop i in 0..2 { k = i; } "
                     "if k == 1 { barrier; }")) == "valid");
}

TEST_CASE("uniformity: barriers after a divergent return are allowed") {
  CHECK(found(around("if invocation.x >= len(b) { return; } barrier; gridsync;")) == "valid");
  CHECK(found(around("loop i in 0..4 { if local.x == i { return; } barrier; }")) == "valid");
  CHECK(found(around("if local.x == 0 { return; } else {\nbarrier; }")) == "F019@4:1");
}

TEST_CASE("uniformity: an element that some invocation may be writing is not uniform") {
  CHECK(found(around("b[local.x] = 1;\nif b[0] == 1 { barrier; }")) == "F019@4:16");
  CHECK(found(around("t[local.x] = 1;\nif t[0] == 1 { barrier; }")) == "F019@4:16");
  CHECK(found(around("t[local.x] = 1; barrier; if t[0] == 1 { barrier; }")) == "valid");
  CHECK(found(around("atomic_add(t[0], 1); barrier; if t[0] == 1 { barrier; }")) == "valid");
  // A workgroup barrier does not order the writes of other groups.
  CHECK(found(around("b[local.x] = 1; barrier;\nif b[0] == 1 { barrier; }")) == "F019@4:16");
  CHECK(found(around("b[local.x] = 1; gridsync; if b[0] == 1 { barrier; gridsync; }")) == "valid");
}

TEST_CASE("uniformity: writes later in a loop reach the loads at its top") {
  CHECK(found(around("loop i in 0..4 {\nif t[0] == 1 { barrier; }\nt[local.x] = i; }")) ==
        "F019@4:16");
  CHECK(found(around(
            "loop i in 0..4 { barrier;\nif t[0] == 1 { barrier; }\nbarrier; t[local.x] = i; }")) ==
        "valid");
}

TEST_CASE("uniformity: an asynchronous copy writes where it is waited for") {
  CHECK(found(around("async_load(t[0], r[0], 4, q); async_wait(q);\nif t[0] == 1 { barrier; }")) ==
        "F019@4:16");
  CHECK(found(around(
            "async_load(t[0], r[0], 4, q); async_wait(q); barrier; if t[0] == 1 { barrier; }")) ==
        "valid");
}

TEST_CASE("uniformity: an axis of extent 1 has one local id") {
  const auto in_group = [](std::string_view size, std::string_view statement) {
    return found(fmt::format("program p workgroup({}) {{\n{} }}", size, statement));
  };
  CHECK(in_group("1", "if local.x == 0 { barrier; gridsync; }") == "valid");
  CHECK(in_group("1", "if invocation.x == 0 { barrier; }") == "valid");
  CHECK(in_group("1", "if invocation.x == 0 { gridsync; }") == "F020@2:24");
  CHECK(in_group("2", "if local.x == 0 { barrier; }") == "F019@2:19");
  CHECK(in_group("1, 1, 2", "if local.z == 0 { barrier; }") == "F019@2:19");
}

}  // namespace

TEST_CASE("uniformity: a grid barrier may part a load from a write behind it") {
  const auto with = [](std::string_view body) {
    return found(
        fmt::format("program p workgroup(8) {{ readwrite x: u32[]; let i = "
                    "invocation.x;\n{} }}",
                    body));
  };
  CHECK(with("if x[0] == 1 { gridsync; x[i] = 2; }") == "valid");
  CHECK(with("loop k in 0..x[0] { gridsync; x[i] = k; }") == "valid");
  CHECK(with("if x[0] == 1 {\ngridsync; } x[i] = 2;") == "F020@3:1");
  CHECK(with("loop k in 0..4 { if x[0] == 1 {\ngridsync; } x[i] = 2; }") == "F020@3:1");
}

TEST_CASE("uniformity: the message names the write that is to blame") {
  const auto message = [](std::string_view body) {
    const auto program = parse(
        fmt::format("program p workgroup(8) {{ readwrite x: u32[]; workgroup s: u32[8]; let i = "
                    "invocation.x;\n{} }}",
                    body));
    REQUIRE(program.has_value());
    const Findings findings = validate(*program);
    REQUIRE(findings.size() == 1);
    return findings.front().message;
  };
  const auto has = [&](std::string_view body, std::string_view part) {
    const std::string text = message(body);
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has("if x[0] == 1 { gridsync; }\nx[i + 1] = 2;",
      "No barrier separates its `x[0]` from the store to `x[i + 1]` in line 3.");
  has("let v = x[2]; let w = v + 1; loop k in 0..w { gridsync; }\n\natomic_add(x[i], 1);",
      "No barrier separates its `x[2]` from `atomic_add(x[i], 1)` in line 4.");
  has("if s[0] == 1 { barrier; } async_load(s[0], x[0], 1, t); async_wait(t);",
      "No barrier separates its `s[0]` from `async_wait(t)` in line 2.");
  // Where no write is to blame there is nothing to add.
  CHECK(message("if i == 1 { gridsync; }").ends_with("may differ between them."));
}
