// Text to rows: what each construct becomes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/fels_text.h"

namespace {

using namespace felsite;
using ir::ExprKind;
using ir::NodeKind;
using test::around;
using test::parsed;

// An expression with every operation written out and every operand in parentheses.
std::string tree(const ir::Program& program, ir::ExprId id) {
  const ir::Expr& e = program.expr(id);
  std::string name;
  if (e.kind == ExprKind::Binary) name = ir::info(e.binary()).name;
  if (e.kind == ExprKind::Unary) name = ir::info(e.unary()).name;
  if (name.empty()) return ir::print(program, id);
  std::string text = name + "(";
  for (const ir::ExprId operand : program.operands(id)) {
    if (!text.ends_with("(")) text += ",";
    text += tree(program, operand);
  }
  return text + ")";
}

// The tree of the value of `let v = …;` behind variables a, b, c (u32) and p, q (bool).
std::string tree_of(std::string_view expression) {
  const ir::Program program = parsed(around(fmt::format(
      "let a = 1; let b = 2; let c = 3; let p = true; let q = false; let v = {};", expression)));
  return tree(program, program.node(5).args[0]);
}

ir::Expr value_of(std::string_view expression) {
  const ir::Program program = parsed(around(fmt::format("let v = {};", expression)));
  return program.expr(program.node(0).args[0]);
}

TEST_CASE("parser: the header holds name, extents and float mode") {
  const ir::Program one = parsed("program a workgroup(7) { return; }");
  CHECK(one.name() == "a");
  CHECK(one.workgroup_size() == Extent3{7, 1, 1});
  CHECK(one.float_mode() == ir::FloatMode::Exact);
  const ir::Program three = parsed("program b workgroup(8, 0x4, 2u32) fast { return; }");
  CHECK(three.workgroup_size() == Extent3{8, 4, 2});
  CHECK(three.float_mode() == ir::FloatMode::Fast);
  CHECK(parsed("program c workgroup(8, 4) { }").workgroup_size()[1] == 4);
}

TEST_CASE("parser: a buffer's words become its declaration") {
  const ir::Program program = parsed(
      "program p workgroup(1) { readonly a: u8[]; output live_out writeonly b: f64[9] binding(7) "
      "hint(\"x y\") hint(\"\"); workgroup c: bool[3]; live_out d: i16[1]; output e: bf16[2]; }");
  REQUIRE(program.buffers().size() == 5);
  CHECK(program.buffer(0) ==
        ir::BufferDecl{"a", 0, ir::Type::U8, 0, ir::Access::ReadOnly, false, false, {}});
  CHECK(program.buffer(1) ==
        ir::BufferDecl{"b", 7, ir::Type::F64, 9, ir::Access::WriteOnly, true, true, {"x y", ""}});
  CHECK(program.buffer(2).access == ir::Access::Workgroup);
  CHECK(program.buffer(3) ==
        ir::BufferDecl{"d", 8, ir::Type::I16, 1, ir::Access::ReadWrite, false, true, {}});
  CHECK(program.buffer(4).output);
  CHECK(program.buffer(4).binding == 9);
}

TEST_CASE("parser: a workgroup buffer takes no binding from the count") {
  const ir::Program program = parsed(
      "program p workgroup(1) { readonly a: u32[]; workgroup w: u32[1]; readonly b: u32[]; }");
  CHECK(program.buffer(2).binding == 1);
}

TEST_CASE("parser: infix operators bind as the precedence table says") {
  CHECK(tree_of("a + b * c") == "add(a,mul(b,c))");
  CHECK(tree_of("a * b + c") == "add(mul(a,b),c)");
  CHECK(tree_of("a << b + c") == "shl(a,add(b,c))");
  CHECK(tree_of("a & b << c") == "bit_and(a,shl(b,c))");
  CHECK(tree_of("a ^ b & c") == "bit_xor(a,bit_and(b,c))");
  CHECK(tree_of("a | b ^ c") == "bit_or(a,bit_xor(b,c))");
  CHECK(tree_of("a < b | c") == "lt(a,bit_or(b,c))");
  CHECK(tree_of("p == a < b") == "eq(p,lt(a,b))");
  CHECK(tree_of("p && q == p") == "and(p,eq(q,p))");
  CHECK(tree_of("p || q && p") == "or(p,and(q,p))");
}

TEST_CASE("parser: infix operators of one precedence associate to the left") {
  CHECK(tree_of("a - b - c") == "sub(sub(a,b),c)");
  CHECK(tree_of("a / b % c * a") == "mul(mod(div(a,b),c),a)");
  CHECK(tree_of("a << b >> c") == "shr(shl(a,b),c)");
  CHECK(tree_of("p == q != p") == "ne(eq(p,q),p)");
  CHECK(tree_of("a - (b - c)") == "sub(a,sub(b,c))");
}

TEST_CASE("parser: prefix operators bind tighter than any infix operator") {
  CHECK(tree_of("-a * b") == "mul(negate(a),b)");
  CHECK(tree_of("~a & b") == "bit_and(bit_not(a),b)");
  CHECK(tree_of("!p && q") == "and(not(p),q)");
  CHECK(tree_of("- ~ -a") == "negate(bit_not(negate(a)))");
  CHECK(tree_of("-(a * b)") == "negate(mul(a,b))");
  CHECK(tree_of("a - -b") == "sub(a,negate(b))");
}

TEST_CASE("parser: every infix operator has a function form that is the same program") {
  for (std::size_t i = 0; i < ir::kBinaryOpCount; ++i) {
    const ir::BinaryOpInfo& row = ir::info(static_cast<ir::BinaryOp>(i));
    if (row.infix.empty()) continue;
    const bool logic =
        row.rule.operands.has(ir::Type::Bool) && !row.rule.operands.has(ir::Type::U32);
    const std::string_view operand = logic ? "true" : "1";
    const std::string infix = around(fmt::format("let v = {} {} {};", operand, row.infix, operand));
    const std::string call = around(fmt::format("let v = {}({}, {});", row.name, operand, operand));
    INFO(row.name);
    CHECK(parsed(infix).fingerprint() == parsed(call).fingerprint());
  }
}

TEST_CASE("parser: every unary function word parses to its operation") {
  for (std::size_t i = 0; i < ir::kUnaryOpCount; ++i) {
    const ir::UnaryOpInfo& row = ir::info(static_cast<ir::UnaryOp>(i));
    const ir::Expr e = value_of(fmt::format("{}(r[0])", row.name));
    INFO(row.name);
    CHECK(e.kind == ExprKind::Unary);
    CHECK(e.unary() == row.op);
  }
}

TEST_CASE("parser: every binary function word parses to its operation") {
  for (std::size_t i = 0; i < ir::kBinaryOpCount; ++i) {
    const ir::BinaryOpInfo& row = ir::info(static_cast<ir::BinaryOp>(i));
    const ir::Expr e = value_of(fmt::format("{}(r[0], r[1])", row.name));
    INFO(row.name);
    CHECK(e.kind == ExprKind::Binary);
    CHECK(e.binary() == row.op);
  }
}

TEST_CASE("parser: a minus sign before a number is part of the literal") {
  CHECK(value_of("-5i32").kind == ExprKind::Literal);
  CHECK(value_of("- 5i32").kind == ExprKind::Literal);
  CHECK(value_of("-(5i32)").kind == ExprKind::Unary);
  CHECK(value_of("-inf").kind == ExprKind::Literal);
  CHECK(value_of("-nan").kind == ExprKind::Unary);
  CHECK(value_of("1i32 -5i32").kind == ExprKind::Binary);
}

TEST_CASE("parser: ids have their kind and axis") {
  const std::array<std::pair<std::string_view, ExprKind>, 5> ids{{
      {"invocation", ExprKind::InvocationId},
      {"workgroup_id", ExprKind::WorkgroupId},
      {"local", ExprKind::LocalId},
      {"num_workgroups", ExprKind::NumWorkgroups},
      {"workgroup_size", ExprKind::WorkgroupSize},
  }};
  for (const auto& [word, kind] : ids) {
    for (std::uint8_t axis = 0; axis < 3; ++axis) {
      const ir::Expr e = value_of(fmt::format("{}.{}", word, "xyz"[axis]));
      CHECK(e.kind == kind);
      CHECK(e.aux == axis);
      CHECK(e.type == ir::Type::U32);
    }
  }
  CHECK(value_of("subgroup_lane").kind == ExprKind::SubgroupLocalId);
  CHECK(value_of("subgroup_size").kind == ExprKind::SubgroupSize);
}

TEST_CASE("parser: casts, bitcasts and functions give the type they name") {
  for (const ir::TypeInfo& row : ir::kTypes) {
    if (row.type == ir::Type::None) continue;
    CHECK(value_of(fmt::format("{}(1)", row.name)).type == row.type);
    const ir::Expr bits = value_of(fmt::format("bitcast < {} > (1)", row.name));
    CHECK(bits.kind == ExprKind::Bitcast);
    CHECK(bits.type == row.type);
  }
  CHECK(value_of("select(true, 1.5, 2.5)").type == ir::Type::F32);
  CHECK(value_of("fma(1.0, 2.0, 3.0)").kind == ExprKind::Fma);
  CHECK(value_of("len(b)").kind == ExprKind::BufLen);
  CHECK(value_of("popcount(1u64)").type == ir::Type::U32);
  CHECK(value_of("abs_diff(1i64, 2i64)").type == ir::Type::U64);
}

TEST_CASE("parser: subgroup operations give the types the language defines") {
  CHECK(value_of("subgroup_ballot(true)").type == ir::Type::U64);
  CHECK(value_of("subgroup_shuffle(1.5, 3)").type == ir::Type::F32);
  for (std::size_t i = 0; i < ir::kReduceOpCount; ++i) {
    const ir::ReduceOpInfo& row = ir::info(static_cast<ir::ReduceOp>(i));
    const ir::Expr e = value_of(fmt::format("subgroup_{}(7i32)", row.name));
    CHECK(e.kind == ExprKind::SubgroupReduce);
    CHECK(e.reduce() == row.op);
    CHECK(e.type == ir::Type::I32);
  }
}

TEST_CASE("parser: atomics carry operation, ordering, and operands in evaluation order") {
  for (std::size_t i = 0; i < ir::kAtomicOpCount; ++i) {
    const ir::AtomicOpInfo& row = ir::info(static_cast<ir::AtomicOp>(i));
    const bool three = row.op == ir::AtomicOp::CompareExchange;
    for (const std::string_view order :
         {"", ".relaxed", ".acquire", ".release", ".acq_rel", ".seq_cst"}) {
      const ir::Program program = parsed(
          around(fmt::format("let v = {}{}(b[3], 4{});", row.name, order, three ? ", 5" : "")));
      const ir::ExprId id = program.node(0).args[0];
      const ir::Expr& e = program.expr(id);
      INFO(row.name, order);
      CHECK(e.atomic() == row.op);
      CHECK(ir::info(e.ordering()).name == (order.empty() ? "relaxed" : order.substr(1)));
      const auto operands = program.operands(id);
      REQUIRE(operands.size() == (three ? 3 : 2));
      for (std::uint32_t k = 0; k < operands.size(); ++k) {
        CHECK(program.expr(operands[k]).literal_bits() == 3 + k);
      }
    }
  }
}

TEST_CASE("parser: a call or atomic as a statement is a let named _") {
  const ir::Program program = parsed(
      "program p workgroup(1) { readwrite b: u32[1]; op f() -> u32 { yield 1; } "
      "atomic_add(b[0], 1); f(); atomic_or.release(b[0], 1); }");
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    CHECK(program.node(id).kind == NodeKind::Let);
    CHECK(program.var_name(program.node(id).ref) == "_");
  }
  CHECK(program.entry().end - program.entry().begin == 3);
}

