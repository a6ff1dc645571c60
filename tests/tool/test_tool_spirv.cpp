// felsite spirv: what it writes, and which exit codes blame whom.
#include <cstring>
#include <nlohmann/json.hpp>

#include "felsite/capabilities.h"
#include "tool_runner.h"

using namespace felsite;
using namespace felsite::test;
using nlohmann::json;

namespace {

constexpr std::string_view kWide =
    "program wide workgroup(4) { readonly x: u64[]; output n: f64[4];"
    " if len(x) == 9 { trap(3, nine); } n[local.x] = f64(x[local.x]); }";

Outcome lower_saxpy(Arguments more = {}) {
  more.insert(more.begin(), {"spirv", sample_named("saxpy").path});
  return run_tool(more);
}

}  // namespace

TEST_CASE("spirv prints assembly with the names of the program") {
  const Outcome outcome = lower_saxpy();
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.starts_with("; SPIR-V\n"));
  CHECK(contains(outcome.out, "OpEntryPoint GLCompute %saxpy"));
  CHECK(contains(outcome.out, "OpExecutionMode %saxpy LocalSize 64 1 1"));
  CHECK(contains(outcome.out, "OpName %x \"x\""));
  CHECK(lower_saxpy({"--asm"}).out == outcome.out);
  const Sample saxpy = sample_named("saxpy");
  CHECK(contains(run_tool({"spirv", "-"}, saxpy.text).out, "OpName %x \"x\""));
}

TEST_CASE("--strip leaves names and lines out") {
  const Outcome outcome = lower_saxpy({"--strip"});
  CHECK(outcome.code == 0);
  CHECK(!contains(outcome.out, "OpName"));
  CHECK(!contains(outcome.out, "OpLine"));
  CHECK(outcome.out.size() < lower_saxpy().out.size());
}

TEST_CASE("--binary writes the words, to a file or to standard output") {
  const Scratch scratch;
  const Outcome direct = lower_saxpy({"--binary"});
  CHECK(direct.code == 0);
  REQUIRE(direct.out.size() > 20);
  CHECK(direct.out.size() % 4 == 0);
  std::uint32_t magic = 0;
  std::memcpy(&magic, direct.out.data(), 4);
  CHECK(magic == 0x0723'0203);
  const Outcome filed = lower_saxpy({"--binary", "--output", scratch.path("saxpy.spv")});
  CHECK(filed.code == 0);
  CHECK(filed.out.empty());
  CHECK(scratch.read("saxpy.spv") == direct.out);
  CHECK(lower_saxpy({"-o", scratch.path("saxpy.spvasm")}).out.empty());
  CHECK(scratch.read("saxpy.spvasm") == lower_saxpy().out);
}

TEST_CASE("the mask decides what the module uses") {
  CHECK(contains(lower_saxpy().out, "OpMemoryModel Logical Vulkan"));
  CHECK(contains(lower_saxpy({"--mask", "-memory_model"}).out, "OpMemoryModel Logical GLSL450"));
  CHECK(contains(lower_saxpy({"--mask", "spirv=1.5"}).out, "; Version: 1.5"));
  const Outcome none = lower_saxpy({"--mask", "none"});
  CHECK(none.code == 0);
  CHECK(!contains(none.out, "OpCapability Int64"));
}

TEST_CASE("--json describes the kernel") {
  const json body = json::parse(run_tool({"spirv", "-", "--json"}, kWide).out);
  CHECK(body["program"] == "wide");
  CHECK(body["words"].get<int>() > 100);
  CHECK(body["spirv"] == "1.3");
  CHECK(body["workgroup_size"] == json{4, 1, 1});
  const auto capabilities = body["capabilities"].get<std::vector<std::string>>();
  for (const char* name : {"Shader", "Int64", "Float64"}) {
    CHECK(std::ranges::find(capabilities, name) != capabilities.end());
  }
  REQUIRE(body["bindings"].size() == 2);
  CHECK(body["bindings"][0]["buffer"] == "x");
  CHECK(body["bindings"][0]["type"] == "u64");
  CHECK(body["bindings"][0]["written"] == false);
  CHECK(body["bindings"][1]["buffer"] == "n");
  CHECK(body["bindings"][1]["written"] == true);
  CHECK(body["status_binding"].is_number());
  CHECK(body["trap_tags"] == json{"nine"});
  REQUIRE(body["parameters"].size() >= 1);
  CHECK(body["parameters"][0]["kind"] == "length");
  CHECK(body["parameters"][0]["buffer"] == "x");
  CHECK(body["mask"].size() == codegen::kFeatureCount);

  const Scratch scratch;
  const Outcome both =
      run_tool({"spirv", "-", "--json", "--binary", "-o", scratch.path("k.spv")}, kWide);
  CHECK(json::parse(both.out)["words"].get<std::size_t>() * 4 == scratch.read("k.spv").size());
}

TEST_CASE("--help names every feature that a mask may have") {
  const std::string help = run_tool({"spirv", "--help"}).out;
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const codegen::FeatureInfo& row = codegen::info(static_cast<codegen::Feature>(i));
    CAPTURE(row.name);
    CHECK(contains(help, std::string("    ") + std::string(row.name) + " "));
    CHECK(contains(help, row.means));
  }
  CHECK(contains(help, "Exit codes"));
}

TEST_CASE("who is at fault: the command line, the program, or what the mask lacks") {
  check_refused(lower_saxpy({"--mask", "bogus"}), kUsage, "`bogus`");
  check_refused(lower_saxpy({"--mask", "int64,device"}), kUsage, "`device`");
  check_refused(lower_saxpy({"--asm", "--binary"}), kUsage, "--asm");

  const Outcome findings = run_tool({"spirv", "-"}, "program p workgroup(1) { y[0] = 1; }");
  CHECK(findings.code == kProgram);
  CHECK(findings.out.empty());
  CHECK(contains(findings.err, "standard input:1:26: error: F008 unknown buffer"));
  check_refused(lower_saxpy({"-o", "/dev/null/file"}), kProgram, "Cannot write");

  check_refused(run_tool({"spirv", "-", "--mask", "-float64"}, kWide), kDevice,
                "UnsupportedFeature (1002): The program needs float64");
  check_refused(run_tool({"spirv", sample_named("prefix_scan").path}), kDevice, "grid_sync");
  const Outcome refused = run_tool({"spirv", "-", "--mask", "none", "--json"}, kWide);
  CHECK(refused.code == kDevice);
  CHECK(json::parse(refused.out)["error"]["name"] == "UnsupportedFeature");
}
