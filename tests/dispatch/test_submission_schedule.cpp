// How the steps of a submission become stages: which share one, what the host has to look at, and
// what is refused.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dispatch/forms/submission_schedule.h"
#include "support/results.h"
#include "support/run_program.h"
#include "support/schedule_of.h"

using namespace felsite;
using namespace felsite::test;

namespace {

using dispatch::BlockRepeat;
using dispatch::BufferRef;
using dispatch::SubmissionSchedule;
using dispatch::SubmittedBlock;
using dispatch::SubmittedStep;
using Kind = BlockRepeat::Kind;

const char* const kGrow =
    "program grow workgroup(4) { readwrite x: u32[16]; x[invocation.x] = 1; }";
const char* const kSync =
    "program sync workgroup(4) { readwrite x: u32[16]; let y = x[invocation.x]; gridsync;"
    " x[15 - invocation.x] = y; }";
// Only the device knows how often it goes round.
const char* const kWalk =
    "program walk workgroup(4) { readwrite x: u32[16]; let end = x[0]; gridsync;"
    " loop k in 0..end { x[invocation.x] = k; gridsync; } }";

// A step whose schedule is made when its turn comes.
const char* const kLate = nullptr;

// All steps are on one buffer of 64 bytes, from a byte of it on.
SubmittedStep made_step(const char* text, const DeviceProfile& device, std::uint32_t number = 0,
                        std::uint64_t offset = 0) {
  const BufferRef whole{0, offset, 64};
  if (text == kLate) {
    return {.schedule = {},
            .memory = {whole},
            .caller_step = number,
            .is_late = true,
            .changed = {whole}};
  }
  DispatchConfig config;
  config.grid_override = {4, 1, 1};
  if (text != kGrow) config.grid_sync = GridSync::Resident;
  const Bytes x(64);
  const std::vector<ByteSpan> inputs{x};
  SubmittedStep step{
      .schedule = must(schedule_of(valid_program(text), inputs, config, device)).schedule,
      .caller_step = number};
  step.memory = {whole};
  return step;
}

// "stage 0: 3 steps, then 5 × 1; stage 1: 1 step, then a walk; loop over 1 to 2, at most 7 times".
std::string text_of(const SubmissionSchedule& made) {
  std::string text;
  for (std::size_t i = 0; i < made.stages.size(); ++i) {
    const dispatch::Schedule& schedule = made.stages[i].schedule;
    text += fmt::format("{}stage {}: {}", i == 0 ? "" : "; ", i, schedule.prefix.size());
    if (made.stages[i].late_step) text += fmt::format(", late step {}", *made.stages[i].late_step);
    if (schedule.watch && schedule.count == UINT32_MAX) {
      text += ", then a walk";
    } else if (!schedule.repeated.empty()) {
      text += fmt::format(", then {}{} × {}", schedule.watch ? "at most " : "", schedule.count,
                          schedule.repeated.size());
    }
    for (const auto& outcome : made.stages[i].outcomes) {
      if (outcome.block != ir::kNone) text += fmt::format(", tells of block {}", outcome.block);
    }
  }
  for (const auto& loop : made.loops) {
    text += fmt::format("; loop over {} to {}, at most {} times{}", loop.first, loop.end - 1,
                        loop.bound, loop.changed ? ", looks" : "");
  }
  if (!made.shared.empty()) text += fmt::format("; {} shared", made.shared.size());
  return text;
}

std::string stages(std::vector<std::pair<std::vector<const char*>, BlockRepeat>> given,
                   const DeviceProfile& device = profile_for_schedules(), bool has_flag = false,
                   bool reads = false) {
  std::vector<SubmittedBlock> blocks;
  std::uint32_t number = 0;
  for (const auto& [texts, repeat] : given) {
    SubmittedBlock& block = blocks.emplace_back();
    block.repeat = repeat;
    if (repeat.kind == Kind::UntilFlag && has_flag) block.flag = BufferRef{0, 0, 4};
    for (const char* const text : texts) block.steps.push_back(made_step(text, device, number++));
  }
  const std::vector<std::uint64_t> memory{64};
  return text_of(must(make_submission_schedule(std::move(blocks), memory, device, reads)));
}

}  // namespace

