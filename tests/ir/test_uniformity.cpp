// Uniformity of values, variables and control flow; loads are in test_uniformity_memory.cpp.
#include <fmt/format.h>

#include "ir/analysis/uniformity.h"
#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::nth_node;
using felsite::test::parsed;
using felsite::test::var_named;

namespace {

using enum Uniformity;

Program kernel(std::string_view body, std::string_view size = "4, 1, 2") {
  return parsed(fmt::format(R"(program p workgroup({}) {{
    readonly in_: u32[]; uniform params: u32[4]; readwrite a: u32[]; workgroup s: u32[4];
    op twice(q: u32) -> u32 {{ yield q + q; }}
    {} }})",
                            size, body));
}

// The uniformity of the value of one expression.
Uniformity value(std::string_view expression) {
  const Program program = kernel(fmt::format("let x = {};", expression));
  const UniformityMap map = analyze_uniformity(program);
  const Uniformity result = map.exprs[program.node(program.entry().begin).args[0]];
  CHECK(map.vars[var_named(program, "x")] == result);
  return result;
}

Uniformity var(std::string_view body, std::string_view name = "x") {
  const Program program = kernel(body);
  return analyze_uniformity(program).vars[var_named(program, name)];
}

// The uniformity of the control flow that reaches the first trap.
Uniformity control(std::string_view body) {
  const Program program = kernel(body);
  return analyze_uniformity(program).control[nth_node(program, NodeKind::Trap)];
}

}  // namespace

TEST_CASE("uniformity: literals and what the whole grid shares") {
  for (const char* text :
       {"7", "2.5", "true", "len(a)", "len(s)", "num_workgroups.x", "num_workgroups.z",
        "workgroup_size.x", "workgroup_size.y", "subgroup_size"}) {
    CAPTURE(text);
    CHECK(value(text) == Grid);
  }
}

TEST_CASE("uniformity: what one workgroup shares") {
  CHECK(value("workgroup_id.x") == Workgroup);
  CHECK(value("workgroup_id.y") == Workgroup);
  CHECK(value("workgroup_id.z") == Workgroup);
}

TEST_CASE("uniformity: what differs from invocation to invocation") {
  for (const char* text : {"invocation.x", "invocation.z", "local.x", "local.z", "subgroup_lane",
                           "atomic_add(a[0], 1)", "atomic_add(s[0], 1)"}) {
    CAPTURE(text);
    CHECK(value(text) == Divergent);
  }
}

TEST_CASE("uniformity: an axis of extent 1 does not distinguish invocations") {
  CHECK(value("local.y") == Grid);
  CHECK(value("invocation.y") == Workgroup);
  const Program single = kernel("let x = local.x; let y = invocation.x;", "1");
  const UniformityMap map = analyze_uniformity(single);
  CHECK(map.vars[var_named(single, "x")] == Grid);
  CHECK(map.vars[var_named(single, "y")] == Workgroup);
}

TEST_CASE("uniformity: the size counts that the program has now") {
  const Program wide = kernel("let x = local.x;", "4");
  const Program single = wide.with_workgroup_size({1, 1, 1});
  CHECK(analyze_uniformity(wide).vars[var_named(wide, "x")] == Divergent);
  CHECK(analyze_uniformity(single).vars[var_named(single, "x")] == Grid);
}

TEST_CASE("uniformity: lanes of a subgroup do not speak for the workgroup") {
  for (const char* text : {"subgroup_ballot(true)", "subgroup_add(1)", "subgroup_shuffle(1, 0)"}) {
    CAPTURE(text);
    CHECK(value(text) == Divergent);
  }
}

