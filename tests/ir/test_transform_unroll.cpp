// Unrolled loops: the program before, and the program after.
#include <map>

#include "ir/transform/unroll.h"
#include "support/fels_text.h"
#include "support/program_generator.h"
#include "support/run_program.h"

namespace felsite::test {
namespace {

using Copies = std::map<std::string, std::uint32_t, std::less<>>;  // by the loop's variable

ir::ValidProgram unrolled(std::string_view text, const Copies& copies) {
  const ir::ValidProgram program = valid_program(text);
  std::vector<std::uint32_t> by_node(program.nodes().size(), 1);
  for (ir::NodeId id = 0; id < program.nodes().size(); ++id) {
    if (program.node(id).kind != ir::NodeKind::Loop) continue;
    const auto found = copies.find(program.var_name(program.node(id).ref));
    if (found != copies.end()) by_node[id] = found->second;
  }
  return ir::unrolled(program, by_node);
}

constexpr std::string_view kHead =
    "program p workgroup(64) {\n"
    "  readwrite b: u32[];\n"
    "  workgroup t: u32[64];\n"
    "\n";

// The statements after unrolling, which validate and print as they should.
std::string after(std::string_view statements, const Copies& copies) {
  const ir::ValidProgram made = unrolled(fmt::format("{}{}}}\n", kHead, statements), copies);
  const std::string text = ir::print(made);
  INFO(text);
  CHECK(found(text) == "valid");
  CHECK(ir::validate(made).empty());
  REQUIRE(text.starts_with(kHead));
  return text.substr(kHead.size(), text.size() - kHead.size() - 2);
}

std::string same(std::string_view statements) { return after(statements, {}); }

}  // namespace

TEST_CASE("unrolling: a trip is as many copies of the body, each with its index") {
  CHECK(after("loop k in 0..6 { b[k] = k; }", {{"k", 2}}) ==
        "  loop k_trip in 0..3 {\n"
        "    let k_first = k_trip * 2;\n"
        "    {\n"
        "      let k = k_first;\n"
        "      b[k] = k;\n"
        "    }\n"
        "    {\n"
        "      let k = k_first + 1;\n"
        "      b[k] = k;\n"
        "    }\n"
        "  }\n");
}

TEST_CASE("unrolling: trips that are left over follow the loop") {
  CHECK(after("loop k in 0..8 { b[k] = 1; } b[9] = 2;", {{"k", 3}}) ==
        "  loop k_trip in 0..2 {\n"
        "    let k_first = k_trip * 3;\n"
        "    {\n"
        "      let k = k_first;\n"
        "      b[k] = 1;\n"
        "    }\n"
        "    {\n"
        "      let k = k_first + 1;\n"
        "      b[k] = 1;\n"
        "    }\n"
        "    {\n"
        "      let k = k_first + 2;\n"
        "      b[k] = 1;\n"
        "    }\n"
        "  }\n"
        "  {\n"
        "    let k = 6;\n"
        "    b[k] = 1;\n"
        "  }\n"
        "  {\n"
        "    let k = 7;\n"
        "    b[k] = 1;\n"
        "  }\n"
        "  b[9] = 2;\n");
}

TEST_CASE("unrolling: a single trip needs no loop") {
  CHECK(after("loop k in 5..8 { b[k] = 1; }", {{"k", 2}}) ==
        "  {\n    let k = 5;\n    b[k] = 1;\n  }\n"
        "  {\n    let k = 6;\n    b[k] = 1;\n  }\n"
        "  {\n    let k = 7;\n    b[k] = 1;\n  }\n");
  CHECK(after("loop k in 7..8 { b[k] = 1; }", {{"k", 1}}) ==
        "  loop k in 7..8 {\n    b[k] = 1;\n  }\n");
}

TEST_CASE("unrolling: the first index may be any") {
  const auto index = [](std::string_view bounds) {
    const std::string text = after(fmt::format("loop k in {} {{ b[k] = 1; }}", bounds), {{"k", 4}});
    return text.substr(2, text.find(";\n") - 2);
  };
  CHECK(index("0..8") == "loop k_trip in 0..2 {\n    let k_first = k_trip * 4");
  CHECK(index("8..17") == "loop k_trip in 2..4 {\n    let k_first = k_trip * 4");
  CHECK(index("3..11") == "loop k_trip in 0..2 {\n    let k_first = k_trip * 4 + 3");
  CHECK(index("6..14") == "loop k_trip in 1..3 {\n    let k_first = k_trip * 4 + 2");
  CHECK(index("4294967283..4294967295") ==
        "loop k_trip in 1073741820..1073741823 {\n    let k_first = k_trip * 4 + 3");
}

TEST_CASE("unrolling: no index is computed that nobody reads") {
  CHECK(after("loop k in 0..5 { atomic_add(b[0], 1); }", {{"k", 2}}) ==
        "  loop k in 0..2 {\n"
        "    {\n      atomic_add(b[0], 1);\n    }\n"
        "    {\n      atomic_add(b[0], 1);\n    }\n"
        "  }\n"
        "  {\n    atomic_add(b[0], 1);\n  }\n");
}

TEST_CASE("unrolling: loops stay that have too few trips, or bounds that are not literals") {
  for (const char* loop :
       {"loop k in 0..3 { b[k] = 1; }", "loop k in 4..4 { b[k] = 1; }",
        "loop k in 9..2 { b[k] = 1; }", "loop k in 0..len(b) { b[k] = 1; }",
        "loop k in b[0]..100 { b[k] = 1; }", "loop k in 0..2 + 7 { b[k] = 1; }"}) {
    CAPTURE(loop);
    CHECK(after(loop, {{"k", 4}}) == same(loop));
  }
  const char* const one = "loop k in 0..100 { b[k] = 1; }";
  CHECK(after(one, {{"k", 1}}) == same(one));
  CHECK(after(one, {{"k", 0}}) == same(one));
  CHECK(after(one, {{"other", 4}}) == same(one));
}

TEST_CASE("unrolling: the inner loop, the outer one, or both") {
  const char* const nested = "loop a in 0..3 { loop c in 0..2 { b[c] = a; } }";
  CHECK(after(nested, {{"c", 2}}) ==
        "  loop a in 0..3 {\n"
        "    {\n      let c = 0;\n      b[c] = a;\n    }\n"
        "    {\n      let c = 1;\n      b[c] = a;\n    }\n"
        "  }\n");
  CHECK(after(nested, {{"a", 3}}) ==
        "  {\n    let a = 0;\n    loop c in 0..2 {\n      b[c] = a;\n    }\n  }\n"
        "  {\n    let a = 1;\n    loop c in 0..2 {\n      b[c] = a;\n    }\n  }\n"
        "  {\n    let a = 2;\n    loop c in 0..2 {\n      b[c] = a;\n    }\n  }\n");
  CHECK(after("loop a in 0..2 { loop c in 0..4 { b[c] = a; } }", {{"a", 2}, {"c", 2}}) ==
        same("{ let a = 0; loop c_trip in 0..2 { let c_first = c_trip * 2;"
             "  { let c = c_first; b[c] = a; } { let c = c_first + 1; b[c] = a; } } }"
             "{ let a = 1; loop c_trip in 0..2 { let c_first = c_trip * 2;"
             "  { let c = c_first; b[c] = a; } { let c = c_first + 1; b[c] = a; } } }"));
}

TEST_CASE("unrolling: a body with statements of many kinds") {
  CHECK(after("let sum = 0;"
              "loop k in 0..2 {"
              "  let old = atomic_max(b[k], sum); let more = 0;"
              "  if old > k { more = b[old]; } else { trap(k, bad); }"
              "  region \"part\" { t[k] = more; barrier; }"
              "  if sum == 9 { return; }"
              "  sum = sum + more;"
              "} b[1] = sum;",
              {{"k", 2}}) == same("let sum = 0;"
                                  "{ let k = 0;"
                                  "  let old = atomic_max(b[k], sum); let more = 0;"
                                  "  if old > k { more = b[old]; } else { trap(k, bad); }"
                                  "  region \"part\" { t[k] = more; barrier; }"
                                  "  if sum == 9 { return; }"
                                  "  sum = sum + more; }"
                                  "{ let k = 1;"
                                  "  let old = atomic_max(b[k], sum); let more = 0;"
                                  "  if old > k { more = b[old]; } else { trap(k, bad); }"
                                  "  region \"part\" { t[k] = more; barrier; }"
                                  "  if sum == 9 { return; }"
                                  "  sum = sum + more; }"
                                  "b[1] = sum;"));
}

TEST_CASE("unrolling: a copy behind one that returns is still a valid program") {
  CHECK(after("loop k in 0..2 { b[k] = 1; return; }", {{"k", 2}}) ==
        "  {\n    let k = 0;\n    b[k] = 1;\n    return;\n  }\n"
        "  {\n    let k = 1;\n    b[k] = 1;\n    return;\n  }\n");
}

TEST_CASE("unrolling: an index past the end of a buffer stays a value, which is no mistake") {
  const ir::ValidProgram made = unrolled(
      "program p workgroup(1) { readwrite c: u32[2]; loop k in 0..4 { c[k] = c[k] + 1; } }",
      {{"k", 4}});
  CHECK(ir::validate(made).empty());
}

TEST_CASE("unrolling: new names are ones that the program does not have") {
  CHECK(after("let k_trip = 1; let x_first_ = 2; let a_first = 3;"
              "loop k in 0..4 { b[k] = k_trip + x_first_ + a_first; }",
              {{"k", 2}}) ==
        same("let k_trip = 1; let x_first_ = 2; let a_first = 3;"
             "loop k_trip_ in 0..2 { let k_first__ = k_trip_ * 2;"
             "  { let k = k_first__; b[k] = k_trip + x_first_ + a_first; }"
             "  { let k = k_first__ + 1; b[k] = k_trip + x_first_ + a_first; } }"));
  // One that is declared in the body, or behind the loop.
  CHECK(after("loop k in 0..4 { let k_trip = k; b[k] = k_trip; } let k_first = 2;", {{"k", 2}}) ==
        same("loop k_trip_ in 0..2 { let k_first_ = k_trip_ * 2;"
             "  { let k = k_first_; let k_trip = k; b[k] = k_trip; }"
             "  { let k = k_first_ + 1; let k_trip = k; b[k] = k_trip; } }"
             "let k_first = 2;"));
  CHECK(after("loop _ in 0..4 { b[0] = b[0] + 1; }", {{"_", 2}}) ==
        same("loop _ in 0..2 { { b[0] = b[0] + 1; } { b[0] = b[0] + 1; } }"));
}

TEST_CASE("unrolling: loops of operations too") {
  CHECK(after("op twice(x: u32) -> u32 { let s = x; loop k in 0..2 { s = s + k; } yield s; }"
              "b[0] = twice(1);",
              {{"k", 2}}) == same("op twice(x: u32) -> u32 { let s = x; { let k = 0; s = s + k; }"
                                  "  { let k = 1; s = s + k; } yield s; }"
                                  "b[0] = twice(1);"));
}

TEST_CASE(
    "unrolling: copies stand at the lines of what they copy, and their indices at the loop's") {
  const ir::ValidProgram made = unrolled(
      "program p workgroup(1) {\nreadwrite b: u32[];\nb[9] = 1;\nloop k in 0..5 {\nb[k] = 1;\n}\n"
      "b[8] = 1;\n}",
      {{"k", 2}});
  std::vector<std::uint32_t> lines;
  for (const std::uint32_t at : made.source().nodes) {
    lines.push_back(ir::line_column(made.source(), at).line);
  }
  // The store, the loop with the first index, three times the block, its index and the store.
  CHECK(lines == std::vector<std::uint32_t>{3, 4, 4, 4, 4, 5, 4, 4, 5, 4, 4, 5, 7});
}

TEST_CASE("unrolling: generated programs stay valid, and give the same bytes") {
  using Kind = ProgramGenerator::Kind;
  std::size_t changed = 0;
  for (const Kind kind : {Kind::Plain, Kind::Subgroups, Kind::GridSync, Kind::Text}) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      ProgramGenerator generator(seed + run_seed(), kind);
      const std::string text = generator.text();
      INFO("FELSITE_TEST_SEED=" << run_seed() << ", program " << seed << "\n" << text);
      const ir::ValidProgram program = valid_program(text);
      Random random(seed + run_seed());
      std::vector<std::uint32_t> copies(program.nodes().size());
      for (std::uint32_t& each : copies) each = 1 + random.below(4);
      // The trips of a loop around a grid barrier order traps.
      if (program.facts().has_trap && program.facts().has_grid_sync) continue;
      const ir::ValidProgram made = ir::unrolled(program, copies);
      INFO("unrolled\n" << ir::print(made));
      REQUIRE(describe(ir::validate(made)) == "");
      check_round_trip(made);
      if (made.fingerprint() == program.fingerprint()) continue;
      ++changed;
      DispatchConfig config = generator.config();
      config.grid_override = generator.grid();
      const auto backend = make_reference_backend({});
      const auto expected = backend->dispatch(program, generator.inputs(), config);
      const auto given = backend->dispatch(made, generator.inputs(), config);
      REQUIRE(given.has_value() == expected.has_value());
      if (expected) {
        CHECK(*given == *expected);
      } else {
        CHECK(to_string(given.error()) == to_string(expected.error()));
      }
    }
  }
  CHECK(changed > 50);
}

}  // namespace felsite::test
