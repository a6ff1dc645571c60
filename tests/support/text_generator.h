// The programs of program_generator.h for tests of the text form and of analyses; it includes this.
#pragma once

#include "support/program_generator.h"

namespace felsite::test {

inline std::string ProgramGenerator::ordering() {
  static constexpr const char* kOrderings[] = {"",         "",         ".acquire",
                                               ".release", ".acq_rel", ".seq_cst"};
  return spellings_ ? random_.pick(kOrderings) : "";
}

// What may follow the count of a buffer in its declaration.
inline std::string ProgramGenerator::details() {
  std::string text;
  if (!spellings_) return text;
  if (chance(4)) text += fmt::format(" binding({})", 40 + next_name_);
  if (chance(4)) text += " hint(\"random\")";
  return text;
}

// Statements that only the text form is interested in. False where it made none.
inline bool ProgramGenerator::text_statement() {
  switch (below(24)) {
    case 0:
      line(fmt::format("trap({}, stop);", expression(Type::U32, 2)));
      return true;
    case 1:
      if (depth_ == 1) barrier(chance(2));
      return depth_ == 1;
    case 2:
      if (depth_ > 4) return false;
      line(fmt::format("if {} {{", expression(Type::Bool, 2)));
      body(below(2));
      for (std::uint32_t arms = 1 + below(3); arms > 0; --arms) {
        line(fmt::format("}} else if {} {{", expression(Type::Bool, 1)));
        body(below(2));
      }
      line("}");
      return true;
    default:
      return false;
  }
}

// Two buffers, some variables, and statements over them.
inline std::string ProgramGenerator::few_text() {
  out_ = "program generated workgroup(4) {\n";
  line("readonly r: u32[];");
  line("readwrite a: u32[];");
  buffers_ = {{"r", Type::U32, 8, false, false, Mode::Read, ""},
              {"a", Type::U32, 8, false, false, Mode::Private, ""}};
  for (std::uint32_t i = 2 + below(3); i > 0; --i) {
    static constexpr const char* kFirst[] = {"invocation.x", "workgroup_id.x", "len(a)", "3"};
    const std::string value = vars_.empty() ? random_.pick(kFirst) : few_expression(Type::U32);
    vars_.push_back({fresh("v"), Type::U32, true});
    line(fmt::format("let {} = {};", vars_.back().name, value));
  }
  for (std::uint32_t i = 3 + below(6); i > 0; --i) statement();
  return out_ + "}\n";
}

inline std::string ProgramGenerator::few_operand() {
  static constexpr const char* kIds[] = {"workgroup_id.x", "local.x", "len(a)"};
  const std::uint32_t what = below(24);
  if (what < 3) return kIds[what];
  return what < 10 ? std::to_string(below(6)) : random_.pick(vars_).name;
}

inline std::string ProgramGenerator::few_expression(Type type) {
  const std::string first = few_operand();
  if (type == Type::Bool) return fmt::format("{} < {}", first, few_operand());
  switch (below(4)) {
    case 0:
      return first;
    case 1:
      return fmt::format("{}[{}]", chance(4) ? "a" : "r", first);
    default:
      return fmt::format("{} + {}", first, few_operand());
  }
}

}  // namespace felsite::test
