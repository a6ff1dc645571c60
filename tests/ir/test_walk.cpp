// The structured walk: each node with its body, arms and end, as text.
#include <doctest/doctest.h>

#include "ir/assembler.h"
#include "ir/walk.h"
#include "support/fels_text.h"

namespace felsite::test {
namespace {

using ir::Walk;

// "(Loop:1 store:2 )": a node opens and closes a parenthesis, `|` stands between two arms. A node
// is followed by the number of those around it. `skipped`: bodies that are not walked.
std::string walked(std::string_view statements, ir::NodeKind skipped = ir::NodeKind::Let) {
  const ir::Program program = parsed(around(statements));
  std::string text;
  for (Walk walk(program, program.entry()); walk.next();) {
    const ir::NodeKind kind = program.node(walk.id()).kind;
    const std::string name = fmt::format("{}:{}", ir::info(kind).name, walk.around().size());
    switch (walk.step()) {
      case Walk::Step::Leaf:
        text += name + " ";
        break;
      case Walk::Step::Enter:
        text += "(" + name + " ";
        if (kind == skipped) {
          walk.skip_body();
          text += "skipped) ";
        }
        break;
      case Walk::Step::Else:
        text += "| ";
        break;
      case Walk::Step::Leave:
        text += ") ";
        break;
    }
  }
  return text.substr(0, text.empty() ? 0 : text.size() - 1);
}

}  // namespace

TEST_CASE("a walk says where bodies begin and end") {
  CHECK(walked("let a = 1;") == "Let:0");
  CHECK(walked("{ } let a = 1;") == "(Block:0 ) Let:0");
  CHECK(walked("loop i in 0..3 { { b[i] = 1; } } return;") ==
        "(Loop:0 (Block:1 Store:2 ) ) Return:0");
  CHECK(walked("region \"r\" { region \"s\" { } }") == "(Region:0 (Region:1 ) )");
}

TEST_CASE("a walk stands between two arms once, and not where the second is empty") {
  CHECK(walked("if true { b[0] = 1; }") == "(If:0 Store:1 )");
  CHECK(walked("if true { b[0] = 1; } else { }") == "(If:0 Store:1 )");
  CHECK(walked("if true { b[0] = 1; } else { b[1] = 1; }") == "(If:0 Store:1 | Store:1 )");
  CHECK(walked("if true { } else { b[1] = 1; }") == "(If:0 | Store:1 )");
  CHECK(walked("if true { } else { { } }") == "(If:0 | (Block:1 ) )");
}

TEST_CASE("arms that end where inner bodies end") {
  CHECK(walked("if true { if false { } else { return; } } else if true { return; }") ==
        "(If:0 (If:1 | Return:2 ) | (If:1 Return:2 ) )");
  CHECK(walked("if true { { { } } } else { { } }") == "(If:0 (Block:1 (Block:2 ) ) | (Block:1 ) )");
}

TEST_CASE("a body that is skipped has no end") {
  CHECK(walked("loop i in 0..3 { b[i] = 1; } return;", ir::NodeKind::Loop) ==
        "(Loop:0 skipped) Return:0");
  CHECK(walked("if true { loop i in 0..3 { } } else { loop i in 0..3 { } }", ir::NodeKind::Loop) ==
        "(If:0 (Loop:1 skipped) | (Loop:1 skipped) )");
}

TEST_CASE("a walk needs no stack for a nesting of thousands") {
  constexpr int kDepth = 20'000;
  ir::Assembler assembler;
  for (int i = 0; i < kDepth; ++i) assembler.open_block();
  for (int i = 0; i < kDepth; ++i) assembler.close();
  const ir::Program program = assembler.finish("deep", {1, 1, 1}, ir::FloatMode::Exact);
  int depth = 0;
  int deepest = 0;
  for (Walk walk(program, program.entry()); walk.next();) {
    depth += walk.step() == Walk::Step::Enter ? 1 : -1;
    deepest = std::max(deepest, depth);
  }
  CHECK(depth == 0);
  CHECK(deepest == kDepth);
}

TEST_CASE("the rows of a node are those of its expressions, operands first") {
  const ir::Program program = parsed(around("b[n[0] + 1] = r[2] * 3; return;"));
  std::string kinds;
  for (const ir::ExprId row : program.rows_of_node(0)) {
    kinds += std::string(ir::info(program.expr(row).kind).name) + " ";
  }
  CHECK(kinds == "Literal Load Literal Binary Literal Load Literal Binary ");
  CHECK(program.rows_of_node(0).size() == 8);
  CHECK(program.rows_of_node(1).size() == 0);
  const ir::ExprId value = program.expressions(0)[1];
  CHECK(program.rows(value).size() == 4);
  CHECK(*program.rows(value).begin() == program.first_row(value));
}

}  // namespace felsite::test
