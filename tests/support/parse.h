// Programs from text: what every test uses that starts with one.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "felsite/text.h"
#include "felsite/validate.h"

namespace felsite::test {

// Enough of a text to recognize it; some tests make megabytes.
inline std::string_view excerpt(std::string_view text) { return text.substr(0, 4000); }

// One finding per line.
inline std::string describe(const ir::Findings& findings) {
  std::string text;
  for (const ir::Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

// Checks the syntax only: the analyses also take programs that do not validate.
inline ir::Program parsed(std::string_view text) {
  auto program = ir::parse(text);
  if (!program) FAIL(ir::render(program.error().front(), text) << "\nin\n" << excerpt(text));
  return *std::move(program);
}

inline ir::ValidProgram valid(const ir::Program& program, std::string_view text = {}) {
  auto made = ir::validated(program);
  if (!made) FAIL(describe(made.error()) << "in\n" << excerpt(text));
  return *std::move(made);
}

inline ir::ValidProgram valid_program(std::string_view text) { return valid(parsed(text), text); }

}  // namespace felsite::test
