// What rounds say about a row.
#include <algorithm>
#include <cmath>

#include "harness.h"

namespace felsite::bench {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Where the true median lies 19 times of 20, whatever the values are distributed like: between
// those as many standard deviations of a fair coin's throws from the middle.
double half_interval(std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const double reach = 0.98 * std::sqrt(count);
  const double last = count - 1;
  const double low = std::clamp(std::floor(count / 2 - reach), 0.0, last);
  const double high = std::clamp(std::ceil(count / 2 + reach) - 1, 0.0, last);
  return (values[static_cast<std::size_t>(high)] - values[static_cast<std::size_t>(low)]) / 2;
}

}  // namespace

std::string_view to_string(Unit unit) { return unit == Unit::Bytes ? "B" : "ns"; }

void judge(Measurement& row, const std::vector<double>& felsite, const std::vector<double>& peer) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < felsite.size(); ++i) ratios.push_back(felsite[i] / peer[i]);
  row.felsite = median(felsite);
  row.peer_cost = median(peer);
  row.ratio = median(ratios);
  row.spread = half_interval(ratios) / row.ratio;
  hold_to(row, row.bound);
}

void hold_to(Measurement& row, double bound) {
  row.bound = bound;
  row.met = bound == 0 || row.ratio <= bound;
  row.proven = bound == 0 || std::abs(bound - row.ratio) >= row.spread * row.ratio;
}

}  // namespace felsite::bench
