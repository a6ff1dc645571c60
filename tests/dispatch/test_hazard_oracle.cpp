#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "support/hazard_oracle.h"
#include "support/sequence_plans.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::find_hazards;
using dispatch::Hazard;
using dispatch::StepPlace;

namespace {

PlannedBarrier barrier(Section section, std::uint32_t before, StageSet from, StageSet writes_from,
                       StageSet to) {
  return {section, before, from, writes_from, to};
}
PlannedBarrier between_kernels(Section section, std::uint32_t before) {
  return barrier(section, before, Stage::Compute, Stage::Compute, Stage::Compute);
}

StageSet both(Stage a, Stage b) {
  StageSet set = a;
  set |= b;
  return set;
}

std::string text_of(const std::vector<Hazard>& hazards, const SequencePlan& sequence) {
  std::string text;
  for (const Hazard& hazard : hazards) text += to_string(hazard, sequence) + "\n";
  return text;
}

void check_silent(const SequencePlan& sequence, const std::vector<PlannedBarrier>& barriers) {
  const auto hazards = find_hazards(sequence, {barriers});
  INFO(text_of(hazards, sequence));
  CHECK(hazards.empty());
}

void check_one(const SequencePlan& sequence, const std::vector<PlannedBarrier>& barriers,
               std::string_view expected) {
  const auto hazards = find_hazards(sequence, {barriers});
  INFO(text_of(hazards, sequence));
  REQUIRE(hazards.size() == 1);
  CHECK(to_string(hazards[0], sequence) == expected);
}

// By brute force: all steps and barriers in a row, and every pair of accesses with all that stands
// between them.
class Pairwise {
 public:
  Pairwise(const SequencePlan& sequence, const BarrierPlan& plan, std::uint32_t most_runs)
      : plan_(plan) {
    lay_out(Section::Prologue, 0, sequence.prologue);
    for (std::uint32_t run = 0; run < std::min(sequence.count, most_runs); ++run) {
      lay_out(Section::Block, run, sequence.block);
    }
    lay_out(Section::Epilogue, 0, sequence.epilogue);
  }

  std::vector<Hazard> hazards() const {
    std::vector<Hazard> hazards;
    for (std::size_t i = 0; i < row_.size(); ++i) {
      for (std::size_t j = i + 1; j < row_.size(); ++j) {
        if (row_[i].step == nullptr || row_[j].step == nullptr) continue;
        for (const BufferAccess& a : row_[i].step->accesses) {
          for (const BufferAccess& b : row_[j].step->accesses) compare(i, a, j, b, hazards);
        }
      }
    }
    return hazards;
  }

 private:
  // A step or a barrier.
  struct Item {
    StepPlace place;
    const PlannedStep* step;
    const PlannedBarrier* barrier;
  };

  void lay_out(Section section, std::uint32_t run, const std::vector<PlannedStep>& steps) {
    for (std::uint32_t at = 0; at <= steps.size(); ++at) {
      for (const PlannedBarrier& barrier : plan_.barriers) {
        if (barrier.section != section || barrier.before != at) continue;
        row_.push_back({{}, nullptr, &barrier});
      }
      if (at < steps.size()) row_.push_back({{section, run, at}, &steps[at], nullptr});
    }
  }

  void compare(std::size_t i, const BufferAccess& a, std::size_t j, const BufferAccess& b,
               std::vector<Hazard>& hazards) const {
    if (a.buffer != b.buffer || (!a.writes && !b.writes)) return;
    const std::uint64_t begin = std::max(a.begin, b.begin);
    const std::uint64_t end = std::min(a.end, b.end);
    if (begin >= end) return;
    for (std::size_t between = i + 1; between < j; ++between) {
      const PlannedBarrier* barrier = row_[between].barrier;
      if (barrier == nullptr || !barrier->from.has(a.stage) || !barrier->to.has(b.stage)) continue;
      if (!a.writes || barrier->writes_from.has(a.stage)) return;
    }
    hazards.push_back({row_[i].place, row_[j].place, a.buffer, begin, end, a.writes, b.writes});
  }

  const BarrierPlan& plan_;
  std::vector<Item> row_;
};

// All that a hazard says, so that two lists can be compared whatever their order.
std::vector<std::string> sorted_texts(const std::vector<Hazard>& hazards,
                                      const SequencePlan& sequence) {
  std::vector<std::string> texts;
  for (const Hazard& hazard : hazards) texts.push_back(to_string(hazard, sequence));
  std::ranges::sort(texts);
  return texts;
}

}  // namespace

