// One dispatch on the caller's bytes: it is checked, bound to buffers, run and read back.
#pragma once

#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/routing.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// A program with its configuration, checked as far as that goes without inputs.
Result<ir::ValidProgram> prepare_program(Engine& engine, const ir::Program& program,
                                         const DispatchConfig& config);

// A dispatch that was submitted. When it is done, its buffers and commands return to the engine for
// the next dispatch of the same shape.
class PlainDispatch {
 public:
  // The inputs are read before it returns, unless `may_borrow`: then they must stay until `finish`
  // is back.
  static Result<PlainDispatch> start(std::shared_ptr<Engine> engine, ir::ValidProgram program,
                                     std::span<const ByteSpan> inputs, const DispatchConfig& config,
                                     bool may_borrow);
  // After LoopBudgetExceeded: whether it can run again in segments, with the same inputs. Only with
  // `may_borrow`, when the caller still has them.
  bool was_attempt() const { return is_attempt_; }
  PlainDispatch(PlainDispatch&&) noexcept = default;
  PlainDispatch& operator=(PlainDispatch&&) = delete;
  ~PlainDispatch();

  // Also submits the next part of a watched run.
  bool is_done();
  // `stop`: as in Engine::finish; only without `may_borrow`.
  Result<DispatchTiming> finish(std::vector<Bytes>& outputs, const base::StopFlag* stop = nullptr);

 private:
  PlainDispatch(std::shared_ptr<Engine> engine, ir::ValidProgram program,
                dispatch::BindingPlan plan, const DispatchConfig& config)
      : engine_(std::move(engine)),
        program_(std::move(program)),
        plan_(std::move(plan)),
        config_(config) {}
  Result<void> bind(std::span<const ByteSpan> inputs, const Extent3& grid, bool may_borrow);
  Result<dispatch::Schedule> make_schedule(const Extent3& grid) const;
  std::vector<ProgramBuffer> buffers_of(const dispatch::Schedule& schedule,
                                        std::span<const SharedKernel> kernels) const;
  Result<Sequence> make_sequence(const dispatch::Schedule& schedule,
                                 std::span<const ByteSpan> inputs, bool may_borrow);
  Result<void> read_flag(Bytes& out) const;
  Result<void> read_outputs(std::vector<Bytes>& outputs);
  bool is_flag(ir::BufferId id) const;

  std::shared_ptr<Engine> engine_;
  ir::ValidProgram program_;
  dispatch::BindingPlan plan_;
  DispatchConfig config_;
  bool can_try_ = false;
  bool is_attempt_ = false;
  ir::Fingerprint key_{};
  bool is_pooled_ = true;       // false if it uses the caller's memory
  std::vector<bool> borrowed_;  // by BufferId: whether it is the caller's memory
  std::optional<Running> running_;
  std::vector<Bytes> unbound_outputs_;  // by output: contents of those that the kernel does not use
};

}  // namespace felsite::vk
