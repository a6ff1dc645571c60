// felsite explain: what it says and draws, without a device.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

Outcome explain(std::string_view sample, Arguments more = {}) {
  const NoDriver none;
  more.insert(more.begin(), {"explain", sample_named(sample).path});
  return run_tool(more);
}

// What a page must not do: name another place. The namespace of SVG is a name, not a place.
std::string without_namespace(std::string page) {
  constexpr std::string_view kNamespace = "http://www.w3.org/2000/svg";
  for (std::size_t at = page.find(kNamespace); at != std::string::npos;
       at = page.find(kNamespace, at)) {
    page.erase(at, kNamespace.size());
  }
  return page;
}

void check_self_contained(const std::string& page) {
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</body></html>\n"));
  const std::string rest = without_namespace(page);
  for (const char* word : {"http://", "https://", "<script", "<link", "@import", "url(", "src="}) {
    CAPTURE(word);
    CHECK(!contains(rest, word));
  }
}

// Such a workgroup needs a grid, which the marks of a sample give.
bool has_several_axes(const Sample& sample) {
  const std::size_t begin = sample.text.find("workgroup(", sample.text.find("\nprogram "));
  return contains(sample.text.substr(begin, sample.text.find(')', begin) - begin), ",");
}

}  // namespace

TEST_CASE("explain refuses the grids that run refuses, with the same words") {
  const NoDriver none;
  const char* const plain = "program p workgroup(1) { output o: u32[4]; o[0] = 1; }";
  const char* const segments =
      "program p workgroup(1) { output o: u32[4]; let x = o[0] + invocation.x; gridsync;"
      " o[1] = x; }";
  struct Row {
    const char* text;
    Arguments options;
    std::string_view name;
  };
  const Row rows[] = {
      {plain, {"--grid", "4294967295,65537"}, "UnsupportedFeature"},
      {plain, {"--grid", "4294967295,4294967295,4294967295"}, "UnsupportedFeature"},
      {plain, {"--grid", "4294967295", "--workgroup", "2"}, "BadInputs"},
      {plain, {"--grid", "4294967295,65537", "--fixpoint", "3"}, "UnsupportedFeature"},
      {segments, {"--grid", "4294967295,65537"}, "UnsupportedFeature"},
      // The reference keeps every workgroup.
      {segments, {"--grid", "200000000,1000,1000"}, "DeviceOutOfMemory"},
      {segments, {"--grid", "1000000,65537"}, "DeviceOutOfMemory"},
      // And the host split what each of them hands on.
      {segments, {"--grid", "200000000,1000,1000", "--grid-sync", "host-split"}, "OutOfMemory"},
      {segments, {"--grid", "1000000,65537", "--grid-sync", "host-split"}, "OutOfMemory"},
      {segments, {"--grid", "1", "--grid-sync", "resident"}, "UnsupportedFeature"},
      // More results than a host has memory.
      {"program p workgroup(1) { output a: f64[4294967295]; output b: f64[4294967295];"
       " output c: f64[4294967295]; output d: f64[4294967295]; a[0] = 1.0f64; }",
       {"--grid", "1"},
       "DeviceOutOfMemory"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CAPTURE(row.options);
    Arguments words{"run", "-", "--backend", "reference", "--timeout", "5"};
    words.insert(words.end(), row.options.begin(), row.options.end());
    const Outcome ran = run_tool(words, row.text);
    words.erase(words.begin() + 4, words.begin() + 6);
    words[0] = "explain";
    const Outcome explained = run_tool(words, row.text);
    CAPTURE(ran.err);
    CAPTURE(explained.err);
    CHECK(contains(ran.err, row.name));
    CHECK(explained.out.empty());
    CHECK(explained.code == ran.code);
    const auto code = [](const std::string& err) { return err.substr(0, err.find("):")); };
    CHECK(code(explained.err) == code(ran.err));
  }
}

TEST_CASE("explain says route, segments, spills, barriers, repeats and traffic of prefix_scan") {
  const Outcome outcome = explain("prefix_scan", {"--marked", "--grid-sync", "resident"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  for (const char* line :
       {"prefix_scan on any Vulkan device\n", "  route       resident. It was asked for.\n",
        "  cut         5 segments at 2 grid barriers, 12 launches\n",
        "  ┌ repeat round in 0..32 - clz(n - 1): 6 trips\n", "  │ [1] 6 launches\n",
        "  │     recomputes  i\n", "  │     stores      left\n",
        "  │ ── barrier, 6 times: x WAR (1 to 2), spill RAW (1 to 2)\n",
        "  │ ── barrier before the next trip, 5 times: x RAW (2 to 1), spill WAR (2 to 1)\n",
        "  u32         left: word 0 of its invocation\n",
        "  in all      192 bytes = 4·invocations\n", "  resident    160 bytes up, 160 bytes down\n",
        "  host split  4248 bytes up, 3264 bytes down\n"}) {
    CAPTURE(line);
    CHECK(contains(outcome.out, line));
  }
}

TEST_CASE("explain needs no inputs: it says what it assumes, and gives formulas") {
  const Outcome outcome = explain("prefix_scan");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "The size of `x` is not known"));
  CHECK(contains(outcome.out, "There is no Vulkan device here"));
  CHECK(contains(outcome.out, "  resident    ? bytes = 4·len(x) up, ? bytes = 4·len(x) down\n"));
  CHECK(contains(outcome.out, "  grid        ? workgroups of 16 × 1 × 1"));
}

TEST_CASE("no line of an explanation is wider than 100 columns") {
  for (const Sample& sample : all_samples()) {
    for (const Arguments& more : {Arguments{}, Arguments{"--marked"}}) {
      const Outcome outcome = explain(sample.name, more);
      CAPTURE(sample.name);
      CAPTURE(outcome.err);
      if (more.empty() && has_several_axes(sample)) {
        check_refused(outcome, kProgram, "pass a grid");
        continue;
      }
      CHECK(outcome.code == 0);
      std::istringstream lines(outcome.out);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }) <= 100);
        CHECK(!line.ends_with(' '));
      }
    }
  }
}