TEST_CASE("a read of what was written, with no barrier") {
  SequencePlan sequence = line({kernel({}, {7}), kernel({7}, {})});
  sequence.prologue[0].name = "scatter";
  sequence.prologue[1].name = "sum";
  check_one(sequence, {},
            "RAW on bytes [0, 64) of buffer 7: step 0 `scatter` of the prologue writes them, step "
            "1 `sum` of the prologue reads them, and no barrier orders the two.");
  const auto hazards = find_hazards(sequence, {});
  REQUIRE(hazards.size() == 1);
  CHECK(hazards[0].earlier == StepPlace{Section::Prologue, 0, 0});
  CHECK(hazards[0].later == StepPlace{Section::Prologue, 0, 1});
  CHECK(hazards[0].earlier_writes);
  CHECK(!hazards[0].later_writes);
}

TEST_CASE("the other two kinds, and only the bytes that both touch") {
  check_one(line({step_of({reads(1, 0, 40)}), step_of({writes(1, 32, 64)})}), {},
            "WAR on bytes [32, 40) of buffer 1: step 0 `hand-made` of the prologue reads them, "
            "step 1 `hand-made` of the prologue writes them, and no barrier orders the two.");
  check_one(line({step_of({writes(1, 8, 16)}), step_of({writes(1, 0, 64)})}), {},
            "WAW on bytes [8, 16) of buffer 1: step 0 `hand-made` of the prologue writes them, "
            "step 1 `hand-made` of the prologue writes them, and no barrier orders the two.");
}

TEST_CASE("what is no conflict is no hazard") {
  check_silent({}, {});
  check_silent(line({kernel({1}, {}), kernel({1}, {}), transfer({1}, {})}), {});
  check_silent(line({kernel({}, {1}), kernel({}, {2})}), {});
  check_silent(line({step_of({writes(1, 0, 32)}), step_of({writes(1, 32, 64)})}), {});
  check_silent(line({step_of({writes(1, 8, 8)}), step_of({writes(1, 0, 64)})}), {});
  check_silent(line({step_of({writes(1, 9, 8)}), step_of({writes(1, 0, 64)})}), {});
  check_silent(line({kernel({1}, {1})}), {});
}

TEST_CASE("a barrier has to stand between the two") {
  const SequencePlan sequence = line({kernel({}, {2}), kernel({}, {1}), kernel({1}, {}), {}});
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 0)}}).size() == 1);
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 1)}}).size() == 1);
  check_silent(sequence, {between_kernels(Section::Prologue, 2)});
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 3)}}).size() == 1);
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 4)}}).size() == 1);
  // Places that the section does not have.
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 5)}}).size() == 1);
  CHECK(find_hazards(sequence, {{between_kernels(Section::Block, 2)}}).size() == 1);
}

TEST_CASE("a barrier's stages have to fit") {
  const SequencePlan raw = line({transfer({}, {1}), kernel({1}, {})});
  const Stage t = Stage::Transfer;
  const Stage c = Stage::Compute;
  check_silent(raw, {barrier(Section::Prologue, 1, t, t, c)});
  CHECK(find_hazards(raw, {{barrier(Section::Prologue, 1, t, {}, c)}}).size() == 1);
  CHECK(find_hazards(raw, {{barrier(Section::Prologue, 1, c, c, c)}}).size() == 1);
  CHECK(find_hazards(raw, {{barrier(Section::Prologue, 1, t, t, t)}}).size() == 1);
  // `writes_from` alone does not wait for anything.
  CHECK(find_hazards(raw, {{barrier(Section::Prologue, 1, {}, t, c)}}).size() == 1);

  const SequencePlan war = line({transfer({1}, {}), kernel({}, {1})});
  check_silent(war, {barrier(Section::Prologue, 1, t, {}, c)});
  const SequencePlan waw = line({transfer({}, {1}), kernel({}, {1})});
  check_silent(waw, {barrier(Section::Prologue, 1, t, t, c)});
  CHECK(find_hazards(waw, {{barrier(Section::Prologue, 1, t, {}, c)}}).size() == 1);
}

TEST_CASE("two barriers do not make a chain") {
  const Stage t = Stage::Transfer;
  const Stage c = Stage::Compute;
  const Stage h = Stage::Host;
  const SequencePlan sequence = line({transfer({}, {1}), {}, step_of(h, {1}, {})});
  const std::vector<PlannedBarrier> chain = {barrier(Section::Prologue, 1, t, t, c),
                                             barrier(Section::Prologue, 2, c, c, h)};
  CHECK(find_hazards(sequence, {chain}).size() == 1);
  // Nor do two at one place add up to what neither of them says.
  CHECK(find_hazards(sequence, {{barrier(Section::Prologue, 1, t, t, c),
                                 barrier(Section::Prologue, 1, c, c, h)}})
            .size() == 1);
  check_silent(sequence, {barrier(Section::Prologue, 1, both(t, c), both(t, c), both(c, h))});
}

