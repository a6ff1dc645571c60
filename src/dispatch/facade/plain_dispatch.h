// One dispatch on the caller's bytes: it is checked, bound to memory, run and read back.
#pragma once

#include "dispatch/facade/pending_work.h"
#include "dispatch/facade/placed_step.h"

namespace felsite::dispatch {

// A dispatch that was started. When it is done, its memory and commands return to the device for
// the next dispatch of the same shape.
class PlainDispatch {
 public:
  // The inputs are read before it returns, unless `may_borrow`: then they must stay until `finish`
  // is back. `program` as prepare_program gives it, `can_try` as RouteFacts has it. The caller's
  // errors and DeviceOutOfMemory come at once, all others from `finish`.
  static Result<PlainDispatch> start(std::shared_ptr<OpenDevice> open, ir::ValidProgram program,
                                     std::span<const ByteSpan> inputs, const DispatchConfig& config,
                                     bool may_borrow, bool can_try);
  PlainDispatch(PlainDispatch&&) noexcept = default;
  PlainDispatch& operator=(PlainDispatch&&) = delete;

  // Also goes on with work that the host submits in pieces.
  bool is_done() { return run_ == nullptr || run_->advance(); }
  // `stop`: as in Run::wait; only without `may_borrow`.
  Result<DispatchTiming> finish(std::vector<Bytes>& outputs, const base::StopFlag* stop,
                                Slots slots = Slots::Callers);

 private:
  PlainDispatch(std::shared_ptr<OpenDevice> open, PlacedStep step, bool can_try)
      : open_(std::move(open)), program_{.step = std::move(step)}, can_try_(can_try) {}
  void place_grid(const Extent3& first);
  Result<void> choose_form(std::span<const ByteSpan> inputs);
  Result<void> bind(std::span<const ByteSpan> inputs, bool may_borrow);
  Result<void> make_schedule();
  Result<std::shared_ptr<Recorded>> record(std::span<const ByteSpan> inputs, bool may_borrow);
  Result<void> place(ir::BufferId id, bool is_written, std::span<const ByteSpan> inputs,
                     bool may_borrow, Submission& submission);
  std::vector<CompiledKernel::Use> bound_buffers() const;
  Result<void> read_outputs(std::vector<Bytes>& outputs, Slots slots);
  bool has_input(ir::BufferId id) const;
  bool is_flag(ir::BufferId id) const { return id == flag_; }

  std::shared_ptr<OpenDevice> open_;  // declared before what it has to outlive
  OneProgram program_;
  const bool can_try_;
  std::optional<ir::BufferId> flag_;
  std::optional<RouteChoice> by_contents_;  // the form, where it depends on the inputs
  ir::Fingerprint key_{};
  bool is_pooled_ = true;       // false if it uses the caller's memory
  std::vector<bool> borrowed_;  // by BufferId: whether it is the caller's memory
  std::shared_ptr<Recorded> recorded_;
  std::vector<CompiledKernel::Use> bound_;  // the program's buffers that have memory
  std::unique_ptr<Run> run_;
  std::optional<Error> failed_;         // to start, which `finish` reports
  std::vector<Bytes> unbound_outputs_;  // by output: contents of those that the kernel does not use
};

}  // namespace felsite::dispatch