TEST_CASE("uniformity: an operation is as uniform as its worst operand") {
  const std::vector<std::string> forms{"{} + 1",
                                       "1 - {}",
                                       "~{}",
                                       "f32({})",
                                       "bitcast<i32>({})",
                                       "select(true, {}, 2)",
                                       "select(true, 2, {})",
                                       "select({} == 0, 1, 2)",
                                       "fma(1.0, f32({}), 2.0)",
                                       "twice({})",
                                       "in_[{}]"};
  for (const std::string& form : forms) {
    CAPTURE(form);
    CHECK(value(fmt::format(fmt::runtime(form), "len(a)")) == Grid);
    CHECK(value(fmt::format(fmt::runtime(form), "workgroup_id.x")) == Workgroup);
    CHECK(value(fmt::format(fmt::runtime(form), "local.x")) == Divergent);
  }
  CHECK(value("workgroup_id.x + local.x + 1") == Divergent);
  CHECK(value("workgroup_id.x + len(a)") == Workgroup);
}

TEST_CASE("uniformity: a variable is as uniform as the worst of its assignments") {
  CHECK(var("let x = 1; x = 2;") == Grid);
  CHECK(var("let x = 1; x = workgroup_id.x;") == Workgroup);
  CHECK(var("let x = 1; x = local.x; x = 2;") == Divergent);
  CHECK(var("let x = local.x; x = 2;") == Divergent);
}

TEST_CASE("uniformity: it passes through copies") {
  CHECK(var("let y = local.x; let z = y + 1; let x = z * 2;") == Divergent);
  CHECK(var("let y = workgroup_id.x; let x = 1; x = x + y;") == Workgroup);
  CHECK(var("let y = local.x; let x = 1; x = x + 1;") == Grid);
}

TEST_CASE(
    "uniformity: an assignment under a divergent condition is divergent, whatever the value") {
  CHECK(var("let x = 1; if local.x == 0 { x = 2; }") == Divergent);
  CHECK(var("let x = 1; if local.x == 0 { } else { x = 2; }") == Divergent);
  CHECK(var("let x = 1; if workgroup_id.x == 0 { x = 2; }") == Workgroup);
  CHECK(var("let x = 1; if len(a) == 0 { x = 2; }") == Grid);
  CHECK(var("let x = 1; if local.x == 0 { if true { { region \"r\" { x = 2; } } } }") == Divergent);
  CHECK(var("let x = 1; if local.x == 0 { let y = 3; } x = 2;") == Grid);
}

TEST_CASE("uniformity: an assignment in a loop of divergent length is divergent") {
  CHECK(var("let x = 1; loop i in 0..local.x { x = x + 1; }") == Divergent);
  CHECK(var("let x = 1; loop i in local.x..9 { x = 7; }") == Divergent);
  CHECK(var("let x = 1; loop i in 0..workgroup_id.x { x = x + i; }") == Workgroup);
  CHECK(var("let x = 1; loop i in 0..len(a) { x = x + i; }") == Grid);
}

TEST_CASE("uniformity: a variable bound under a divergent condition is seen only there") {
  CHECK(var("if local.x == 0 { let x = 2; }") == Grid);
  CHECK(var("if local.x == 0 { let x = local.x; }") == Divergent);
}

TEST_CASE("uniformity: a loop variable is as uniform as the bounds") {
  CHECK(var("loop x in 0..4 { }") == Grid);
  CHECK(var("loop x in 0..workgroup_id.x { }") == Workgroup);
  CHECK(var("loop x in local.x..9 { }") == Divergent);
  CHECK(var("loop x in 0..local.x { }") == Divergent);
}

TEST_CASE("uniformity: divergence made late in a loop reaches its top") {
  CHECK(var("let y = 0; loop i in 0..4 { let x = y; y = local.x; }") == Divergent);
  CHECK(var("let x = 0; let y = 0; let z = 0;"
            "loop i in 0..9 { x = y; y = z; z = local.x; }") == Divergent);
  CHECK(control("let y = 0; loop i in 0..4 { if y == 0 { trap(0, t); } y = local.x; }") ==
        Divergent);
  CHECK(control("let y = 0; loop i in 0..4 { if y == 0 { trap(0, t); } y = i; }") == Grid);
  CHECK(control("let n = 4; loop j in 0..3 { loop i in 0..n { trap(0, t); } n = local.x; }") ==
        Divergent);
}

