// Uniformity of loads: what may be changing between the barriers around them.
#include <fmt/format.h>

#include "ir/analysis/uniformity.h"
#include "support/analysis_helpers.h"
#include "support/analysis_invocations.h"
#include "support/program_generator.h"

using namespace felsite::ir;
using felsite::test::parsed;
using felsite::test::var_named;

namespace {

using enum Uniformity;

// The uniformity of the variable `x` of a body; `a` is storage, `s` workgroup memory.
Uniformity x_of(std::string_view body) {
  const Program program = parsed(fmt::format(R"(program p workgroup(4) {{
    readonly r: u32[]; uniform u: u32[4]; readwrite a: u32[]; readwrite b: u32[];
    workgroup s: u32[4]; {} }})",
                                             body));
  return analyze_uniformity(program).vars[var_named(program, "x")];
}

}  // namespace

TEST_CASE("uniform loads: of memory nobody writes, as uniform as the index") {
  for (const char* buffer : {"r", "u", "a"}) {
    CAPTURE(buffer);
    CHECK(x_of(fmt::format("let x = {}[2];", buffer)) == Grid);
    CHECK(x_of(fmt::format("let x = {}[workgroup_id.x];", buffer)) == Workgroup);
    CHECK(x_of(fmt::format("let x = {}[local.x];", buffer)) == Divergent);
    CHECK(x_of(fmt::format("let x = r[{}[0]];", buffer)) == Grid);
  }
}

TEST_CASE("uniform loads: a store anywhere in the same stretch makes them divergent") {
  CHECK(x_of("a[0] = 1; let x = a[0];") == Divergent);
  CHECK(x_of("let x = a[0]; a[0] = 1;") == Divergent);  // another invocation may be ahead
  CHECK(x_of("a[local.x] = 1; let x = a[100];") == Divergent);
  CHECK(x_of("b[0] = 1; let x = a[0];") == Grid);
}

TEST_CASE("uniform loads: atomics and copies write too") {
  CHECK(x_of("let x = a[0]; atomic_add(a[0], 1);") == Divergent);
  CHECK(x_of("let x = a[0]; b[0] = atomic_add(a[0], 1) + 2;") == Divergent);
  CHECK(x_of("if atomic_add(a[0], 1) == 0 { } let x = a[0];") == Divergent);
  CHECK(x_of("async_store(a[0], s[0], 1, t); async_wait(t); let x = a[0];") == Divergent);
  CHECK(x_of("async_store(b[0], s[0], 1, t); async_wait(t); let x = a[0];") == Grid);
}

TEST_CASE("uniform loads: a copy writes where it is awaited, not where it is issued") {
  CHECK(x_of("async_store(a[0], s[0], 1, t); let x = a[0]; gridsync; async_wait(t);") == Grid);
  CHECK(x_of("async_load(s[0], a[0], 1, t); let x = s[0]; barrier; async_wait(t);") == Workgroup);
  CHECK(x_of("async_load(s[0], a[0], 1, t); barrier; async_wait(t); let x = s[0];") == Divergent);
}

TEST_CASE("uniform loads: a grid barrier parts them from stores to storage, a barrier does not") {
  CHECK(x_of("a[local.x] = 1; gridsync; let x = a[0];") == Grid);
  CHECK(x_of("let x = a[0]; gridsync; a[local.x] = 1;") == Grid);
  CHECK(x_of("a[local.x] = 1; barrier; let x = a[0];") == Divergent);
  CHECK(x_of("a[0] = 1; gridsync; let x = a[0]; gridsync; a[0] = 2;") == Grid);
  CHECK(x_of("a[0] = 1; gridsync; let x = a[0]; a[1] = 2; gridsync;") == Divergent);
}

TEST_CASE("uniform loads: either barrier parts them from stores to workgroup memory") {
  CHECK(x_of("let x = s[0];") == Workgroup);
  CHECK(x_of("s[local.x] = 1; let x = s[0];") == Divergent);
  CHECK(x_of("s[local.x] = 1; barrier; let x = s[0];") == Workgroup);
  CHECK(x_of("s[local.x] = 1; barrier.acquire; let x = s[0];") == Workgroup);
  CHECK(x_of("s[local.x] = 1; gridsync; let x = s[0];") == Workgroup);
  CHECK(x_of("s[local.x] = 1; barrier; let x = s[0]; s[1] = 2;") == Divergent);
  CHECK(x_of("s[local.x] = 1; barrier; let x = s[local.x];") == Divergent);
}

TEST_CASE("uniform loads: a collective is a barrier of the whole grid") {
  CHECK(x_of("a[0] = local.x; all_reduce.add(a); let x = a[0];") == Grid);
  CHECK(x_of("s[0] = local.x; broadcast(a, 0); let x = s[0];") == Workgroup);
}

TEST_CASE("uniform loads: a store reaches a load around a loop") {
  CHECK(x_of("loop i in 0..4 { let x = a[0]; gridsync; a[0] = i; }") == Divergent);
  CHECK(x_of("loop i in 0..4 { gridsync; let x = a[0]; gridsync; a[0] = i; }") == Grid);
  CHECK(x_of("loop i in 0..4 { barrier; let x = s[0]; barrier; s[0] = i; }") == Workgroup);
  CHECK(x_of("loop i in 0..4 { let x = s[0]; barrier; s[0] = i; }") == Divergent);
  CHECK(x_of("loop i in 0..4 { gridsync; let x = a[0]; } a[0] = 1;") == Divergent);
  CHECK(x_of("a[0] = 1; loop i in 0..4 { let x = a[0]; gridsync; }") == Divergent);
}

