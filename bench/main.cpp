// felsite-bench: measures Felsite against peers. `felsite bench` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>

#include "harness.h"

namespace felsite::bench {
namespace {

// As those of felsite: usage, and a device, a driver or a file that fails.
constexpr int kOk = 0;
constexpr int kUsage = 2;
constexpr int kNotDone = 3;

struct Arguments {
  bool quick = false;
  bool list = false;
  std::vector<std::string> rows;
  std::string json_file;
  std::string html_file;
  std::vector<std::string> child;  // what to do as a child of itself
};

bool write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}", text);
    return true;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "felsite: Cannot write {}. Fix: name a file in a folder with room.\n", path);
  return false;
}

int run(const Arguments& args) {
  if (!args.child.empty()) return be_child(args.child);
  std::vector<std::string> known;
  for (const Row& row : all_rows()) {
    known.push_back(row.name);
    if (args.list) fmt::print("{:26}{}\n", row.name, row.about);
  }
  if (args.list) return kOk;
  for (const std::string& row : args.rows) {
    if (std::ranges::find(known, row) != known.end()) continue;
    fmt::print(stderr, "felsite: There is no bench row `{}`. Fix: see felsite bench --list.\n",
               row);
    return kUsage;
  }
#ifndef NDEBUG
  fmt::print(stderr,
             "felsite: A Debug build measures nothing. Fix: build with --preset release.\n");
  return kUsage;
#endif
  const auto began = std::chrono::steady_clock::now();
  fmt::print("{}\n\n{}\n", device_line(), header());
  std::fflush(stdout);
  Options options{
      .quick = args.quick, .rows = args.rows, .in_child = false, .progress = {}, .skipped = {}};
  options.progress = [](const Measurement& row) {
    fmt::print("{}\n", to_line(row));
    std::fflush(stdout);
  };
  options.skipped = [](const Row& row, const std::string& reason) {
    fmt::print("{:26}skipped: {}\n", row.name, reason);
    std::fflush(stdout);
  };
  const std::vector<Measurement> rows = measure(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("\nIn all {:.1f} s.\n", took.count());
  if (!args.json_file.empty() && !write_file(args.json_file, to_json(rows))) return kNotDone;
  if (!args.html_file.empty() && !write_file(args.html_file, to_html(rows))) return kNotDone;
  return kOk;
}

}  // namespace
}  // namespace felsite::bench

int main(int argc, char** argv) {
  using namespace felsite::bench;
  CLI::App app("Measure Felsite against peers", "felsite bench");
  Arguments args;
  app.set_version_flag("--version", "felsite-bench " FELSITE_VERSION);
  app.add_flag("--quick", args.quick, "Smaller sizes: ends within 60 s on two cores");
  app.add_flag("--list", args.list, "Only name the rows");
  app.add_option("--rows", args.rows, "Only these rows: a,b")->delimiter(',');
  app.add_option("--json", args.json_file, "Also write the rows as JSON");
  app.add_option("--html", args.html_file, "Also write the rows as a page");
  // Not for users: how it starts itself for rows that need a process of their own.
  app.add_option("--child", args.child)->expected(1, -1)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "felsite: {}. Fix: see felsite bench --help.\n", error.what());
    return kUsage;
  }
  try {
    return run(args);
  } catch (const std::exception& error) {
    fmt::print(stderr, "felsite: {}\n", error.what());
    return kNotDone;
  }
}
