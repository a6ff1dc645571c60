// The plain dispatches of the Vulkan backend: immediate, compiled, batched, pending.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/host_memory.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/schedule/schedule.h"
#include "vk/plain_dispatch.h"
#include "vk/schedule/materialize.h"
#include "vk/vulkan_backend.h"

namespace felsite::vk {
namespace {

// What the first dispatch would compile, as far as it is known without inputs.
Result<void> make_kernels(Engine& engine, const ir::ValidProgram& program,
                          const DispatchConfig& config) {
  FELSITE_CHECK(dispatch::check_without_inputs(program, config));
  FELSITE_TRY(const auto kernels,
              dispatch::kernels_without_inputs(program, config, engine.profile()));
  for (const dispatch::ScheduledKernel& kernel : kernels) {
    FELSITE_CHECK(compile(engine.pipelines(), kernel));
  }
  return {};
}

Error went_with_device() {
  return base::invalid_handle("The dispatch was under way on a device that was lost.",
                              "dispatch it again.");
}

// A dispatch that a caller holds until it waits for it.
struct HeldDispatch final : Engine::Held {
  std::mutex mutex;
  std::optional<PlainDispatch> dispatch;

  std::optional<PlainDispatch> take() {
    const std::lock_guard lock(mutex);
    std::optional<PlainDispatch> taken;
    if (dispatch) taken.emplace(std::move(*dispatch));
    dispatch.reset();
    return taken;
  }
  void release() override { take(); }
  // Its buffers belong to the dispatch, so no caller frees them.
  std::shared_ptr<Recording> take_user(const Buffer& /*buffer*/) override { return nullptr; }
};

class VulkanPending final : public PendingDispatch {
 public:
  VulkanPending(dispatch::BackendLink<VulkanBackend> link, const std::shared_ptr<Engine>& engine,
                const ir::Program& program, PlainDispatch dispatch)
      : link_(std::move(link)), engine_(engine), program_(program) {
    held_->dispatch.emplace(std::move(dispatch));
    engine->track(held_);
  }
  ~VulkanPending() override { held_->release(); }

  bool is_ready() const override {
    const auto ready = link_.call([&](VulkanBackend&) -> Result<bool> {
      const std::lock_guard lock(held_->mutex);
      return !held_->dispatch || held_->dispatch->is_done();
    });
    return ready.value_or(true);  // the wait reports why
  }

  Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) override {
    auto timing = link_.call([&](VulkanBackend& backend) -> Result<DispatchTiming> {
      auto dispatch = held_->take();
      if (!dispatch) return std::unexpected(dispatch::results_taken_already());
      // A wait may take hours of iterations, and closing the backend must end it.
      const base::StopFlag stop(&link_.closing());
      return backend.call("wait",
                          [&](const std::shared_ptr<Engine>& now) -> Result<DispatchTiming> {
                            if (now != engine_.lock()) return std::unexpected(went_with_device());
                            return dispatch->finish(outputs, &stop);
                          });
    });
    if (!timing)
      return std::unexpected(base::with_program(std::move(timing.error()), program_.name()));
    return timing;
  }

 private:
  const dispatch::BackendLink<VulkanBackend> link_;
  const std::weak_ptr<Engine> engine_;
  const ir::Program program_;
  const std::shared_ptr<HeldDispatch> held_ = std::make_shared<HeldDispatch>();
};

class VulkanPipeline final : public CompiledPipeline {
 public:
  // `use` holds the kernels that were compiled for it.
  VulkanPipeline(dispatch::BackendLink<VulkanBackend> link, const std::shared_ptr<Engine>& engine,
                 std::unique_ptr<KernelUse> use, const ir::Program& program, DispatchConfig config,
                 bool on_host)
      : link_(std::move(link)),
        engine_(engine),
        use_(std::move(use)),
        program_(program),
        config_(std::move(config)),
        is_host_split_(on_host) {}
  // Kernels that others use stay until they are evicted.
  ~VulkanPipeline() override {
    recorded_.clear();
    static_cast<void>(link_.call([&](VulkanBackend&) -> Result<void> {
      if (const auto engine = engine_.lock()) engine->drop_unwanted(*use_);
      return {};
    }));
  }

  const ir::Program& program() const override { return program_; }

  Result<DispatchTiming> dispatch_borrowed_into(std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs) override {
    const KernelUse::Scope scope(*use_);
    return known(link_.call([&](VulkanBackend& backend) {
      return backend.dispatch_borrowed_into(program_, inputs, outputs, config_);
    }));
  }

  Result<std::vector<std::vector<Bytes>>> dispatch_batch(
      std::span<const std::vector<ByteSpan>> inputs) override {
    const KernelUse::Scope scope(*use_);
    return known(link_.call([&](VulkanBackend& backend) { return batch_on(backend, inputs); }));
  }