TEST_CASE("parser: nothing can read or assign the variable _") {
  CHECK(test::found(around("let _ = 1;\nlet x = _;")) == "F009@4:9");
  CHECK(test::found(around("let _ = 1;\n_ = 2;")) == "F009@4:1");
  CHECK(test::found(around("let _ = 1; let _ = 1.5; loop _ in 0..2 { let _ = true; }")) == "valid");
}

TEST_CASE("parser: else if is an if in the else arm") {
  const ir::Program program =
      parsed(around("if true { return; } else if false { } else { return; }"));
  const ir::Program nested =
      parsed(around("if true { return; } else { if false { } else { return; } }"));
  CHECK(program.fingerprint() == nested.fingerprint());
  CHECK(program.else_body(0).begin == 2);
  CHECK(program.node(2).kind == NodeKind::If);
  CHECK(program.then_body(2).empty());
}

TEST_CASE("parser: an empty else is no else") {
  CHECK(parsed(around("if true { return; } else { }")).fingerprint() ==
        parsed(around("if true { return; }")).fingerprint());
}

TEST_CASE("parser: every statement becomes its node") {
  const ir::Program program = parsed(around(
      "indirect_dispatch(r[5]); let a = 1; a = 2; b[a] = a; if true { } loop i in a..9 { } { } "
      "region \"r\" { } barrier; barrier.seq_cst; gridsync; async_load(t[1], r[2], 8, one); "
      "async_store(b[1], t[2], 9, two); async_wait(one); trap(a, bad); resume(bad); "
      "all_reduce.max(b); all_gather(b, r); reduce_scatter.xor(b, r); broadcast(b, 3); return;"));
  const std::array kinds{NodeKind::IndirectDispatch,
                         NodeKind::Let,
                         NodeKind::Assign,
                         NodeKind::Store,
                         NodeKind::If,
                         NodeKind::Loop,
                         NodeKind::Block,
                         NodeKind::Region,
                         NodeKind::Barrier,
                         NodeKind::Barrier,
                         NodeKind::Barrier,
                         NodeKind::AsyncLoad,
                         NodeKind::AsyncStore,
                         NodeKind::AsyncWait,
                         NodeKind::Trap,
                         NodeKind::Resume,
                         NodeKind::AllReduce,
                         NodeKind::AllGather,
                         NodeKind::ReduceScatter,
                         NodeKind::Broadcast,
                         NodeKind::Return};
  REQUIRE(program.nodes().size() == kinds.size());
  for (ir::NodeId id = 0; id < kinds.size(); ++id) CHECK(program.node(id).kind == kinds[id]);
  CHECK(program.node(0).extra == 5);
  CHECK(program.node(8).ordering() == ir::Ordering::AcqRel);
  CHECK(program.node(9).ordering() == ir::Ordering::SeqCst);
  CHECK(program.node(10).ordering() == ir::Ordering::GridSync);
  CHECK(program.node(11).extra == 8);
  CHECK(program.name(program.node(12).name) == "two");
  CHECK(program.node(16).reduce() == ir::ReduceOp::Max);
  CHECK(program.node(18).reduce() == ir::ReduceOp::Xor);
  CHECK(program.node(19).extra == 3);
}

