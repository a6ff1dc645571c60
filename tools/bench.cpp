#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"
#include "files.h"
#include "harness.h"

namespace felsite::tool {
namespace {

struct BenchArguments {
  bool quick = false;
  bool list = false;
  std::vector<std::string> rows;
  std::string json_file;
  std::string html_file;
};

int run_bench(const BenchArguments& args) {
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
  fmt::print("{}\n\n{}\n", bench::device_line(), bench::header());
  bench::Options options{.quick = args.quick, .rows = args.rows, .progress = {}, .skipped = {}};
  options.progress = [](const bench::Measurement& row) {
    fmt::print("{}\n", bench::to_line(row));
    std::fflush(stdout);
  };
  options.skipped = [](const bench::Row& row, const std::string& reason) {
    fmt::print("{:26}skipped: {}\n", row.name, reason);
  };
  const std::vector<bench::Measurement> rows = bench::measure(options);
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
  command->callback([&] { action = [&] { return run_bench(args); }; });
}

}  // namespace felsite::tool
