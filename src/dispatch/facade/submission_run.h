// A recorded submission that runs.
#pragma once

#include <functional>

#include "base/deadline.h"
#include "dispatch/facade/pending_work.h"

namespace felsite::dispatch {

class SubmissionRun {
 public:
  // Where the recording goes when it can run again; null if it cannot.
  using GiveBack = std::function<void(std::shared_ptr<Recorded>)>;

  // What a submission adds to the timing and the errors of its run. Empty for one program, whose
  // run reports its own iterations.
  struct Steps {
    std::optional<std::uint32_t> iterations{};  // of the repeated steps
    std::vector<ir::Program> programs{};        // by step
    std::vector<std::uint32_t> bounds{};        // by block; 0 for one that cannot end before
  };
  // The uploads are read before it returns. What goes wrong from here on is an error of `finish`,
  // also a timeout of no time, with which nothing starts; only DeviceOutOfMemory comes at once.
  static Result<SubmissionRun> start(SharedDevice open, std::shared_ptr<Recorded> recorded,
                                     std::span<const ByteSpan> uploads,
                                     const std::optional<std::chrono::nanoseconds>& timeout,
                                     Steps steps, GiveBack give_back);
  SubmissionRun(SubmissionRun&&) noexcept = default;
  SubmissionRun& operator=(SubmissionRun&&) = delete;
  ~SubmissionRun();

  bool is_done() { return run_ == nullptr || run_->advance(); }
  Result<DispatchTiming> finish(std::vector<Bytes>& outputs, const base::StopFlag* stop,
                                Slots slots);

 private:
  SubmissionRun(SharedDevice open, std::shared_ptr<Recorded> recorded, GiveBack give_back,
                std::chrono::nanoseconds timeout)
      : open_(std::move(open)),
        recorded_(std::move(recorded)),
        give_back_(std::move(give_back)),
        timeout_(timeout) {}
  void give_back(bool can_run_again);
  void count_iterations(std::span<const BlockTiming> blocks) const;

  SharedDevice open_;  // declared before what it has to outlive
  std::shared_ptr<Recorded> recorded_;
  GiveBack give_back_;
  std::chrono::nanoseconds timeout_;
  Steps steps_;
  std::optional<Error> failed_;  // to start
  std::unique_ptr<Run> run_;
};

}  // namespace felsite::dispatch
