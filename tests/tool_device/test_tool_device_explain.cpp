// felsite explain on a Vulkan driver: what it says is what a run then does.
#include <map>

#include "device_tool.h"
#include "tool/trace_reader.h"

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

// What the text of a schedule says will run: the names of the steps, and which of them are kernels
// of the program, "k1 scan segment 1 (1 of 3), grid 3×1×1: …".
struct SaidStep {
  std::string name;
  bool is_callers = false;
};
struct SaidSteps {
  std::vector<SaidStep> prefix;
  std::vector<SaidStep> repeated;
};

SaidSteps steps_of(const json& explanation) {
  SaidSteps said;
  std::vector<SaidStep>* into = nullptr;
  std::vector<std::string> kernels;
  for (const std::string line : explanation.at("schedule")) {
    if (!line.starts_with("  ")) {
      into = line.starts_with("prefix:")     ? &said.prefix
             : line.starts_with("repeated ") ? &said.repeated
                                             : nullptr;
    }
    if (!line.starts_with("  k")) continue;
    const std::string rest = line.substr(line.find(' ', 3) + 1);
    if (into == nullptr) {
      CHECK(line.substr(3, line.find(' ', 3) - 3) == std::to_string(kernels.size()));
      kernels.push_back(rest.substr(0, rest.find(',')));
      continue;
    }
    const std::string name = rest.substr(0, std::min(rest.find(" ("), rest.find(", grid ")));
    const bool is_callers = !rest.ends_with(", runtime's");
    into->push_back({name, is_callers});
    const std::string& kernel = kernels.at(std::stoul(line.substr(3)));
    const std::string program = explanation.at("program");
    CHECK(kernel == (!is_callers ? name : kernel == program ? program : program + "_segment"));
  }
  return said;
}

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

TEST_CASE("the steps that explain prints are those that a trace shows, in their order") {
  const struct {
    const char* sample;
    const char* form;
    const char* route;
  } rows[] = {{"saxpy", "auto", "plain"},
              {"compact", "auto", "plain"},
              {"prefix_scan", "one-workgroup", "one workgroup"},
              {"reachability", "one-workgroup", "one workgroup"},
              {"prefix_scan", "resident", "resident"},
              {"closure", "resident", "resident"},
              {"grid_heat", "resident", "resident"},
              {"grid_connected_components", "resident", "resident"},
              {"prefix_scan", "host-split", "host split"},
              {"reachability", "host-split", "host split"}};
  const std::string device = device_name();
  std::map<std::string, std::size_t> compared;  // slices by route
  for (const auto& row : rows) {
    CAPTURE(row.sample);
    CAPTURE(row.form);
    const Sample sample = sample_named(row.sample);
    const Arguments form{"--grid-sync", row.form};
    const json said = output_of("explain", sample, form);
    CHECK(said.at("route") == row.route);
    const SaidSteps steps = steps_of(said);
    const json ran = output_of("run", sample, {"--grid-sync", row.form, "--timing"}).at("timing");
    const Outcome traced =
        run_device_tool({"trace", sample.path, "--marked", "--grid-sync", row.form});
    REQUIRE(traced.code == 0);
    auto slices = device_slices(read_trace(traced.out), device);
    std::ranges::stable_sort(slices, {}, &TraceSlice::begin);
    compared[row.route] += slices.size();
    const auto iterations = ran.at("iterations_run").get<std::size_t>();
    if (std::string_view(row.route) == "host split") {
      // The host makes the steps, so explain has the segments of an iteration instead.
      std::size_t launches = 0;
      for (const json& segment : said.at("segments")) {
        launches += segment.at("launches").get<std::size_t>();
      }
      CHECK(slices.size() == launches * iterations);
      for (const TraceSlice& slice : slices) {
        CHECK(slice.name == said.at("program").get<std::string>() + "_segment");
      }
      continue;
    }
    // The steps before, then the repeated ones, some whole times.
    REQUIRE(slices.size() >= steps.prefix.size());
    const std::size_t rest = slices.size() - steps.prefix.size();
    CHECK((rest == 0) == steps.repeated.empty());
    if (!steps.repeated.empty()) CHECK(rest % steps.repeated.size() == 0);
    std::vector<std::string> callers;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      CAPTURE(i);
      const std::size_t behind = i - std::min(i, steps.prefix.size());
      const SaidStep& step = i < steps.prefix.size()
                                 ? steps.prefix[i]
                                 : steps.repeated[behind % steps.repeated.size()];
      CHECK(slices[i].name == step.name);
      if (step.is_callers) callers.push_back(step.name);
    }
    // What only the device decides has no number of launches before the run. A step whose condition
    // is false has a slice too, so there may be more of them than kernels that ran.
    const auto launches = ran.at("launches").get<std::size_t>();
    CHECK(callers.size() >= launches);
    if (said.at("launches").is_null() || said.at("route") == "one workgroup") continue;
    const auto each = said.at("launches").get<std::size_t>();
    CHECK(launches == each * iterations);
    CHECK(callers.size() % each == 0);
    for (std::size_t i = each; i < callers.size(); ++i) CHECK(callers[i] == callers[i - each]);
  }
  for (const auto& [route, count] : compared) MESSAGE(route << ": " << count << " slices");
  CHECK(compared.size() == 4);
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
