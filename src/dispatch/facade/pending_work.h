// Work that was started, as a caller holds it: a plain dispatch, or a submission.
#pragma once

#include <mutex>
#include <optional>

#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/dispatch_thread.h"
#include "felsite/compiled.h"

namespace felsite::dispatch {

// Whose slots the outputs are: figures are kept of those of callers.
enum class Slots : std::uint8_t { Callers, Own };

// `Work` has
//   bool is_done();  // also goes on with what the host submits in pieces
//   Result<DispatchTiming> finish(std::vector<Bytes>& outputs, const base::StopFlag* stop, Slots);
// and gives itself up where it is destroyed before its end.
template <class Work>
struct HeldWork final : Held {
  std::mutex mutex;
  std::optional<Work> work;

  std::optional<Work> take() {
    const std::lock_guard lock(mutex);
    std::optional<Work> taken;
    if (work) taken.emplace(std::move(*work));
    work.reset();
    return taken;
  }
  void release() override { take(); }
  // It is running.
  std::shared_ptr<Recorded> take_user(const Allocation& /*memory*/) override { return nullptr; }
};

template <class Work>
class PendingWork final : public PendingDispatch {
 public:
  PendingWork(BackendLink<BackendCore> link, const SharedDevice& open, std::string_view program,
              Work work)
      : link_(std::move(link)), open_(open), program_(program) {
    held_->work.emplace(std::move(work));
    open->track(held_);
  }
  ~PendingWork() override { held_->release(); }

  bool is_ready() const override {
    const auto ready = link_.call([&](BackendCore&) -> Result<bool> {
      const std::lock_guard lock(held_->mutex);
      return !held_->work || held_->work->is_done();
    });
    return ready.value_or(true);  // the wait reports why
  }

  Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) override {
    auto timing = link_.call([&](BackendCore& core) -> Result<DispatchTiming> {
      auto work = held_->take();
      if (!work) return std::unexpected(results_taken_already());
      // A wait may take hours of iterations, and closing the backend must end it.
      const base::StopFlag stop(&link_.closing());
      return core.call("wait", [&](const SharedDevice& now) -> Result<DispatchTiming> {
        if (now != open_.lock()) {
          return std::unexpected(base::invalid_handle(
              "The work was under way on a device that was lost.", "start it again."));
        }
        return work->finish(outputs, &stop, Slots::Callers);
      });
    });
    if (timing || program_.empty()) return timing;
    return std::unexpected(base::with_program(std::move(timing.error()), program_));
  }

 private:
  const BackendLink<BackendCore> link_;
  const std::weak_ptr<OpenDevice> open_;
  const std::string program_;
  const std::shared_ptr<HeldWork<Work>> held_ = std::make_shared<HeldWork<Work>>();
};

// Work for which the host is needed while it runs.
template <class Run>
Result<std::unique_ptr<PendingDispatch>> start_thread(BackendCore& core, const SharedDevice& open,
                                                      std::string_view program,
                                                      std::span<const ByteSpan> inputs, Run run) {
  FELSITE_TRY(auto ticket, core.enter());
  return start_dispatch_thread(
      inputs, std::move(ticket),
      {.run = [open, run](std::span<const ByteSpan> own, std::vector<Bytes>& slots,
                          const base::StopFlag& stop) -> Result<DispatchTiming> {
         auto timing = run(own, slots, stop);
         if (!timing) return std::unexpected(open->noted(std::move(timing.error())));
         return timing;
       },
       .with_context =
           [program = std::string(program), device = open->profile().name](Error error) {
             if (!program.empty()) error = base::with_program(std::move(error), program);
             return base::with_device(std::move(error), device);
           }});
}

// `program` names it in errors; empty if it is several.
template <class Work>
Result<std::unique_ptr<PendingDispatch>> make_pending(BackendCore& core, const SharedDevice& open,
                                                      std::string_view program, Work work) {
  if (!open->service->runs_in_wait()) {
    return std::make_unique<PendingWork<Work>>(core.link(), open, program, std::move(work));
  }
  const auto shared = std::make_shared<Work>(std::move(work));
  return start_thread(
      core, open, program, {},
      [shared](std::span<const ByteSpan>, std::vector<Bytes>& slots, const base::StopFlag& stop) {
        return shared->finish(slots, &stop, Slots::Own);
      });
}

}  // namespace felsite::dispatch
