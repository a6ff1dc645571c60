// What the reference backend prepares once and runs often: pipelines and recordings.
#include "base/try.h"
#include "dispatch/reference/reference_backend.h"
#include "dispatch/reference/reference_resident.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::dispatch {
namespace {

class ReferencePipeline final : public CompiledPipeline {
 public:
  ReferencePipeline(BackendLink<Reference> link, const ir::Program& program, DispatchConfig config,
                    std::shared_ptr<const reference::Interpreter> interpreter)
      : link_(std::move(link)),
        program_(program),
        config_(std::move(config)),
        interpreter_(std::move(interpreter)) {}

  const ir::Program& program() const override { return program_; }

  Result<DispatchTiming> dispatch_borrowed_into(std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs) override {
    auto timing = link_.call([&](Reference& backend) {
      return backend.call("compiled dispatch",
                          [&] { return backend.run(*interpreter_, inputs, outputs, config_); });
    });
    if (!timing) return std::unexpected(on_reference(std::move(timing.error()), program_));
    return timing;
  }

  Result<std::vector<std::vector<Bytes>>> dispatch_batch(
      std::span<const std::vector<ByteSpan>> inputs) override {
    using Outputs = std::vector<std::vector<Bytes>>;
    return link_.call([&](Reference& backend) {
      return backend.call("compiled batch", [&]() -> Result<Outputs> {
        Outputs outputs(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          FELSITE_CHECK(dispatch_borrowed_into(inputs[i], outputs[i]));
        }
        return outputs;
      });
    });
  }

  Result<DispatchTiming> dispatch_resident(std::span<const ResidentResource> resources) override {
    return link_.call([&](Reference& backend) {
      return backend.dispatch_resident_timed(program_, resources, config_);
    });
  }

 private:
  const BackendLink<Reference> link_;
  const ir::Program program_;  // as given, without the configuration
  const DispatchConfig config_;
  const std::shared_ptr<const reference::Interpreter> interpreter_;
};

// The interpreter records nothing: it keeps the caller's description.
class ReferenceRecording final : public RecordedSequence {
 public:
  ReferenceRecording(BackendLink<Reference> link, const ResidentSubmission& submission,
                     SubmissionConfig config, Counted kept)
      : link_(std::move(link)),
        config_(std::move(config)),
        fills_(submission.fills.begin(), submission.fills.end()),
        uploads_(submission.uploads.begin(), submission.uploads.end()),
        prefix_(submission.prefix.begin(), submission.prefix.end()),
        repeated_(submission.repeated.begin(), submission.repeated.end()),
        count_(submission.count),
        reads_(submission.reads.begin(), submission.reads.end()),
        kept_(std::move(kept)) {}

  Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                  std::span<const ByteSpan> uploads) override {
    return link_.call([&](Reference& backend) {
      return backend.call("run recording", [&] { return run_on(backend, outputs, uploads); });
    });
  }

 private:
  Result<DispatchTiming> run_on(Reference& backend, std::vector<Bytes>& outputs,
                                std::span<const ByteSpan> uploads) const {
    std::vector<ResidentUpload> fresh = uploads_;
    if (!uploads.empty()) {
      FELSITE_CHECK(check_fresh_uploads(uploads_, uploads));
      for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i].bytes = uploads[i];
    }
    return backend.submit_resident({.fills = fills_,
                                    .uploads = fresh,
                                    .prefix = prefix_,
                                    .repeated = repeated_,
                                    .count = count_,
                                    .reads = reads_},
                                   outputs, config_);
  }

  const BackendLink<Reference> link_;
  const SubmissionConfig config_;
  const std::vector<ResidentFill> fills_;
  const std::vector<ResidentUpload> uploads_;
  const std::vector<ResidentStep> prefix_;
  const std::vector<ResidentStep> repeated_;
  const std::uint32_t count_;
  const std::vector<ResidentRange> reads_;
  const Counted kept_;
};

}  // namespace

Result<std::unique_ptr<CompiledPipeline>> Reference::compile(const ir::Program& program,
                                                             const DispatchConfig& config) {
  auto pipeline = call("compile", [&]() -> Result<std::unique_ptr<CompiledPipeline>> {
    FELSITE_TRY(auto interpreter, interpreter_for(program, config));
    FELSITE_CHECK(check_without_inputs(interpreter->program(), config));
    // An impossible form is refused as early as on a device.
    FELSITE_CHECK(choose_route(interpreter->program(), config, {}, device_profile()));
    return std::make_unique<ReferencePipeline>(link(), program, config, std::move(interpreter));
  });
  if (!pipeline) return std::unexpected(on_reference(std::move(pipeline.error()), program));
  return pipeline;
}

Result<std::unique_ptr<RecordedSequence>> Reference::record_resident(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return call("record_resident", [&]() -> Result<std::unique_ptr<RecordedSequence>> {
    FELSITE_CHECK(check_options());
    FELSITE_TRY(const auto ready, prepare_submission(submission, memory_, programs_));
    auto recording =
        std::make_unique<ReferenceRecording>(link(), submission, config, Counted(recordings_kept_));
    ++recordings_;
    count(Counter::Recordings);
    return recording;
  });
}

}  // namespace felsite::dispatch