TEST_CASE("parser: an operation has parameters, a body and a result") {
  const ir::Program program = parsed(
      "program p workgroup(1) { op f(x: f32, n: u32) -> f32 { let y = x; yield y; } return; }");
  REQUIRE(program.ops().size() == 1);
  const ir::OpDecl& op = program.ops()[0];
  CHECK(op.param_count == 2);
  CHECK(program.var(op.first_param + 1).type == ir::Type::U32);
  CHECK(program.var_name(op.first_param) == "x");
  CHECK(op.result_type == ir::Type::F32);
  CHECK(op.body.end - op.body.begin == 1);
  CHECK(program.entry().begin == op.body.end);
}

TEST_CASE("parser: space and comments may stand between any two tokens") {
  const std::string_view tight = "program p workgroup(1){readwrite b:u32[2];b[0]=len(b)+1;}";
  const std::string_view loose =
      "// 1\nprogram // 2\np\tworkgroup // 3\r\n ( // 4\n1 // 5\n) { // 6\n readwrite b // 7\n : "
      "u32 "
      "[ 2 // 8\n ] ;\n b [ 0 // 9\n ] = len // 10\n ( // 11\n b // 12\n ) + // 13\n 1 ; } // 14";
  CHECK(parsed(tight).fingerprint() == parsed(loose).fingerprint());
}

