#include <doctest/doctest.h>

#include "dispatch/barriers/barrier_plan.h"
#include "support/sequence_plans.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::plan_barriers;

namespace {

std::string planned(const SequencePlan& sequence) { return text_of(plan_barriers(sequence)); }
std::string planned_line(std::vector<PlannedStep> steps) { return planned(line(std::move(steps))); }

// Only a block, run many times.
std::string planned_block(std::vector<PlannedStep> steps) {
  return planned({{}, std::move(steps), 1000, {}});
}

PlannedStep nothing() { return step_of({}); }

}  // namespace

TEST_CASE("one barrier for each kind of conflict") {
  CHECK(planned_line({kernel({}, {1}), kernel({1}, {})}) == "prologue 1: compute! -> compute\n");
  CHECK(planned_line({kernel({}, {1}), kernel({}, {1})}) == "prologue 1: compute! -> compute\n");
  // Nothing was written that the later step would have to see.
  CHECK(planned_line({kernel({1}, {}), kernel({}, {1})}) == "prologue 1: compute -> compute\n");
  CHECK(planned_line({kernel({1}, {1}), kernel({1}, {1})}) == "prologue 1: compute! -> compute\n");
}

TEST_CASE("no barrier where nothing conflicts") {
  CHECK(planned({}) == "");
  CHECK(planned_line({kernel({1}, {}), kernel({1}, {}), transfer({1}, {})}) == "");
  CHECK(planned_line({kernel({}, {1}), kernel({}, {2}), kernel({}, {3})}) == "");
  CHECK(planned_line({step_of({writes(1, 0, 32)}), step_of({writes(1, 32, 64)})}) == "");
  CHECK(planned_line({step_of({writes(1, 8, 8)}), step_of({writes(1, 0, 64)})}) == "");
  CHECK(planned_line({step_of({writes(1, 0, 64)}), step_of({writes(1, 9, 8)})}) == "");
  CHECK(planned_line({kernel({1, 2}, {1, 2})}) == "");
  CHECK(planned_line({nothing(), nothing()}) == "");
}

TEST_CASE("one shared byte is a conflict, at either end of a buffer's offsets") {
  CHECK(planned_line({step_of({writes(1, 0, 33)}), step_of({reads(1, 32, 64)})}) ==
        "prologue 1: compute! -> compute\n");
  CHECK(planned_line({step_of({reads(1, 32, 64)}), step_of({writes(1, 0, 33)})}) ==
        "prologue 1: compute -> compute\n");
  CHECK(planned_line({step_of({writes(1, UINT64_MAX - 1, UINT64_MAX)}),
                      step_of({reads(1, 0, UINT64_MAX)})}) == "prologue 1: compute! -> compute\n");
  CHECK(planned_line({step_of({writes(UINT32_MAX, 0, 1)}), step_of({reads(UINT32_MAX, 0, 1)})}) ==
        "prologue 1: compute! -> compute\n");
}

TEST_CASE("stages are those of the conflict") {
  CHECK(planned_line({transfer({}, {1}), kernel({1}, {})}) == "prologue 1: transfer! -> compute\n");
  CHECK(planned_line({transfer({1}, {}), kernel({}, {1})}) == "prologue 1: transfer -> compute\n");
  CHECK(planned_line({kernel({}, {1}), step_of(Stage::Host, {1}, {})}) ==
        "prologue 1: compute! -> host\n");
  CHECK(planned_line({step_of(Stage::Host, {}, {1}), kernel({1}, {})}) ==
        "prologue 1: host! -> compute\n");
  CHECK(planned_line({kernel({}, {1}), step_of(Stage::Indirect, {1}, {})}) ==
        "prologue 1: compute! -> indirect\n");
  CHECK(planned_line({step_of(Stage::Indirect, {1}, {}), kernel({}, {1})}) ==
        "prologue 1: indirect -> compute\n");
  CHECK(planned_line({kernel({}, {1}), step_of(Stage::Condition, {1}, {})}) ==
        "prologue 1: compute! -> condition\n");
  CHECK(planned_line({step_of(Stage::Condition, {1}, {}), transfer({}, {1})}) ==
        "prologue 1: condition -> transfer\n");
  // One step with accesses of two stages.
  CHECK(planned_line(
            {kernel({}, {1, 2}), step_of({reads(1, 0, 64, Stage::Indirect), reads(2, 0, 64)})}) ==
        "prologue 1: compute! -> compute indirect\n");
}

TEST_CASE("a barrier stands right after the earlier step") {
  CHECK(planned_line({nothing(), kernel({}, {1}), nothing(), nothing(), kernel({1}, {})}) ==
        "prologue 2: compute! -> compute\n");
}