TEST_CASE("a write in between hides no earlier one") {
  const SequencePlan sequence = line({transfer({}, {1}), kernel({}, {1}), kernel({1}, {})});
  const Stage t = Stage::Transfer;
  const Stage c = Stage::Compute;
  CHECK(find_hazards(sequence, {}).size() == 3);
  CHECK(find_hazards(sequence, {{barrier(Section::Prologue, 2, c, c, c)}}).size() == 2);
  CHECK(find_hazards(sequence, {{barrier(Section::Prologue, 1, t, t, c)}}).size() == 1);
  check_silent(sequence,
               {barrier(Section::Prologue, 1, t, t, c), barrier(Section::Prologue, 2, c, c, c)});
}

TEST_CASE("a block against its own next run") {
  SequencePlan sequence{{}, {kernel({}, {1})}, 1, {}};
  check_silent(sequence, {});
  sequence.count = 2;
  check_one(
      sequence, {},
      "WAW on bytes [0, 64) of buffer 1: step 0 `hand-made` of the block (run 0) writes them, "
      "step 0 `hand-made` of the block (run 1) writes them, and no barrier orders the two.");
  sequence.count = 1000;
  CHECK(find_hazards(sequence, {}).size() == 3);
  check_silent(sequence, {between_kernels(Section::Block, 0)});
  check_silent(sequence, {between_kernels(Section::Block, 1)});
  CHECK(find_hazards(sequence, {{between_kernels(Section::Prologue, 0)}}).size() == 3);
}

TEST_CASE("a block that runs zero times does not exist, nor do its barriers") {
  SequencePlan sequence{{kernel({}, {1})}, {kernel({}, {1})}, 0, {kernel({1}, {})}};
  CHECK(find_hazards(sequence, {}).size() == 1);
  CHECK(find_hazards(sequence, {{between_kernels(Section::Block, 0)}}).size() == 1);
  check_silent(sequence, {between_kernels(Section::Prologue, 1)});
  check_silent(sequence, {between_kernels(Section::Epilogue, 0)});
}

TEST_CASE("from section to section") {
  SequencePlan sequence{{transfer({}, {1})}, {kernel({1}, {2})}, 1, {transfer({2}, {})}};
  const Stage t = Stage::Transfer;
  const Stage c = Stage::Compute;
  check_one(
      sequence, {barrier(Section::Block, 0, t, t, c)},
      "RAW on bytes [0, 64) of buffer 2: step 0 `hand-made` of the block (run 0) writes them, "
      "step 0 `hand-made` of the epilogue reads them, and no barrier orders the two.");
  check_one(sequence, {barrier(Section::Block, 1, c, c, t)},
            "RAW on bytes [0, 64) of buffer 1: step 0 `hand-made` of the prologue writes them, "
            "step 0 `hand-made` of the block (run 0) reads them, and no barrier orders the two.");
  check_silent(sequence,
               {barrier(Section::Block, 0, t, t, c), barrier(Section::Block, 1, c, c, t)});
}

TEST_CASE("a hazard of a step that is not there still has a text") {
  const Hazard hazard{{Section::Block, 2, 9}, {Section::Epilogue, 0, 4}, 3, 1, 2, false, true};
  CHECK(to_string(hazard, {}) ==
        "WAR on bytes [1, 2) of buffer 3: step 9 of the block (run 2) reads them, step 4 of the "
        "epilogue writes them, and no barrier orders the two.");
}

TEST_CASE("random sequences with random barriers: the hazards that all pairs show, and no others") {
  std::size_t found = 0;
  std::size_t silent = 0;
  for_seeds(8000, [&](std::uint64_t seed) {
    RandomSequence random(seed);
    const SequencePlan sequence = random.sequence();
    const BarrierPlan plan = random.barriers();
    INFO("FELSITE_SEED=", seed, "\n", test::text_of(sequence), test::text_of(plan));
    const auto hazards = find_hazards(sequence, plan);
    CHECK(sorted_texts(hazards, sequence) ==
          sorted_texts(Pairwise(sequence, plan, 3).hazards(), sequence));
    // More runs show nothing that three do not.
    CHECK(hazards.empty() == Pairwise(sequence, plan, 6).hazards().empty());
    found += hazards.size();
    silent += hazards.empty() ? 1 : 0;
  });
  MESSAGE(found << " hazards; " << silent << " plans with none");
}
