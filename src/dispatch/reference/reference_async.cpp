// Asynchronous dispatches of the reference backend: each has its own thread.
#include "base/try.h"
#include "dispatch/reference/reference_backend.h"
#include "dispatch/reference/reference_run.h"

namespace felsite::dispatch {

Result<std::unique_ptr<PendingDispatch>> Reference::dispatch_borrowed_async(
    const ir::Program& program, std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  auto pending = call("dispatch_async", [&]() -> Result<std::unique_ptr<PendingDispatch>> {
    FELSITE_TRY(auto interpreter, interpreter_for(program, config));
    // What the caller did wrong is an error of this call; what happens while it runs, of the wait.
    FELSITE_TRY(const auto runner, split_runner(interpreter->program(), config, nullptr));
    FELSITE_CHECK(
        runner ? check_host_split(*runner, interpreter->program(), inputs, config)
               : ReferenceRun(*interpreter, config, options_).plan(inputs, {}, memory_limit()));
    FELSITE_TRY(auto ticket, gate_->enter());
    const auto in_flight = std::make_shared<Counted>(in_flight_);
    return start_dispatch_thread(
        inputs, std::move(ticket),
        {.run =
             [this, interpreter = std::move(interpreter), config, in_flight](
                 std::span<const ByteSpan> own, std::vector<Bytes>& slots,
                 const base::StopFlag& stop) {
               return run(*interpreter, own, slots, config, Slots::Own, &stop);
             },
         .with_context =
             [program](Error error) { return on_reference(std::move(error), program); }});
  });
  if (!pending) return std::unexpected(on_reference(std::move(pending.error()), program));
  return pending;
}

}  // namespace felsite::dispatch