TEST_CASE("stages: what needs no look of the host is one of them") {
  CHECK(stages({}) == "stage 0: 0");
  CHECK(stages({{{}, {}}, {{}, {Kind::Times, 5}}}) == "stage 0: 0");
  CHECK(stages({{{kGrow, kGrow}, {}}, {{kGrow}, {Kind::Times, 5}}}) == "stage 0: 2, then 5 × 1");
  CHECK(stages({{{kGrow}, {}}, {{kSync}, {}}, {{kGrow}, {Kind::Times, 1}}}) == "stage 0: 4");
  CHECK(stages({{{kGrow}, {Kind::Times, 0}}, {{kGrow}, {}}}) == "stage 0: 1");
  // Clear and look around each of both iterations.
  CHECK(stages({{{kGrow}, {}}, {{kGrow}, {Kind::UntilFlag, 2}}, {{kGrow}, {}}},
               profile_for_schedules(), true) == "stage 0: 8, tells of block 1");
}

TEST_CASE("stages: steps behind repeated ones are in the next") {
  CHECK(stages({{{kGrow}, {Kind::Times, 2}}, {{kGrow}, {}}}) ==
        "stage 0: 0, then 2 × 1; stage 1: 1");
  CHECK(stages({{{kGrow}, {Kind::Times, 2}}, {{kGrow, kGrow}, {Kind::Times, 3}}}) ==
        "stage 0: 0, then 2 × 1; stage 1: 0, then 3 × 2");
}

TEST_CASE("stages: iterations that fit are in the prefix, others are repeated and watched") {
  // The state before, and for each iteration the step and a comparison; 64 of them fit.
  CHECK(stages({{{kGrow}, {Kind::UntilUnchanged, 1}}}) == "stage 0: 3, tells of block 0");
  CHECK(stages({{{kGrow}, {Kind::UntilUnchanged, 64}}}) == "stage 0: 129, tells of block 0");
  CHECK(stages({{{kGrow}, {Kind::UntilUnchanged, 65}}, {{kGrow}, {}}}) ==
        "stage 0: 4, then at most 1 × 129, tells of block 0; stage 1: 1");
  CHECK(stages({{{kGrow}, {Kind::UntilUnchanged, 200}}}) ==
        "stage 0: 18, then at most 3 × 129, tells of block 0");
}

TEST_CASE("stages: a walk ends one, and the host repeats what contains it") {
  const std::string once = stages({{{kGrow, kWalk, kGrow}, {}}});
  CHECK(once == "stage 0: 1, then a walk; stage 1: 1");
  CHECK(stages({{{kWalk, kWalk}, {}}}) == "stage 0: 0, then a walk; stage 1: 0, then a walk");
  CHECK(stages({{{kGrow}, {}}, {{kGrow, kWalk}, {Kind::Times, 7}}, {{kGrow}, {}}}) ==
        "stage 0: 1; stage 1: 1, then a walk; stage 2: 1; loop over 1 to 1, at most 7 times");
  CHECK(
      stages({{{kWalk, kGrow}, {Kind::UntilFlag, 9}}}, profile_for_schedules(), true) ==
      "stage 0: 0; stage 1: 1, then a walk; stage 2: 2; loop over 1 to 2, at most 9 times, looks");
  // Fills and uploads come before, in a stage that does not repeat.
  CHECK(stages({{{kWalk}, {Kind::Times, 3}}}) ==
        "stage 0: 0; stage 1: 0, then a walk; loop over 1 to 1, at most 3 times");
  // The state before is kept for all iterations, and so it belongs to no stage.
  CHECK(stages({{{kWalk}, {Kind::UntilUnchanged, 9}}}) ==
        "stage 0: 1; stage 1: 0, then a walk; stage 2: 1; loop over 1 to 2, at most 9 times, looks"
        "; 2 shared");
}

TEST_CASE("stages: what is read is read once, behind stages that the host repeats") {
  const auto reading = [](std::vector<std::pair<std::vector<const char*>, BlockRepeat>> blocks) {
    return stages(std::move(blocks), profile_for_schedules(), false, /*reads=*/true);
  };
  CHECK(reading({{{kWalk}, {Kind::Times, 3}}}) ==
        "stage 0: 0; stage 1: 0, then a walk; stage 2: 0; loop over 1 to 1, at most 3 times");
  // The last stage does not repeat.
  CHECK(reading({{{kWalk}, {Kind::Times, 3}}, {{kGrow}, {}}}) ==
        "stage 0: 0; stage 1: 0, then a walk; stage 2: 1; loop over 1 to 1, at most 3 times");
  CHECK(reading({{{kWalk}, {}}}) == "stage 0: 0, then a walk");
  CHECK(reading({{{kGrow}, {Kind::Times, 3}}}) == "stage 0: 0, then 3 × 1");
}

