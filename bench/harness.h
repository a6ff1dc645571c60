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

inline constexpr std::size_t kLeastRounds = 9;

// How much a run does. A check runs every row once, small: it shows that the rows work and that
// both sides give the same, and measures nothing.
enum class Extent : std::uint8_t { Check, Quick, Whole };
// The one of three.
template <class T>
T by_extent(Extent extent, T check, T quick, T whole) {
  return extent == Extent::Check ? check : extent == Extent::Quick ? quick : whole;
}

// What the costs of a row are.
enum class Unit : std::uint8_t { Nanoseconds, Bytes };
std::string_view to_string(Unit unit);

// One size of a row. Each function does the work once and gives its cost.
struct Case {
  std::string size{};
  std::function<double()> felsite{};
  std::string peer{};
  std::function<double()> peer_cost{};
  // How the results of the sides were compared when the case was made, or why there is nothing to
  // compare.
  std::string compared{};
  // What the ratio must keep, instead of the row's; 0: none.
  std::optional<double> bound{};
  Unit unit = Unit::Nanoseconds;
  // Short rounds and many, where they are short: most of them are then left alone by whatever else
  // runs on the machine.
  std::size_t most_rounds = 101;
  std::string skipped{};  // why this machine cannot measure it; nothing else is set then
};

inline constexpr std::string_view kSameBytes = "the same bytes";

struct Measurement {
  std::string name;
  std::string size;
  Unit unit = Unit::Nanoseconds;
  std::string peer;
  std::string compared;
  std::string surroundings;  // where they were of the row's own
  std::string note{};        // what else is to say; printed at the end of the line
  double felsite = 0;
  double peer_cost = 0;
  double ratio = 0;
  // Half the width of the interval that holds the true median of the ratios 19 times of 20, over
  // the median.
  double spread = 0;
  double bound = 0;
  bool met = true;
  // Its distance from the bound is more than the spread.
  bool proven = true;
};

struct Row {
  std::string name;
  std::string about;
  double bound = 0;  // the ratio the row must keep; 0: none, the row only shows
  std::function<std::vector<Case>(Extent)> cases;
  // What must be so before the driver is loaded: the row then runs in a process of its own.
  Surroundings surroundings{};
  // Instead of cases, for a row that has more than two sides, or whose figure is about many cases:
  // the row measures and judges itself.
  std::function<Result<std::vector<Measurement>>(Extent)> measured{};
};

// Of rounds in which one side cost this and the other that.
void judge(Measurement& row, const std::vector<double>& felsite, const std::vector<double>& peer);
// Whether it keeps this bound; 0: none.
void hold_to(Measurement& row, double bound);

// Nanoseconds that `work` takes.
double time_ns(const std::function<void()>& work);
// Nanoseconds of a processor that this thread takes for it: for work that is all its own, which
// costs the same however busy the machine is.
double processor_ns(const std::function<void()>& work);
// A cost that is always the same.
std::function<double()> constant(double cost);
// The mean of `times`: one alone is shorter than what the machine's own work takes now and then.
double mean_ns(std::uint32_t times, const std::function<void()>& work);
// One after the other, from call to call. Where things lie in memory alone can make some percent;
// several of a side in turn have no luck of that kind.
std::function<double()> in_turn(std::vector<std::function<double()>> costs);
// What the optimizer must not leave out.
void keep(const void* value);

std::vector<Row> all_rows();
std::vector<Row> ir_rows();
std::vector<Row> reference_rows();
std::vector<Row> codegen_rows();
std::vector<Row> kernel_rows();
std::vector<Row> dispatch_rows();
std::vector<Row> host_rows();
std::vector<Row> memory_rows();
std::vector<Row> closure_rows();
std::vector<Row> planning_rows();
std::vector<Row> grid_sync_rows();
std::vector<Row> chain_rows();
std::vector<Row> form_rows();
std::vector<Row> job_rows();
std::vector<Row> process_rows();

struct Options {
  Extent extent = Extent::Whole;
  std::vector<std::string> rows;  // empty: all
  std::optional<double> bound;    // of all rows, instead of their own
  bool in_child = false;          // the surroundings are those of the row already
  std::function<void(const Measurement&)> progress;
  std::function<void(const Row&, const std::string& reason)> skipped;
};

// An error where the process of a row does not end well.
Result<std::vector<Measurement>> measure(const Options& options);

}  // namespace felsite::bench
