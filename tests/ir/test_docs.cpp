// The documents are programs too: every example in them is compiled, every code and word is there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ir/text/words.h"
#include "support/fels_text.h"

namespace {

using namespace felsite;
using test::check_round_trip;
using test::findings_of;

struct Fence {
  std::string section;  // the heading it stands under
  std::string mark;     // "fels", "fels-bad", …
  std::string text;
  std::size_t line = 0;
};

std::string read(const std::string& name) {
  std::ifstream file(std::string(FELSITE_SOURCE_DIR) + "/docs/" + name, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Fence> fences(const std::string& document) {
  std::vector<Fence> all;
  std::string section;
  bool inside = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find('\n', at), document.size());
    const std::string line = document.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.starts_with("```")) {
      if (!inside) all.push_back({section, line.substr(3), "", number + 1});
      inside = !inside;
    } else if (inside) {
      all.back().text += line + "\n";
    } else if (line.starts_with("#")) {
      section = line.substr(line.find_first_not_of("# "));
    }
  }
  CHECK_FALSE(inside);
  return all;
}

void check_good_fences(const std::string& name, std::size_t least) {
  std::size_t count = 0;
  for (const Fence& fence : fences(read(name))) {
    if (fence.mark != "fels") continue;
    ++count;
    INFO(name, ", line ", fence.line, ", ", fence.section);
    const auto program = ir::parse(fence.text);
    REQUIRE_MESSAGE(program.has_value(), ir::render(program.error().front(), fence.text));
    for (const ir::Finding& finding : ir::validate(*program)) {
      FAIL_CHECK(ir::render(finding, fence.text));
    }
    check_round_trip(*program);
  }
  CHECK(count >= least);
}

TEST_CASE("docs: every program in text.md parses, validates and prints to a fixed point") {
  check_good_fences("text.md", 23);
}

TEST_CASE("docs: every mended program in diagnostics.md parses, validates and prints") {
  check_good_fences("diagnostics.md", 32);
}

TEST_CASE("docs: text.md is written as the formatter would write it") {
  for (const Fence& fence : fences(read("text.md"))) {
    if (fence.mark != "fels" || fence.section != "Comments and blank lines") continue;
    CHECK(ir::format(fence.text).value_or("") == fence.text);
  }
}

TEST_CASE("docs: every bad program in diagnostics.md gives its section's code and no other") {
  std::size_t count = 0;
  for (const Fence& fence : fences(read("diagnostics.md"))) {
    if (fence.mark != "fels-bad") continue;
    ++count;
    INFO("diagnostics.md, line ", fence.line, ", ", fence.section);
    const ir::Findings findings = findings_of(fence.text);
    CHECK_FALSE(findings.empty());
    for (const ir::Finding& finding : findings) {
      INFO(ir::render(finding, fence.text));
      CHECK(fence.section.starts_with(ir::info(finding.code).id));
    }
  }
  CHECK(count >= 32);
}

TEST_CASE("docs: every finding code has a section with its number and title") {
  const std::string document = read("diagnostics.md");
  for (const ir::FindingInfo& row : ir::finding_codes()) {
    const std::string heading = fmt::format("\n## {} {}\n", row.id, row.title);
    INFO(heading);
    CHECK(document.find(heading) != std::string::npos);
  }
}

TEST_CASE("docs: diagnostics.md has no section for a code that does not exist") {
  const std::string document = read("diagnostics.md");
  std::size_t sections = 0;
  for (std::size_t at = document.find("\n## F"); at != std::string::npos;
       at = document.find("\n## F", at + 1)) {
    ++sections;
  }
  CHECK(sections == ir::finding_codes().size());
}

TEST_CASE("docs: every word of the language appears in text.md, and in a program there") {
  const std::string document = read("text.md");
  std::string programs;
  for (const Fence& fence : fences(document)) {
    if (fence.mark == "fels") programs += fence.text;
  }
  const auto contains = [](const std::string& text, std::string_view word) {
    const auto part_of_name = [](char c) { return std::isalnum(c) != 0 || c == '_'; };
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool starts = at == 0 || !part_of_name(text[at - 1]);
      const std::size_t end = at + word.size();
      if (starts && (end == text.size() || !part_of_name(text[end]))) return true;
    }
    return false;
  };
  for (const ir::Word& word : ir::all_words()) {
    INFO(word.text);
    CHECK(contains(document, word.text));
    // Literal suffixes are parts of numbers; the types also stand in declarations.
    CHECK(contains(programs, word.text));
  }
}

TEST_CASE("docs: the finding that diagnostics.md shows is what render gives") {
  const std::string text =
      "program p workgroup(1) {\nreadwrite data: u32[16];\ndata[0] = data[1] + 1.5;\n}\n";
  const ir::Findings findings = findings_of(text);
  REQUIRE(findings.size() == 1);
  for (const Fence& fence : fences(read("diagnostics.md"))) {
    if (fence.mark == "text") CHECK(fence.text == ir::render(findings.front(), text) + "\n");
  }
}

TEST_CASE("docs: the precedence table of text.md is the parser's") {
  const std::string document = read("text.md");
  for (std::size_t i = 0; i < ir::kBinaryOpCount; ++i) {
    const ir::BinaryOpInfo& row = ir::info(static_cast<ir::BinaryOp>(i));
    if (row.infix.empty()) continue;
    std::string infix;
    for (const char c : row.infix) infix += c == '|' ? "\\|" : std::string(1, c);
    const std::size_t line = document.find(fmt::format("\n| {} |", row.precedence));
    INFO(row.name, " at ", int{row.precedence});
    REQUIRE(line != std::string::npos);
    const std::string cells = document.substr(line + 1, document.find('\n', line + 1) - line - 1);
    CHECK(cells.find(fmt::format("`{}`", infix)) != std::string::npos);
    CHECK(cells.find(fmt::format("`{}`", row.name)) != std::string::npos);
  }
}

}  // namespace
