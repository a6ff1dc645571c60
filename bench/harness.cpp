#include "harness.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "base/errors.h"
#include "base/try.h"
#include "rows_in_child.h"

namespace felsite::bench {
namespace {

// Nanoseconds that the rounds of a case may take, beyond which there are no more than the least.
double time_for_rounds(Extent extent) { return by_extent(extent, 0.0, 0.2e9, 2e9); }

Measurement measure_case(const Row& row, const Case& size, Extent extent) {
  Measurement result{.name = row.name,
                     .size = size.size,
                     .unit = size.unit,
                     .peer = size.peer,
                     .compared = size.compared,
                     .surroundings = to_string(row.surroundings),
                     .bound = size.bound.value_or(row.bound)};
  // Warm both sides up: first calls pay for caches and page faults.
  size.felsite();
  size.peer_cost();
  std::vector<double> felsite;
  std::vector<double> peer;
  const std::size_t least = extent == Extent::Check ? 1 : kLeastRounds;
  double spent = 0;
  while (felsite.size() < least ||
         (felsite.size() < size.most_rounds && spent < time_for_rounds(extent))) {
    spent += time_ns([&] {
      // Who goes first alternates, so that a drift of the machine falls on both.
      const bool felsite_first = felsite.size() % 2 == 0;
      if (!felsite_first) peer.push_back(size.peer_cost());
      felsite.push_back(size.felsite());
      if (felsite_first) peer.push_back(size.peer_cost());
    });
  }
  judge(result, felsite, peer);
  return result;
}

void add_measured(const Row& row, const Options& options, std::vector<Measurement>& results) {
  auto measured = row.measured(options.extent);
  if (!measured) {
    if (options.skipped) options.skipped(row, to_string(measured.error()));
    return;
  }
  for (Measurement& measurement : *measured) {
    measurement.name = row.name;
    measurement.surroundings = to_string(row.surroundings);
    results.push_back(std::move(measurement));
    if (options.bound) hold_to(results.back(), *options.bound);
    if (options.progress) options.progress(results.back());
  }
}

void measure_here(const Row& row, const Options& options, std::vector<Measurement>& results) {
  if (row.measured) return add_measured(row, options, results);
  for (const Case& size : row.cases(options.extent)) {
    if (!size.skipped.empty()) {
      if (options.skipped) options.skipped(row, size.skipped);
      continue;
    }
    results.push_back(measure_case(row, size, options.extent));
    if (options.bound) hold_to(results.back(), *options.bound);
    if (options.progress) options.progress(results.back());
  }
}

Result<void> measure_in_child(const Row& row, const Options& options,
                              std::vector<Measurement>& results) {
  FELSITE_TRY(
      const auto said,
      run_child({"row", row.name, std::string(extent_name(options.extent))}, row.surroundings));
  auto in_child = read_from_child(said);
  if (!in_child) {
    return std::unexpected(
        base::dispatch_failed("The process of the row " + row.name + " says nothing of use.",
                              "see what it says on standard error."));
  }
  for (const std::string& reason : in_child->skipped) {
    if (options.skipped) options.skipped(row, reason);
  }
  for (Measurement& measurement : in_child->measurements) {
    results.push_back(std::move(measurement));
    if (options.bound) hold_to(results.back(), *options.bound);
    if (options.progress) options.progress(results.back());
  }
  return {};
}

}  // namespace

double time_ns(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

double processor_ns(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double before = now();
  work();
  return now() - before;
}

std::function<double()> constant(double cost) {
  return [cost] { return cost; };
}

double mean_ns(std::uint32_t times, const std::function<void()>& work) {
  return time_ns([&] {
           for (std::uint32_t i = 0; i < times; ++i) work();
         }) /
         times;
}

std::function<double()> in_turn(std::vector<std::function<double()>> costs) {
  return [costs = std::move(costs), next = std::size_t{0}]() mutable {
    return costs[next++ % costs.size()]();
  };
}

void keep(const void* value) { asm volatile("" : : "r"(value) : "memory"); }

std::vector<Row> all_rows() {
  std::vector<Row> rows = reference_rows();
  for (const auto& more :
       {ir_rows(), codegen_rows(), planning_rows(), kernel_rows(), dispatch_rows(), host_rows(),
        memory_rows(), closure_rows(), grid_sync_rows(), chain_rows(), form_rows(), job_rows(),
        process_rows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

Result<std::vector<Measurement>> measure(const Options& options) {
  std::vector<Measurement> results;
  for (const Row& row : all_rows()) {
    const bool wanted =
        options.rows.empty() || std::ranges::find(options.rows, row.name) != options.rows.end();
    if (!wanted) continue;
    if (row.surroundings.empty() || options.in_child) {
      measure_here(row, options, results);
    } else
      FELSITE_CHECK(measure_in_child(row, options, results));
  }
  return results;
}

}  // namespace felsite::bench