TEST_CASE("conflicts that overlap share a barrier") {
  CHECK(planned_line({kernel({}, {1}), kernel({}, {2}), kernel({1}, {}), kernel({2}, {})}) ==
        "prologue 2: compute! -> compute\n");
  CHECK(planned_line({transfer({}, {1}), kernel({}, {2}), kernel({1}, {}), transfer({2}, {})}) ==
        "prologue 2: compute! transfer! -> compute transfer\n");
  CHECK(planned_line({kernel({1}, {}), transfer({}, {2}), kernel({2}, {1})}) ==
        "prologue 2: compute transfer! -> compute\n");
  // A reduction tree of depth 2 over four leaves.
  CHECK(planned_line({kernel({}, {1}), kernel({}, {2}), kernel({}, {3}), kernel({}, {4}),
                      kernel({1, 2}, {5}), kernel({3, 4}, {6}), kernel({5, 6}, {7})}) ==
        "prologue 4: compute! -> compute\nprologue 6: compute! -> compute\n");
}

TEST_CASE("conflicts one after the other each have a barrier") {
  CHECK(planned_line({kernel({}, {1}), kernel({1}, {2}), kernel({2}, {3})}) ==
        "prologue 1: compute! -> compute\nprologue 2: compute! -> compute\n");
  CHECK(planned_line({kernel({}, {1}), kernel({1}, {}), kernel({}, {2}), kernel({2}, {})}) ==
        "prologue 1: compute! -> compute\nprologue 3: compute! -> compute\n");
}

TEST_CASE("a conflict widens no barrier if another one fits as it is") {
  // Buffer 3 could be served before step 1 as well, but the barrier before step 3 fits.
  CHECK(planned_line({kernel({}, {2, 3}), kernel({2}, {}), kernel({}, {4}), transfer({4}, {}),
                      transfer({3}, {})}) ==
        "prologue 1: compute! -> compute\nprologue 3: compute! -> transfer\n");
}

TEST_CASE("barriers do not chain") {
  // Each later step is ordered after the transfer for itself, not by way of the one between.
  CHECK(
      planned_line({transfer({}, {1}), step_of({writes(1, 0, 32)}), step_of({reads(1, 0, 64)})}) ==
      "prologue 1: transfer! -> compute\nprologue 2: compute! -> compute\n");
  CHECK(planned_line({transfer({}, {1}), kernel({1}, {2}), step_of(Stage::Host, {1, 2}, {})}) ==
        "prologue 1: transfer! -> compute host\nprologue 2: compute! -> host\n");
}

TEST_CASE("a block conflicts with its own next run, if it has one") {
  SequencePlan sequence{{}, {kernel({}, {1})}, 0, {}};
  CHECK(planned(sequence) == "");
  sequence.count = 1;
  CHECK(planned(sequence) == "");
  sequence.count = 2;
  CHECK(planned(sequence) == "block 0: compute! -> compute\n");
  sequence.count = 1000;
  CHECK(planned(sequence) == "block 0: compute! -> compute\n");
  CHECK(planned_block({kernel({1}, {})}) == "");
  CHECK(planned_block({kernel({1}, {}), nothing(), transfer({1}, {})}) == "");
}

TEST_CASE("ping-pong between two buffers") {
  CHECK(planned_block({kernel({1}, {2}), kernel({2}, {1})}) ==
        "block 0: compute! -> compute\nblock 1: compute! -> compute\n");
}

TEST_CASE("a read that the next run overwrites needs no sight of anything") {
  CHECK(planned_block({transfer({}, {1}), kernel({1}, {})}) ==
        "block 0: compute transfer! -> transfer\nblock 1: transfer! -> compute\n");
}

TEST_CASE("the block's inner barriers serve its next run where they can") {
  CHECK(planned_block({kernel({}, {1}), kernel({1}, {}), kernel({}, {2}), kernel({2}, {})}) ==
        "block 1: compute! -> compute\nblock 3: compute! -> compute\n");
  // Here they need sight of writes only because of the next run.
  CHECK(planned_block({kernel({1}, {}), kernel({}, {1}), kernel({2}, {}), kernel({}, {2})}) ==
        "block 1: compute! -> compute\nblock 3: compute! -> compute\n");
}

TEST_CASE("what happens once does not widen the block's barriers") {
  SequencePlan sequence{{transfer({}, {1})}, {kernel({1}, {2})}, 1000, {transfer({2}, {})}};
  CHECK(planned(sequence) ==
        "prologue 1: transfer! -> compute\nblock 0: compute! -> compute\n"
        "epilogue 0: compute! -> transfer\n");
  sequence.count = 1;
  CHECK(planned(sequence) == "block 0: transfer! -> compute\nepilogue 0: compute! -> transfer\n");
  sequence.count = 0;
  CHECK(planned(sequence) == "");
}

