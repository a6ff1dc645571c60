#include "harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "rows_in_child.h"

namespace felsite::bench {
namespace {

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto above = std::min(below + 1, values.size() - 1);
  const double part = at - std::floor(at);
  return values[below] * (1 - part) + values[above] * part;
}

Measurement measure_case(const Row& row, const Case& size) {
  Measurement result{.name = row.name,
                     .size = size.size,
                     .peer = size.peer,
                     .surroundings = to_string(row.surroundings)};
  // Warm both sides up: first calls pay for caches and page faults.
  size.felsite();
  size.peer_cost();
  std::vector<double> felsite;
  std::vector<double> peer;
  std::vector<double> ratios;
  for (int round = 0; round < size.rounds; ++round) {
    // Who goes first alternates, so that a drift of the machine falls on both.
    const bool felsite_first = round % 2 == 0;
    const double first = felsite_first ? size.felsite() : size.peer_cost();
    const double second = felsite_first ? size.peer_cost() : size.felsite();
    felsite.push_back(felsite_first ? first : second);
    peer.push_back(felsite_first ? second : first);
    ratios.push_back(felsite.back() / peer.back());
  }
  result.felsite = quantile(felsite, 0.5);
  result.peer_cost = quantile(peer, 0.5);
  result.ratio = quantile(ratios, 0.5);
  result.spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2 / result.ratio;
  result.bound = size.bound.value_or(row.bound);
  result.met = result.bound == 0 || result.ratio <= result.bound;
  return result;
}

void measure_here(const Row& row, const Options& options, std::vector<Measurement>& results) {
  for (const Case& size : row.cases(options.quick)) {
    if (!size.skipped.empty()) {
      if (options.skipped) options.skipped(row, size.skipped);
      continue;
    }
    results.push_back(measure_case(row, size));
    if (options.progress) options.progress(results.back());
  }
}

void measure_in_child(const Row& row, const Options& options, std::vector<Measurement>& results) {
  const auto said =
      run_child({"row", row.name, options.quick ? "quick" : "whole"}, row.surroundings);
  auto in_child = said ? read_from_child(*said) : std::nullopt;
  if (!in_child) {
    fmt::print(stderr, "felsite bench: {}: {}\n", row.name,
               said ? "The process of the row says nothing of use." : to_string(said.error()));
    std::abort();
  }
  for (const std::string& reason : in_child->skipped) {
    if (options.skipped) options.skipped(row, reason);
  }
  for (Measurement& measurement : in_child->measurements) {
    results.push_back(std::move(measurement));
    if (options.progress) options.progress(results.back());
  }
}

}  // namespace

double time_ns(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

std::function<double()> budget(double cost) {
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

std::vector<Row> all_rows() {
  std::vector<Row> rows = reference_rows();
  for (const auto& more : {ir_rows(), codegen_rows(), kernel_rows(), dispatch_rows(), memory_rows(),
                           planning_rows(), closure_rows(), grid_sync_rows(), cold_start_rows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

std::vector<Measurement> measure(const Options& options) {
  std::vector<Measurement> results;
  for (const Row& row : all_rows()) {
    const bool wanted =
        options.rows.empty() || std::ranges::find(options.rows, row.name) != options.rows.end();
    if (!wanted) continue;
    if (row.surroundings.empty() || options.in_child) {
      measure_here(row, options, results);
    } else {
      measure_in_child(row, options, results);
    }
  }
  return results;
}

}  // namespace felsite::bench
