// The canonical text of each construct, and parsing it back.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "support/fels_text.h"
#include "support/program_generator.h"

namespace {

using namespace felsite;
using test::check_round_trip;
using test::parsed;

// The canonical form of statements in a program with buffers b (u32), f (f32) and t (workgroup).
std::string canonical(std::string_view statements) {
  const std::string_view head = "program p workgroup(4) {\n";
  const std::string_view buffers =
      "  readwrite b: u32[8];\n  readwrite f: f32[];\n  workgroup t: u32[8];\n";
  const ir::Program program = parsed(fmt::format("{}{}{} }}", head, buffers, statements));
  check_round_trip(program);
  std::string text = ir::print(program);
  REQUIRE(text.starts_with(fmt::format("{}{}\n", head, buffers)));
  text.erase(0, head.size() + buffers.size() + 1);
  REQUIRE(text.ends_with("}\n"));
  text.erase(text.size() - 2);
  return text;
}

// The canonical form of one expression over a, b, c (u32), p, q (bool), x (i32).
std::string expression(std::string_view text) {
  const ir::Program program = parsed(fmt::format(
      "program t workgroup(1) {{ let a = 1; let b = 2; let c = 3; let p = true; let q = false; "
      "let x = 1i32; let y = 1.5; let v = {}; }}",
      text));
  check_round_trip(program);
  return ir::print(program, program.node(7).args[0], 1000);
}

TEST_CASE("printer: the header leaves out extents of 1 at the end") {
  const auto header = [](std::string_view size) {
    const std::string text =
        ir::print(parsed(fmt::format("program p workgroup({}) {{ return; }}", size)));
    return text.substr(0, text.find('\n'));
  };
  CHECK(header("7") == "program p workgroup(7) {");
  CHECK(header("7, 1, 1") == "program p workgroup(7) {");
  CHECK(header("7, 2") == "program p workgroup(7, 2) {");
  CHECK(header("7, 1, 3") == "program p workgroup(7, 1, 3) {");
  CHECK(ir::print(parsed("program p workgroup(1) fast { return; }")) ==
        "program p workgroup(1) fast {\n  return;\n}\n");
}

TEST_CASE("printer: buffers with every access, flag, binding and hint") {
  const std::string text =
      "program p workgroup(1) {\n  readonly a: u32[];\n  readwrite b: i8[4];\n"
      "  writeonly c: f16[4] binding(7);\n  uniform d: f64[1];\n  workgroup e: bool[2];\n"
      "  output g: u8[1];\n  output writeonly h: u16[1];\n  live_out i: i16[1] binding(20);\n"
      "  output live_out j: bf16[1] hint(\"one\") hint(\"two words\");\n"
      "  live_out writeonly k: i64[1];\n\n  return;\n}\n";
  const ir::Program program = parsed(text);
  CHECK(ir::print(program) == text);
  CHECK(ir::validate(program).empty());
}

TEST_CASE("printer: bindings that follow from the order are left out") {
  CHECK(ir::print(
            parsed("program p workgroup(1) { readonly a: u32[] binding(0); readonly b: u32[] "
                   "binding(1); readonly c: u32[] binding(3); readonly d: u32[] binding(4); }")) ==
        "program p workgroup(1) {\n  readonly a: u32[];\n  readonly b: u32[];\n"
        "  readonly c: u32[] binding(3);\n  readonly d: u32[];\n}\n");
}

TEST_CASE("printer: after the largest binding the count starts again at 0") {
  const ir::Program program = parsed(
      "program p workgroup(1) { readonly a: u32[] binding(4294967295); readonly b: u32[]; return; "
      "}");
  CHECK(program.buffer(1).binding == 0);
  check_round_trip(program);
}

TEST_CASE("printer: operations stand apart, after the buffers") {
  const std::string text =
      "program p workgroup(1) {\n  readwrite b: u32[1];\n\n  op f(x: u32, y: f32) -> f32 {\n"
      "    let z = f32(x);\n    yield z + y;\n  }\n\n  op g() -> u32 {\n    yield 1;\n  }\n\n"
      "  b[0] = g();\n}\n";
  CHECK(ir::print(parsed(text)) == text);
  check_round_trip(parsed(text));
}

TEST_CASE("printer: let, assignment, store, and bare atomics and calls") {
  CHECK(canonical("let a=1;a=a+1;b[a]=a;") == "  let a = 1;\n  a = a + 1;\n  b[a] = a;\n");
  CHECK(canonical("atomic_add(b[0],1); let _ = atomic_add(b[0],1);") ==
        "  atomic_add(b[0], 1);\n  atomic_add(b[0], 1);\n");
  CHECK(canonical("let _ = 5; u32(1.5);") == "  let _ = 5;\n  let _ = u32(1.5);\n");
}

TEST_CASE("printer: if, else, else if") {
  CHECK(canonical("if true { b[0] = 1; }") == "  if true {\n    b[0] = 1;\n  }\n");
  CHECK(canonical("if true { } else { b[0] = 1; }") ==
        "  if true {\n  } else {\n    b[0] = 1;\n  }\n");
  CHECK(
      canonical("if true { b[0] = 1; } else { if false { b[1] = 1; } else { b[2] = 1; } }") ==
      "  if true {\n    b[0] = 1;\n  } else if false {\n    b[1] = 1;\n  } else {\n    b[2] = 1;\n"
      "  }\n");
  CHECK(canonical("if true { } else { if false { } b[1] = 1; }") ==
        "  if true {\n  } else {\n    if false {\n    }\n    b[1] = 1;\n  }\n");
  CHECK(canonical("if true { } else { }") == "  if true {\n  }\n");
}

TEST_CASE("printer: loop, block, region") {
  CHECK(canonical("loop i in 0..len(b){b[i]=i;}") ==
        "  loop i in 0..len(b) {\n    b[i] = i;\n  }\n");
  CHECK(canonical("loop i in 1 + 2 .. 3 * 4 { }") == "  loop i in 1 + 2..3 * 4 {\n  }\n");
  CHECK(canonical("{ { b[0] = 1; } }") == "  {\n    {\n      b[0] = 1;\n    }\n  }\n");
  CHECK(canonical("region \"a // b { é\" { }") == "  region \"a // b { é\" {\n  }\n");
}

TEST_CASE("printer: barriers leave out the default ordering") {
  CHECK(canonical("barrier; barrier.acq_rel; barrier.acquire; barrier.release; barrier.seq_cst; "
                  "gridsync; barrier.gridsync; return;") ==
        "  barrier;\n  barrier;\n  barrier.acquire;\n  barrier.release;\n  barrier.seq_cst;\n"
        "  gridsync;\n  gridsync;\n  return;\n");
}

TEST_CASE("printer: copies, traps, dispatches and collectives") {
  const std::string text =
      "  indirect_dispatch(b[5]);\n  async_load(t[local.x], b[0], 4, one);\n"
      "  async_store(b[0], t[1 + 2], 8, two);\n  async_wait(one);\n  trap(1 + 2, bad);\n"
      "  resume(bad);\n  all_reduce.add(b);\n  all_reduce.xor(b);\n  all_gather(b, f);\n"
      "  reduce_scatter.min(b, f);\n  broadcast(b, 3);\n";
  CHECK(canonical(text) == text);
}

TEST_CASE("printer: atomics with their orderings") {
  CHECK(expression("atomic_add(b[0], 1)") == "atomic_add(b[0], 1)");
  CHECK(expression("atomic_sub.relaxed(b[1 + a], c * 2)") == "atomic_sub(b[1 + a], c * 2)");
  CHECK(expression("atomic_compare_exchange.acq_rel(b[0], 1, 2)") ==
        "atomic_compare_exchange.acq_rel(b[0], 1, 2)");
}

TEST_CASE("printer: parentheses where the tree needs them, and around mixed bit operators") {
  CHECK(expression("((a)) + (b * c)") == "a + b * c");
  CHECK(expression("(a + b) * c") == "(a + b) * c");
  CHECK(expression("(a - b) - c") == "a - b - c");
  CHECK(expression("a - (b - c)") == "a - (b - c)");
  CHECK(expression("a - (b + c)") == "a - (b + c)");
  CHECK(expression("a * (b / c)") == "a * (b / c)");
  CHECK(expression("(a & b) == c") == "(a & b) == c");
  CHECK(expression("a & (b << c)") == "a & (b << c)");
  CHECK(expression("(a | b) & c") == "(a | b) & c");
  CHECK(expression("p && (q || p)") == "p && (q || p)");
  CHECK(expression("(p && q) || p") == "(p && q) || p");
  CHECK(expression("(a < b) == (b < c)") == "a < b == b < c");
  CHECK(expression("p == (q == p)") == "p == (q == p)");
  CHECK(expression("b[(a + 1)]") == "b[a + 1]");
  CHECK(expression("min((a + 1), (b))") == "min(a + 1, b)");
}

TEST_CASE("printer: every pair of infix operators keeps its tree, on either side") {
  for (std::size_t i = 0; i < ir::kBinaryOpCount; ++i) {
    for (std::size_t k = 0; k < ir::kBinaryOpCount; ++k) {
      const ir::BinaryOpInfo& outer = ir::info(static_cast<ir::BinaryOp>(i));
      const ir::BinaryOpInfo& inner = ir::info(static_cast<ir::BinaryOp>(k));
      if (outer.infix.empty() || inner.infix.empty()) continue;
      // Types do not matter to the parser, nor to the printer.
      const std::string left = expression(fmt::format("{}({}(a, b), c)", outer.name, inner.name));
      const std::string right = expression(fmt::format("{}(a, {}(b, c))", outer.name, inner.name));
      // Beside what precedence demands: different operators of which one is of the bits, && in ||.
      const auto is_bits = [](std::string_view op) {
        return op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>";
      };
      const auto is_logic = [](std::string_view op) { return op == "&&" || op == "||"; };
      const bool mixes_bits =
          (is_bits(outer.infix) || is_bits(inner.infix)) && !is_logic(outer.infix);
      const bool mixes_logic = is_logic(outer.infix) && is_logic(inner.infix);
      const bool unclear = outer.infix != inner.infix && (mixes_bits || mixes_logic);
      const bool left_parens = unclear || inner.precedence < outer.precedence;
      const bool right_parens = unclear || inner.precedence <= outer.precedence;
      CHECK((left.find('(') != std::string::npos) == left_parens);
      CHECK((right.find('(') != std::string::npos) == right_parens);
    }
  }
}

TEST_CASE("printer: prefix operators") {
  CHECK(expression("-(a + b)") == "-(a + b)");
  CHECK(expression("negate(a) * b") == "-a * b");
  CHECK(expression("a - -b") == "a - -b");
  CHECK(expression("- - a") == "--a");
  CHECK(expression("~(a & b)") == "~(a & b)");
  CHECK(expression("!(p && q)") == "!(p && q)");
  CHECK(expression("!!p") == "!!p");
  CHECK(expression("-f32(1)") == "-f32(1)");
}

TEST_CASE("printer: negative literals stay literals, negated literals stay operations") {
  CHECK(expression("-5i32") == "-5i32");
  CHECK(expression("-(5i32)") == "-(5i32)");
  CHECK(expression("-(-5i32)") == "-(-5i32)");
  CHECK(expression("x - -5i32") == "x - -5i32");
  CHECK(expression("x - (-5i32)") == "x - -5i32");
  CHECK(expression("-inf") == "-inf");
  CHECK(expression("-(inf)") == "-(inf)");
  CHECK(expression("-nan") == "-(nan)");
  CHECK(expression("~-1i32") == "~-1i32");
  CHECK(expression("-2147483648i32") == "-2147483648i32");
}

TEST_CASE("printer: literals in their canonical spelling") {
  CHECK(expression("0xFF") == "255");
  CHECK(expression("1_000u64") == "1000u64");
  CHECK(expression("0007i8") == "7i8");
  CHECK(expression("1.50") == "1.5");
  CHECK(expression("2f32") == "2.0");
  CHECK(expression("1e3") == "1000.0");
  CHECK(expression("1e30") == "1e+30");
  CHECK(expression("0.1f64") == "0.1f64");
  CHECK(expression("3f16") == "3.0f16");
  CHECK(expression("-0.0") == "-0.0");
  CHECK(expression("inf_bf16") == "inf_bf16");
  CHECK(expression("nan_f64") == "nan_f64");
}

TEST_CASE("printer: casts, bitcasts, functions and ids") {
  CHECK(expression("u8(a+1)") == "u8(a + 1)");
  CHECK(expression("bitcast<f32>(a)") == "bitcast<f32>(a)");
  CHECK(expression("select(p,a,b)") == "select(p, a, b)");
  CHECK(expression("fma(y,y,y)") == "fma(y, y, y)");
  CHECK(expression("invocation.x+local . z") == "invocation.x + local.z");
  CHECK(expression("subgroup_ballot(p)") == "subgroup_ballot(p)");
  CHECK(expression("subgroup_shuffle(a,subgroup_lane)") == "subgroup_shuffle(a, subgroup_lane)");
  CHECK(expression("subgroup_and(p)") == "subgroup_and(p)");
  CHECK(expression("nosuch(a,1)") == "nosuch(a, 1)");
}

TEST_CASE("printer: an expression for a message is cut near the limit") {
  std::string sum = "a";
  for (int i = 0; i < 100; ++i) sum += " + a";
  const ir::Program program =
      parsed(fmt::format("program p workgroup(1) {{ let a = 1; let v = {}; }}", sum));
  const std::string cut = ir::print(program, program.node(1).args[0], 20);
  CHECK(cut.starts_with("a + a + a + a + a + "));
  CHECK(cut.ends_with("…"));
  CHECK(cut.size() < 30);
  CHECK(ir::print(program, program.node(1).args[0], 1000) == sum);
}

TEST_CASE("printer: a call with many arguments is cut the same way") {
  std::string call = "f(1";
  for (int i = 0; i < 1000; ++i) call += ", 1";
  const ir::Program program =
      parsed(fmt::format("program p workgroup(1) {{ let v = {}); }}", call));
  const std::string cut = ir::print(program, program.node(0).args[0], 12);
  CHECK(cut == "f(1, 1, 1, 1, …");
}

TEST_CASE("printer: a function word as a variable never reads as a call") {
  for (const std::string_view word :
       {"min", "select", "len", "fma", "atomic_add", "subgroup_add"}) {
    const ir::Program program =
        parsed(fmt::format("program p workgroup(1) {{ let {0} = 1; let v = ({0}) < 2; let w = "
                           "({0}) - (3); {0} = 4; }}",
                           word));
    INFO(word);
    CHECK(ir::validate(program).empty());
    check_round_trip(program);
  }
}

TEST_CASE("printer: programs with unknown names and wrong types print and read back") {
  check_round_trip(parsed(
      "program p workgroup(0) { readwrite b: u32[]; readwrite b: f32[]; x = y + 1.5; nosuch[true] "
      "= "
      "b[z(1)]; let q = 1; let q = q; async_wait(tag); b = atomic_add.gridsync(other[0], 1); }"));
  check_round_trip(
      parsed("program _ workgroup(1) { readonly _: u32[]; op _(_: u32) -> u32 { yield _; } }"));
  check_round_trip(
      parsed("program p workgroup(1) { op f(b: u32) -> u32 { yield b[0] + len(b); } f(); }"));
}

TEST_CASE("printer: random valid programs are valid and print to a fixed point") {
  const std::uint64_t seed = test::run_seed();
  for (std::uint64_t round = 0; round < 400; ++round) {
    INFO("FELSITE_TEST_SEED=", seed, ", round ", round);
    using test::ProgramGenerator;
    const std::string text = ProgramGenerator(seed + round, ProgramGenerator::Kind::Text).text();
    const ir::Program program = parsed(text);
    for (const ir::Finding& finding : ir::validate(program)) FAIL_CHECK(ir::render(finding, text));
    check_round_trip(program);
  }
}

TEST_CASE("printer: random programs with mistakes print to a fixed point, with the same findings") {
  const std::uint64_t seed = test::run_seed();
  std::size_t invalid = 0;
  for (std::uint64_t round = 0; round < 400; ++round) {
    INFO("FELSITE_TEST_SEED=", seed, ", round ", round);
    using test::ProgramGenerator;
    const ir::Program program =
        parsed(ProgramGenerator(seed + round, ProgramGenerator::Kind::Mistakes).text());
    check_round_trip(program);
    // `add(a, b)` becomes `a + b`, whose place is the operator, so the order may change.
    const auto codes = [](const ir::Program& p) {
      std::multiset<ir::FindingCode> all;
      for (const ir::Finding& finding : ir::validate(p)) all.insert(finding.code);
      return all;
    };
    const auto before = codes(program);
    CHECK(before == codes(parsed(ir::print(program))));
    invalid += before.empty() ? 0 : 1;
  }
  CHECK(invalid > 100);
}

}  // namespace
