// Copies of programs: the same text and the same places, or what was put in their stead.
#include <doctest/doctest.h>

#include <set>

#include "ir/copier.h"
#include "ir/walk.h"
#include "support/fels_text.h"

namespace felsite::test {
namespace {

constexpr std::string_view kEverything = R"(program all workgroup(8, 2, 1) {
  readwrite b: u32[];
  readonly r: f32[];
  workgroup t: u32[16];
  readwrite from: u32[4];
  readwrite to: u32[4];
  op twice(x: u32) -> u32 {
    let y = x + x;
    yield y;
  }
  op more(x: u32) -> u32 {
    yield twice(x) + 1;
  }
  indirect_dispatch(from[1]);
  let i = invocation.x + workgroup_id.y * 2 + local.z;
  let mut_ = 0;
  mut_ = popcount(i) + len(b);
  if i < 4 && true {
    b[i] = more(mut_);
  } else if r[i] > fma(r[0], 2.5, -r[1]) {
    region "inner" {
      let old = atomic_add(b[0], 1);
      atomic_compare_exchange.acquire(b[1], old, 2);
    }
  } else {
    return;
  }
  loop k in 0..bitcast<u32>(r[2]) {
    t[k] = select(k == 3, u32(subgroup_ballot(true)), subgroup_shuffle(k, 1));
  }
  barrier;
  async_load(t[0], b[4], 8, go);
  async_store(b[8], t[0], 4, go);
  async_wait(go);
  trap(i, bad);
  resume(bad);
  gridsync;
  {
    all_reduce.add(from);
    all_gather(to, from);
    reduce_scatter.min(to, from);
    broadcast(from, 0);
  }
  let _ = subgroup_max(num_workgroups.x) + workgroup_size.y + subgroup_size + subgroup_lane;
}
)";

class Copying {
 public:
  explicit Copying(const ir::Program& from)
      : from_(from),
        to_(from.source().empty() ? ir::Assembler::Positions::None
                                  : ir::Assembler::Positions::Rows),
        copier(from) {
    copier.write_to(to_);
    if (!from.source().empty()) to_.keep_positions(from.source());
    for (ir::BufferId id = 0; id < from.buffers().size(); ++id) {
      copier.map_buffer(id, to_.add_buffer(from.buffer(id)));
    }
  }

  ir::Program run() {
    copier.collect_ops(from_.entry());
    copier.copy_ops();
    copier.nodes(from_.entry());
    return to_.finish(from_.name(), from_.workgroup_size(), from_.float_mode());
  }

  ir::Assembler& to() { return to_; }

 private:
  const ir::Program& from_;
  ir::Assembler to_;

 public:
  ir::Copier copier;
};

// The statements of the copy, without what `around` puts around them.
std::string statements_of(const ir::Program& program) {
  std::string text = ir::print(program);
  text = text.substr(text.find("u32[64];\n") + 9);
  text = text.substr(0, text.rfind("}\n"));
  std::string flat;
  for (const char c : text) {
    if (c != '\n') flat += c;
  }
  while (flat.find("  ") != std::string::npos) flat.replace(flat.find("  "), 2, " ");
  return flat.substr(flat.find_first_not_of(' '));
}

}  // namespace

TEST_CASE("a copy of everything is the same program") {
  const ir::Program program = parsed(kEverything);
  std::set<ir::NodeKind> nodes;
  for (const ir::Node& node : program.nodes()) nodes.insert(node.kind);
  CHECK(nodes.size() == ir::kNodeKindCount);  // a new kind belongs into the text above
  std::set<ir::ExprKind> exprs;
  for (const ir::Expr& expr : program.exprs()) exprs.insert(expr.kind);
  CHECK(exprs.size() == ir::kExprKindCount);
  const ir::Program copy = Copying(program).run();
  CHECK(ir::print(copy) == ir::print(program));
  CHECK(copy.fingerprint() == program.fingerprint());
}

TEST_CASE("a copy keeps the place of each row in the text") {
  const ir::Program program = parsed(kEverything);
  const ir::Program copy = Copying(program).run();
  REQUIRE(!copy.source().empty());
  CHECK(copy.source().line_starts == program.source().line_starts);
  CHECK(copy.source().exprs == program.source().exprs);
  CHECK(copy.source().nodes == program.source().nodes);
}