TEST_CASE("stages: a step that is made late is a stage between two others") {
  CHECK(stages({{{kLate}, {}}}) == "stage 0: 0; stage 1: 0, late step 0; stage 2: 0");
  CHECK(stages({{{kGrow, kLate, kLate, kGrow}, {}}, {{kGrow}, {Kind::Times, 5}}}) ==
        "stage 0: 1; stage 1: 0, late step 1; stage 2: 0, late step 2; stage 3: 1, then 5 × 1");
  CHECK(stages({{{kLate}, {Kind::Times, 7}}, {{kGrow}, {}}}) ==
        "stage 0: 0; stage 1: 0, late step 0; stage 2: 0; stage 3: 1; loop over 1 to 2, at most 7 "
        "times");
  CHECK(stages({{{kGrow, kLate, kGrow}, {Kind::UntilFlag, 9}}}, profile_for_schedules(), true) ==
        "stage 0: 0; stage 1: 2; stage 2: 0, late step 1; stage 3: 2; loop over 1 to 3, at most 9 "
        "times, looks");
  CHECK(
      stages({{{kLate}, {Kind::UntilUnchanged, 9}}}) ==
      "stage 0: 1; stage 1: 0, late step 0; stage 2: 1; loop over 1 to 2, at most 9 times, looks; "
      "2 shared");
}

TEST_CASE("stages: steps keep their numbers, and memory is where it was bound") {
  const DeviceProfile device = profile_for_schedules();
  std::vector<SubmittedBlock> blocks(1);
  blocks[0].steps.push_back(made_step(kGrow, device, 0));
  blocks[0].steps.push_back(made_step(kSync, device, 1, 128));
  const std::vector<std::uint64_t> memory{256};
  const SubmissionSchedule made = must(make_submission_schedule(std::move(blocks), memory, device));
  REQUIRE(made.stages.size() == 1);
  const dispatch::Schedule& schedule = made.stages[0].schedule;
  CHECK(made.stages[0].memory_count == 1);
  REQUIRE(schedule.prefix.size() == 3);
  CHECK(schedule.prefix[0].caller_step == 0);
  CHECK(schedule.prefix[0].buffers[0] == BufferRef{0, 0, 64});
  for (const std::size_t i : {1u, 2u}) {
    CHECK(schedule.prefix[i].caller_step == 1);
    CHECK(schedule.prefix[i].buffers[0] == BufferRef{0, 128, 64});
    REQUIRE(schedule.prefix[i].segment.has_value());
    CHECK(schedule.prefix[i].segment->index == i - 1);
    // What it spills is behind the memory of the submission.
    CHECK(schedule.prefix[i].buffers.back().buffer >= 1);
  }
}

TEST_CASE("stages: what needs more memory than there is, in all stages together, is refused") {
  DeviceProfile device = profile_for_schedules();
  const auto attempt = [&](std::uint64_t bytes, std::uint32_t steps) {
    std::vector<SubmittedBlock> blocks(1);
    for (std::uint32_t i = 0; i < steps; ++i)
      blocks[0].steps.push_back(made_step(kSync, device, i));
    DeviceProfile small = device;
    small.memory_bytes = bytes;
    const std::vector<std::uint64_t> memory{64};
    return make_submission_schedule(std::move(blocks), memory, small);
  };
  const SubmissionSchedule one = must(attempt(0, 1));
  std::uint64_t own = 0;
  for (std::size_t i = 1; i < one.stages[0].schedule.buffers.size(); ++i) {
    own += one.stages[0].schedule.buffers[i].bytes;
  }
  REQUIRE(own > 0);
  CHECK(attempt(3 * own, 3).has_value());
  const auto refused = attempt(3 * own - 1, 3);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::DeviceOutOfMemory);
  CHECK(refused.error().context.requested == 3 * own);
  CHECK(refused.error().context.available == 3 * own - 1);
  CHECK_FALSE(refused.error().fix.empty());
}
