// A submission in recordings, one for each of its stages, and a run of them.
#pragma once

#include "dispatch/contract/service.h"
#include "vk/record/engine.h"

namespace felsite::vk {

class RecordedSubmission final : public dispatch::Recorded {
 public:
  static Result<std::shared_ptr<dispatch::Recorded>> make(Engine& engine,
                                                          dispatch::Submission submission);

  bool uses(const dispatch::Allocation& memory) const override;
  bool uses(const dispatch::CompiledKernel& kernel) const override;
  std::uint64_t own_bytes() const override;
  std::vector<std::uint64_t> read_sizes() const override;
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const override;

  const Sequence& first() const { return stages_.front().recording->sequence(); }

 private:
  friend class SubmittedRun;
  struct Stage {
    // Null while it runs, and after a run was given up.
    std::shared_ptr<Recording> recording{};
    std::vector<dispatch::BlockOutcome> outcomes{};
    // It is recorded when its turn comes, for the words that were there then.
    std::optional<dispatch::LateStage> late{};
    std::vector<dispatch::MemoryRange> memory{};
    std::optional<Bytes> words{};
  };

  RecordedSubmission() = default;
  // Records a late stage, unless it is recorded already for the words that are there now.
  static Result<void> make_ready(Engine& engine, Stage& stage);
  // What the last iteration of one program left in its flag.
  Result<std::vector<std::uint32_t>> flag_words() const;

  std::vector<Stage> stages_;
  std::vector<dispatch::HostLoop> loops_;
  std::vector<BlockTiming> block_timings_;
  std::uint32_t step_count_ = 0;
  // The caller's flag, if iterations worked on words of their own instead of it.
  std::optional<BufferSlice> flag_;
};

// Stages are submitted together, up to one of which the device alone knows how long it takes, or
// which is more than one submission holds.
class SubmittedRun final : public dispatch::Run {
 public:
  static Result<std::unique_ptr<dispatch::Run>> start(std::shared_ptr<Engine> engine,
                                                      std::shared_ptr<RecordedSubmission> recorded,
                                                      std::span<const ByteSpan> uploads);
  ~SubmittedRun() override;

  bool advance() override;
  Result<DispatchTiming> wait(std::chrono::nanoseconds timeout,
                              const base::StopFlag* stop) override;
  bool was_given_up() const override;

 private:
  SubmittedRun(std::shared_ptr<Engine> engine, std::shared_ptr<RecordedSubmission> recorded);
  std::vector<std::shared_ptr<Recording>> take_together();
  Result<void> submit(std::span<const ByteSpan> uploads);
  Result<bool> settle();
  Result<void> note_outcomes(std::uint32_t stage, DispatchTiming timing);
  Result<void> note_program(const Recording& recording);
  void add_steps(const Sequence& sequence, std::span<const std::uint64_t> step_ns);
  Result<void> write_flag();
  // After this stage the host has to look before it goes on.
  const dispatch::HostLoop* loop_after(std::uint32_t stage) const;

  struct InFlight {
    std::uint32_t stage = 0;
    Running running;
  };

  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<RecordedSubmission> recorded_;
  std::vector<InFlight> in_flight_;  // in order; the last one may need the host
  std::uint32_t next_ = 0;           // the stage to submit
  std::uint32_t loop_runs_ = 0;      // of the loop that the next stage is in
  std::optional<Error> failed_;      // found by `advance`, for the wait
  DispatchTiming timing_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace felsite::vk
