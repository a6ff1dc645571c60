// felsite explain on a Vulkan driver: what it says is what a run then does.
#include "device_tool.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

json output_of(std::string_view command, const Sample& sample, Arguments more) {
  more.insert(more.begin(), {std::string(command), sample.path, "--marked", "--json"});
  const Outcome outcome = run_device_tool(more);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  return json::parse(outcome.out);
}

std::uint64_t bytes(const json& size) { return size.at("bytes").get<std::uint64_t>(); }

}  // namespace

TEST_CASE("launches and traffic of both paths are those that a run counts") {
  for (const char* name : {"prefix_scan", "closure", "grid_heat", "reachability"}) {
    CAPTURE(name);
    const Sample sample = sample_named(name);
    for (const std::string form : {"resident", "host-split"}) {
      CAPTURE(form);
      const json said = output_of("explain", sample, {"--grid-sync", form});
      const json ran = output_of("run", sample, {"--grid-sync", form, "--timing"}).at("timing");
      const auto iterations = ran.at("iterations_run").get<std::uint64_t>();
      CHECK(ran.at("launches") == iterations * said.at("launches").get<std::uint64_t>());
      const bool split = form == "host-split";
      const json& moved = said.at("traffic").at(split ? "host_split_iteration" : "resident");
      const std::uint64_t times = split ? iterations : 1;
      CHECK(ran.at("upload_bytes") == times * bytes(moved.at("up")));
      CHECK(ran.at("download_bytes") == times * bytes(moved.at("down")));
    }
  }
}

TEST_CASE("explain refuses the grids that a run on the device refuses, with the same code") {
  const Scratch scratch;
  const std::string plain =
      scratch.write("plain.fels", "program p workgroup(1) { output o: u32[4]; o[0] = 1; }");
  const std::string segments = scratch.write(
      "segments.fels",
      "program p workgroup(1) { readwrite o: u32[4]; let x = o[0] + invocation.x; gridsync;"
      " o[0] = 5; gridsync; o[1] = x; }");
  struct Row {
    std::string path;
    Arguments options;
  };
  for (const Row& row :
       {Row{plain, {"--grid", "4294967295,65537"}},
        Row{plain, {"--grid", "4294967295,65537", "--fixpoint", "2"}},
        Row{segments, {"--grid", "4294967295,65537"}},
        Row{segments, {"--grid", "200000000,1000,1000"}},
        Row{segments, {"--grid", "1000000,65537"}},
        Row{segments, {"--grid", "1000000,65537", "--grid-sync", "host-split"}},
        Row{segments, {"--grid", "1000000,65537", "--grid-sync", "one-workgroup"}}}) {
    CAPTURE(row.options);
    const auto refused = [&](const char* command) {
      Arguments words{command, row.path, "--json"};
      if (row.path == segments) words.insert(words.end(), {"-i", "o=0,0,0,0"});
      words.insert(words.end(), row.options.begin(), row.options.end());
      const Outcome outcome = run_device_tool(words);
      CAPTURE(outcome.out);
      CHECK(outcome.code != 0);
      const json body = json::parse(outcome.out);
      return body.contains("error") ? body["error"]["name"].get<std::string>() : "none";
    };
    const std::string ran = refused("run");
    CHECK(ran != "none");
    CHECK(refused("explain") == ran);
  }
}

TEST_CASE("an explanation names the device that would run the program") {
  const json said = output_of("explain", sample_named("closure"), {});
  CHECK(said.at("device") == device_name());
  CHECK(said.at("assumptions").empty());
  check_refused(run_device_tool({"explain", sample_named("closure").path, "--device", "nosuch"}), 3,
                "`nosuch`");
}

