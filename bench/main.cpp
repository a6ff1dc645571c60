// felsite-bench: measures Felsite against peers. `felsite bench` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <span>

#include "base/durable_file.h"
#include "felsite/printable.h"
#include "felsite/spelling.h"
#include "report.h"
#include "tools/usage.h"

namespace felsite::bench {
namespace {

// As those of felsite: usage, and a device, a driver or a file that fails.
constexpr int kOk = 0;
constexpr int kOver = 1;  // a row is over its bound
constexpr int kUsage = 2;
constexpr int kNotDone = 3;

struct Arguments {
  bool check = false;
  bool quick = false;
  bool list = false;
  std::vector<std::string> rows;
  std::optional<double> bound;
  std::string json_file;
  std::string html_file;
  std::string markdown_file;
  std::vector<std::string> child;  // what to do as a child of itself
};

void report_unwritable(const std::string& path, int failed) {
  std::fflush(stdout);
  fmt::print(stderr,
             "felsite: Cannot write {}: {}. Fix: name a file in a folder that exists, has room and "
             "may be written.\n",
             printable(path), std::strerror(failed));
}

bool write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}", text);
    return true;
  }
  const int failed = base::replace_file(path, {std::as_bytes(std::span(text))});
  if (failed != 0) report_unwritable(path, failed);
  return failed == 0;
}

// Asked before anything is measured, which takes long.
[[maybe_unused]] bool can_write(const std::string& path) {
  if (path.empty() || path == "-") return true;
  const int failed = base::check_replaceable(path);
  if (failed != 0) report_unwritable(path, failed);
  return failed == 0;
}

void say_skipped(const Row& row, const std::string& reason) {
  fmt::print("{:26}skipped: {}\n", row.name, reason);
  std::fflush(stdout);
}

int report_failure(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "felsite: {}\n", felsite::to_string(error));
  return kNotDone;
}

int report_usage(const tool::Usage& usage) {
  const bool asks = usage.message.ends_with('?');
  fmt::print(stderr, "felsite: {}{} Fix: {}\n", printable(usage.message), asks ? "" : ".",
             usage.fix);
  return kUsage;
}

std::string check_ratio(const std::string& text) {
  double ratio = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), ratio);
  const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_number && ratio > 0 ? "" : fmt::format("`{}` is not a ratio above 0", text);
}

[[maybe_unused]] int measure_all(const Arguments& args) {
  for (const std::string& file : {args.json_file, args.html_file, args.markdown_file}) {
    if (!can_write(file)) return kNotDone;
  }
  const auto began = std::chrono::steady_clock::now();
  fmt::print("{}\n\n{}\n", device_line(), header());
  std::fflush(stdout);
  Options options{.extent = args.quick ? Extent::Quick : Extent::Whole,
                  .rows = args.rows,
                  .bound = args.bound,
                  .in_child = false,
                  .progress = {},
                  .skipped = say_skipped};
  options.progress = [](const Measurement& row) {
    fmt::print("{}\n", to_line(row));
    std::fflush(stdout);
  };
  const auto rows = measure(options);
  if (!rows) return report_failure(rows.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("\n{}\nIn all {:.1f} s.\n", summary(*rows), took.count());
  if (!args.json_file.empty() && !write_file(args.json_file, to_json(device_line(), *rows)))
    return kNotDone;
  if (!args.html_file.empty() && !write_file(args.html_file, to_html(device_line(), *rows)))
    return kNotDone;
  if (!args.markdown_file.empty() &&
      !write_file(args.markdown_file, to_markdown(device_line(), *rows))) {
    return kNotDone;
  }
  return std::ranges::all_of(*rows, &Measurement::met) ? kOk : kOver;
}

// Where a side of a row gives other results, the process has ended before the line is printed.
int check(const Arguments& args) {
  fmt::print("{}\n\n", device_line());
  std::size_t skipped = 0;
  Options options{.extent = Extent::Check,
                  .rows = args.rows,
                  .bound = {},
                  .in_child = false,
                  .progress = {},
                  .skipped = {}};
  options.progress = [](const Measurement& row) {
    fmt::print("{}\n", to_check_line(row));
    std::fflush(stdout);
  };
  options.skipped = [&](const Row& row, const std::string& reason) {
    ++skipped;
    say_skipped(row, reason);
  };
  const auto rows = measure(options);
  if (!rows) return report_failure(rows.error());
  fmt::print("\n{} lines work, {} skipped. Nothing was measured.\n", rows->size(), skipped);
  return kOk;
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
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::string hint = did_you_mean(row, names);
    return report_usage(
        {fmt::format("There is no bench row `{}`{}{}", row, hint.empty() ? "" : ".", hint),
         "see felsite bench --list."});
  }
  if (args.check) return check(args);
#ifndef NDEBUG
  fmt::print(stderr,
             "felsite: A Debug build measures nothing. Fix: build with --preset release.\n");
  return kUsage;
#else
  return measure_all(args);
#endif
}

}  // namespace
}  // namespace felsite::bench

int main(int argc, char** argv) {
  using namespace felsite::bench;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow is an error like a full disk
  CLI::App app("Measure Felsite against peers", "felsite bench");
  Arguments args;
  app.set_version_flag("--version", "felsite-bench " FELSITE_VERSION);
  app.add_flag("--quick", args.quick, "Smaller sizes: ends within 60 s on two cores");
  app.add_flag("--check", args.check,
               "Only run each row once, small, and compare the results of both sides");
  app.add_flag("--list", args.list, "Only name the rows");
  app.add_option("--rows", args.rows, "Only these rows: a,b")->delimiter(',')->type_name("ROWS");
  app.add_option("--bound", args.bound, "Hold all rows to this ratio instead of their own bounds")
      ->type_name("RATIO")
      ->check(check_ratio);
  app.add_option("--json", args.json_file, "Also write the rows as JSON")->type_name("FILE");
  app.add_option("--html", args.html_file, "Also write the rows as a page")->type_name("FILE");
  app.add_option("--markdown", args.markdown_file, "Also write the rows as a table in Markdown")
      ->type_name("FILE");
  app.footer(
      "Exit codes: 0 all rows keep their bounds, 1 a row is over its bound, 2 usage, 3 a "
      "side failed or gave other results, or a file cannot be written.");
  // Not for users: how it starts itself for rows that need a process of their own.
  app.add_option("--child", args.child)->expected(1, -1)->group("");
  if (const std::string message = felsite::tool::wrong_value(app, {argv + 1, argv + argc});
      !message.empty()) {
    return report_usage({message, "see felsite bench --help."});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_usage(felsite::tool::explain_options(app, error));
  }
  try {
    return run(args);
  } catch (const std::exception& error) {
    fmt::print(stderr, "felsite: {}\n", error.what());
    return kNotDone;
  }
}
