// bench: its rows, what it does without a device, and that what it measures does the same work.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tool_runner.h"

using namespace felsite::test;

// A copy of the command alone, in a folder without felsite-bench.
TEST_CASE("bench without felsite-bench says so, with a fix") {
  const Scratch scratch;
  const Environment path("PATH", scratch.path("").c_str());
  std::filesystem::copy_file(FELSITE_TOOL, scratch.path("felsite"));
  check_refused(run_binary(scratch.path("felsite"), {"bench", "--list"}), kDevice,
                "The benchmarks are not installed");
  // What is no regular file, or must not be executed, is not it.
  std::filesystem::create_directory(scratch.path("felsite-bench"));
  check_refused(run_binary(scratch.path("felsite"), {"bench"}), kDevice,
                "The benchmarks are not installed");
  std::filesystem::remove(scratch.path("felsite-bench"));
  scratch.write("felsite-bench", "no program");
  check_refused(run_binary(scratch.path("felsite"), {"bench"}), kDevice,
                "The benchmarks are not installed");
}

TEST_CASE("bench starts the felsite-bench beside it, in libexec or in PATH, with its arguments") {
  const std::string script = "#!/bin/sh\nprintf '%s|' \"$@\"\necho said >&2\nexit 7\n";
  for (const std::string place : {"bin", "libexec/felsite", "elsewhere"}) {
    CAPTURE(place);
    const Scratch scratch;
    const Environment path("PATH", scratch.path("elsewhere").c_str());
    std::filesystem::create_directories(scratch.path("bin"));
    std::filesystem::create_directories(scratch.path(place));
    std::filesystem::copy_file(FELSITE_TOOL, scratch.path("bin/felsite"));
    const std::string program = scratch.write(place + "/felsite-bench", script);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const Outcome outcome = run_binary(scratch.path("bin/felsite"),
                                       {"bench", "--rows", "a b,c", "--quick", "--help", "more"});
    CHECK(outcome.code == 7);
    CHECK(outcome.out == "--rows|a b,c|--quick|--help|more|");
    CHECK(outcome.err == "said\n");
  }
}

#ifdef FELSITE_BENCH

TEST_CASE("the command has no GLSL compiler in it") {
  const auto has_compiler = [](const char* program) {
    return contains(read_whole(program), "glslang");
  };
  CHECK_FALSE(has_compiler(FELSITE_TOOL));
  CHECK(has_compiler(FELSITE_BENCH));
}

TEST_CASE("bench names its rows, and refuses others") {
  const Outcome outcome = run_tool({"bench", "--list"});
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.out, "control"));
  check_refused(run_tool({"bench", "--rows", "nope"}), 2, "There is no bench row `nope`");
}

TEST_CASE("bench says what is wrong with its options as the other commands do") {
  const auto refused = [](const std::string& word, std::string_view sentence) {
    CAPTURE(word);
    check_refused(run_tool({"bench", word}), kUsage, sentence);
  };
  refused("--jsno=rows.json", "There is no option `--jsno`. Did you mean `--json`? Fix: see");
  refused("--quik", "There is no option `--quik`. Did you mean `--quick`? Fix: see");
  refused("more", "`more` is one argument too many. Fix: see felsite bench --help.");
  refused("--json=", "--json has no value: it takes FILE. Fix: see felsite bench --help.");
  refused("--rows=contrl", "There is no bench row `contrl`. Did you mean `control`?");
  refused("--bound=much", "`much` is not a ratio above 0.");
  refused("--quick=perhaps", "--quick is there or not, and has no value `perhaps`.");
}

TEST_CASE("every bench row stands in docs/tool.md") {
  const std::string manual = read_whole(FELSITE_SOURCE_DIR "/docs/tool.md");
  std::istringstream list(run_tool({"bench", "--list"}).out);
  std::size_t rows = 0;
  for (std::string line; std::getline(list, line); ++rows) {
    const std::string name = line.substr(0, line.find(' '));
    CAPTURE(name);
    CHECK(contains(manual, "`" + name + "`"));
  }
  CHECK(rows > 10);
}

TEST_CASE("how bench starts itself is no option for users") {
  CHECK_FALSE(contains(run_tool({"bench", "--help"}).out, "--child"));
  CHECK(run_tool({"bench", "--child", "nope"}).code == 2);
}

