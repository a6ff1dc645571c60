// felsite spirv: what it writes, and which exit codes blame whom.
#include <cstring>
#include <nlohmann/json.hpp>

#include "felsite/capabilities.h"
#include "support/spirv_check.h"
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

constexpr std::string_view kScan =
    "//! run: -i x=iota:8 --grid 4 --grid-sync resident --output x=hex\n"
    "program scan workgroup(2) { readwrite x: u32[]; let i = invocation.x;"
    " let old = atomic_add(x[0], 1); gridsync; x[i] = x[i] + old; }";

std::vector<std::string> names_in(const json& body) {
  std::vector<std::string> names;
  for (const json& kernel : body["kernels"]) names.push_back(kernel["name"]);
  return names;
}

Outcome lower_scan(Arguments more) {
  more.insert(more.begin(), {"spirv", "-"});
  return run_tool(more, kScan);
}
json scan_json(Arguments more) {
  more.push_back("--json");
  return json::parse(lower_scan(more).out);
}
using Names = std::vector<std::string>;

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
  const json whole = json::parse(run_tool({"spirv", "-", "--json"}, kWide).out);
  CHECK(whole["program"] == "wide");
  CHECK(whole["route"] == "plain");
  CHECK(whole["mask"].size() == codegen::kFeatureCount);
  REQUIRE(whole["kernels"].size() == 1);
  const json& body = whole["kernels"][0];
  CHECK(body["number"] == 0);
  CHECK(body["name"] == "wide");
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

  const Scratch scratch;
  const Outcome both =
      run_tool({"spirv", "-", "--json", "--binary", "-o", scratch.path("k.spv")}, kWide);
  CHECK(json::parse(both.out)["kernels"][0]["words"].get<std::size_t>() * 4 ==
        scratch.read("k.spv").size());
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
  const Outcome refused = run_tool({"spirv", "-", "--mask", "none", "--json"}, kWide);
  CHECK(refused.code == kDevice);
  CHECK(json::parse(refused.out)["error"]["name"] == "UnsupportedFeature");
}

TEST_CASE("spirv lowers every kernel of a program with grid barriers, each under its name") {
  const Outcome all = lower_scan({"--grid", "4", "--grid-sync", "resident"});
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  CHECK(all.out.starts_with("; kernel 0 of 2: scan segment 0\n; SPIR-V\n"));
  CHECK(contains(all.out, "\n\n; kernel 1 of 2: scan segment 1\n; SPIR-V\n"));

  const Outcome second = lower_scan({"--grid", "4", "--grid-sync", "resident", "--kernel", "1"});
  CHECK(second.code == 0);
  CHECK(second.out.starts_with("; SPIR-V\n"));
  CHECK(all.out.ends_with(second.out));

  const Scratch scratch;
  CHECK(lower_scan({"--grid", "4", "--grid-sync", "resident", "-o", scratch.path("all")}).code ==
        0);
  CHECK(scratch.read("all") == all.out);
}

TEST_CASE("the kernels that spirv lowers are those of the form, the sizes and the iterations") {
  CHECK(names_in(scan_json({"-i", "x=iota:8"})) == Names{"scan"});
  CHECK(scan_json({"-i", "x=iota:8"})["route"] == "one workgroup");
  const json split = scan_json({"--grid-sync", "host-split"});
  CHECK(split["route"] == "host split");
  CHECK(names_in(split) == Names{"scan segment 0", "scan segment 1"});
  const json large = scan_json({});
  CHECK(large["route"] == "resident");
  REQUIRE(large["assumptions"].size() == 1);
  CHECK(contains(large["assumptions"][0].get<std::string>(), "`x` is taken to have 1048576"));
  CHECK(scan_json({"-i", "x=iota:8", "--workgroup", "1"})["assumptions"].empty());
  const Names repeated =
      names_in(scan_json({"--grid", "64", "--fixpoint", "3", "--workgroup", "128"}));
  CHECK(std::ranges::find(repeated, "felsite_compare") != repeated.end());
  // The line of the program says the same; its results are no file of this command.
  const json marked = scan_json({"--marked"});
  CHECK(marked["route"] == "resident");
  CHECK(marked["assumptions"].empty());
  CHECK(names_in(marked) == Names{"scan segment 0", "scan segment 1"});
  CHECK(names_in(scan_json({"--marked", "--kernel", "1"})) == Names{"scan segment 1"});
  CHECK(scan_json({"--marked", "--kernel", "1"})["kernel_count"] == 2);
}

TEST_CASE("--binary writes one module: of several, --kernel chooses it") {
  check_refused(lower_scan({"--marked", "--binary"}), kUsage,
                "the dispatch has 2 kernels, and --binary writes one");
  check_refused(lower_scan({"--marked", "--kernel", "2"}), kUsage,
                "there is no kernel 2: they are 0 to 1");
  check_refused(lower_scan({"--marked", "--kernel", "-1"}), kUsage, "--kernel");
  check_refused(lower_scan({"--grid", "1", "--invocations", "9"}), kUsage, "--grid");
  check_refused(lower_scan({"--grid-sync", "one-workgroup"}), kDevice,
                "too many for one workgroup");
  check_refused(lower_scan({"-i", "nosuch=1"}), kProgram, "nosuch");
  const std::string nothing = "program p workgroup(1) { readwrite x: u32[]; gridsync; }";
  const Outcome none = run_tool({"spirv", "-", "--grid-sync", "resident"}, nothing);
  CHECK(none.code == 0);
  CHECK(none.out == "; The program does nothing: there is no kernel.\n");
  check_refused(run_tool({"spirv", "-", "--grid-sync", "resident", "--binary"}, nothing), kUsage,
                "the dispatch has 0 kernels");
  check_refused(run_tool({"spirv", "-", "--grid-sync", "resident", "--kernel", "0"}, nothing),
                kUsage, "the program does nothing");
}

TEST_CASE("every kernel of every sample is a valid module, in every form that it takes") {
  std::size_t modules = 0;
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.name);
    for (const Arguments& form :
         {Arguments{}, Arguments{"--marked"}, Arguments{"--marked", "--grid-sync", "resident"}}) {
      CAPTURE(form.size());
      Arguments line{"spirv", sample.path};
      line.insert(line.end(), form.begin(), form.end());
      line.push_back("--json");
      const Outcome listed = run_tool(line);
      CAPTURE(listed.out);
      REQUIRE(listed.code == 0);
      line.back() = "--binary";
      const json body = json::parse(listed.out);
      for (const json& kernel : body["kernels"]) {
        Arguments one = line;
        one.insert(one.end(), {"--kernel", std::to_string(kernel["number"].get<int>())});
        const Outcome outcome = run_tool(one);
        REQUIRE(outcome.code == 0);
        std::vector<std::uint32_t> words(outcome.out.size() / 4);
        std::memcpy(words.data(), outcome.out.data(), words.size() * 4);
        CHECK(validation_message(words) == "");
        ++modules;
      }
    }
  }
  CHECK(modules > 100);
}