TEST_CASE(
    "uniformity: a divergent break of symmetry inside a loop reaches the condition above it") {
  CHECK(var("let x = 0; let y = 0; loop i in 0..4 { if y == 1 { x = 1; } if local.x == i { y = 1; "
            "} }") == Divergent);
}

TEST_CASE("uniformity: control flow under conditions and loops") {
  CHECK(control("trap(0, t);") == Grid);
  CHECK(control("if local.x == 0 { trap(0, t); }") == Divergent);
  CHECK(control("if local.x == 0 { } else { trap(0, t); }") == Divergent);
  CHECK(control("if workgroup_id.x == 0 { trap(0, t); }") == Workgroup);
  CHECK(control("if workgroup_id.x == 0 { if len(a) == 0 { trap(0, t); } }") == Workgroup);
  CHECK(control("loop i in 0..local.x { { trap(0, t); } }") == Divergent);
  CHECK(control("loop i in 0..4 { if i == 2 { region \"r\" { trap(0, t); } } }") == Grid);
  CHECK(control("if local.x == 0 { let y = 1; } trap(0, t);") == Grid);
}

TEST_CASE("uniformity: the control of a node is that which reaches it, not its own condition") {
  const Program program = kernel("if local.x == 0 { loop i in 0..4 { } }");
  const UniformityMap map = analyze_uniformity(program);
  CHECK(map.control[nth_node(program, NodeKind::If)] == Grid);
  CHECK(map.control[nth_node(program, NodeKind::Loop)] == Divergent);
}

TEST_CASE("uniformity: invocations that returned do not make the rest divergent") {
  CHECK(control("if invocation.x > 5 { return; } trap(0, t);") == Grid);
  CHECK(control("loop i in 0..4 { if local.x == i { return; } trap(0, t); }") == Grid);
  CHECK(var("if invocation.x > 5 { return; } let x = 1; loop i in 0..4 { x = i; }") == Grid);
}

TEST_CASE("uniformity: names that mean nothing do no harm") {
  CHECK(var("let x = nothing + nowhere[0]; unknown = local.x;") == Grid);
  CHECK(control("if nothing[local.x] == 0 { trap(0, t); }") == Divergent);
}

TEST_CASE("uniformity: chains of assignments in either order are followed in linear time") {
  constexpr int kLength = 10'000;
  for (const bool unlucky : {false, true}) {
    std::string text;
    for (int i = 0; i <= kLength; ++i) text += fmt::format("let x{} = 0;", i);
    text += "loop i in 0..4 {";
    for (int i = 0; i < kLength; ++i) {
      const int at = unlucky ? i : kLength - 1 - i;
      text += fmt::format("x{} = x{};", at, at + 1);
    }
    text += fmt::format("x{} = local.x; }}", kLength);
    const Program program = kernel(text);
    const UniformityMap map = analyze_uniformity(program);
    for (int i = 0; i <= kLength; i += 500) {
      CHECK(map.vars[var_named(program, fmt::format("x{}", i))] == Divergent);
    }
  }
}

TEST_CASE("uniformity: all invocations reach a validated barrier") {
  const auto codes = [](std::string_view body) {
    std::string text;
    for (const Finding& finding : validate(kernel(body))) text += info(finding.code).id;
    return text;
  };
  CHECK(codes("if workgroup_id.x == 0 { barrier; }") == "");
  CHECK(codes("if workgroup_id.x == 0 { gridsync; }") == "F020");
  CHECK(codes("if local.x == 0 { barrier; }") == "F019");
  CHECK(codes("if local.x == 0 { gridsync; }") == "F020");
  CHECK(codes("loop i in 0..len(a) { gridsync; barrier; }") == "");
  CHECK(codes("let y = 0; loop i in 0..4 { if y == 0 { barrier; } y = local.x; }") == "F019");
  CHECK(codes("if invocation.x > 4 { return; } gridsync; barrier;") == "");
}
