// Liveness: which variables may still be read after a node, such as a grid barrier.
#include <fmt/format.h>

#include <algorithm>

#include "ir/liveness.h"
#include "support/analysis_helpers.h"
#include "support/analysis_paths.h"
#include "support/analysis_random_program.h"

using namespace felsite::ir;
using felsite::test::nth_node;
using felsite::test::parse_ok;
using felsite::test::parse_only;

namespace {

std::string names(const Program& program, std::vector<VarId> vars) {
  std::vector<std::string> texts;
  for (const VarId var : vars) texts.emplace_back(program.var_name(var));
  std::ranges::sort(texts);
  std::string text;
  for (const std::string& name : texts) text += (text.empty() ? "" : " ") + name;
  return text;
}

// The names of what is live after the nth barrier of a body, such as "a b".
std::string live(std::string_view body, std::size_t nth = 0) {
  const Program program =
      parse_ok(fmt::format("program p workgroup(4) {{ readwrite m: u32[]; {} }}", body));
  const NodeId point = nth_node(program, NodeKind::Barrier, nth);
  return names(program, live_after(program, std::vector{point})[0]);
}

}  // namespace

TEST_CASE("liveness: in a straight line, what is read later and not set before") {
  CHECK(live("let a = 1; let b = 2; gridsync; m[0] = a;") == "a");
  CHECK(live("let a = 1; m[0] = a; gridsync; m[0] = 1;") == "");
  CHECK(live("let a = 1; gridsync; a = 2; m[0] = a;") == "");
  CHECK(live("let a = 1; gridsync; a = a + 1;") == "a");
  CHECK(live("let a = 1; let b = 2; let c = 3; gridsync; m[c] = b; a = 1;") == "b c");
  CHECK(live("gridsync; let a = 1; m[0] = a;") == "");
}

TEST_CASE("liveness: the last node has nothing after it") {
  CHECK(live("let a = 1; m[0] = a; gridsync;") == "");
  CHECK(live("let a = 1; { region \"r\" { gridsync; } }") == "");
}

TEST_CASE("liveness: every place of an expression counts as a read") {
  const std::string head = "let a = 1; gridsync; ";
  for (const char* reader :
       {"let b = a;", "m[a] = 1;", "m[0] = a;", "if a == 1 { }", "loop i in a..9 { }",
        "loop i in 0..a { }", "trap(a, t);", "atomic_add(m[a], 1);",
        "atomic_compare_exchange(m[0], 1, a);", "let b = 1 + 2 * (3 - m[a]);"}) {
    CAPTURE(reader);
    CHECK(live(head + reader) == "a");
  }
}

TEST_CASE("liveness: a value set in both arms is dead before them, in one arm it lives") {
  CHECK(live("let a = 1; gridsync; if len(m) == 0 { a = 2; } else { a = 3; } m[0] = a;") == "");
  CHECK(live("let a = 1; gridsync; if len(m) == 0 { a = 2; } m[0] = a;") == "a");
  CHECK(live("let a = 1; gridsync; if len(m) == 0 { } else { a = 2; } m[0] = a;") == "a");
  CHECK(
      live("let a = 1; gridsync; if len(m) == 0 { a = 2; } else { m[0] = a; a = 3; } m[0] = a;") ==
      "a");
}

TEST_CASE("liveness: a barrier in one arm sees nothing of the other") {
  CHECK(live("let a = 1; let b = 2; if len(m) == 0 { gridsync; m[0] = a; } else { m[0] = b; }") ==
        "a");
  CHECK(live("let a = 1; let b = 2; if len(m) == 0 { m[0] = a; } else { gridsync; m[0] = b; }") ==
        "b");
  CHECK(live("let a = 1; let b = 2; if len(m) == 0 { gridsync; } else { m[0] = b; } m[1] = a;") ==
        "a");
}

TEST_CASE("liveness: a value carried around a loop is live at a barrier in its body") {
  CHECK(live("let a = 1; loop i in 0..4 { a = a + 1; gridsync; }") == "a");
  CHECK(live("let a = 1; loop i in 0..4 { m[0] = a; gridsync; a = 2; }") == "");
  CHECK(live("let a = 1; loop i in 0..4 { m[0] = a; gridsync; if len(m) == 1 { a = 2; } }") == "a");
}

