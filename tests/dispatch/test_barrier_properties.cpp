// What holds for the plan of every sequence, tried on random ones. FELSITE_SEED=n runs one.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "dispatch/barriers/barrier_plan.h"
#include "support/hazard_oracle.h"
#include "support/sequence_plans.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::find_hazards;
using dispatch::plan_barriers;

namespace {

constexpr std::uint64_t kSequences = 6000;

struct Sample {
  explicit Sample(std::uint64_t seed)
      : sequence(RandomSequence(seed).sequence()), plan(plan_barriers(sequence)) {}
  SequencePlan sequence;
  BarrierPlan plan;
};

std::size_t steps_in(const SequencePlan& sequence, Section section) {
  const std::size_t sizes[] = {sequence.prologue.size(), sequence.block.size(),
                               sequence.epilogue.size()};
  return sizes[static_cast<std::size_t>(section)];
}

bool conflict(const PlannedStep& a, const PlannedStep& b) {
  for (const BufferAccess& x : a.accesses) {
    for (const BufferAccess& y : b.accesses) {
      const bool overlap = std::max(x.begin, y.begin) < std::min(x.end, y.end);
      if (x.buffer == y.buffer && overlap && (x.writes || y.writes)) return true;
    }
  }
  return false;
}

// As many conflicts as can be found with no place in common: no plan has fewer barriers.
std::size_t separate_conflicts(const std::vector<PlannedStep>& steps) {
  std::size_t count = 0;
  std::size_t begin = 0;  // no conflict counted so far reaches beyond the place before this step
  for (std::size_t later = 0; later < steps.size(); ++later) {
    for (std::size_t earlier = begin; earlier < later; ++earlier) {
      if (!conflict(steps[earlier], steps[later])) continue;
      ++count;
      begin = later;
      break;
    }
  }
  return count;
}

std::vector<PlannedStep> as_one_line(const SequencePlan& sequence) {
  std::vector<PlannedStep> steps = sequence.prologue;
  for (std::uint32_t run = 0; run < sequence.count; ++run) {
    steps.insert(steps.end(), sequence.block.begin(), sequence.block.end());
  }
  steps.insert(steps.end(), sequence.epilogue.begin(), sequence.epilogue.end());
  return steps;
}

// The fewest places in a block that repeats, by trying all sets of places.
std::size_t fewest_in_block(const std::vector<PlannedStep>& block) {
  std::vector<unsigned> places_between;  // of each conflict, as a mask
  for (std::size_t earlier = 0; earlier < block.size(); ++earlier) {
    for (std::size_t distance = 1; distance <= block.size(); ++distance) {
      const std::size_t later = (earlier + distance) % block.size();
      if (!conflict(block[earlier], block[later])) continue;
      unsigned mask = 0;
      for (std::size_t i = 1; i <= distance; ++i) mask |= 1u << ((earlier + i) % block.size());
      places_between.push_back(mask);
    }
  }
  std::size_t fewest = block.size();
  for (unsigned places = 0; places < 1u << block.size(); ++places) {
    const bool enough =
        std::ranges::all_of(places_between, [&](unsigned mask) { return (mask & places) != 0; });
    if (enough) fewest = std::min(fewest, static_cast<std::size_t>(std::popcount(places)));
  }
  return fewest;
}

// Counts plans made worse on purpose, and those among them that the oracle takes for sound.
class Mutations {
 public:
  explicit Mutations(const Sample& sample) : sample_(sample) {}

  void remove(std::size_t at) {
    BarrierPlan plan = sample_.plan;
    plan.barriers.erase(plan.barriers.begin() + static_cast<std::ptrdiff_t>(at));
    judge(plan);
  }
  void remove_stage(std::size_t at, StageSet PlannedBarrier::*set, Stage stage) {
    BarrierPlan plan = sample_.plan;
    PlannedBarrier& barrier = plan.barriers[at];
    if (!(barrier.*set).has(stage)) return;
    barrier.*set = without(barrier.*set, stage);
    judge(plan);
  }
  void move_up(std::size_t at) {
    BarrierPlan plan = sample_.plan;
    if (plan.barriers[at].before == 0) return;
    --plan.barriers[at].before;
    judge(plan);
  }

  std::size_t tried = 0;
  std::size_t unnoticed = 0;