TEST_CASE("the block's barriers serve the prologue and the epilogue where they fit") {
  // In the first run, before the step that reads.
  CHECK(planned({{kernel({}, {1})}, {kernel({1}, {2})}, 5, {}}) ==
        "block 0: compute! -> compute\n");
  // Too late for step 0, which reads buffer 9.
  CHECK(planned({{kernel({}, {9})}, {kernel({9}, {1}), kernel({1}, {}), nothing()}, 5, {}}) ==
        "prologue 1: compute! -> compute\nblock 0: compute -> compute\n"
        "block 1: compute! -> compute\n");
  // In the last run, after the step that writes.
  CHECK(planned({{}, {kernel({}, {1}), kernel({1}, {})}, 5, {kernel({1}, {})}}) ==
        "block 0: compute -> compute\nblock 1: compute! -> compute\n");
  // Too early for step 1, which writes.
  CHECK(planned({{}, {kernel({}, {1}), kernel({1}, {2})}, 5, {nothing(), kernel({2}, {})}}) ==
        "block 0: compute -> compute\nblock 1: compute! -> compute\n"
        "epilogue 0: compute! -> compute\n");
  // Between prologue and epilogue, any of them.
  CHECK(planned({{kernel({}, {9})}, {kernel({}, {1})}, 5, {kernel({9}, {})}}) ==
        "block 0: compute! -> compute\n");
  CHECK(planned({{transfer({}, {9})}, {kernel({}, {1})}, 5, {kernel({9}, {})}}) ==
        "prologue 1: transfer! -> compute\nblock 0: compute! -> compute\n");
}

TEST_CASE("the prologue's barriers serve the block and the epilogue where they fit") {
  CHECK(
      planned(
          {{transfer({}, {1, 2, 3}), kernel({1}, {})}, {kernel({2}, {})}, 5, {kernel({3}, {})}}) ==
      "prologue 1: transfer! -> compute\n");
  // Uploads end in one barrier, not in one each.
  CHECK(planned({{transfer({}, {1}), transfer({}, {2}), transfer({}, {3})},
                 {kernel({1}, {}), kernel({2}, {})},
                 5,
                 {kernel({3}, {})}}) == "prologue 3: transfer! -> compute\n");
}

TEST_CASE("a run of the block, or none, is planned as one line") {
  const SequencePlan once{{kernel({}, {1})}, {nothing(), kernel({1}, {2})}, 1, {kernel({2}, {})}};
  CHECK(planned(once) == "block 0: compute! -> compute\nepilogue 0: compute! -> compute\n");
  SequencePlan folded{{kernel({}, {1}), nothing()}, {nothing()}, 1, {nothing(), kernel({1}, {})}};
  CHECK(planned(folded) == "prologue 1: compute! -> compute\n");
  folded.count = 0;
  CHECK(planned(folded) == "prologue 1: compute! -> compute\n");
  folded.prologue.pop_back();
  CHECK(planned(folded) == "epilogue 0: compute! -> compute\n");
  folded.count = 1;
  CHECK(planned(folded) == "block 0: compute! -> compute\n");
}

TEST_CASE("sections without steps") {
  CHECK(planned({{}, {}, 1000, {}}) == "");
  CHECK(planned({{kernel({}, {1})}, {}, 1000, {kernel({1}, {})}}) ==
        "epilogue 0: compute! -> compute\n");
  CHECK(planned({{}, {}, 1000, {kernel({}, {1}), kernel({1}, {})}}) ==
        "epilogue 1: compute! -> compute\n");
  CHECK(planned({{}, {nothing()}, 1000, {kernel({}, {1}), kernel({1}, {})}}) ==
        "epilogue 1: compute! -> compute\n");
}

TEST_CASE("ranges are distinguished, however they overlap") {
  // A halo exchange: each half reads one byte of the other's.
  CHECK(planned_line({step_of({writes(1, 0, 32)}), step_of({writes(1, 32, 64)}),
                      step_of({reads(1, 0, 33), writes(2, 0, 32)}),
                      step_of({reads(1, 31, 64), writes(2, 32, 64)})}) ==
        "prologue 2: compute! -> compute\n");
  // The write of the middle leaves both ends as the transfer wrote them.
  const std::vector<PlannedStep> writers = {step_of({writes(1, 0, 64, Stage::Transfer)}),
                                            step_of({writes(1, 16, 48)})};
  const std::string first = "prologue 1: transfer! -> compute\n";
  CHECK(planned_line({writers[0], writers[1], step_of({reads(1, 0, 16)})}) == first);
  CHECK(planned_line({writers[0], writers[1], step_of({reads(1, 48, 64)})}) == first);
  CHECK(planned_line({writers[0], writers[1], step_of({reads(1, 47, 64)})}) ==
        first + "prologue 2: compute! -> compute\n");
}
