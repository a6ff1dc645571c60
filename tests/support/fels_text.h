// What tests of the text form share: programs around a few statements, and findings as text.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "support/parse.h"  // IWYU pragma: export

namespace felsite::test {

// A program around statements that start on line 3, column 1, over one buffer of each useful kind.
inline std::string around(std::string_view statements) {
  return fmt::format(
      "program p workgroup(64) {{\n"
      "readwrite b: u32[16]; readonly r: u32[]; readwrite f: f32[]; readwrite s: i32[]; "
      "uniform n: u32[4]; workgroup t: u32[64];\n{}\n}}\n",
      statements);
}

// Everything wrong with a text, from the parser or from validation.
inline ir::Findings findings_of(std::string_view text) {
  const auto program = ir::parse(text);
  return program ? ir::validate(*program) : program.error();
}

// "F012@3:5 F009@4:1": code and place of each finding, or "valid".
inline std::string found(std::string_view text) {
  std::string out;
  for (const ir::Finding& finding : findings_of(text)) {
    out += fmt::format("{}{}@{}:{}", out.empty() ? "" : " ", ir::info(finding.code).id,
                       finding.line, finding.column);
  }
  return out.empty() ? "valid" : out;
}

inline std::string first_message(std::string_view text) {
  const ir::Findings findings = findings_of(text);
  return findings.empty() ? "valid" : findings.front().message;
}

// print → parse → print is a fixed point that keeps the fingerprint.
inline void check_round_trip(const ir::Program& program) {
  const std::string text = ir::print(program);
  const auto again = ir::parse(text);
  INFO(text);
  REQUIRE_MESSAGE(again.has_value(), ir::render(again.error().front(), text));
  CHECK(again->fingerprint() == program.fingerprint());
  CHECK(ir::print(*again) == text);
}

}  // namespace felsite::test
