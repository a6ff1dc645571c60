#include "dispatch/facade/compiled_pipeline.h"

#include <algorithm>

#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/resident_iterations.h"

namespace felsite::dispatch {
namespace {

class Pipeline final : public CompiledPipeline {
 public:
  Pipeline(Backend& backend, BackendLink<BackendCore> link, const SharedDevice& open,
           std::unique_ptr<KernelOwner> owner, const ir::Program& program, DispatchConfig config,
           bool one_by_one)
      : backend_(backend),
        link_(std::move(link)),
        open_(open),
        owner_(std::move(owner)),
        program_(program),
        config_(std::move(config)),
        one_by_one_(one_by_one) {}
  // Kernels that others use stay until they are evicted.
  ~Pipeline() override {
    recorded_.clear();
    if (owner_ == nullptr) return;
    static_cast<void>(link_.call([&](BackendCore&) -> Result<void> {
      if (const auto open = open_.lock()) open->drop_unwanted(*owner_);
      return {};
    }));
  }

  const ir::Program& program() const override { return program_; }

  Result<DispatchTiming> dispatch_borrowed_into(std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs) override {
    const KernelOwner::Scope scope(owner_.get());
    return known(link_.call([&](BackendCore&) {
      return backend_.dispatch_borrowed_into(program_, inputs, outputs, config_);
    }));
  }

  Result<std::vector<std::vector<Bytes>>> dispatch_batch(
      std::span<const std::vector<ByteSpan>> inputs) override {
    const KernelOwner::Scope scope(owner_.get());
    return known(link_.call([&](BackendCore&) { return batch(inputs); }));
  }

  Result<DispatchTiming> dispatch_resident(std::span<const ResidentResource> resources) override {
    const KernelOwner::Scope scope(owner_.get());
    return known(link_.call([&](BackendCore&) {
      return manages_iterations(program_, config_)
                 ? run_iterations(backend_, program_, resources, config_)
                 : run_recorded(resources);
    }));
  }

 private:
  static constexpr std::size_t kMaxRecorded = 4;
  struct Known {
    std::vector<ResidentResource> resources;
    std::shared_ptr<RecordedSequence> sequence;
  };

  template <class Value>
  Result<Value> known(Result<Value> result) const {
    if (result) return result;
    return std::unexpected(base::with_program(std::move(result.error()), program_.name()));
  }

  // All are submitted before the first wait.
  Result<std::vector<std::vector<Bytes>>> batch(std::span<const std::vector<ByteSpan>> inputs) {
    std::vector<std::vector<Bytes>> outputs(inputs.size());
    if (one_by_one_) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        FELSITE_TRY(auto done,
                    backend_.dispatch_borrowed_into(program_, inputs[i], outputs[i], config_));
      }
      return outputs;
    }
    std::vector<std::unique_ptr<PendingDispatch>> pending;
    for (const std::vector<ByteSpan>& set : inputs) {
      FELSITE_TRY(auto started, backend_.dispatch_borrowed_async(program_, set, config_));
      pending.push_back(std::move(started));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      FELSITE_CHECK(pending[i]->wait_into(outputs[i]));
    }
    return outputs;
  }

  // Keeps the recordings of the last resources: a pipeline mostly runs on the same ones, or
  // alternates between two sets.
  Result<DispatchTiming> run_recorded(std::span<const ResidentResource> resources) {
    std::shared_ptr<RecordedSequence> recorded = find(resources);
    if (recorded == nullptr) {
      FELSITE_TRY(recorded, record(resources));
    }
    std::vector<Bytes> nothing;
    auto timing = recorded->run_into(nothing);
    if (!timing) forget(recorded);
    return timing;
  }

  std::shared_ptr<RecordedSequence> find(std::span<const ResidentResource> resources) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(recorded_, [&](const Known& other) {
      return std::ranges::equal(resources, other.resources);
    });
    if (found == recorded_.end()) return nullptr;
    std::rotate(recorded_.begin(), found, std::next(found));
    return recorded_.front().sequence;
  }

  // After a timeout the queue owns the recording, so the next dispatch needs a new one.
  void forget(const std::shared_ptr<RecordedSequence>& recorded) {
    const std::lock_guard lock(mutex_);
    std::erase_if(recorded_, [&](const Known& other) { return other.sequence == recorded; });
  }

  Result<std::shared_ptr<RecordedSequence>> record(std::span<const ResidentResource> resources) {
    const ResidentStep step = step_of(program_, resources, config_);
    FELSITE_TRY(auto made,
                backend_.record_resident({.prefix = {&step, 1}}, {.timeout = config_.timeout,
                                                                  .profile = config_.profile,
                                                                  .label = config_.label}));
    std::shared_ptr<RecordedSequence> recorded = std::move(made);
    const std::lock_guard lock(mutex_);
    recorded_.insert(recorded_.begin(), {step.resources, recorded});
    if (recorded_.size() > kMaxRecorded) recorded_.pop_back();
    return recorded;
  }

  Backend& backend_;  // only within calls of the link
  const BackendLink<BackendCore> link_;
  const std::weak_ptr<OpenDevice> open_;  // that it was compiled on
  const std::unique_ptr<KernelOwner> owner_;
  const ir::Program program_;
  const DispatchConfig config_;
  const bool one_by_one_;
  std::mutex mutex_;
  std::vector<Known> recorded_;  // the most recently used first
};

}  // namespace

std::unique_ptr<CompiledPipeline> make_pipeline(Backend& backend, BackendLink<BackendCore> link,
                                                const SharedDevice& open,
                                                std::unique_ptr<KernelOwner> owner,
                                                const ir::Program& program, DispatchConfig config,
                                                bool one_by_one) {
  return std::make_unique<Pipeline>(backend, std::move(link), open, std::move(owner), program,
                                    std::move(config), one_by_one);
}

}  // namespace felsite::dispatch