  Result<DispatchTiming> dispatch_resident(std::span<const ResidentResource> resources) override {
    const KernelUse::Scope scope(*use_);
    return known(link_.call([&](VulkanBackend& backend) {
      if (dispatch::manages_iterations(program_, config_)) {
        return backend.dispatch_resident_iterations(program_, resources, config_);
      }
      return run_recorded(backend, resources);
    }));
  }

 private:
  static constexpr std::size_t kMaxRecorded = 4;
  struct Recorded {
    std::vector<ResidentResource> resources;
    std::shared_ptr<RecordedSequence> sequence;
  };

  template <class Value>
  Result<Value> known(Result<Value> result) const {
    if (result) return result;
    return std::unexpected(base::with_program(std::move(result.error()), program_.name()));
  }

  // All are submitted before the first wait.
  Result<std::vector<std::vector<Bytes>>> batch_on(VulkanBackend& backend,
                                                   std::span<const std::vector<ByteSpan>> inputs) {
    std::vector<std::vector<Bytes>> outputs(inputs.size());
    if (is_host_split_) {  // the host runs them one after the other
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        FELSITE_TRY(auto done,
                    backend.dispatch_borrowed_into(program_, inputs[i], outputs[i], config_));
      }
      return outputs;
    }
    std::vector<std::unique_ptr<PendingDispatch>> pending;
    for (const std::vector<ByteSpan>& set : inputs) {
      FELSITE_TRY(auto started, backend.dispatch_borrowed_async(program_, set, config_));
      pending.push_back(std::move(started));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      FELSITE_CHECK(pending[i]->wait_into(outputs[i]));
    }
    return outputs;
  }

  // Keeps the recordings of the last resources: a pipeline mostly runs on the same ones, or
  // alternates between two sets.
  Result<DispatchTiming> run_recorded(VulkanBackend& backend,
                                      std::span<const ResidentResource> resources) {
    std::shared_ptr<RecordedSequence> recorded = find(resources);
    if (recorded == nullptr) {
      FELSITE_TRY(recorded, record(backend, resources));
    }
    std::vector<Bytes> nothing;
    auto timing = recorded->run_into(nothing);
    if (!timing) forget(recorded);
    return timing;
  }

  std::shared_ptr<RecordedSequence> find(std::span<const ResidentResource> resources) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(recorded_, [&](const Recorded& other) {
      return std::ranges::equal(resources, other.resources);
    });
    if (found == recorded_.end()) return nullptr;
    std::rotate(recorded_.begin(), found, std::next(found));
    return recorded_.front().sequence;
  }

  // After a timeout the queue owns the recording, so the next dispatch needs a new one.
  void forget(const std::shared_ptr<RecordedSequence>& recorded) {
    const std::lock_guard lock(mutex_);
    std::erase_if(recorded_, [&](const Recorded& other) { return other.sequence == recorded; });
  }

  Result<std::shared_ptr<RecordedSequence>> record(VulkanBackend& backend,
                                                   std::span<const ResidentResource> resources) {
    const ResidentStep step = dispatch::step_of(program_, resources, config_);
    FELSITE_TRY(auto made,
                backend.record_resident({.prefix = {&step, 1}}, {.timeout = config_.timeout,
                                                                 .profile = config_.profile,
                                                                 .label = config_.label}));
    std::shared_ptr<RecordedSequence> recorded = std::move(made);
    const std::lock_guard lock(mutex_);
    recorded_.insert(recorded_.begin(), {step.resources, recorded});
    if (recorded_.size() > kMaxRecorded) recorded_.pop_back();
    return recorded;
  }

  const dispatch::BackendLink<VulkanBackend> link_;
  const std::weak_ptr<Engine> engine_;  // that it was compiled on
  const std::unique_ptr<KernelUse> use_;
  const ir::Program program_;
  const DispatchConfig config_;
  const bool is_host_split_;
  std::mutex mutex_;
  std::vector<Recorded> recorded_;  // the most recently used first
};

}  // namespace

Result<DispatchTiming> VulkanBackend::run_once(const std::shared_ptr<Engine>& engine,
                                               const ir::ValidProgram& program,
                                               std::span<const ByteSpan> inputs,
                                               std::vector<Bytes>& outputs,
                                               const DispatchConfig& config,
                                               const base::StopFlag* stop) {
  FELSITE_CHECK(dispatch::check_slots(inputs, outputs));
  while (true) {
    FELSITE_TRY(auto started, with_eviction(*engine, [&] {
                  // An abandoned dispatch keeps reading its inputs, so these must not be memory
                  // that the caller may free.
                  return PlainDispatch::start(engine, program, inputs, config,
                                              /*may_borrow=*/stop == nullptr);
                }));
    auto finished = started.finish(outputs, stop);
    const bool again = !finished && started.was_attempt() &&
                       finished.error().code == ErrorCode::LoopBudgetExceeded;
    if (!again) return finished;
  }
}

