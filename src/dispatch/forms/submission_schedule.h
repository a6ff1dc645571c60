// Many programs as one submission: the schedules of its steps, and of its blocks of steps, put
// together into stages that a device runs one after the other.
#pragma once

#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {

// How often a block of steps runs.
struct BlockRepeat {
  enum class Kind : std::uint8_t {
    Times,           // `bound` times
    UntilFlag,       // until an iteration leaves the flag zero, at most `bound` times
    UntilUnchanged,  // until an iteration changes none of the memory, at most `bound` times
  };
  Kind kind = Kind::Times;
  std::uint32_t bound = 1;
  bool converges() const { return kind != Kind::Times; }
};

// A step with its own schedule, and where its buffers lie in the memory of the submission.
struct SubmittedStep {
  Schedule schedule;
  std::vector<BufferRef> memory{};  // by BufferId
  std::uint32_t caller_step = 0;
  // It is all of this block, whose iterations are in its schedule.
  std::optional<std::uint32_t> iterates_block{};
  // It gets a stage of its own, whose schedule is made when its turn comes.
  bool is_late = false;
  std::vector<BufferRef> changed{};  // the memory that such a step may change
};

struct SubmittedBlock {
  std::vector<SubmittedStep> steps;
  BlockRepeat repeat{};
  std::optional<BufferRef> flag{};  // words, cleared before each iteration
};

// Where to read, after a stage has run, what a block did.
struct BlockOutcome {
  static constexpr std::uint32_t kNoBlock = ir::kNone;  // it only counts launches
  std::uint32_t block = kNoBlock;
  IterationOutcome outcome{};
};

// A schedule whose first buffers are the memory of the submission, in all stages.
struct SubmissionStage {
  Schedule schedule{};
  std::optional<std::uint32_t>
      late_step{};               // by number; the schedule is empty. Never the first or last
  std::size_t memory_count = 0;  // of the submission's memory, with what is shared, so far
  std::vector<BlockOutcome> outcomes{};
};

// Stages that the host runs again and again, since only the device knows how long each of them
// takes: it looks after each iteration.
struct HostLoop {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // the stage after them
  std::uint32_t block = 0;
  std::uint32_t bound = 1;
  // In the last of the stages: not zero if another iteration has to run. Absent: all of them run.
  std::optional<BufferRef> changed{};
};

struct SubmissionSchedule {
  std::vector<SubmissionStage> stages;
  std::vector<HostLoop> loops;  // in order, apart from each other
  // Memory that several stages use, behind that of the submission.
  std::vector<PlannedBuffer> shared;
};

// `memory`: the sizes of what the steps refer to. Steps without a device's own walk are put
// together into as few stages as possible; all blocks whose iterations fit are in one.
// `reads`: whether something is read behind the last stage, which then runs only once.
Result<SubmissionSchedule> make_submission_schedule(std::vector<SubmittedBlock> blocks,
                                                    std::span<const std::uint64_t> memory,
                                                    const DeviceProfile& device,
                                                    bool reads = false);

}  // namespace felsite::dispatch