#ifdef NDEBUG
TEST_CASE("bench rows that need a device are skipped with the reason where there is none") {
  const Environment old_name("VK_ICD_FILENAMES", "/dev/null/none.json");
  const Environment new_name("VK_DRIVER_FILES", "/dev/null/none.json");
  // Some of them in a separate process.
  const std::vector<std::string> rows{"control_device",
                                      "bounds_checks",
                                      "control_raw",
                                      "dispatch_latency_vs_raw",
                                      "sequence_vs_raw",
                                      "sequence_resubmit_host",
                                      "default_threads",
                                      "two_threads",
                                      "host_dispatch_vs_raw",
                                      "async_vs_raw",
                                      "batch_vs_raw",
                                      "closure_default_threads",
                                      "upload_download_vs_raw",
                                      "device_memory_large",
                                      "cold_start",
                                      "closure_vs_raw",
                                      "skipped_iterations",
                                      "segments_vs_raw",
                                      "segments_scaling",
                                      "chain_fixpoint",
                                      "first_use",
                                      "peak_memory",
                                      "job_stencil",
                                      "job_scan",
                                      "job_page_rank",
                                      "job_search"};
  std::string list;
  for (const std::string& row : rows) list += (list.empty() ? "" : ",") + row;
  const Outcome outcome = run_tool({"bench", "--quick", "--rows", list});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("no Vulkan device, "));
  CHECK(contains(outcome.out, "In all "));
  for (const std::string& row : rows) {
    const std::size_t at = outcome.out.find("\n" + row + " ");
    REQUIRE(at != std::string::npos);
    const std::string line = outcome.out.substr(at, outcome.out.find('\n', at + 1) - at);
    CAPTURE(line);
    CHECK(contains(line, "skipped: "));
    CHECK(contains(line, " Fix: "));
  }
}

TEST_CASE("bench gives 1 where a row is over its bound, and 0 where all keep theirs") {
  const Scratch scratch;
  const Arguments rows{"bench",  "--quick",
                       "--rows", "program_bytes,copy_program",
                       "--json", scratch.path("rows.json")};
  const auto with_bound = [&](const std::string& bound) {
    Arguments arguments = rows;
    arguments.insert(arguments.end(), {"--bound", bound});
    return run_tool(arguments);
  };
  const auto all_met = [&] {
    const nlohmann::json report = nlohmann::json::parse(scratch.read("rows.json"));
    return std::ranges::all_of(report["rows"], [](const auto& row) { return row["met"] == true; });
  };
  const Outcome over = with_bound("0.0001");
  CHECK(over.code == 1);
  CHECK(contains(over.out, "OVER"));
  CHECK(contains(over.out, "2 of 2 lines are over their bounds: copy_program, program_bytes."));
  CHECK_FALSE(all_met());
  const Outcome within = with_bound("10000");
  CHECK(within.code == 0);
  CHECK_FALSE(contains(within.out, "OVER"));
  CHECK(contains(within.out, "All 2 lines are within their bounds."));
  CHECK(all_met());
  // The bytes of a program are bytes.
  CHECK(contains(within.out, " MiB"));
  const nlohmann::json report = nlohmann::json::parse(scratch.read("rows.json"));
  CHECK(report["rows"][0]["unit"] == "B");
  CHECK(report["rows"][1]["unit"] == "ns");
  check_refused(with_bound("0"), 2, "--bound");
}

TEST_CASE("bench says where a file cannot be written, before it measures") {
  const Scratch scratch;
  for (const char* option : {"--json", "--html", "--markdown"}) {
    const auto refused = [&](const std::string& file, std::string_view reason) {
      const Outcome outcome = run_tool(
          {"bench", "--quick", "--rows", "program_bytes", "--bound", "1000", option, file});
      CHECK(outcome.code == 3);
      CHECK(outcome.out.empty());
      CHECK(contains(outcome.err, "felsite: Cannot write " + file + ": "));
      CHECK(contains(outcome.err, reason));
      CHECK(contains(outcome.err, " Fix: "));
    };
    refused("/dev/null/rows", "Not a directory");
    refused(scratch.path("none/rows"), "No such file or directory");
    refused(scratch.path(""), "Is a directory");
  }
}

TEST_CASE("bench adopts what a separate process has measured, and says how that was run") {
  const Scratch scratch;
  const Outcome outcome =
      run_tool({"bench", "--quick", "--rows", "control_raw", "--json", scratch.path("rows.json"),
                "--html", scratch.path("rows.html"), "--markdown", scratch.path("rows.md")});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  if (contains(outcome.out, "skipped: ")) {
    MESSAGE("skipped: there is no device");
    return;
  }
  const std::string said = "LP_NUM_THREADS=0, one core";
  const nlohmann::json report = nlohmann::json::parse(scratch.read("rows.json"));
  REQUIRE(report["rows"].size() == 1);
  CHECK(report["rows"][0]["name"] == "control_raw");
  CHECK(report["rows"][0]["surroundings"] == said);
  CHECK(report["rows"][0]["ratio"].get<double>() > 0);
  CHECK(contains(outcome.out, said));
  CHECK(contains(scratch.read("rows.html"), said));
  CHECK(contains(scratch.read("rows.md"), "| `control_raw` | one workgroup |"));
}
#else
TEST_CASE("a Debug build measures nothing") {
  check_refused(run_tool({"bench", "--rows", "control"}), 2, "A Debug build measures nothing");
}
#endif

#endif  // FELSITE_BENCH