 private:
  void judge(const BarrierPlan& plan) {
    ++tried;
    if (!find_hazards(sample_.sequence, plan).empty()) return;
    ++unnoticed;
    MESSAGE("as good as the plan:\n" << text_of(plan));
  }
  const Sample& sample_;
};

// Runs `mutate` for every barrier of every sequence; the oracle has to notice all that it does.
template <class Mutate>
void check_noticed(Mutate mutate) {
  std::size_t tried = 0;
  std::size_t unnoticed = 0;
  for_seeds(kSequences, [&](std::uint64_t seed) {
    const Sample sample(seed);
    INFO("FELSITE_SEED=", seed, "\n", text_of(sample.sequence), text_of(sample.plan));
    Mutations mutations(sample);
    for (std::size_t i = 0; i < sample.plan.barriers.size(); ++i) mutate(mutations, i);
    CHECK(mutations.unnoticed == 0);
    tried += mutations.tried;
    unnoticed += mutations.unnoticed;
  });
  MESSAGE(tried << " mutations, " << unnoticed << " unnoticed");
}

}  // namespace

TEST_CASE("every plan is sound") {
  std::size_t barriers = 0;
  for_seeds(kSequences, [&](std::uint64_t seed) {
    const Sample sample(seed);
    INFO("FELSITE_SEED=", seed, "\n", text_of(sample.sequence), text_of(sample.plan));
    const auto hazards = find_hazards(sample.sequence, sample.plan);
    CHECK(hazards.empty());
    for (const auto& hazard : hazards) MESSAGE(to_string(hazard, sample.sequence));
    barriers += sample.plan.barriers.size();
  });
  MESSAGE(barriers << " barriers");
}

TEST_CASE("every plan is well formed") {
  for_seeds(kSequences, [&](std::uint64_t seed) {
    const Sample sample(seed);
    INFO("FELSITE_SEED=", seed, "\n", text_of(sample.sequence), text_of(sample.plan));
    std::pair<Section, std::uint32_t> last{Section::Prologue, 0};
    for (const PlannedBarrier& barrier : sample.plan.barriers) {
      const std::pair place{barrier.section, barrier.before};
      CHECK(last < place);
      last = place;
      CHECK(barrier.before <= steps_in(sample.sequence, barrier.section));
      // Only the transition from the prologue into a repeated block has to end a section.
      if (barrier.before == steps_in(sample.sequence, barrier.section)) {
        CHECK(barrier.section == Section::Prologue);
        CHECK(sample.sequence.count > 1);
      }
      CHECK(!barrier.from.empty());
      CHECK(!barrier.to.empty());
      for (const Stage stage : kAllStages) {
        if (barrier.writes_from.has(stage)) CHECK(barrier.from.has(stage));
      }
    }
  });
}

TEST_CASE("no barrier can be left out") {
  check_noticed([](Mutations& mutations, std::size_t i) { mutations.remove(i); });
}

TEST_CASE("no stage of a barrier can be left out") {
  check_noticed([](Mutations& mutations, std::size_t i) {
    for (const Stage stage : kAllStages) {
      mutations.remove_stage(i, &PlannedBarrier::from, stage);
      mutations.remove_stage(i, &PlannedBarrier::writes_from, stage);
      mutations.remove_stage(i, &PlannedBarrier::to, stage);
    }
  });
}

TEST_CASE("no barrier can stand one step earlier") {
  check_noticed([](Mutations& mutations, std::size_t i) { mutations.move_up(i); });
}

TEST_CASE("a line has the fewest barriers possible") {
  for_seeds(kSequences, [&](std::uint64_t seed) {
    const Sample sample(seed);
    if (sample.sequence.count > 1) return;
    INFO("FELSITE_SEED=", seed, "\n", text_of(sample.sequence), text_of(sample.plan));
    CHECK(sample.plan.barriers.size() == separate_conflicts(as_one_line(sample.sequence)));
  });
}

TEST_CASE("a block that repeats has at most one barrier more than the fewest possible") {
  std::size_t blocks = 0;
  std::size_t one_more = 0;
  for_seeds(kSequences, [&](std::uint64_t seed) {
    const Sample sample(seed);
    if (sample.sequence.count < 2 || sample.sequence.block.empty()) return;
    INFO("FELSITE_SEED=", seed, "\n", text_of(sample.sequence), text_of(sample.plan));
    const auto count = static_cast<std::size_t>(
        std::ranges::count(sample.plan.barriers, Section::Block, &PlannedBarrier::section));
    const std::size_t fewest = fewest_in_block(sample.sequence.block);
    CHECK(count >= fewest);
    CHECK(count <= fewest + 1);
    ++blocks;
    one_more += count > fewest ? 1 : 0;
  });
  MESSAGE(one_more << " of " << blocks << " blocks have one more");
}

TEST_CASE("from two runs on, the number of runs changes nothing") {
  for_seeds(kSequences, [&](std::uint64_t seed) {
    SequencePlan sequence = RandomSequence(seed).sequence();
    INFO("FELSITE_SEED=", seed, "\n", text_of(sequence));
    sequence.count = 2;
    const BarrierPlan two = plan_barriers(sequence);
    sequence.count = UINT32_MAX;
    CHECK(plan_barriers(sequence).barriers == two.barriers);
  });
}
