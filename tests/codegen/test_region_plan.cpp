// Where barriers stand behind returns: whether the entry is cut into regions there, which variables
// outlive a run, and where segments of a program that traps end.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

std::string kind_names(const ir::Program& program, const std::vector<bool>& marked) {
  std::string text;
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    if (!marked[id]) continue;
    const ir::Node& node = program.node(id);
    const bool of_grid =
        node.kind == ir::NodeKind::Barrier && node.ordering() == ir::Ordering::GridSync;
    text += " ";
    text += of_grid ? "GridSync" : ir::info(node.kind).name;
  }
  return text;
}

struct RunContext {
  bool folded = false;  // several workgroups of the program are one of the device
  std::uint32_t turns = 1;
};

std::pair<ir::Program, codegen::RegionPlan> region_plan(std::string_view body,
                                                        const RunContext& context) {
  ir::Program program = valid_program(fmt::format(
      "program p workgroup(64) {{ readonly x: u32[]; readwrite y: u32[]; let i = local.x; {} }}",
      body));
  codegen::GridFolding folding;
  folding.grid = {2, 1, 1};
  folding.turns = context.turns;
  codegen::RegionPlan plan =
      codegen::plan_regions(program, program.entry(), ir::analyze_uniformity(program),
                            context.folded ? std::optional(folding) : std::nullopt);
  return {std::move(program), std::move(plan)};
}

// "no regions", or "runs" with the variables that live from one to another: "regions, i s".
std::string regions_of(std::string_view body, const RunContext& context = {}) {
  const auto [program, plan] = region_plan(body, context);
  std::string text = plan.needed ? "regions," : "no regions";
  for (ir::VarId id = 0; id < program.vars().size(); ++id) {
    if (plan.persistent[id]) text += fmt::format(" {}", program.var_name(id));
  }
  return text;
}

// The barriers and what is around one, then what ends a segment: "Loop Barrier | GridSync".
std::string barriers_of(std::string_view body) {
  const auto [program, plan] = region_plan(body, {});
  return kind_names(program, plan.has_barrier) + " |" + kind_names(program, plan.cut);
}

}  // namespace

TEST_CASE("regions: every construct around a barrier is marked") {
  CHECK(barriers_of("y[i] = 1;") == " |");
  CHECK(barriers_of("barrier; if i > 3 { y[i] = 1; }") == " Barrier |");
  CHECK(barriers_of("{ region \"r\" { loop k in 0..2 { if len(x) > 3 { barrier; } } } }") ==
        " Block Region Loop If Barrier |");
  CHECK(barriers_of("if len(x) > 3 { y[i] = 1; } else { barrier; }") == " If Barrier |");
  CHECK(barriers_of("loop a in 0..2 { y[i] = a; } loop b in 0..2 { barrier; { barrier; } }") ==
        " Loop Barrier Block Barrier |");
}

TEST_CASE("regions: needed where an exit that not all take stands before a barrier") {
  CHECK(regions_of("y[i] = 1; barrier; y[i] = 2;") == "no regions");
  CHECK(regions_of("if i > 3 { return; } y[i] = 1;") == "no regions");
  CHECK(regions_of("if i > 3 { return; } barrier;") == "regions,");
  CHECK(regions_of("if i > 3 { trap(i, stop); } barrier;") == "regions,");
  CHECK(regions_of("{ if i > 3 { return; } } { barrier; }") == "regions,");
  CHECK(regions_of("barrier; if i > 3 { return; } y[0] = 1;") == "no regions");
  CHECK(regions_of("if len(x) > 3 { return; } barrier;") == "no regions");
  CHECK(regions_of("if workgroup_id.x > 3 { return; } barrier;") == "no regions");
  CHECK(regions_of("if i > 3 { return; } gridsync;") == "regions,");
}

TEST_CASE("regions: a loop around a barrier leads from an exit behind it to the barrier") {
  CHECK(regions_of("loop k in 0..4 { barrier; if i == k { return; } }") == "regions, i k");
  CHECK(regions_of("loop k in 0..4 { barrier; } if i > 3 { return; }") == "no regions");
  CHECK(regions_of("barrier; loop k in 0..4 { if i == k { return; } }") == "no regions");
  // The outermost such loop counts, also behind an inner one.
  CHECK(regions_of("loop a in 0..2 { loop b in 0..2 { barrier; } if i == 3 { return; } }") ==
        "regions, i");
  CHECK(regions_of("loop a in 0..2 { loop b in 0..2 { barrier; } } "
                   "loop c in 0..2 { if i == 3 { return; } }") == "no regions");
}

