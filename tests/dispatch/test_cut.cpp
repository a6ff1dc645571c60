// Where grid barriers cut a program, and the order in which its segments run.
#include "support/cut_text.h"

using namespace felsite;
using namespace felsite::test;

namespace {

ir::ValidProgram cut_program(std::string_view statements) {
  return valid_program(fmt::format(
      "program p workgroup(4) {{ readwrite x: u32[]; readwrite y: u32[]; readonly n: u32[]; {} }}",
      statements));
}

std::string cut_of(std::string_view statements) {
  const ir::ValidProgram program = cut_program(statements);
  return text_of(program, dispatch::cut_at_grid_syncs(program));
}

std::string uncut_of(std::string_view statements) {
  const ir::ValidProgram program = cut_program(statements);
  return text_of(program, dispatch::uncut(program));
}

}  // namespace

TEST_CASE("cut: each grid barrier in a row ends a segment, also an empty one") {
  CHECK(cut_of("x[0] = 1;") == "0: x[] -> end\n");
  CHECK(cut_of("x[0] = 1; y[0] = 2; gridsync; let v = 3; x[1] = v;") ==
        "0: x[] y[] -> 1\n"
        "1: Let:v x[] -> end\n");
  CHECK(cut_of("gridsync; gridsync;") ==
        "0: -> 1\n"
        "1: -> 2\n"
        "2: -> end\n");
}

TEST_CASE("cut: what holds no grid barrier stays whole") {
  CHECK(cut_of("barrier; if x[0] > 3 { return; } loop k in 0..4 { x[k] = 1; }") ==
        "0: Barrier If Loop:k -> end\n");
}

TEST_CASE("cut: blocks and regions stay around both halves") {
  CHECK(cut_of("x[0] = 1; region \"a\" { y[0] = 1; { x[1] = 1; gridsync; x[2] = 2; } y[1] = 2; } "
               "x[3] = 3;") ==
        "0: x[] Region{ y[] Block{ x[] -> 1\n"
        "1 in Region in Block: x[] } y[] } x[] -> end\n");
}

TEST_CASE("cut: an if is a fork behind the segment before it, and its arms meet again") {
  CHECK(cut_of("x[0] = 1; if n[0] > 3 { x[1] = 1; gridsync; x[2] = 2; } y[0] = 3;") ==
        "0: x[] -> if fork 0: 1 else 3\n"
        "1 in If: x[] -> 2\n"
        "2 in If: x[] -> 3\n"
        "3: y[] -> end\n");
  CHECK(cut_of("if n[0] > 3 { gridsync; } else { y[0] = 3; }") ==
        "0: -> if fork 0: 1 else 3\n"
        "1 in If: -> 2\n"
        "2 in If: -> 4\n"
        "3 in Else: y[] -> 4\n"
        "4: -> end\n");
  CHECK(cut_of("if n[0] > 3 { y[0] = 3; } else { x[0] = 1; gridsync; }") ==
        "0: -> if fork 0: 1 else 2\n"
        "1 in If: y[] -> 4\n"
        "2 in Else: x[] -> 3\n"
        "3 in Else: -> 4\n"
        "4: -> end\n");
}

TEST_CASE("cut: a loop is entered or passed, and comes around from its last segment") {
  CHECK(cut_of("loop k in 0..n[0] { x[k] = 1; gridsync; y[k] = 2; } x[9] = 3;") ==
        "0: -> enter fork 0: 1 else 3\n"
        "1 in Loop:k: x[] -> 2\n"
        "2 in Loop:k: y[] -> again fork 0: 1 else 3\n"
        "3: x[] -> end\n");
}

TEST_CASE("cut: forks in each other and in regions") {
  CHECK(cut_of("region \"r\" { loop a in 0..2 { if n[a] > 3 { gridsync; } loop b in 0..2 { "
               "gridsync; } } }") ==
        "0: Region{ -> enter fork 0: 1 else 8\n"
        "1 in Region in Loop:a: -> if fork 1: 2 else 4\n"
        "2 in Region in Loop:a in If: -> 3\n"
        "3 in Region in Loop:a in If: -> 4\n"
        "4 in Region in Loop:a: -> enter fork 2: 5 else 7\n"
        "5 in Region in Loop:a in Loop:b: -> 6\n"
        "6 in Region in Loop:a in Loop:b: -> again fork 2: 5 else 7\n"
        "7 in Region in Loop:a: -> again fork 0: 1 else 8\n"
        "8 in Region: } -> end\n");
}

TEST_CASE("cut: forks know their places among the trips and the choices") {
  const ir::ValidProgram program = cut_program(
      "loop a in 0..2 { gridsync; } if n[0] > 3 { gridsync; } loop b in 0..2 { gridsync; gridsync; "
      "}");
  const dispatch::Cut cut = dispatch::cut_at_grid_syncs(program);
  CHECK(cut.grid_syncs == 4);
  CHECK(cut.trip_count == 2);
  std::string forks;
  for (const GridFork& fork : cut.forks) {
    forks += fmt::format("{} trip {} choice {}; ", node_word(program, fork.node),
                         fork.is_loop ? fmt::format("{}", fork.trip) : "-", fork.choice);
    CHECK(fork.is_loop == (fork.trip != ir::kNone));
  }
  CHECK(forks == "Loop:a trip 0 choice 0; If trip - choice 2; Loop:b trip 1 choice 4; ");
}

TEST_CASE("cut: collectives cut, and with one rank some are a copy in a separate segment") {
  CHECK(cut_of("x[0] = 1; all_reduce.add(x); x[1] = 2;") ==
        "0: x[] -> 1\n"
        "1: x[] -> end\n");
  CHECK(cut_of("broadcast(x, 0);") ==
        "0: -> 1\n"
        "1: -> end\n");
  CHECK(cut_of("x[0] = 1; all_gather(x, y); x[1] = 2;") ==
        "0: x[] -> 1\n"
        "1: AllGather (copy) -> 2\n"
        "2: x[] -> end\n");
  CHECK(cut_of("reduce_scatter.add(x, y);") ==
        "0: -> 1\n"
        "1: ReduceScatter (copy) -> 2\n"
        "2: -> end\n");
  CHECK(cut_of("all_gather(x, x);") ==
        "0: -> 1\n"
        "1: -> end\n");
}

TEST_CASE("cut: no segment holds the statement that names the grid") {
  CHECK(cut_of("indirect_dispatch(n[0]); x[0] = 1; gridsync; x[1] = 2;") ==
        "0: x[] -> 1\n"
        "1: x[] -> end\n");
}

TEST_CASE("cut: an uncut program is one segment, which counts its grid barriers") {
  CHECK(uncut_of("x[0] = 1; gridsync; loop k in 0..2 { gridsync; }") ==
        "0: x[] Barrier Loop:k -> end\n");
  CHECK(uncut_of("indirect_dispatch(n[0]); gridsync; x[0] = 1;") == "0: Barrier x[] -> end\n");
  CHECK(uncut_of("indirect_dispatch(n[0]);") == "0: -> end\n");
  CHECK(
      dispatch::uncut(cut_program("gridsync; loop k in 0..2 { gridsync; } barrier;")).grid_syncs ==
      2);
}