TEST_CASE("findings in a copy name the lines of the text") {
  const std::string text = around("let a = 1;\nif r[0] == local.x {\n  barrier;\n}");
  const ir::Program program = parsed(text);
  const ir::Program copy = Copying(program).run();
  const ir::Findings findings = ir::validate(copy);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].line == 5);
  CHECK(findings[0].column == 3);
}

TEST_CASE("a copy of a built program has no places") {
  ir::Program program = parsed(around("b[0] = 1;"));
  ir::Assembler plain;
  ir::Copier copier(program);
  copier.write_to(plain);
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    copier.map_buffer(id, plain.add_buffer(program.buffer(id)));
  }
  copier.nodes(program.entry());
  CHECK(plain.finish("p", {64, 1, 1}, ir::FloatMode::Exact).source().empty());
}

TEST_CASE("statements written in another way: leaves, and whole bodies") {
  const ir::Program program = parsed(around("b[0] = 1; loop i in 0..4 { b[i] = 2; } return;"));
  Copying copying(program);
  copying.copier.rewrite = [&](ir::NodeId id) {
    const ir::NodeKind kind = program.node(id).kind;
    if (kind != ir::NodeKind::Loop) return kind == ir::NodeKind::Return;
    copying.to().barrier(ir::Ordering::AcqRel);
    return true;
  };
  CHECK(statements_of(copying.run()) == "b[0] = 1; barrier;");
}

TEST_CASE("what stands in a statement's place stands at its line") {
  const ir::Program program = parsed(around("b[0] = 1;\nb[1] = 2;"));
  Copying copying(program);
  copying.copier.rewrite = [&](ir::NodeId id) {
    if (id != 1) return false;
    copying.to().barrier(ir::Ordering::AcqRel);
    return true;
  };
  const ir::Program copy = copying.run();
  CHECK(ir::line_column(copy.source(), copy.source().nodes[1]).line == 4);
}

TEST_CASE("expressions written in another way: the outermost, however deep they are") {
  const auto replaced = [](std::string_view statements, auto is_replaced) {
    const ir::Program program = parsed(around(statements));
    Copying copying(program);
    copying.copier.is_replaced = [&](ir::ExprId id) { return is_replaced(program.expr(id)); };
    copying.copier.replacement = [&](ir::ExprId) { return copying.to().literal(ir::literal(7u)); };
    return statements_of(copying.run());
  };
  const auto loads = [](const ir::Expr& e) { return e.kind == ir::ExprKind::Load; };
  CHECK(replaced("b[0] = r[1];", loads) == "b[0] = 7;");
  CHECK(replaced("b[0] = 1 + r[r[b[2]]] * r[3];", loads) == "b[0] = 1 + 7 * 7;");
  CHECK(replaced("b[r[0]] = 2;", loads) == "b[7] = 2;");
  CHECK(replaced("loop i in r[0]..r[1] + 2 { b[i] = 3; }", loads) ==
        "loop i in 7..7 + 2 { b[i] = 3; }");
  const auto sums = [](const ir::Expr& e) {
    return e.kind == ir::ExprKind::Binary && e.binary() == ir::BinaryOp::Add;
  };
  CHECK(replaced("b[0] = (1 + 2) * (3 + (4 + 5));", sums) == "b[0] = 7 * 7;");
  CHECK(replaced("b[0] = 1 * 2;", sums) == "b[0] = 1 * 2;");
}

TEST_CASE("a replacement may copy what it replaces in part") {
  const ir::Program program = parsed(around("b[0] = (n[1] + 2) * r[3 + 4];"));
  Copying copying(program);
  copying.copier.is_replaced = [&](ir::ExprId id) {
    return program.expr(id).kind == ir::ExprKind::Load;
  };
  // The index in the place of the element.
  copying.copier.replacement = [&](ir::ExprId id) {
    return copying.copier.expression(program.expr(id).args[0]);
  };
  CHECK(statements_of(copying.run()) == "b[0] = (1 + 2) * (3 + 4);");
}

}  // namespace felsite::test
