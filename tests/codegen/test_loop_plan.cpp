// How loops keep within the trips that a driver allows. A loop costs its trips and one more, for
// the comparison that ends it; the budget is for all loops of a dispatch together.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct LoopContext {
  std::uint32_t turns = 1;                  // invocations of a lane
  std::optional<std::uint32_t> taken = 0U;  // of the budget, by other loops
};

// "a 1, b 4, fits": how often the body of each loop stands in one trip, and whether the whole fits
// the budget. Where it does not, every loop is checked behind its end.
std::string loops_of_program(std::string_view text, std::uint32_t budget,
                             const LoopContext& context = {}) {
  const ir::Program program = valid_program(text);
  codegen::GridFolding folding;
  folding.turns = context.turns;
  const codegen::RegionPlan regions =
      codegen::plan_regions(program, program.entry(), ir::analyze_uniformity(program),
                            context.turns > 1 ? std::optional(folding) : std::nullopt);
  codegen::Capabilities mask;
  mask.loop_budget = budget;
  const codegen::LoopPlan plan =
      codegen::plan_loops(program, program.entry(), regions, context.turns, mask, context.taken);
  std::string out;
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind != ir::NodeKind::Loop) {
      CHECK(plan.unrolled[id] == 1);
      continue;
    }
    out += fmt::format("{} {}, ", program.var_name(node.ref), plan.unrolled[id]);
  }
  // What fits was counted with the program's workgroup size.
  CHECK(plan.counts_on_size == (budget != 0 && !plan.checked));
  return out + (plan.checked ? "checked" : budget == 0 ? "unlimited" : "fits");
}

std::string loops_of(std::string_view body, std::uint32_t budget, const LoopContext& context = {}) {
  return loops_of_program(
      fmt::format("program p workgroup(64) {{ readonly x: u32[]; readwrite y: u32[]; {} }}", body),
      budget, context);
}

}  // namespace

TEST_CASE("loops: without a budget nothing is unrolled or checked") {
  CHECK(loops_of("loop k in 0..1000000 { y[k] = 1; }", 0) == "k 1, unlimited");
  CHECK(loops_of("loop k in 0..len(x) { y[k] = 1; }", 0) == "k 1, unlimited");
}

TEST_CASE("loops: copies are doubled until the trips fit, and a rest behind them is no trip") {
  const auto ten = [](std::uint32_t budget) {
    return loops_of("loop k in 0..10 { y[k] = 1; }", budget);
  };
  CHECK(ten(11) == "k 1, fits");  // ten trips and the last comparison
  CHECK(ten(10) == "k 2, fits");  // 5 + 1
  CHECK(ten(6) == "k 2, fits");
  CHECK(ten(5) == "k 4, fits");  // 2 + 1
  CHECK(ten(3) == "k 4, fits");
  CHECK(ten(2) == "k 8, fits");     // 1 + 1
  CHECK(ten(1) == "k 8, checked");  // sixteen copies would be more than there are trips
  CHECK(loops_of("loop k in 0..16 { y[k] = 1; }", 2) == "k 16, fits");
  CHECK(loops_of("loop k in 0..15 { y[k] = 1; }", 1) == "k 8, checked");
  CHECK(loops_of("y[0] = 1;", 1) == "fits");
}

TEST_CASE("loops: a loop without trips costs the comparison") {
  CHECK(loops_of("loop k in 5..5 { y[k] = 1; }", 1) == "k 1, fits");
  CHECK(loops_of("loop k in 9..2 { y[k] = 1; }", 1) == "k 1, fits");
  CHECK(loops_of("loop a in 5..5 { loop b in 0..100 { y[b] = 1; } }", 1) == "a 1, b 1, fits");
  CHECK(loops_of("loop k in 4..6 { y[k] = 1; }", 3) == "k 1, fits");
  CHECK(loops_of("loop k in 4..6 { y[k] = 1; }", 2) == "k 2, fits");
}

TEST_CASE(
    "loops: an inner loop costs as often as the outer one enters it, and is the one to copy") {
  const auto nested = [](std::uint32_t budget) {
    return loops_of("loop a in 0..4 { loop b in 0..8 { y[b] = a; } }", budget);
  };
  CHECK(nested(41) == "a 1, b 1, fits");  // (4 + 1) + 4 * (8 + 1)
  CHECK(nested(40) == "a 1, b 2, fits");  // 5 + 4 * (4 + 1)
  CHECK(nested(25) == "a 1, b 2, fits");
  CHECK(nested(24) == "a 1, b 4, fits");  // 5 + 4 * (2 + 1)
  CHECK(nested(17) == "a 1, b 4, fits");
  CHECK(nested(16) == "a 1, b 8, fits");  // 5 + 4 * (1 + 1)
  CHECK(nested(13) == "a 1, b 8, fits");
  CHECK(nested(12) == "a 1, b 8, checked");
  // Three deep, 10^18 and more times: counted without overflow.
  CHECK(loops_of("loop a in 0..4294967295 { loop b in 0..4294967295 { loop c in 0..4294967295 { "
                 "y[c] = 1; } } }",
                 4294967295) == "a 1, b 1, c 1024, checked");
}

TEST_CASE("loops: of several, the one with the most trips is copied") {
  const auto two = [](std::uint32_t budget) {
    return loops_of("loop a in 0..10 { y[a] = 1; } loop b in 0..30 { y[b] = 2; }", budget);
  };
  CHECK(two(42) == "a 1, b 1, fits");  // 11 + 31
  CHECK(two(41) == "a 1, b 2, fits");  // 11 + 16
  CHECK(two(26) == "a 1, b 4, fits");  // 11 + 8
  CHECK(two(18) == "a 2, b 4, fits");  // 6 + 8
}

