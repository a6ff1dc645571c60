#include "dispatch/facade/dispatch_thread.h"

#include <optional>
#include <system_error>
#include <thread>

#include "base/errors.h"
#include "base/guarded.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

// Shared by the thread and the waiter; the last of them destroys it.
struct Shared {
  explicit Shared(const std::atomic<bool>& closing) : stop(&closing) {}

  std::vector<Bytes> inputs;
  std::optional<ThreadWork> work;  // used by the thread alone, and destroyed before `done` is set
  std::function<Error(Error)> with_context;
  std::vector<Bytes> results;
  Result<DispatchTiming> timing;
  base::StopFlag stop;
  std::atomic<bool> done{false};
};

// An exception must not leave a thread.
void run(Shared& shared) noexcept {
  const HostSlice slice("dispatch");
  shared.timing = base::guarded([&] {
    const std::vector<ByteSpan> inputs(shared.inputs.begin(), shared.inputs.end());
    return shared.work->run(inputs, shared.results, shared.stop);
  });
}

class DispatchThread final : public PendingDispatch {
 public:
  explicit DispatchThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~DispatchThread() override { shared_->stop.drop(); }

  bool is_ready() const override { return shared_->done.load(std::memory_order_acquire); }

  Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) override {
    const HostSlice slice("wait");
    auto taken = base::guarded([&] { return take(outputs); });
    if (!taken) return std::unexpected(shared_->with_context(std::move(taken.error())));
    return taken;
  }

 private:
  Result<DispatchTiming> take(std::vector<Bytes>& outputs) {
    if (waited_.exchange(true)) return std::unexpected(results_taken_already());
    shared_->done.wait(false, std::memory_order_acquire);
    if (!shared_->timing) return std::unexpected(std::move(shared_->timing.error()));
    std::vector<std::uint64_t> sizes;
    for (const Bytes& result : shared_->results) sizes.push_back(result.size());
    count_slots(outputs, sizes);
    outputs.resize(sizes.size());
    // Copied, not moved, to reuse the caller's allocations.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      outputs[i].assign(shared_->results[i].begin(), shared_->results[i].end());
      count(Counter::SlotBytesCopied, sizes[i]);
    }
    return std::move(shared_->timing);
  }

  const std::shared_ptr<Shared> shared_;
  std::atomic<bool> waited_{false};
};

}  // namespace

Result<std::unique_ptr<PendingDispatch>> start_dispatch_thread(std::span<const ByteSpan> inputs,
                                                               CallGate::Ticket ticket,
                                                               ThreadWork work) {
  auto shared = std::make_shared<Shared>(ticket.closing());
  for (const ByteSpan input : inputs) shared->inputs.emplace_back(input.begin(), input.end());
  shared->with_context = std::move(work.with_context);
  shared->work.emplace(std::move(work));
  auto pending = std::make_unique<DispatchThread>(shared);
  try {
    // Nobody joins the thread: the ticket tells the backend when it is done.
    std::thread([shared, ticket = std::move(ticket)]() mutable {
      const CallGate::Ticket held = std::move(ticket);
      run(*shared);
      shared->work.reset();
      shared->done.store(true, std::memory_order_release);
      shared->done.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return std::unexpected(
        base::dispatch_failed("The system has no thread left for the dispatch.",
                              "wait for some of the dispatches that are in flight."));
  }
  return pending;
}

}  // namespace felsite::dispatch
