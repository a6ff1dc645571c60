#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>

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
  Measurement result{.name = row.name, .size = size.size, .peer = size.peer};
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
  result.bound = row.bound;
  result.met = row.bound == 0 || result.ratio <= row.bound;
  return result;
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

std::vector<Row> all_rows() {
  std::vector<Row> rows = reference_rows();
  for (const auto& more : {ir_rows(), codegen_rows(), kernel_rows()}) {
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
    for (const Case& size : row.cases(options.quick)) {
      if (!size.skipped.empty()) {
        if (options.skipped) options.skipped(row, size.skipped);
        continue;
      }
      results.push_back(measure_case(row, size));
      if (options.progress) options.progress(results.back());
    }
  }
  return results;
}

}  // namespace felsite::bench
