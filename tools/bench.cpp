#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "commands.h"
#include "files.h"
#include "harness.h"
#include "report.h"

namespace felsite::tool {
namespace {

struct BenchArguments {
  bool quick = false;
  bool list = false;
  std::vector<std::string> rows;
  std::string json_file;
  std::string html_file;
  std::vector<std::string> child;  // what to do as a child of itself
};

int run_bench(const BenchArguments& args) {
  if (!args.child.empty()) return bench::be_child(args.child);
  std::vector<std::string> known;
  for (const bench::Row& row : bench::all_rows()) {
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
  fmt::print("{}\n\n{}\n", bench::device_line(), bench::header());
  std::fflush(stdout);
  bench::Options options{
      .quick = args.quick, .rows = args.rows, .in_child = false, .progress = {}, .skipped = {}};
  options.progress = [](const bench::Measurement& row) {
    fmt::print("{}\n", bench::to_line(row));
    std::fflush(stdout);
  };
  options.skipped = [](const bench::Row& row, const std::string& reason) {
    fmt::print("{:26}skipped: {}\n", row.name, reason);
    std::fflush(stdout);
  };
  const std::vector<bench::Measurement> rows = bench::measure(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("\nIn all {:.1f} s.\n", took.count());
  for (const auto& [path, text] : {std::pair(args.json_file, bench::to_json(rows)),
                                   std::pair(args.html_file, bench::to_html(rows))}) {
    if (path.empty()) continue;
    if (const auto written = write_file(path, text); !written)
      return report(written.error(), false);
  }
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, CommonOptions&, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Measure Felsite against peers");
  static BenchArguments args;
  command->add_flag("--quick", args.quick, "Smaller sizes: ends within 50 s on two cores");
  command->add_flag("--list", args.list, "Only name the rows");
  command->add_option("--rows", args.rows, "Only these rows: a,b")->delimiter(',');
  command->add_option("--json", args.json_file, "Also write the rows as JSON");
  command->add_option("--html", args.html_file, "Also write the rows as a page");
  // Not for users: how the tool starts itself for rows that need a process of their own.
  command->add_option("--child", args.child)->expected(1, -1)->group("");
  command->callback([&] { action = [&] { return run_bench(args); }; });
}

}  // namespace felsite::tool