TEST_CASE("uniform loads: a loop may run no trip, so its barrier parts nothing behind it") {
  CHECK(x_of("a[0] = 1; loop i in 0..len(b) { gridsync; } let x = a[0];") == Divergent);
  CHECK(x_of("s[0] = 1; loop i in 0..len(b) { barrier; } let x = s[0];") == Divergent);
}

TEST_CASE("uniform loads: nested loops") {
  CHECK(x_of("loop i in 0..4 { loop j in 0..4 { let x = a[0]; gridsync; } gridsync; a[0] = 1; }") ==
        Divergent);
  CHECK(x_of("loop i in 0..4 { loop j in 0..4 { gridsync; let x = a[0]; gridsync; } a[0] = 1; }") ==
        Grid);
  CHECK(x_of("loop i in 0..4 { gridsync; loop j in 0..4 { let x = a[0]; } gridsync; a[0] = 1; }") ==
        Grid);
}

TEST_CASE("uniform loads: a store in one arm concerns the load behind, and beside") {
  CHECK(x_of("if len(b) == 0 { a[0] = 1; } let x = a[0];") == Divergent);
  CHECK(x_of("if len(b) == 0 { } else { a[0] = 1; } let x = a[0];") == Divergent);
  CHECK(x_of("a[0] = 1; if len(b) == 0 { gridsync; } let x = a[0];") == Divergent);
  CHECK(x_of("a[0] = 1; if len(b) == 0 { gridsync; } else { gridsync; } let x = a[0];") == Grid);
  CHECK(x_of("a[0] = 1; if len(b) == 0 { gridsync; let x = a[0]; } else { a[1] = 1; gridsync; }") ==
        Grid);
  CHECK(x_of("if len(b) == 0 { gridsync; a[0] = 1; } else { gridsync; } let x = a[0];") ==
        Divergent);
  CHECK(x_of("if local.x == 0 { a[0] = 1; } else { let x = a[0]; }") == Divergent);
}

TEST_CASE("uniform loads: conditions and bounds are read before the bodies run") {
  CHECK(x_of("let x = 0; if a[0] == 1 { gridsync; a[0] = 2; gridsync; x = 1; }") == Grid);
  CHECK(x_of("let x = 0; if a[0] == 1 { a[0] = 2; x = 1; }") == Divergent);
  CHECK(x_of("let x = 0; loop i in 0..a[0] { x = 1; a[i] = 2; }") == Divergent);
}

TEST_CASE("uniform loads: a write behind an inner barrier comes too late for a load before it") {
  CHECK(x_of("let x = 0; if a[0] == 1 { gridsync; a[0] = 2; x = 1; }") == Grid);
  CHECK(x_of("let x = a[0]; if x == 1 { gridsync; a[0] = 2; }") == Grid);
  CHECK(x_of("let x = a[0]; if x == 1 { gridsync; } else { gridsync; a[0] = 2; }") == Grid);
  CHECK(x_of("let x = a[0]; loop i in 0..x { gridsync; a[0] = i; }") == Grid);
  CHECK(x_of("let x = 0; loop i in 0..a[0] { x = i; gridsync; a[0] = i; }") == Grid);
  CHECK(x_of("let x = s[0]; loop i in 0..x { barrier; s[0] = i; }") == Workgroup);
  // It does not separate a load that runs again, or a write that another path reaches.
  CHECK(x_of("if len(b) == 0 { gridsync; a[0] = 2; } let x = a[0];") == Divergent);
  CHECK(x_of("let x = a[0]; if len(b) == 0 { gridsync; } a[0] = 2;") == Divergent);
  CHECK(x_of("let x = a[0]; loop i in 0..len(b) { gridsync; } a[0] = 2;") == Divergent);
  CHECK(x_of("loop i in 0..4 { let x = a[0]; if x == 1 { gridsync; a[0] = 2; } }") == Divergent);
  CHECK(x_of("loop i in 0..4 { let x = a[0]; if x == 1 { gridsync; a[0] = 2; gridsync; } }") ==
        Grid);
}

TEST_CASE("uniform loads: more phases than can be analyzed one by one are merged") {
  // Each barrier leads to all that follows it: twice as many of them take four times as long.
  const auto body = [](int branches) {
    std::string text = "let x = a[0]; if x == 1 { gridsync; a[0] = 2; }";
    for (int i = 0; i < branches; ++i) text += " if len(b) == 0 { gridsync; }";
    return text;
  };
  CHECK(x_of(body(500)) == Grid);
  CHECK(x_of(body(4000)) == Divergent);  // refused, and sound
}

TEST_CASE("uniform loads: what is called uniform is the same in every run of random programs") {
  std::size_t uniform_seen = 0;
  for (std::uint32_t seed = 0; seed < 3'000; ++seed) {
    const Program program = felsite::test::valid_program(
        felsite::test::ProgramGenerator(seed, felsite::test::ProgramGenerator::Kind::Few).text());
    const UniformityMap map = analyze_uniformity(program);
    const felsite::test::Observed seen = felsite::test::observe(program);
    for (ExprId id = 0; id < program.exprs().size(); ++id) {
      if (map.exprs[id] != Divergent && seen.evaluated[id]) ++uniform_seen;
      if (map.exprs[id] < seen.exprs[id]) {
        FAIL("seed " << seed << ": `" << print(program, id) << "` differs in\n" << print(program));
      }
    }
    for (NodeId id = 0; id < program.nodes().size(); ++id) {
      if (map.control[id] < seen.control[id]) {
        FAIL("seed " << seed << ": not all invocations reach node " << id << " in\n"
                     << print(program));
      }
    }
  }
  CHECK(uniform_seen > 20'000);
}
