// The calls of the contract that are shorthands for others.
#include "felsite/backend.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/resident_iterations.h"

namespace felsite {
namespace {

SubmissionConfig submission_config(const DispatchConfig& config) {
  return {.timeout = config.timeout, .profile = config.profile, .label = config.label};
}

std::vector<ResidentResource> whole_buffers(std::span<const ResidentHandle> handles) {
  return {handles.begin(), handles.end()};
}

Result<void> without_value(Result<DispatchTiming> timing) {
  if (!timing) return std::unexpected(std::move(timing.error()));
  return {};
}

}  // namespace

Result<std::vector<Bytes>> Backend::dispatch(const ir::Program& program,
                                             const std::vector<Bytes>& inputs,
                                             const DispatchConfig& config) {
  return base::guarded([&]() -> Result<std::vector<Bytes>> {
    const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
    return dispatch_borrowed(program, spans, config);
  });
}

Result<std::vector<Bytes>> Backend::dispatch_borrowed(const ir::Program& program,
                                                      std::span<const ByteSpan> inputs,
                                                      const DispatchConfig& config) {
  return base::guarded([&]() -> Result<std::vector<Bytes>> {
    std::vector<Bytes> outputs;
    FELSITE_CHECK(dispatch_borrowed_into(program, inputs, outputs, config));
    return outputs;
  });
}

Result<TimedOutputs> Backend::dispatch_borrowed_timed(const ir::Program& program,
                                                      std::span<const ByteSpan> inputs,
                                                      const DispatchConfig& config) {
  return base::guarded([&]() -> Result<TimedOutputs> {
    DispatchConfig timed = config;
    timed.profile = true;
    TimedOutputs result;
    FELSITE_TRY(auto timing, dispatch_borrowed_into(program, inputs, result.outputs, timed));
    result.timing = std::move(timing);
    return result;
  });
}

Result<std::unique_ptr<PendingDispatch>> Backend::dispatch_async(const ir::Program& program,
                                                                 const std::vector<Bytes>& inputs,
                                                                 const DispatchConfig& config) {
  return base::guarded([&]() -> Result<std::unique_ptr<PendingDispatch>> {
    const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
    return dispatch_borrowed_async(program, spans, config);
  });
}

Result<ResidentHandle> Backend::allocate_resident(std::uint64_t bytes) {
  FELSITE_TRY(auto handles, allocate_resident_many({&bytes, 1}));
  return handles.front();
}

Result<void> Backend::upload_resident(ResidentHandle buffer, ByteSpan bytes) {
  const ResidentUpload upload{.buffer = buffer, .bytes = bytes};
  return upload_resident_many({&upload, 1});
}

Result<void> Backend::upload_resident_many(std::span<const ResidentUpload> uploads) {
  return base::guarded([&]() -> Result<void> {
    for (const ResidentUpload& upload : uploads) {
      FELSITE_TRY(const auto size, resident_size(upload.buffer));
      if (upload.offset == 0 && upload.bytes.size() == size) continue;
      return std::unexpected(base::with_amounts(
          base::bad_inputs(
              fmt::format("{} bytes at {} are not the whole of a buffer of {}.",
                          upload.bytes.size(), upload.offset, size),
              "upload exactly as many bytes as the buffer has, or use upload_resident_at."),
          upload.bytes.size(), size));
    }
    return upload_resident_at_many(uploads);
  });
}

Result<void> Backend::upload_resident_at(ResidentHandle buffer, std::uint64_t offset,
                                         ByteSpan bytes) {
  const ResidentUpload upload{.buffer = buffer, .offset = offset, .bytes = bytes};
  return upload_resident_at_many({&upload, 1});
}

Result<void> Backend::fill_resident(ResidentHandle buffer, std::byte value) {
  const ResidentFill fill{.buffer = buffer, .value = value};
  std::vector<Bytes> nothing;
  return without_value(submit_resident({.fills = {&fill, 1}}, nothing));
}

Result<Bytes> Backend::download_resident(ResidentHandle buffer) {
  return download_resident_range(buffer, 0, kWholeSize);
}

Result<void> Backend::download_resident_into(ResidentHandle buffer, Bytes& out) {
  return download_resident_range_into(buffer, 0, kWholeSize, out);
}

Result<Bytes> Backend::download_resident_range(ResidentHandle buffer, std::uint64_t offset,
                                               std::uint64_t length) {
  return base::guarded([&]() -> Result<Bytes> {
    Bytes out;
    FELSITE_CHECK(download_resident_range_into(buffer, offset, length, out));
    return out;
  });
}

Result<void> Backend::download_resident_range_into(ResidentHandle buffer, std::uint64_t offset,
                                                   std::uint64_t length, Bytes& out) {
  return base::guarded([&]() -> Result<void> {
    const ResidentRange range{.buffer = buffer, .offset = offset, .length = length};
    std::vector<Bytes> slots(1);
    slots.front().swap(out);  // the caller's allocation is used again
    auto done = download_resident_ranges_into({&range, 1}, slots);
    if (!slots.empty()) slots.front().swap(out);
    return done;
  });
}

Result<void> Backend::dispatch_resident(const ir::Program& program,
                                        std::span<const ResidentResource> resources,
                                        const DispatchConfig& config) {
  return base::guarded(
      [&]() -> Result<void> { return without_value(run_resident(program, resources, config)); });
}

Result<void> Backend::dispatch_resident(const ir::Program& program,
                                        std::span<const ResidentHandle> resources,
                                        const DispatchConfig& config) {
  return base::guarded([&]() -> Result<void> {
    return dispatch_resident(program, whole_buffers(resources), config);
  });
}

Result<DispatchTiming> Backend::dispatch_resident_timed(const ir::Program& program,
                                                        std::span<const ResidentResource> resources,
                                                        const DispatchConfig& config) {
  return base::guarded([&]() -> Result<DispatchTiming> {
    DispatchConfig timed = config;
    timed.profile = true;
    return run_resident(program, resources, timed);
  });
}

Result<DispatchTiming> Backend::dispatch_resident_timed(const ir::Program& program,
                                                        std::span<const ResidentHandle> resources,
                                                        const DispatchConfig& config) {
  return base::guarded([&]() -> Result<DispatchTiming> {
    return dispatch_resident_timed(program, whole_buffers(resources), config);
  });
}

Result<DispatchTiming> Backend::run_resident(const ir::Program& program,
                                             std::span<const ResidentResource> resources,
                                             const DispatchConfig& config) {
  const dispatch::SharedDevice open = core_->current();
  FELSITE_CHECK(dispatch::check_resident_config(
      program, config, open != nullptr ? open->profile() : device_profile()));
  if (dispatch::manages_iterations(program, config)) {
    return dispatch::run_iterations(*this, program, resources, config);
  }
  const ResidentStep step = dispatch::step_of(program, resources, config);
  std::vector<Bytes> nothing;
  auto timing = submit_resident({.prefix = {&step, 1}}, nothing, submission_config(config));
  if (timing) return timing;
  return std::unexpected(base::with_program(std::move(timing.error()), program.name()));
}

Result<void> Backend::dispatch_resident_sequence_read_ranges_into(
    std::span<const ResidentStep> steps, std::span<const ResidentRange> ranges,
    std::vector<Bytes>& outputs) {
  return without_value(submit_resident({.prefix = steps, .reads = ranges}, outputs));
}

Result<DispatchTiming> Backend::dispatch_resident_sequence_read_ranges_timed_into(
    std::span<const ResidentStep> steps, std::span<const ResidentRange> ranges,
    std::vector<Bytes>& outputs) {
  return submit_resident({.prefix = steps, .reads = ranges}, outputs, {.profile = true});
}

Result<void> Backend::dispatch_resident_repeated_sequence_read_ranges_into(
    std::span<const ResidentStep> prefix, std::span<const ResidentStep> repeated,
    std::uint32_t count, std::span<const ResidentRange> ranges, std::vector<Bytes>& outputs) {
  return without_value(submit_resident(
      {.prefix = prefix, .repeated = repeated, .count = count, .reads = ranges}, outputs));
}

Result<DispatchTiming> Backend::dispatch_resident_repeated_sequence_read_ranges_timed_into(
    std::span<const ResidentStep> prefix, std::span<const ResidentStep> repeated,
    std::uint32_t count, std::span<const ResidentRange> ranges, std::vector<Bytes>& outputs) {
  return submit_resident({.prefix = prefix, .repeated = repeated, .count = count, .reads = ranges},
                         outputs, {.profile = true});
}

Result<void> Backend::free_device_buffer(const DeviceBuffer& buffer) {
  return base::guarded([&]() -> Result<void> {
    FELSITE_CHECK(dispatch::check_device_buffer(buffer, id()));
    return free_resident(buffer.resident);
  });
}

Result<DispatchTiming> Backend::dispatch_device_buffers(const ir::Program& program,
                                                        std::span<const DeviceBuffer> buffers,
                                                        const DispatchConfig& config) {
  return base::guarded([&]() -> Result<DispatchTiming> {
    std::vector<ResidentHandle> resources;
    for (const DeviceBuffer& buffer : buffers) {
      FELSITE_CHECK(dispatch::check_device_buffer(buffer, id()));
      resources.push_back(buffer.resident);
    }
    return dispatch_resident_timed(program, resources, config);
  });
}

Result<std::vector<Bytes>> CompiledPipeline::dispatch(const std::vector<Bytes>& inputs) {
  return base::guarded([&]() -> Result<std::vector<Bytes>> {
    const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
    std::vector<Bytes> outputs;
    FELSITE_CHECK(dispatch_borrowed_into(spans, outputs));
    return outputs;
  });
}

Result<DispatchTiming> CompiledPipeline::dispatch_resident(
    std::span<const ResidentHandle> resources) {
  return base::guarded(
      [&]() -> Result<DispatchTiming> { return dispatch_resident(whole_buffers(resources)); });
}

Result<std::vector<Bytes>> PendingDispatch::wait() {
  return base::guarded([&]() -> Result<std::vector<Bytes>> {
    std::vector<Bytes> outputs;
    FELSITE_CHECK(wait_into(outputs));
    return outputs;
  });
}

}  // namespace felsite
