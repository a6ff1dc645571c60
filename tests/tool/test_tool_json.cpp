// With --json standard output is one valid document, whatever goes wrong and whatever a path is
// made of.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

const std::vector<const char*> kOnPrograms{"check", "run", "explain", "trace", "spirv", "fmt"};

// The document of a run that failed.
json refused(const Arguments& arguments, int code, std::string_view input = {}) {
  CAPTURE(arguments);
  const Outcome outcome = run_tool(arguments, input);
  CAPTURE(outcome.err);
  CAPTURE(outcome.out);
  CHECK(outcome.code == code);
  const json body = json::parse(outcome.out, nullptr, false);
  REQUIRE_FALSE(body.is_discarded());
  return body;
}

json error_of(const Arguments& arguments, int code, std::string_view input = {}) {
  json body = refused(arguments, code, input);
  REQUIRE(body.contains("error"));
  for (const char* key : {"code", "name", "message", "fix"}) CHECK(body["error"].contains(key));
  return body["error"];
}

}  // namespace

TEST_CASE("--json: a command line that is wrong is a document for every command") {
  for (const char* command : kOnPrograms) {
    CHECK(error_of({command, "--json"}, kUsage)["name"] == "Usage");
    CHECK(contains(error_of({command, "--frob", "--json"}, kUsage)["message"].get<std::string>(),
                   "`--frob`"));
    CHECK(error_of({command, "p.fels", "--json", "--device"}, kUsage)["code"] == kUsage);
  }
  error_of({"devices", "--json", "--frob"}, kUsage);
  error_of({"devices", "--mask", "bogus", "--json"}, kUsage);
  error_of({"frob", "--json"}, kUsage);
  error_of({"--json", "check", "x"}, kUsage);
  error_of({"completion", "tcsh", "--json"}, kUsage);
  error_of({"man", "--json"}, kUsage);
  error_of({"run", "p.fels", "--grid", "\x1b\xff", "--json"}, kUsage);
  error_of({"check", "-", "-", "--json"}, kUsage);
}

TEST_CASE("--json: options that do not go together are a document") {
  const std::string path = sample_named("saxpy").path;
  error_of({"run", path, "--marked", "--check", "--json"}, kUsage);
  error_of({"run", path, "--marked", "--json", "-o", "y=@-"}, kUsage);
  error_of({"trace", path, "--marked", "--json"}, kUsage);
  error_of({"explain", path, "--json", "--html", "-"}, kUsage);
  error_of({"explain", path, "--json", "--backend", "reference", "--mask", "none"}, kUsage);
  error_of({"spirv", path, "--json", "-o", "-"}, kUsage);
  error_of({"spirv", path, "--json", "--binary"}, kUsage);
}

TEST_CASE("--json: files that cannot be read are a document, also with names that are no UTF-8") {
  const Scratch scratch;
  for (const char* command : kOnPrograms) {
    for (const std::string& path :
         {scratch.path("absent.fels"), scratch.path("a\xff\xfe\x1b[31m.fels"), std::string("\x80"),
          scratch.path("")}) {
      CHECK(error_of({command, path, "--json"}, kProgram)["name"] == "BadInputs");
    }
  }
}

TEST_CASE("--json: programs in files whose names are no UTF-8") {
  const Scratch scratch;
  const std::string good = scratch.write("a\xff\u202e\x1b.fels",
                                         "program p workgroup(1) { output o: u32[1]; o[0] = 7; }");
  const std::string bad = scratch.write("b\xff.fels", "program p workgroup(1) { y[0] = 1; }");
  for (const char* command : {"check", "run", "explain", "spirv", "fmt"}) {
    Arguments arguments{command, good, "--json"};
    if (command == std::string("explain"))
      arguments.insert(arguments.end(), {"--backend", "reference"});
    refused(arguments, 0);
  }
  for (const char* command : {"check", "run", "explain", "trace", "spirv"}) {
    CHECK(refused({command, bad, "--json"}, kProgram)["findings"].size() == 1);
  }
  // A file that is written is named too.
  const json ran = refused({"run", good, "--json", "-o", "o=@" + scratch.path("o\xff\u202e")}, 0);
  CHECK(ran["outputs"]["o"]["bytes"] == 4);
  CHECK(refused({"trace", good, "--json", "--to", scratch.path("t\xff")}, 0)["program"] == "p");
}

TEST_CASE("--json: findings are a document for every command, fmt among them") {
  for (const char* command : kOnPrograms) {
    const json body = refused({command, "-", "--json"}, kProgram, "program p workgroup(1) { let }");
    CHECK(body["findings"][0]["code"] == "F001");
    CHECK(body["findings"][0]["line"] == 1);
    // Bytes that are no text.
    CHECK(refused({command, "-", "--json"}, kProgram, "program \xff\x1b")["findings"][0]["code"] ==
          "F002");
  }
}

TEST_CASE("--json: fmt says of each file whether it was formatted, and its text") {
  const Scratch scratch;
  const std::string text = "program p workgroup(1) {\n  output o: u32[1];\n  o[0] = 7;\n}\n";
  const std::string good = scratch.write("good.fels", text);
  const std::string bad =
      scratch.write("bad.fels", "program p workgroup(1) { output o:u32[1];o[0]=7;}");
  CHECK(refused({"fmt", "--json", good}, 0) ==
        json{{"file", good}, {"formatted", true}, {"text", text}});
  const json both = refused({"fmt", "--json", "--check", good, bad}, kProgram);
  REQUIRE(both.size() == 2);
  CHECK(both[0]["formatted"] == true);
  CHECK(both[1] == json{{"file", bad}, {"formatted", false}});
  CHECK(refused({"fmt", "--json", "-w", bad}, 0)["formatted"] == false);
  CHECK(scratch.read("bad.fels") == text);
  refused({"fmt", "--json", "-w", scratch.path("absent")}, kProgram);
}

TEST_CASE("--json: what fails while a program runs is a document") {
  const std::string_view kTrap = "program p workgroup(1) { output o: u32[1]; trap(3, oops); }";
  CHECK(error_of({"run", "-", "--json"}, kProgram, kTrap)["name"] == "Trapped");
  CHECK(error_of({"trace", "-", "--json", "--to", "/dev/null"}, kProgram, kTrap)["name"] ==
        "Trapped");
  error_of({"run", "-", "--json", "-o", "q=hex"}, kProgram, kTrap);
  error_of({"run", "-", "--json", "--marked"}, kProgram, kTrap);
  error_of({"run", "-", "--json", "--backend", "abacus"}, kDevice, kTrap);
  error_of({"explain", "-", "--json", "--backend", "abacus"}, kDevice, kTrap);
  error_of({"spirv", "-", "--json", "--grid-sync", "one-workgroup", "--grid", "99999"}, kDevice,
           "program p workgroup(1) { output o: u32[1]; o[0] = 1; gridsync; o[0] = 2; }");
  const NoDriver none;
  error_of({"run", "-", "--json", "--backend", "vulkan"}, kDevice, kTrap);
  error_of({"devices", "--json"}, kDevice);
  error_of({"spirv", "-", "--json", "--mask", "device"}, kDevice, kTrap);
}
