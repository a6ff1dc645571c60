// Sequences put together by hand, for what no submission asks for: conditions, grids that the
// device reads, watched blocks.
#pragma once

#include <array>
#include <utility>

#include "dispatch/contract/resident_checks.h"
#include "felsite/telemetry.h"
#include "support/kernel_step.h"
#include "vk/backend_on_device.h"

namespace felsite::test {

// Four bytes, the word at this position of the slice.
inline vk::BufferSlice word_of(const vk::BufferSlice& slice, std::uint64_t position) {
  return {slice.buffer, slice.offset + 4 * position, 4};
}

template <class Work>
Telemetry counted(Work work) {
  const Telemetry before = telemetry_snapshot();
  work();
  return difference(telemetry_snapshot(), before);
}

struct Workbench {
  explicit Workbench(const std::string& mask = {}, vk::EditFunctions edit = nullptr)
      : backend(open_backend(settings_for(mask, edit))), engine(vulkan_engine(*backend)) {}

  bool has_conditions() const {
    return engine->device().has(vk::RuntimeFeature::ConditionalRendering);
  }

  vk::BufferSlice words(vk::Place place, std::uint64_t count) {
    return {must(engine->memory().make(place, 4 * count, "words")), 0, 4 * count};
  }
  // One that the host has written.
  vk::BufferSlice control(const Words& values) {
    vk::BufferSlice slice = words(vk::Place::Control, values.size());
    must(slice.buffer->write(0, bytes_of(values)));
    return slice;
  }

  // Buffers in the order of their declarations.
  vk::KernelStep step(const ir::ValidProgram& program, const std::vector<vk::BufferSlice>& buffers,
                      Extent3 grid = {1, 1, 1}) {
    return must(kernel_step(*engine, program, buffers, grid));
  }

  std::shared_ptr<vk::Recording> record(vk::Sequence sequence) {
    return must(engine->record(std::move(sequence)));
  }
  // Submits and waits. The recording is gone if it may still run.
  Result<DispatchTiming> run(std::shared_ptr<vk::Recording>& recording,
                             std::span<const ByteSpan> uploads = {},
                             std::chrono::nanoseconds timeout = vk::kNoTimeout) {
    auto running = engine->start(std::move(recording), uploads);
    if (!running) return std::unexpected(std::move(running.error()));
    auto timing = engine->finish(*running, timeout);
    recording = std::move(running->recording);
    return timing;
  }
  static Words read(const vk::Recording& recording, std::size_t index) {
    Bytes bytes(recording.sequence().reads[index].bytes);
    must(recording.read(index, bytes));
    return words_of(bytes);
  }

  std::unique_ptr<Backend> backend;
  std::shared_ptr<vk::Engine> engine;
};

}  // namespace felsite::test
