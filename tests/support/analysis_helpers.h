// Small things that the tests of builder, analyses and program storage share.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "felsite/builder.h"
#include "support/parse.h"  // IWYU pragma: export

namespace felsite::test {

inline constexpr ir::Type kAllTypes[] = {
    ir::Type::Bool, ir::Type::U8,  ir::Type::I8,  ir::Type::U16, ir::Type::I16,
    ir::Type::U32,  ir::Type::I32, ir::Type::U64, ir::Type::I64, ir::Type::F16,
    ir::Type::BF16, ir::Type::F32, ir::Type::F64};

// The node of that kind that comes `nth` in pre-order.
inline ir::NodeId nth_node(const ir::Program& program, ir::NodeKind kind, std::size_t nth = 0) {
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    if (program.node(id).kind == kind && nth-- == 0) return id;
  }
  FAIL("no such node in\n" << print(program));
  return ir::kNone;
}

inline ir::ExprId nth_expr(const ir::Program& program, ir::ExprKind kind, std::size_t nth = 0) {
  for (ir::ExprId id = 0; id < program.exprs().size(); ++id) {
    if (program.expr(id).kind == kind && nth-- == 0) return id;
  }
  FAIL("no such expression in\n" << print(program));
  return ir::kNone;
}

inline ir::VarId var_named(const ir::Program& program, std::string_view name) {
  for (ir::VarId id = 0; id < program.vars().size(); ++id) {
    if (program.var_name(id) == name) return id;
  }
  FAIL("no variable " << name << " in\n" << print(program));
  return ir::kNone;
}

// Checks that the builder makes the program that the text is.
inline void check_same(const ir::Builder& builder, std::string_view text) {
  const auto built = builder.build();
  if (!built) FAIL(describe(built.error()) << "instead of\n" << text);
  const ir::Program expected = valid_program(text);
  INFO("built:\n", print(*built), "expected:\n", text);
  CHECK(to_string(built->fingerprint()) == to_string(expected.fingerprint()));
  // What was built also survives printing, whatever names the builder chose.
  CHECK(to_string(valid_program(print(*built)).fingerprint()) == to_string(built->fingerprint()));
}

// The findings of a builder that must not succeed.
inline ir::Findings check_refused(const ir::Builder& builder) {
  const auto built = builder.build();
  if (!built) return built.error();
  FAIL("accepted:\n" << print(*built));
  return {};
}

inline bool has_code(const ir::Findings& findings, ir::FindingCode code) {
  for (const ir::Finding& finding : findings) {
    if (finding.code == code) return true;
  }
  return false;
}

}  // namespace felsite::test
