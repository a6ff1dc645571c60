// Constant folding agrees with running the same expression.
#include <cstdlib>

#include "arithmetic/fold.h"
#include "support/program_generator.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using ir::Literal;
using ir::Type;

namespace {

// By ExprId: the value of every expression that consists of literals only.
std::vector<std::optional<ir::Literal>> fold_constants(const ir::Program& program) {
  std::vector<std::optional<ir::Literal>> values(program.exprs().size());
  std::vector<ir::Literal> operands;
  for (ir::ExprId id = 0; id < values.size(); ++id) {
    operands.clear();
    const auto ids = program.operands(id);
    for (const ir::ExprId operand : ids) {
      if (values[operand]) operands.push_back(*values[operand]);
    }
    if (operands.size() == ids.size()) values[id] = arithmetic::fold(program, id, operands);
  }
  return values;
}

// The folded value of the first store.
std::optional<Literal> folded(std::string_view expression, std::string_view type) {
  const ir::Program program = valid_program(
      fmt::format("program p workgroup(1) {{ output o: {}[1]; o[0] = {}; }}", type, expression));
  return fold_constants(program)[program.node(program.entry().begin).args[1]];
}

}  // namespace

TEST_CASE("generated constant expressions of every type fold to what the backend computes") {
  constexpr std::uint32_t kEach = 40;
  std::uint64_t seed = 300'000;
  std::uint64_t last = seed + 26;
  if (const char* one = std::getenv("FELSITE_SEED")) {
    seed = std::strtoull(one, nullptr, 0);
    last = seed + 1;
  }
  for (; seed < last; ++seed) {
    ProgramGenerator generator(seed);
    const auto type = static_cast<Type>(seed % static_cast<std::uint64_t>(Type::None));
    std::string text =
        fmt::format("program p workgroup(1) {{\noutput o: {}[{}];\n", ir::info(type).name, kEach);
    for (std::uint32_t i = 0; i < kEach; ++i) {
      text += fmt::format("o[{}] = {};\n", i, generator.constant_expression(type, 1 + i % 6));
    }
    text += "}\n";
    INFO("FELSITE_SEED=" << seed << "\n" << text);
    const ir::Program program = valid_program(text);
    const Bytes out = run(text)[0];
    const auto values = fold_constants(program);
    REQUIRE(values.size() == program.exprs().size());
    for (std::uint32_t i = 0; i < kEach; ++i) {
      const auto& value = values[program.node(i).args[1]];
      CAPTURE(i);
      REQUIRE(value.has_value());
      CHECK(value->type == type);
      CHECK(value->bits == element(out, i, ir::info(type).bytes));
    }
  }
}

TEST_CASE("folding gives the values of the contract") {
  CHECK(folded("7 / (1 - 1)", "u32") == Literal{Type::U32, 0xFFFF'FFFF});
  CHECK(folded("u32(-1.5)", "u32") == Literal{Type::U32, 0});
  CHECK(folded("0.0 / 0.0", "f32") == Literal{Type::F32, 0x7FC0'0000});
  CHECK(folded("1e-38f32 * 0.5", "f32") == Literal{Type::F32, 0});
  CHECK(folded("bool(nan)", "bool") == Literal{Type::Bool, 1});
  CHECK(folded("abs_diff(-2147483648i32, 2147483647i32)", "u32") ==
        Literal{Type::U32, 0xFFFF'FFFF});
  CHECK(folded("popcount(-1i64)", "u32") == Literal{Type::U32, 64});
  CHECK(folded("i8(200u8)", "i8") == Literal{Type::I8, 200});
}

TEST_CASE("what depends on more than literals does not fold") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[]; output o: u32[16];
    let v = 3;
    o[0] = v + 1;
    o[1] = x[0];
    o[2] = len(x);
    o[3] = local.x;
    o[4] = workgroup_size.x;
    o[5] = atomic_add(x[0], 1);
    o[6] = subgroup_add(1);
    o[7] = select(true, 1, x[1]);
    o[8] = subgroup_shuffle(1, 0);
    o[9] = u32(subgroup_ballot(true));
  })");
  const auto values = fold_constants(program);
  for (ir::NodeId id = program.entry().begin + 1; id < program.entry().end; ++id) {
    CAPTURE(id);
    CHECK(!values[program.node(id).args[1]].has_value());
    CHECK(values[program.node(id).args[0]].has_value());
  }
}

TEST_CASE("folding the operands one row at a time gives the same as all at once") {
  const ir::Program program = valid_program(
      "program p workgroup(1) { output o: i64[1]; o[0] = i64(3 + 4 * 5) << 2i64 ^ -1i64; }");
  const auto values = fold_constants(program);
  for (ir::ExprId id = 0; id < program.exprs().size(); ++id) {
    std::vector<Literal> operands;
    for (const ir::ExprId operand : program.operands(id)) operands.push_back(*values[operand]);
    CHECK(arithmetic::fold(program, id, operands) == values[id]);
  }
}
