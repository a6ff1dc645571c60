// Dispatches under way on the reference backend: each has a thread of its own.
#include <atomic>
#include <system_error>
#include <thread>

#include "dispatch/counters.h"
#include "dispatch/reference_backend.h"
#include "dispatch/reference_run.h"

namespace felsite::dispatch {
namespace {

class ReferencePending final : public PendingDispatch {
 public:
  ReferencePending(Reference& backend, const ir::Program& program,
                   std::shared_ptr<const reference::Interpreter> interpreter,
                   std::span<const ByteSpan> inputs, DispatchConfig config)
      : backend_(backend),
        program_(program),
        interpreter_(std::move(interpreter)),
        config_(std::move(config)) {
    for (const ByteSpan input : inputs) inputs_.emplace_back(input.begin(), input.end());
  }

  // The ticket keeps a shutdown waiting until the work is done. Apart from the constructor, since
  // the thread needs the whole object.
  void start(CallGate::Ticket ticket, Counted in_flight) {
    in_flight_.emplace(std::move(in_flight));
    thread_ = std::jthread([this, ticket = std::move(ticket)] { work(); });
  }

  bool is_ready() const override { return done_.load(std::memory_order_acquire); }

  Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) override {
    const HostSlice slice("wait");
    auto taken = base::guarded([&] { return take(outputs); });
    if (!taken) return std::unexpected(on_reference(std::move(taken.error()), program_));
    return taken;
  }

 private:
  Result<DispatchTiming> take(std::vector<Bytes>& outputs) {
    if (waited_.exchange(true)) return std::unexpected(results_taken_already());
    done_.wait(false, std::memory_order_acquire);
    if (!timing_) return std::unexpected(std::move(timing_.error()));
    std::vector<std::uint64_t> sizes;
    for (const Bytes& result : results_) sizes.push_back(result.size());
    count_slots(outputs, sizes);
    outputs.resize(results_.size());
    // Copied, not moved: the caller's allocations are to be used again.
    for (std::size_t i = 0; i < results_.size(); ++i) {
      outputs[i].assign(results_[i].begin(), results_[i].end());
    }
    return std::move(timing_);
  }

  // On a thread of its own, out of which nothing may be thrown.
  void work() noexcept {
    const HostSlice slice("dispatch");
    timing_ = base::guarded([&] {
      const std::vector<ByteSpan> inputs(inputs_.begin(), inputs_.end());
      return backend_.run(*interpreter_, inputs, results_, config_, Reference::Slots::Own);
    });
    if (!timing_) timing_ = std::unexpected(on_reference(std::move(timing_.error()), program_));
    in_flight_.reset();  // before anybody can know that it is done
    done_.store(true, std::memory_order_release);
    done_.notify_all();
  }

  Reference& backend_;
  const ir::Program program_;
  const std::shared_ptr<const reference::Interpreter> interpreter_;
  const DispatchConfig config_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> results_;
  Result<DispatchTiming> timing_;
  std::optional<Counted> in_flight_;
  std::atomic<bool> done_{false};
  std::atomic<bool> waited_{false};
  std::jthread thread_;  // the last: joined before anything it uses goes
};

}  // namespace

Result<std::unique_ptr<PendingDispatch>> Reference::dispatch_borrowed_async(
    const ir::Program& program, std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  auto pending = call("dispatch_async", [&]() -> Result<std::unique_ptr<PendingDispatch>> {
    auto interpreter = interpreter_for(program, config);
    if (!interpreter) return std::unexpected(std::move(interpreter.error()));
    // What the caller did wrong is said at once; what happens while it runs, by the wait.
    ReferenceRun check(**interpreter, config, options_);
    if (auto planned = check.plan(inputs, {}, memory_limit()); !planned) {
      return std::unexpected(std::move(planned.error()));
    }
    auto ticket = gate_.enter();
    if (!ticket) return std::unexpected(std::move(ticket.error()));
    auto dispatch =
        std::make_unique<ReferencePending>(*this, program, std::move(*interpreter), inputs, config);
    try {
      dispatch->start(std::move(*ticket), Counted(in_flight_));
    } catch (const std::system_error&) {
      return std::unexpected(Error{.code = ErrorCode::DispatchFailed,
                                   .message = "The system has no thread left for the dispatch.",
                                   .fix = "wait for some of the dispatches that are in flight.",
                                   .context = {}});
    }
    return dispatch;
  });
  if (!pending) return std::unexpected(on_reference(std::move(pending.error()), program));
  return pending;
}

}  // namespace felsite::dispatch