TEST_CASE("explain refuses what does not fit the device, in the words of run") {
  struct Row {
    const char* text;
    Arguments options;
    const char* sentence;
  };
  const char* const plain =
      "program p workgroup(64) { output o: u32[64]; o[invocation.x % 64] = 1; }";
  const char* const segments =
      "program p workgroup(64) { output o: u32[64]; o[0] = 1; gridsync; o[1] = 1; }";
  const char* const large =
      "program p workgroup(1) { output a: f64[4294967295]; output b: f64[4294967295];"
      " output c: f64[4294967295]; output d: f64[4294967295]; a[0] = 1.0f64; }";
  const Row rows[] = {
      {plain, {"--workgroup", "65535"}, "The program takes 65535 invocations of a workgroup along"},
      {plain, {"--workgroup", "1,1,1025"}, "The program takes 1025 invocations of a workgroup"},
      {plain, {"--workgroup", "128,128,2"}, "The program takes 32768 invocations in a workgroup"},
      {segments, {"--workgroup", "65535"}, "The program takes 65535 invocations of a workgroup"},
      {segments,
       {"--workgroup", "65535", "--grid", "2", "--grid-sync", "resident"},
       "The program takes 65535 invocations of a workgroup along"},
      {large, {"--grid", "1"}, "The results take 137438953440 bytes"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.options);
    Arguments words{"run", "-", "--backend", "vulkan"};
    words.insert(words.end(), row.options.begin(), row.options.end());
    if (row.options.size() == 2 && row.text != large) words.insert(words.end(), {"--grid", "1"});
    const Outcome ran = run_tool(words, row.text);
    words[0] = "explain";
    const Outcome explained = run_tool(words, row.text);
    CAPTURE(ran.err);
    check_refused(explained, kDevice, row.sentence);
    CHECK(explained.code == ran.code);
    const auto sentence = [](const std::string& err) { return err.substr(0, err.find(" [")); };
    CHECK(sentence(explained.err) == sentence(ran.err));
  }
}

TEST_CASE("explain refuses a program that needs what the device lacks, as a run does") {
  const Scratch scratch;
  const std::string plain = scratch.write(
      "plain.fels", "program wide workgroup(1) { readwrite y: f64[]; y[0] = y[0] * 2.0f64; }");
  const std::string segments = scratch.write(
      "segments.fels",
      "program wide workgroup(1) { readwrite y: f64[]; y[0] = y[0] * 2.0f64; gridsync;"
      " y[1] = y[0]; }");
  const std::vector<Arguments> forms{
      {}, {"--grid", "3"}, {"--fixpoint", "3"}, {"--grid-sync", "host-split", "--fixpoint", "3"}};
  for (const std::string& path : {plain, segments}) {
    for (const Arguments& form : forms) {
      Arguments words{"run", path, "-i", "y=1,2", "--mask=-float64"};
      words.insert(words.end(), form.begin(), form.end());
      const Outcome ran = run_device_tool(words);
      words[0] = "explain";
      const Outcome explained = run_device_tool(words);
      CAPTURE(ran.err);
      CAPTURE(explained.err);
      CHECK(ran.code == kDevice);
      CHECK(explained.code == kDevice);
      CHECK(explained.out.empty());
      CHECK(contains(ran.err, "The program needs float64"));
      CHECK(contains(explained.err, "The program needs float64"));
      CHECK(contains(explained.err, "[program wide, "));
      CHECK(contains(explained.err, "device " + device_name() + "] Fix: "));
      // Without its inputs too.
      words.erase(words.begin() + 2, words.begin() + 4);
      CHECK(run_device_tool(words).code == kDevice);
    }
    // Without the mask the device itself decides.
    CHECK(run_device_tool({"explain", path, "-i", "y=1,2"}).code ==
          run_device_tool({"run", path, "-i", "y=1,2"}).code);
  }
}

TEST_CASE("an error of explain names the device, as an error of a run does") {
  const std::string saxpy = sample_named("saxpy").path;
  for (const char* command : {"run", "explain"}) {
    const Outcome refused =
        run_device_tool({command, saxpy, "--marked", "--grid", "4294967295,65537"});
    CHECK(refused.code == kProgram);
    CHECK(contains(refused.err, "[program saxpy, device " + device_name() + "] Fix: "));
  }
}