TEST_CASE("liveness: a value set at the top of each trip is not carried around") {
  CHECK(live("let a = 1; loop i in 0..4 { a = i; m[0] = a; gridsync; }") == "");
  CHECK(live("loop i in 0..4 { let a = i; m[0] = a; gridsync; }") == "");
  CHECK(live("loop i in 0..4 { let a = i; gridsync; m[0] = a; }") == "a");
  // Behind the loop it is read: then the last trip's value is.
  CHECK(live("let a = 1; loop i in 0..4 { a = i; gridsync; } m[0] = a;") == "a");
}

TEST_CASE("liveness: before a loop, what its body needs, even if it may run no trip") {
  CHECK(live("let a = 1; gridsync; loop i in 0..len(m) { m[0] = a; }") == "a");
  CHECK(live("let a = 1; gridsync; loop i in 0..len(m) { a = 2; m[0] = a; }") == "");
  CHECK(live("let a = 1; gridsync; loop i in 0..len(m) { a = 2; } m[0] = a;") == "a");
}

TEST_CASE("liveness: loop variables live within their trip, bounds only until the loop starts") {
  CHECK(live("loop i in 0..4 { gridsync; m[0] = i; }") == "i");
  CHECK(live("loop i in 0..4 { m[0] = i; gridsync; }") == "");
  CHECK(live("let n = 4; loop i in 0..n { gridsync; }") == "");
  CHECK(live("let n = 4; gridsync; loop i in 0..n { m[0] = i; }") == "n");
  CHECK(live("let n = 4; loop j in 0..4 { gridsync; loop i in 0..n { m[0] = i; } }") == "n");
  CHECK(live("let n = 4; loop j in 0..4 { loop i in 0..n { gridsync; } }") == "n");
}

TEST_CASE("liveness: nested loops carry around both") {
  CHECK(live("let a = 1; let b = 2; loop i in 0..4 { m[0] = b; loop j in 0..4 { m[1] = a; "
             "gridsync; } }") == "a b");
  CHECK(live("let a = 1; loop i in 0..4 { a = 0; loop j in 0..4 { a = a + 1; gridsync; } }") ==
        "a");
  CHECK(live("let a = 1; loop i in 0..4 { a = 0; loop j in 0..4 { a = a + 1; } gridsync; }") == "");
  CHECK(live("let a = 1; loop i in 0..4 { loop j in 0..4 { a = j; m[0] = a; } gridsync; }") == "");
  CHECK(live("let a = 1; loop i in 0..4 { loop j in 0..4 { if i == j { m[0] = a; } a = j; } "
             "gridsync; }") == "a");
  CHECK(live("let a = 1; let b = 2; loop i in 0..4 { loop j in 0..4 { a = b; gridsync; b = 3; } "
             "m[0] = a; }") == "a");
}

TEST_CASE("liveness: what stands behind a return is not reached through it") {
  CHECK(live("let a = 1; gridsync; if len(m) == 0 { return; } m[0] = a;") == "a");
  CHECK(live("let a = 1; if len(m) == 0 { gridsync; return; } m[0] = a;") == "");
  CHECK(live("let a = 1; loop i in 0..4 { m[0] = a; if i == 2 { gridsync; return; } }") == "");
  CHECK(live("let a = 1; let b = 2; gridsync; if len(m) == 0 { m[0] = b; return; } else { a = 3; } "
             "m[0] = a;") == "b");
}

TEST_CASE("liveness: nothing is live after a return itself") {
  const Program program = parse_ok(
      "program p workgroup(4) { readwrite m: u32[]; let a = 1; if len(m) == 0 { return; } m[0] = "
      "a; }");
  CHECK(live_after(program, std::vector{nth_node(program, NodeKind::Return)})[0].empty());
}

TEST_CASE("liveness: blocks and regions change nothing") {
  CHECK(live("let a = 1; { region \"r\" { { gridsync; } } } m[0] = a;") == "a");
  CHECK(live("let a = 1; let b = 2; { gridsync; { a = 2; } } m[a] = b;") == "b");
}