TEST_CASE("explain --json has the whole explanation") {
  const Outcome outcome = explain("prefix_scan", {"--marked", "--grid-sync", "resident", "--json"});
  const json body = json::parse(outcome.out);
  for (const char* key :
       {"program",       "fingerprint", "device",      "route",    "reason",      "workgroup_size",
        "grid",          "grid_reason", "assumptions", "notes",    "has_plan",    "host_resolvable",
        "grid_barriers", "launches",    "buffers",     "segments", "order",       "spills",
        "spill_words",   "group_words", "kept",        "barriers", "convergence", "traffic"}) {
    CAPTURE(key);
    CHECK(body.contains(key));
  }
  CHECK(body["launches"] == 12);
  CHECK(body["grid"] == json{3, 1, 1});
  CHECK(body["order"][1]["kind"] == "repeat");
  CHECK(body["order"][1]["trips"] == 6);
  CHECK(body["spills"][0]["value"] == "left");
  CHECK(body["traffic"]["host_split_iteration"]["up"]["bytes"] == 4248);
  CHECK(json::parse(explain("prefix_scan", {"--json"}).out)["grid"].is_null());
}

TEST_CASE("explain --html writes a self-contained page, to a file or to standard output") {
  const Scratch scratch;
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.name);
    const Outcome outcome = explain(sample.name, {"--marked", "--html", "-"});
    CHECK(outcome.code == 0);
    check_self_contained(outcome.out);
  }
  const Outcome filed = explain("closure", {"--marked", "--html", scratch.path("page.html")});
  CHECK(filed.out.starts_with("closure on "));
  const std::string page = scratch.read("page.html");
  check_self_contained(page);
  for (const char* part : {"<svg", "prefers-color-scheme:dark", "native barrier", "seed", "hop",
                           "merge", "class='taken' aria-current='true'>one workgroup<"}) {
    CAPTURE(part);
    CHECK(contains(page, part));
  }
  // What stands in the file is shown, comments too.
  CHECK(contains(page, "//! run:"));
  const Outcome cut = explain("closure", {"--marked", "--grid-sync", "resident", "--html", "-"});
  CHECK(contains(cut.out, "class='pill'"));
  CHECK(contains(cut.out, ">RAW<"));
}

TEST_CASE("names that HTML would read as its own are escaped") {
  const NoDriver none;
  const Outcome outcome =
      run_tool({"explain", "-", "--html", "-"},
               "program p workgroup(4) { readwrite x: u32[4]; let i = local.x;"
               " region \"a<b & 'c'\" { x[i] = 1; } gridsync; x[i] = x[3 - i]; }");
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "a&lt;b &amp; &#39;c&#39;"));
  CHECK(!contains(outcome.out, "a<b"));
}

TEST_CASE("explain reads a program from standard input, and reports what is wrong like run") {
  const Sample scan = sample_named("prefix_scan");
  const NoDriver none;
  CHECK(run_tool({"explain", "-", "-i", "x=zeros:40"}, scan.text).out ==
        run_tool({"explain", scan.path, "-i", "x=zeros:40"}).out);
  const Outcome wrong = run_tool({"explain", "-"}, "program p workgroup(0) {}");
  CHECK(wrong.code == kProgram);
  CHECK(wrong.out.empty());
  CHECK(contains(wrong.err, "standard input:"));
  check_refused(run_tool({"explain", "/dev/null/none.fels"}), kProgram, "/dev/null/none.fels");
  check_refused(explain("prefix_scan", {"-i", "y=1"}), kProgram, "`y`");
  check_refused(explain("prefix_scan", {"-i", "x=@/dev/null/none"}), kProgram, "/dev/null/none");
  check_refused(explain("prefix_scan", {"--html", "/dev/null/page.html"}), kProgram,
                "/dev/null/page.html");
  check_refused(explain("prefix_scan", {"--fixpoint", "0"}), kUsage, "no iteration at all");
  check_refused(explain("prefix_scan", {"--bogus"}), kUsage, "--bogus");
  check_refused(explain("prefix_scan", {"--backend", "reference", "--mask", "none"}), kUsage,
                "--mask is for --backend vulkan");
  check_refused(explain("prefix_scan", {"--backend", "vulkan"}), kDevice, "Vulkan");
  check_refused(explain("prefix_scan", {"--grid", "4096", "--grid-sync", "one-workgroup"}), kDevice,
                "The grid cannot run as one workgroup");
}

TEST_CASE("what runs on the reference is explained for it") {
  const Outcome native = explain("prefix_scan", {"--marked", "--backend", "reference"});
  CHECK(contains(native.out, "  route       native. The backend has native grid barriers.\n"));
}