TEST_CASE("parser: function words name variables and buffers where no parenthesis follows") {
  CHECK(test::found("program len workgroup(1) { readwrite min: u32[2]; let select = len(min); "
                    "min[0] = select; let add = min[0]; add = add + 1; }") == "valid");
  CHECK(test::found("program p workgroup(1) { op max(x: u32) -> u32 { yield x; } return; }") ==
        "F005@1:26");
}

TEST_CASE("parser: a byte order mark before the program is skipped") {
  const std::string text = "program p workgroup(1) { return; }";
  const auto plain = ir::parse(text);
  const auto marked = ir::parse("\xEF\xBB\xBF" + text);
  REQUIRE(plain);
  REQUIRE(marked);
  CHECK(plain->fingerprint() == marked->fingerprint());
}

TEST_CASE("parser: facts are known without a walk") {
  const ir::Facts none = parsed(around("b[0] = 1;")).facts();
  CHECK_FALSE((none.has_barrier || none.has_grid_sync || none.has_atomics || none.has_async ||
               none.has_trap || none.has_collectives || none.has_calls || none.has_subgroup_ops ||
               none.has_indirect_dispatch));
  CHECK(parsed(around("barrier;")).facts().has_barrier);
  CHECK_FALSE(parsed(around("gridsync;")).facts().has_barrier);
  CHECK(parsed(around("gridsync;")).facts().has_grid_sync);
  CHECK(parsed(around("atomic_or(b[0], 1);")).facts().has_atomics);
  CHECK(parsed(around("b[0] = subgroup_lane;")).facts().has_subgroup_ops);
  CHECK(parsed(around("indirect_dispatch(r[0]);")).facts().has_indirect_dispatch);
  CHECK(parsed(around("trap(0, t);")).facts().has_trap);
  CHECK(parsed(around("broadcast(b, 0);")).facts().has_collectives);
}

}  // namespace