TEST_CASE("liveness: after a node with a body means after all of it") {
  const Program program = parse_ok(R"(program p workgroup(4) { readwrite m: u32[];
    let a = 1; let b = 2; let c = 3;
    loop i in 0..4 { m[0] = a; }
    if len(m) == 0 { m[1] = b; }
    m[2] = c; })");
  const auto found = live_after(
      program, std::vector{nth_node(program, NodeKind::Loop), nth_node(program, NodeKind::If)});
  CHECK(names(program, found[0]) == "b c");
  CHECK(names(program, found[1]) == "c");
}

TEST_CASE("liveness: points in any order, and repeated, are answered in their order") {
  const Program program = parse_ok(R"(program p workgroup(4) { readwrite m: u32[];
    let a = 1; gridsync; m[0] = a; gridsync; m[1] = 2; })");
  const NodeId first = nth_node(program, NodeKind::Barrier, 0);
  const NodeId second = nth_node(program, NodeKind::Barrier, 1);
  const auto found = live_after(program, std::vector{second, first, second, first});
  REQUIRE(found.size() == 4);
  CHECK((found[0].empty() && found[2].empty()));
  CHECK((names(program, found[1]) == "a" && names(program, found[3]) == "a"));
  CHECK(live_after(program, {}).empty());
}

TEST_CASE("liveness: the answer is sorted and names each variable once") {
  const Program program = parse_ok(R"(program p workgroup(4) { readwrite m: u32[];
    let a = 1; let b = 2; let c = 3; gridsync; m[c] = a + b + c; m[b] = a; })");
  const auto found = live_after(program, std::vector{nth_node(program, NodeKind::Barrier)})[0];
  CHECK(found == std::vector<VarId>{0, 1, 2});
}

TEST_CASE("liveness: variables of operations are not the entry's") {
  const Program program = parse_ok(R"(program p workgroup(4) { readwrite m: u32[];
    op f(x: u32) -> u32 { let t = x; loop i in 0..4 { t = t + x; } yield t; }
    let a = 1; gridsync; m[0] = f(a); })");
  const NodeId point = nth_node(program, NodeKind::Barrier);
  CHECK(names(program, live_after(program, std::vector{point})[0]) == "a");
}

TEST_CASE("liveness: names that mean nothing do no harm") {
  const Program program = parse_only(
      "program p workgroup(4) { let a = 1; gridsync; nothing = a; nowhere[unknown] = 1; }");
  CHECK(names(program, live_after(program, std::vector{NodeId{1}})[0]) == "a");
}

TEST_CASE("liveness: it is what brute force over all paths finds, in random programs") {
  std::size_t compared = 0;
  std::size_t live_seen = 0;
  for (std::uint32_t seed = 0; seed < 4'000; ++seed) {
    const Program program = parse_ok(felsite::test::random_program(seed));
    const auto expected = felsite::test::Paths::live_after(program, 300);
    if (!expected) continue;
    std::vector<NodeId> points;
    for (NodeId id = program.entry().begin; id < program.entry().end; ++id) points.push_back(id);
    const auto found = live_after(program, points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto& all = (*expected)[points[i]];
      if (!all) continue;  // behind bodies that always return
      const std::vector<VarId> want(all->begin(), all->end());
      live_seen += want.size();
      if (found[i] != want) {
        FAIL("seed " << seed << ", node " << points[i] << ": found `" << names(program, found[i])
                     << "`, paths give `" << names(program, want) << "` in\n"
                     << print(program));
      }
    }
    ++compared;
  }
  CHECK(compared > 2'000);
  CHECK(live_seen > 20'000);
}

TEST_CASE("liveness: a thousand nested or successive loops are quick") {
  std::string text = "let a = 1;";
  for (int i = 0; i < 5'000; ++i) {
    text += fmt::format("let v{0} = {0}; loop t{0} in 0..4 {{ m[v{0}] = a; gridsync; }}", i);
  }
  for (int i = 0; i < 250; ++i) text += fmt::format("loop n{0} in 0..4 {{ m[n{0}] = a;", i);
  text += "gridsync;" + std::string(250, '}');
  const Program program = parse_ok("program p workgroup(4) { readwrite m: u32[]; " + text + "}");
  std::vector<NodeId> points;
  for (NodeId id = 0; id < program.nodes().size(); ++id) {
    if (program.node(id).kind == NodeKind::Barrier) points.push_back(id);
  }
  const auto found = live_after(program, points);
  CHECK(names(program, found.front()) == "a v0");
  CHECK(names(program, found.back()) == "a");
}