dispatch::SegmentRunner VulkanBackend::split_runner(std::shared_ptr<Engine> engine,
                                                    const base::StopFlag* stop) {
  const std::uint64_t binding = engine->device().snapshot().limits.storage_buffer_range;
  return {.run = [this, engine = std::move(engine), stop](
                     const ir::Program& segment, std::span<const ByteSpan> inputs,
                     std::vector<Bytes>& outputs,
                     const DispatchConfig& config) -> Result<DispatchTiming> {
            FELSITE_TRY(const auto valid, prepare_program(*engine, segment, config));
            return run_once(engine, valid, inputs, outputs, config, stop);
          },
          .memory_limit = base::default_memory_limit(),
          .binding_limit = binding,
          .stop = stop};
}

Result<DispatchTiming> VulkanBackend::dispatch_borrowed_into(const ir::Program& program,
                                                             std::span<const ByteSpan> inputs,
                                                             std::vector<Bytes>& outputs,
                                                             const DispatchConfig& config) {
  auto timing =
      call("dispatch", [&](const std::shared_ptr<Engine>& engine) -> Result<DispatchTiming> {
        FELSITE_TRY(const auto valid, prepare_program(*engine, program, config));
        if (!dispatch::is_host_split(valid, config)) {
          return run_once(engine, valid, inputs, outputs, config, nullptr);
        }
        return dispatch::dispatch_host_split(split_runner(engine, nullptr), valid, inputs, outputs,
                                             config);
      });
  if (!timing)
    return std::unexpected(base::with_program(std::move(timing.error()), program.name()));
  return timing;
}

// The host passes buffers from segment to segment, so this needs a thread.
Result<std::unique_ptr<PendingDispatch>> VulkanBackend::start_host_split(
    const std::shared_ptr<Engine>& engine, const ir::ValidProgram& program,
    std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  FELSITE_CHECK(dispatch::check_host_split(split_runner(engine, nullptr), program, inputs, config));
  FELSITE_TRY(auto ticket, gate_->enter());
  return dispatch::start_dispatch_thread(
      inputs, std::move(ticket),
      {.run = [this, engine, program, config](
                  std::span<const ByteSpan> own, std::vector<Bytes>& slots,
                  const base::StopFlag& stop) -> Result<DispatchTiming> {
         auto timing = dispatch::dispatch_host_split(split_runner(engine, &stop), program, own,
                                                     slots, config);
         if (!timing) return std::unexpected(engine->noted(std::move(timing.error())));
         return timing;
       },
       .with_context =
           [program, device = engine->profile().name](Error error) {
             error.context.device = device;
             return base::with_program(std::move(error), program.name());
           }});
}

Result<std::unique_ptr<PendingDispatch>> VulkanBackend::dispatch_borrowed_async(
    const ir::Program& program, std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  auto pending =
      call("dispatch_async",
           [&](const std::shared_ptr<Engine>& engine) -> Result<std::unique_ptr<PendingDispatch>> {
             FELSITE_TRY(auto prepared, prepare_program(*engine, program, config));
             if (dispatch::is_host_split(prepared, config)) {
               return start_host_split(engine, prepared, inputs, config);
             }
             FELSITE_TRY(auto started, with_eviction(*engine, [&] {
                           return PlainDispatch::start(engine, prepared, inputs, config,
                                                       /*may_borrow=*/false);
                         }));
             return std::make_unique<VulkanPending>(link(), engine, program, std::move(started));
           });
  if (!pending)
    return std::unexpected(base::with_program(std::move(pending.error()), program.name()));
  return pending;
}

Result<std::unique_ptr<CompiledPipeline>> VulkanBackend::compile(const ir::Program& program,
                                                                 const DispatchConfig& config) {
  auto compiled = call(
      "compile",
      [&](const std::shared_ptr<Engine>& engine) -> Result<std::unique_ptr<CompiledPipeline>> {
        FELSITE_TRY(auto prepared, prepare_program(*engine, program, config));
        auto use = std::make_unique<KernelUse>();
        const KernelUse::Scope scope(*use);
        if (auto made = make_kernels(*engine, prepared, config); !made) {
          engine->drop_unwanted(*use);
          return std::unexpected(std::move(made.error()));
        }
        return std::make_unique<VulkanPipeline>(link(), engine, std::move(use), program, config,
                                                dispatch::is_host_split(prepared, config));
      });
  if (!compiled)
    return std::unexpected(base::with_program(std::move(compiled.error()), program.name()));
  return compiled;
}

// The kernels belong to no pipeline, so they stay for later dispatches until they are evicted.
Result<void> VulkanBackend::prepare(const ir::Program& program, const DispatchConfig& config) {
  auto made = call("prepare", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    FELSITE_TRY(auto prepared, prepare_program(*engine, program, config));
    return make_kernels(*engine, prepared, config);
  });
  if (!made) return std::unexpected(base::with_program(std::move(made.error()), program.name()));
  return made;
}

}  // namespace felsite::vk
