// The dispatches of the contract on the caller's bytes: at once, compiled ahead, pending.
#include <utility>

#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/compiled_pipeline.h"
#include "dispatch/facade/host_split.h"
#include "dispatch/facade/pending_work.h"
#include "dispatch/facade/plain_dispatch.h"

namespace felsite {
namespace dispatch {
namespace {

// What the first dispatch would compile, as far as it is known without inputs.
Result<void> compile_ahead(OpenDevice& open, const ir::ValidProgram& program,
                           const DispatchConfig& config) {
  FELSITE_CHECK(check_without_inputs(program, config));
  OneProgram one{.step = {.program = program, .config = config}};
  if (open.profile().grid_sync) {
    FELSITE_CHECK(route_on_any_grid(program, config, open.profile()));
  } else {
    FELSITE_TRY(one.schedule.kernels, kernels_without_inputs(program, config, open.profile()));
  }
  return compile_kernels(open, one);
}

// One plain dispatch, within a call. It is given up soon after `stop` is raised.
Result<DispatchTiming> run_once(const SharedDevice& open, const ir::ValidProgram& program,
                                std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs,
                                const DispatchConfig& config, const base::StopFlag* stop) {
  FELSITE_CHECK(check_slots(inputs, outputs));
  return open->loop_budget_tries.run(program, config, [&](bool can_try) -> Result<DispatchTiming> {
    FELSITE_TRY(auto started, open->with_eviction([&] {
      // A dispatch that was given up keeps reading its inputs, so these must not be
      // memory that the caller may free.
      return PlainDispatch::start(open, program, inputs, config,
                                  /*may_borrow=*/stop == nullptr, can_try);
    }));
    return started.finish(outputs, stop);
  });
}

SegmentRunner split_runner(const SharedDevice& open, const base::StopFlag* stop) {
  return {.run = [open, stop](const ir::Program& segment, std::span<const ByteSpan> inputs,
                              std::vector<Bytes>& outputs,
                              const DispatchConfig& config) -> Result<DispatchTiming> {
            FELSITE_TRY(const auto valid, prepare_program(*open, segment, config));
            return run_once(open, valid, inputs, outputs, config, stop);
          },
          .device = open->profile(),
          .memory_limit = open->service->host_memory_limit(),
          .stop = stop};
}

Result<std::unique_ptr<PendingDispatch>> start_host_split(BackendCore& core,
                                                          const SharedDevice& open,
                                                          const ir::ValidProgram& program,
                                                          std::span<const ByteSpan> inputs,
                                                          const DispatchConfig& config) {
  FELSITE_CHECK(check_host_split(split_runner(open, nullptr), program, inputs, config));
  return start_thread(
      core, open, program.name(), inputs,
      [open, program, config](std::span<const ByteSpan> own, std::vector<Bytes>& slots,
                              const base::StopFlag& stop) {
        return dispatch_host_split(split_runner(open, &stop), program, own, slots, config);
      });
}

}  // namespace
}  // namespace dispatch

using dispatch::SharedDevice;

Result<DispatchTiming> Backend::dispatch_borrowed_into(const ir::Program& program,
                                                       std::span<const ByteSpan> inputs,
                                                       std::vector<Bytes>& outputs,
                                                       const DispatchConfig& config) {
  auto timing = core_->call("dispatch", [&](const SharedDevice& open) -> Result<DispatchTiming> {
    FELSITE_TRY(const auto valid, dispatch::prepare_program(*open, program, config));
    if (!dispatch::is_host_split(valid, config)) {
      return dispatch::run_once(open, valid, inputs, outputs, config, nullptr);
    }
    return dispatch::dispatch_host_split(dispatch::split_runner(open, nullptr), valid, inputs,
                                         outputs, config);
  });
  if (timing) return timing;
  return std::unexpected(base::with_program(std::move(timing.error()), program.name()));
}

Result<std::unique_ptr<PendingDispatch>> Backend::dispatch_borrowed_async(
    const ir::Program& program, std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  using dispatch::PlainDispatch;
  auto pending = core_->call(
      "dispatch_async", [&](const SharedDevice& open) -> Result<std::unique_ptr<PendingDispatch>> {
        FELSITE_TRY(const auto valid, dispatch::prepare_program(*open, program, config));
        if (dispatch::is_host_split(valid, config)) {
          return dispatch::start_host_split(*core_, open, valid, inputs, config);
        }
        FELSITE_TRY(auto started, open->with_eviction([&] {
          return PlainDispatch::start(open, valid, inputs, config,
                                      /*may_borrow=*/false, /*can_try=*/false);
        }));
        return dispatch::make_pending(*core_, open, program.name(), std::move(started));
      });
  if (pending) return pending;
  return std::unexpected(base::with_program(std::move(pending.error()), program.name()));
}

Result<std::unique_ptr<CompiledPipeline>> Backend::compile(const ir::Program& program,
                                                           const DispatchConfig& config) {
  auto compiled = core_->call(
      "compile", [&](const SharedDevice& open) -> Result<std::unique_ptr<CompiledPipeline>> {
        FELSITE_TRY(const auto valid, dispatch::prepare_program(*open, program, config));
        auto owner = open->service->new_owner();
        const dispatch::KernelOwner::Scope scope(owner.get());
        if (auto made = dispatch::compile_ahead(*open, valid, config); !made) {
          if (owner != nullptr) open->drop_unwanted(*owner);
          return std::unexpected(std::move(made.error()));
        }
        const bool one_by_one =
            open->service->runs_in_wait() || dispatch::is_host_split(valid, config);
        return dispatch::make_pipeline(*this, core_->link(), open, std::move(owner), program,
                                       config, one_by_one);
      });
  if (compiled) return compiled;
  return std::unexpected(base::with_program(std::move(compiled.error()), program.name()));
}

Result<bool> Backend::cooperative_grid_sync_fits(const ir::Program& program,
                                                 const DispatchConfig& config) const {
  auto fits =
      core_->call("cooperative_grid_sync_fits", [&](const SharedDevice& open) -> Result<bool> {
        FELSITE_TRY(const auto valid, dispatch::prepare_program(*open, program, config));
        FELSITE_CHECK(dispatch::check_without_inputs(valid, config));
        if (!open->profile().grid_sync) return false;
        FELSITE_CHECK(dispatch::route_on_any_grid(valid, config, open->profile()));
        if (dispatch::is_host_split(valid, config)) return false;
        return !config.grid_override || open->service->keeps_grid(valid, *config.grid_override);
      });
  if (fits) return fits;
  return std::unexpected(base::with_program(std::move(fits.error()), program.name()));
}

// The kernels belong to no pipeline, so they stay for later dispatches until they are evicted.
Result<void> Backend::prepare(const ir::Program& program, const DispatchConfig& config) {
  auto made = core_->call("prepare", [&](const SharedDevice& open) -> Result<void> {
    FELSITE_TRY(const auto valid, dispatch::prepare_program(*open, program, config));
    return dispatch::compile_ahead(*open, valid, config);
  });
  if (made) return made;
  return std::unexpected(base::with_program(std::move(made.error()), program.name()));
}

}  // namespace felsite