TEST_CASE("regions: in a folded grid a workgroup alone is not all") {
  const RunContext folded{.folded = true};
  CHECK(regions_of("if workgroup_id.x > 3 { return; } gridsync;", folded) == "regions,");
  CHECK(regions_of("if len(x) > 3 { return; } gridsync;", folded) == "no regions");
  CHECK(regions_of("y[i] = 1;", folded) == "no regions");
  // Several invocations to a lane take turns, with barriers or without.
  CHECK(regions_of("y[i] = 1;", {.folded = true, .turns = 2}) == "regions,");
  CHECK(regions_of("y[i] = 1; gridsync; y[i] = 2;", {.folded = true, .turns = 2}) == "regions, i");
}

TEST_CASE("regions: a variable outlives its region if another one reads or assigns it") {
  const auto behind_exit = [](std::string_view before, std::string_view after) {
    return regions_of(fmt::format("if i > 60 {{ return; }} {} barrier; {}", before, after));
  };
  CHECK(behind_exit("", "y[i] = 1;") == "regions, i");
  CHECK(behind_exit("let a = x[i]; let b = a + 1;", "y[0] = b;") == "regions, b");
  CHECK(behind_exit("let s = 0; y[0] = s;", "s = 5;") == "regions, s");
  CHECK(behind_exit("let s = 0; s = 5; y[0] = s;", "") == "regions,");
  CHECK(behind_exit("", "let s = 0; s = 5; y[0] = s;") == "regions,");
  // Conditions and bounds around a barrier are evaluated between runs.
  CHECK(behind_exit("let c = len(x);", "if c > 3 { barrier; }") == "regions, c");
  CHECK(behind_exit("let c = len(x);", "loop k in 0..c { barrier; }") == "regions, c");
  CHECK(behind_exit("", "let c = len(x); if c > 3 { y[0] = 1; }") == "regions,");
  CHECK(behind_exit("", "let c = len(x); if c > 3 { barrier; }") == "regions, c");
  // So is the variable of a loop around a barrier set.
  CHECK(behind_exit("", "loop k in 0..4 { barrier; }") == "regions,");
  CHECK(behind_exit("", "loop k in 0..4 { y[k] = 1; barrier; }") == "regions, k");
  CHECK(behind_exit("", "loop k in 0..4 { y[k] = 1; }") == "regions,");
  CHECK(behind_exit("", "loop k in 0..4 { let m = 1; y[0] = m; barrier; }") == "regions,");
  CHECK(behind_exit("", "loop k in 0..4 { let m = 1; barrier; y[0] = m; }") == "regions, m");
  // Runs of the two arms are different ones.
  CHECK(behind_exit("", "if len(x) > 3 { let m = 1; y[0] = m; barrier; } else { y[1] = 1; }") ==
        "regions,");
}

TEST_CASE("regions: segments of a program that traps end at grid barriers and around them") {
  const std::string trap = "if i > 60 { trap(i, stop); } ";
  CHECK(barriers_of(trap + "gridsync;") == " GridSync | GridSync");
  CHECK(barriers_of(trap + "barrier; gridsync;") == " Barrier GridSync | GridSync");
  CHECK(barriers_of("gridsync;") == " GridSync |");
  CHECK(barriers_of(trap + "barrier;") == " Barrier |");
  CHECK(barriers_of(trap + "if len(x) > 3 { gridsync; }") == " If GridSync | If GridSync");
  CHECK(barriers_of(trap + "loop k in 0..2 { { region \"r\" { gridsync; } } }") ==
        " Loop Block Region GridSync | Loop GridSync");
  CHECK(barriers_of(trap + "if len(x) > 3 { barrier; } gridsync;") ==
        " If Barrier GridSync | GridSync");
}

TEST_CASE("regions: the end of a segment is a barrier in a program that traps") {
  const std::string trap = " if len(x) > 900 { trap(0, stop); }";
  const std::string exit_in_arm = "if len(x) > 3 { gridsync; if i > 3 { return; } }";
  CHECK(regions_of(exit_in_arm) == "no regions");
  CHECK(regions_of(exit_in_arm + trap) == "regions, i");
  // Also where the entry ends with it.
  CHECK(regions_of("if len(x) > 3 { gridsync; if i > 3 { trap(i, stop); } }") == "regions, i");
  CHECK(regions_of("if len(x) > 3 { gridsync; } if i > 3 { trap(i, stop); }") == "no regions");
  CHECK(regions_of("if len(x) > 3 { barrier; if i > 3 { trap(i, stop); } }") == "no regions");
}