TEST_CASE("loops: a body has 4096 rows at most with all its copies") {
  // A store is a node with two expressions: 3 rows. An empty block is one.
  const auto with_rows = [](int rows) {
    std::string body;
    for (; rows >= 3; rows -= 3) body += "y[0] = 1; ";
    for (; rows > 0; --rows) body += "{ } ";
    return loops_of(fmt::format("loop k in 0..100 {{ {} }}", body), 60);
  };
  CHECK(with_rows(2048) == "k 2, fits");
  CHECK(with_rows(2049) == "k 1, checked");
  CHECK(loops_of("loop k in 0..100000 { y[0] = 1; }", 60) == "k 1024, checked");  // 3 * 1024 rows
}

TEST_CASE("loops: where a trip count is not in the text, nothing is copied and all are checked") {
  CHECK(loops_of("loop k in 0..len(x) { y[k] = 1; }", 1000) == "k 1, checked");
  CHECK(loops_of("loop k in len(x)..10 { y[k] = 1; }", 1000) == "k 1, checked");
  CHECK(loops_of("loop a in 0..100 { y[a] = 1; } loop b in 0..len(x) { y[b] = 1; }", 60) ==
        "a 1, b 1, checked");
}

TEST_CASE("loops: where the lowering itself adds loops, all are checked") {
  const std::string frame =
      "program p workgroup(64) {{ readonly x: u32[]; readwrite y: u32[]; readwrite f: f32[]; "
      "workgroup t: u32[4]; {} loop k in 0..10 {{ y[k] = 1; }} }}";
  const auto with = [&](std::string_view statements) {
    return loops_of_program(fmt::format(fmt::runtime(frame), statements), 1000);
  };
  CHECK(with("") == "k 1, fits");
  CHECK(with("atomic_add(y[0], 1);") == "k 1, fits");
  CHECK(with("atomic_add(f[0], 1.0);") == "k 1, checked");
  CHECK(with("y[0] = subgroup_add(1);") == "k 1, checked");
  CHECK(with("async_load(t[0], x[0], 4, copy); async_wait(copy);") == "k 1, checked");
  CHECK(with("op twice(q: u32) -> u32 { yield q + q; } y[0] = twice(2);") == "k 1, fits");
  CHECK(with("op sum(q: u32) -> u32 { let s = 0; loop j in 0..q { s = s + j; } yield s; } "
             "y[0] = sum(2);") == "k 1, checked");
}

TEST_CASE("loops: trips that others take are not there for the program's") {
  const std::string ten = "loop k in 0..10 { y[k] = 1; }";
  CHECK(loops_of(ten, 16, {.taken = 5}) == "k 1, fits");
  CHECK(loops_of(ten, 15, {.taken = 5}) == "k 2, fits");
  CHECK(loops_of(ten, 11, {.taken = 10}) == "k 8, checked");
  CHECK(loops_of(ten, 1000, {.taken = std::nullopt}) == "k 1, checked");
}

TEST_CASE("loops: zeroing workgroup memory takes trips") {
  const auto with_size = [](std::string_view size, std::uint32_t budget) {
    return loops_of_program(fmt::format("program p workgroup({}) {{ readwrite y: u32[]; workgroup "
                                        "t: u32[64]; loop k in 0..10 {{ y[k] = t[k]; }} }}",
                                        size),
                            budget);
  };
  // An element may be two words, so 64 invocations zero two words each: 2 trips and 2 around them.
  CHECK(with_size("64", 15) == "k 1, fits");
  CHECK(with_size("64", 14) == "k 2, fits");
  CHECK(with_size("8, 4, 2", 15) == "k 1, fits");
  CHECK(with_size("8, 4, 2", 14) == "k 2, fits");
  CHECK(with_size("32", 17) == "k 1, fits");
  CHECK(with_size("32", 16) == "k 2, fits");
}

TEST_CASE("loops: a lane with several invocations makes the trips of all, and loops over them") {
  const std::string ten = "loop k in 0..10 { y[k] = 1; }";
  CHECK(loops_of(ten, 25, {.turns = 2}) == "k 1, fits");  // 2 * 11, and one loop over two of them
  CHECK(loops_of(ten, 24, {.turns = 2}) == "k 2, fits");
  // A barrier brings five more such loops.
  CHECK(loops_of(ten + " barrier;", 40, {.turns = 2}) == "k 1, fits");
  CHECK(loops_of(ten + " barrier;", 39, {.turns = 2}) == "k 2, fits");
  // In a loop it does so in each trip, and for the loop itself.
  const std::string around = "loop k in 0..10 { barrier; }";
  CHECK(loops_of(around, 190, {.turns = 2}) == "k 1, fits");  // 2 * 11 + (11 * 5 + 1) * 3
  CHECK(loops_of(around, 189, {.turns = 2}) == "k 1, checked");
}

TEST_CASE("loops: a body that is cut into regions is not copied") {
  CHECK(loops_of("loop k in 0..10 { barrier; }", 6) == "k 2, fits");
  CHECK(loops_of("if local.x > 3 { return; } loop k in 0..10 { barrier; }", 6) == "k 1, checked");
  CHECK(loops_of("if local.x > 3 { return; } barrier; loop k in 0..10 { y[k] = 1; }", 6) ==
        "k 2, fits");
}
