#include "dispatch/cost/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"

namespace felsite::dispatch {
namespace {

// Those that a kernel needs for itself in each iteration, to agree on whether it is the last.
constexpr double kBarriersOfIteration = 4;

// Of a profile that does not say.
constexpr double kUnknownSubgroup = 8;

// The iterations that are in one submission of a fixpoint at most, whether they run or not.
constexpr double kRecordedSteps = 1024;

double volume(const Extent3& extents) {
  return double(extents[0]) * double(extents[1]) * double(extents[2]);
}

double divided_up(double count, double by) { return std::ceil(count / std::max(by, 1.0)); }

// Estimates are rough, and three digits say more than they know.
std::string nanoseconds_text(double ns) {
  constexpr std::array kUnits{"ns", "µs", "ms", "s"};
  std::size_t unit = 0;
  for (; ns >= 999.5 && unit + 1 < kUnits.size(); ++unit) ns /= 1000;
  return fmt::format("{:.3g} {}", ns, kUnits[unit]);
}

class Estimator {
 public:
  Estimator(const ir::Program& program, const DispatchConfig& config, const Extent3& grid,
            const DeviceProfile& device, const WorkFacts& facts)
      : program_(program),
        facts_(facts),
        prices_(device.prices),
        device_(device),
        rule_(iteration_rule(program, config)),
        groups_(std::max(volume(grid), 1.0)),
        group_lanes_(std::max(volume(program.workgroup_size()), 1.0)),
        lanes_at_once_(device.subgroup_size != 0 ? device.subgroup_size : kUnknownSubgroup),
        work_(count_work(program, grid, facts)) {
    iterations_ =
        rule_.converges ? std::min(double(rule_.bound), kAssumedIterations) : double(rule_.bound);
    if (rule_.compares) count_compared(grid);
  }

  FormEstimates run() {
    FormEstimates made{.one_workgroup_ns = limited(one_workgroup()),
                       .resident_ns = limited(resident()),
                       .iterations = iterations_,
                       .assumptions = work_.assumptions};
    if (rule_.converges && rule_.bound > kAssumedIterations) {
      made.assumptions.push_back(
          fmt::format("The fixpoint ends after {:.0f} iterations.", kAssumedIterations));
    }
    return made;
  }

 private:
  static double limited(double ns) { return std::clamp(ns, 1.0, kMostWork); }

  void count_compared(const Extent3& grid) {
    const auto evolving = changed_buffers(program_);
    const GridSyncOptions options{.report_changes = true,
                                  .one_dimensional = grid[1] == 1 && grid[2] == 1};
    const auto reports = find_change_reports(program_, evolving, options);
    for (const ir::BufferId id : evolving) {
      if (std::ranges::binary_search(reports.buffers, id)) {
        ++reported_buffers_;  // each store to them compares first
        continue;
      }
      ++compared_buffers_;
      if (!facts_.lengths.empty()) compared_words_ += double(facts_.lengths[id]);
    }
  }

  // Of one subgroup that does what an invocation of the program does in an iteration.
  double subgroup_ns() const {
    return work_.operations * prices_.operation +
           (work_.accesses + reported_buffers_) * prices_.access + work_.atomics * prices_.atomic +
           work_.trips * prices_.trip;
  }
  // To read an element and its old value, and to write the new one.
  double compare_ns() const {
    return divided_up(compared_words_, lanes_at_once_) * (3 * prices_.access + prices_.trip);
  }

  double one_workgroup() const {
    const double all = groups_ * group_lanes_;
    const double room = std::max(
        double(std::min(device_.max_workgroup_invocations, device_.max_workgroup_size[0])), 1.0);
    const double lanes = groups_ == 1 ? all : std::min(all, room);
    const double turns = divided_up(all, lanes);
    const double subgroups = divided_up(lanes, lanes_at_once_);
    const double barriers = work_.grid_barriers + work_.local_barriers;
    double iteration = prices_.folded * (turns * subgroups * subgroup_ns() + compare_ns());
    iteration += barriers * subgroups * (prices_.barrier + turns * prices_.turn);
    if (rule_.is_repeated()) {
      iteration += prices_.iteration +
                   subgroups * (kBarriersOfIteration * prices_.barrier + turns * prices_.again);
    }
    return prices_.submission + prices_.dispatch + iterations_ * iteration;
  }

  // Each part of the grid between two barriers is a dispatch; its workgroups are on all cores.
  double resident() const {
    const double rounds = divided_up(groups_, device_.compute_units);
    const double subgroups = divided_up(group_lanes_, lanes_at_once_);
    double steps = work_.grid_barriers + (work_.ends_with_barrier ? 0 : 1);
    const double group_starts = steps * rounds * prices_.workgroup;
    // Where the device walks, a small kernel after each part opens the next one.
    if (!work_.is_resolved) steps = 2 * steps + 1;
    steps += compared_buffers_;
    if (rule_.converges && !device_.conditional_steps) steps += 1;
    double iteration = steps * prices_.dispatch + group_starts;
    const double kept = 2 * work_.kept_values * prices_.access;  // a store, and a load
    iteration +=
        rounds * subgroups * (subgroup_ns() + kept + work_.local_barriers * prices_.barrier);
    iteration += compare_ns() / std::max(double(device_.compute_units), 1.0);
    const double recorded = std::min(double(rule_.bound), kRecordedSteps / (steps + 2));
    const double skipped = std::max(recorded - iterations_, 0.0) * steps;
    return prices_.submission + iterations_ * iteration + skipped * prices_.skipped;
  }

  const ir::Program& program_;
  const WorkFacts& facts_;
  const DevicePrices& prices_;
  const DeviceProfile& device_;
  const IterationRule rule_;
  const double groups_;
  const double group_lanes_;
  const double lanes_at_once_;
  const ProgramWork work_;
  double iterations_ = 1;
  double reported_buffers_ = 0;
  double compared_buffers_ = 0;
  double compared_words_ = 0;
};

}  // namespace

std::string to_string(const FormEstimates& estimates) {
  return fmt::format("one workgroup {}, resident {}", nanoseconds_text(estimates.one_workgroup_ns),
                     nanoseconds_text(estimates.resident_ns));
}

FormEstimates estimate_forms(const ir::Program& program, const DispatchConfig& config,
                             const Extent3& grid, const DeviceProfile& device,
                             const WorkFacts& facts) {
  return Estimator(program, config, grid, device, facts).run();
}

}  // namespace felsite::dispatch
