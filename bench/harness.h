// Measures rows: Felsite against a peer, both in one process, rounds interleaved, medians.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "child.h"

namespace felsite::bench {

// Of every case; odd, so that the median is one of the rounds.
inline constexpr int kLeastRounds = 9;

// One size of a row. Each function does the work once and gives its cost: nanoseconds, or bytes for
// a memory row. A budget stands in for the peer where the bound is absolute.
struct Case {
  std::string size{};
  std::function<double()> felsite{};
  std::string peer{};
  std::function<double()> peer_cost{};
  int rounds = kLeastRounds;
  std::optional<double> bound{};  // of this size, instead of the row's; 0: none
  std::string skipped{};          // why this machine cannot measure it; nothing else is set then
};

struct Row {
  std::string name;
  std::string about;
  double bound = 0;  // the ratio the row must keep; 0: none, the row only shows
  std::function<std::vector<Case>(bool quick)> cases;
  // What must be so before the driver is loaded: the row then runs in a process of its own.
  Surroundings surroundings{};
};

struct Measurement {
  std::string name;
  std::string size;
  std::string peer;
  std::string surroundings;  // where they were of the row's own
  double felsite = 0;
  double peer_cost = 0;
  double ratio = 0;
  double spread = 0;  // half the range between the quartiles of the rounds' ratios, over the median
  double bound = 0;
  bool met = true;
};

// Nanoseconds that `work` takes.
double time_ns(const std::function<void()>& work);
// A cost that is always the same: a budget.
std::function<double()> budget(double cost);
// The mean of `times`: one alone is shorter than what the machine's own work takes now and then.
double mean_ns(std::uint32_t times, const std::function<void()>& work);
// One after the other, from call to call. Where things lie in memory alone can make some percent;
// several of a side in turn have no luck of that kind.
std::function<double()> in_turn(std::vector<std::function<double()>> costs);

std::vector<Row> all_rows();
std::vector<Row> ir_rows();
std::vector<Row> reference_rows();
std::vector<Row> codegen_rows();
std::vector<Row> kernel_rows();
std::vector<Row> dispatch_rows();
std::vector<Row> memory_rows();
std::vector<Row> closure_rows();
std::vector<Row> planning_rows();
std::vector<Row> grid_sync_rows();
std::vector<Row> cold_start_rows();

struct Options {
  bool quick = false;
  std::vector<std::string> rows;  // empty: all
  bool in_child = false;          // the surroundings are those of the row already
  std::function<void(const Measurement&)> progress;
  std::function<void(const Row&, const std::string& reason)> skipped;
};

std::vector<Measurement> measure(const Options& options);

std::string device_line();
std::string to_json(const std::vector<Measurement>& rows);
std::string to_html(const std::vector<Measurement>& rows);
std::string to_line(const Measurement& row);  // of the table; header() above it
std::string header();

}  // namespace felsite::bench
