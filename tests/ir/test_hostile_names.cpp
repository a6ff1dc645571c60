// Hostile programs that are costly to explain: many names, many tags, many findings at once.
#include <doctest/doctest.h>

#include <string>

#include "support/fels_text.h"

namespace {

using namespace felsite;

std::string program_with(std::string_view inside) {
  return fmt::format("program p workgroup(64) {{ {} }}", inside);
}

// Validates in bounded time and gives the findings.
ir::Findings quick_findings(const std::string& text) {
  const ir::Program parsed = test::parsed(text);
  ir::Findings findings = ir::validate(parsed);
  return findings;
}

TEST_CASE("hostile names: many long variables and many references to none of them") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += fmt::format("let {:a>60} = 1;", i);
  for (int i = 0; i < 60'000; ++i) text += fmt::format("let _ = {:b>60};", i);
  const ir::Findings findings = quick_findings(program_with(text));
  REQUIRE(findings.size() == ir::kMaxFindings + 1);
  CHECK(findings.back().message == "59000 further findings are not listed.");
}

TEST_CASE("hostile names: many assignments to variables that do not exist") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += fmt::format("let {:a>60} = 1;", i);
  for (int i = 0; i < 60'000; ++i) text += fmt::format("{:b>60} = 1;", i);
  CHECK(quick_findings(program_with(text)).size() == ir::kMaxFindings + 1);
}

TEST_CASE("hostile names: many buffers and many references to none of them") {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += fmt::format("readwrite buf{}: u32[];", i);
  for (int i = 0; i < 100'000; ++i) text += "q[0] = r[0] + len(s) + v;";
  const ir::Findings findings = quick_findings(program_with(text));
  REQUIRE(findings.size() == ir::kMaxFindings + 1);
  CHECK(findings.back().message == "399000 further findings are not listed.");
}

TEST_CASE("hostile names: many operations and many calls of none of them") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += fmt::format("op op{}() -> u32 {{ yield 1; }}", i);
  for (int i = 0; i < 100'000; ++i) text += "qqq();";
  CHECK(quick_findings(program_with(text)).size() == ir::kMaxFindings + 1);
}

TEST_CASE("hostile names: many tags and many waits for none of them") {
  std::string text = "workgroup t: u32[4]; readonly r: u32[];";
  for (int i = 0; i < 20'000; ++i) text += fmt::format("async_load(t[0], r[0], 1, tag{});", i);
  for (int i = 0; i < 50'000; ++i) text += "async_wait(other);";
  const ir::Findings findings = quick_findings(program_with(text));
  REQUIRE(findings.size() == ir::kMaxFindings + 1);
  CHECK(findings.front().code == ir::FindingCode::UnknownTag);
}

TEST_CASE("hostile names: long expressions with a mistake in each operation") {
  std::string chain = "len(b)";
  for (int i = 0; i < 1000; ++i) chain += " / 0";
  std::string text = "readwrite b: u32[];";
  for (int i = 0; i < 200; ++i) text += fmt::format("b[0] = {};", chain);
  CHECK(quick_findings(program_with(text)).size() == ir::kMaxFindings + 1);
}

TEST_CASE("hostile names: one tag for many copies to many buffers, waited for many times") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += fmt::format("workgroup t{}: u32[1];", i);
  text += "readonly r: u32[];";
  for (int i = 0; i < 10'000; ++i) text += fmt::format("async_load(t{}[0], r[0], 1, tag);", i);
  for (int i = 0; i < 50'000; ++i) text += "async_wait(tag);barrier;";
  CHECK(quick_findings(program_with(text)).empty());
}

TEST_CASE("hostile names: many barriers under divergent conditions") {
  std::string text = "if local.x < 3 {";
  for (int i = 0; i < 200'000; ++i) text += "barrier;gridsync;";
  CHECK(quick_findings(program_with(text + "}")).size() == ir::kMaxFindings + 1);
}

TEST_CASE("hostile names: a chain of variables, each made divergent by the next") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += fmt::format("let v{} = 0;", i);
  text += "loop i in 0..9 { if v0 == 1 { barrier; } ";
  for (int i = 0; i + 1 < 50'000; ++i) text += fmt::format("v{} = v{};", i, i + 1);
  text += "v49999 = local.x; }";
  const ir::Findings findings = quick_findings(program_with(text));
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().code == ir::FindingCode::DivergentBarrier);
}

}  // namespace
