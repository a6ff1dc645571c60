// Every path on which one program with one configuration reaches a backend. All mean the same.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "felsite/backend.h"

namespace felsite::test {

struct PathRun {
  std::vector<Bytes> outputs{};
  DispatchTiming timing{};
};

enum class Path : std::uint8_t {
  Plain,
  Timed,
  Compiled,
  Batched,
  Asynchronous,
  Resident,
  CompiledResident,
  DeviceBuffers,
  Step,          // of a submission
  RecordedStep,  // of a recorded sequence, in its second run
  Ranges,        // resident, with all resources in one buffer
  CompiledRanges,
  RecordedRanges,
};
struct PathName {
  Path path;
  const char* name;
  bool on_resident_buffers;
  bool is_step;  // there iterations, convergence, form and the limit of output bytes do not exist
};
inline constexpr PathName kPaths[] = {
    {Path::Plain, "plain", false, false},
    {Path::Timed, "timed", false, false},
    {Path::Compiled, "compiled", false, false},
    {Path::Batched, "batched", false, false},
    {Path::Asynchronous, "asynchronous", false, false},
    {Path::Resident, "resident", true, false},
    {Path::CompiledResident, "compiled, resident", true, false},
    {Path::DeviceBuffers, "device buffers", true, false},
    {Path::Step, "step of a submission", true, true},
    {Path::RecordedStep, "step of a recorded sequence", true, true},
    {Path::Ranges, "ranges of one buffer", true, false},
    {Path::CompiledRanges, "compiled, ranges of one buffer", true, false},
    {Path::RecordedRanges, "recorded step on ranges of one buffer", true, true},
};

// The resources of a program in the order of their bindings, with the inputs in them and zeros in
// the outputs, as a plain dispatch would begin: in a buffer each, or all in one, where only the
// size of an element aligns them and bytes that nobody may touch lie between them. Freed at the
// end.
enum class Layout : std::uint8_t { Separate, OneBuffer };
class ResidentCopies {
 public:
  ResidentCopies(Backend& backend, const ir::Program& program, std::span<const ByteSpan> inputs,
                 Layout layout = Layout::Separate)
      : backend_(backend), layout_(layout) {
    std::size_t input = 0;
    std::size_t output = 0;
    for (const ir::BufferDecl& buffer : program.buffers()) {
      const ir::Role role = ir::role_of(buffer);
      if (role == ir::Role::Shared) continue;
      const std::uint64_t element = ir::info(buffer.element).bytes;
      Entry entry{.binding = buffer.binding, .element = element};
      const bool is_input = ir::takes_caller_bytes(role);
      if (is_input && input < inputs.size()) {
        entry.contents.assign(inputs[input].begin(), inputs[input].end());
      } else {
        entry.contents.assign(buffer.count * element, std::byte{0});
      }
      if (is_input) ++input;
      if (ir::gives_result(role)) entry.output = output++;
      entries_.push_back(std::move(entry));
    }
    std::ranges::stable_sort(entries_, {}, &Entry::binding);
    output_count_ = output;
    for (Entry& entry : entries_) {
      // One byte of a neighbour at least; no two resources begin alike.
      entry.offset = (whole_ + 1 + entry.element - 1) / entry.element * entry.element;
      whole_ = entry.offset + entry.contents.size();
    }
    ++whole_;
  }
  ResidentCopies(const ResidentCopies&) = delete;
  ResidentCopies& operator=(const ResidentCopies&) = delete;
  ~ResidentCopies() {
    for (const ResidentHandle& handle : handles_) {
      static_cast<void>(backend_.free_resident(handle));
    }
  }

  Result<void> upload() {
    if (handles_.empty()) {
      std::vector<std::uint64_t> sizes;
      for (const Entry& entry : entries_) sizes.push_back(entry.contents.size());
      if (layout_ == Layout::OneBuffer) sizes = {whole_};
      auto handles = backend_.allocate_resident_many(sizes);
      if (!handles) return std::unexpected(std::move(handles.error()));
      handles_ = std::move(*handles);
    }
    if (layout_ == Layout::OneBuffer) return backend_.upload_resident(handles_[0], in_one_buffer());
    std::vector<ResidentUpload> uploads;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      uploads.push_back({.buffer = handles_[i], .bytes = entries_[i].contents});
    }
    return backend_.upload_resident_many(uploads);
  }
  ResidentResources resources() const {
    if (layout_ == Layout::Separate) return handles_;
    ResidentResources ranges;
    for (const Entry& entry : entries_) {
      ranges.push_back({handles_[0], entry.offset, entry.contents.size()});
    }
    return ranges;
  }

  std::vector<DeviceBuffer> device_buffers() const {
    std::vector<DeviceBuffer> buffers;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      buffers.push_back({.backend = std::string(backend_.id()),
                         .bytes = entries_[i].contents.size(),
                         .label = "copy",
                         .resident = handles_[i]});
    }
    return buffers;
  }

  Result<std::vector<Bytes>> results() const {
    std::vector<Bytes> outputs(output_count_);
    if (layout_ == Layout::OneBuffer) {
      auto all = backend_.download_resident(handles_[0]);
      if (!all) return std::unexpected(std::move(all.error()));
      Bytes untouched = in_one_buffer();
      for (const Entry& entry : entries_) {
        if (!entry.output) continue;
        const auto begin = all->begin() + static_cast<std::ptrdiff_t>(entry.offset);
        const auto end = begin + static_cast<std::ptrdiff_t>(entry.contents.size());
        outputs[*entry.output].assign(begin, end);
        std::copy(begin, end, untouched.begin() + static_cast<std::ptrdiff_t>(entry.offset));
      }
      CHECK_MESSAGE(*all == untouched, "bytes outside of the written ranges are touched");
      return outputs;
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      auto bytes = backend_.download_resident(handles_[i]);
      if (!bytes) return std::unexpected(std::move(bytes.error()));
      if (entries_[i].output) outputs[*entries_[i].output] = std::move(*bytes);
    }
    return outputs;
  }

 private:
  struct Entry {
    std::uint32_t binding = 0;
    std::uint64_t element = 1;
    std::uint64_t offset = 0;  // in the one buffer
    Bytes contents{};
    std::optional<std::size_t> output{};
  };
  Bytes in_one_buffer() const {
    Bytes all(whole_, std::byte{0xA5});
    for (const Entry& entry : entries_) {
      std::ranges::copy(entry.contents, all.begin() + static_cast<std::ptrdiff_t>(entry.offset));
    }
    return all;
  }

  Backend& backend_;
  Layout layout_;
  std::vector<Entry> entries_;
  std::vector<ResidentHandle> handles_;
  std::uint64_t whole_ = 0;
  std::size_t output_count_ = 0;
};

inline ResidentStep step_of(const ir::Program& program, ResidentResources resources,
                            const DispatchConfig& config) {
  return {.program = program,
          .resources = std::move(resources),
          .grid_override = config.grid_override,
          .workgroup_override = config.workgroup_override,
          .float_mode = config.float_mode,
          .max_output_bytes = config.max_output_bytes,
          .label = config.label};
}

inline SubmissionConfig submission_of(const DispatchConfig& config) {
  return {.timeout = config.timeout, .profile = config.profile, .label = config.label};
}

namespace detail {

inline Result<DispatchTiming> run_resident(Path path, Backend& backend, const ir::Program& program,
                                           ResidentCopies& copies, const DispatchConfig& config) {
  if (path == Path::Resident || path == Path::Ranges) {
    return backend.dispatch_resident_timed(program, copies.resources(), config);
  }
  if (path == Path::DeviceBuffers) {
    return backend.dispatch_device_buffers(program, copies.device_buffers(), config);
  }
  if (path == Path::CompiledResident || path == Path::CompiledRanges) {
    auto pipeline = backend.compile(program, config);
    if (!pipeline) return std::unexpected(std::move(pipeline.error()));
    return (*pipeline)->dispatch_resident(copies.resources());
  }
  const ResidentStep step = step_of(program, copies.resources(), config);
  std::vector<Bytes> nothing;
  if (path == Path::Step) {
    return backend.submit_resident({.prefix = {&step, 1}}, nothing, submission_of(config));
  }
  auto recorded = backend.record_resident({.prefix = {&step, 1}}, submission_of(config));
  if (!recorded) return std::unexpected(std::move(recorded.error()));
  if (auto first = (*recorded)->run_into(nothing); !first) return first;
  if (auto again = copies.upload(); !again) return std::unexpected(std::move(again.error()));
  return (*recorded)->run_into(nothing);
}

}  // namespace detail

inline Result<PathRun> run_path(Path path, Backend& backend, const ir::Program& program,
                                std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  PathRun run;
  Result<DispatchTiming> timing;
  switch (path) {
    case Path::Plain:
      timing = backend.dispatch_borrowed_into(program, inputs, run.outputs, config);
      break;
    case Path::Timed: {
      auto timed = backend.dispatch_borrowed_timed(program, inputs, config);
      if (!timed) return std::unexpected(std::move(timed.error()));
      return PathRun{std::move(timed->outputs), std::move(timed->timing)};
    }
    case Path::Compiled: {
      auto pipeline = backend.compile(program, config);
      if (!pipeline) return std::unexpected(std::move(pipeline.error()));
      timing = (*pipeline)->dispatch_borrowed_into(inputs, run.outputs);
      break;
    }
    case Path::Batched: {
      auto pipeline = backend.compile(program, config);
      if (!pipeline) return std::unexpected(std::move(pipeline.error()));
      const std::vector<ByteSpan> set(inputs.begin(), inputs.end());
      auto outputs = (*pipeline)->dispatch_batch(std::vector{set, set});
      if (!outputs) return std::unexpected(std::move(outputs.error()));
      return PathRun{std::move(outputs->back()), {}};
    }
    case Path::Asynchronous: {
      auto pending = backend.dispatch_borrowed_async(program, inputs, config);
      if (!pending) return std::unexpected(std::move(pending.error()));
      timing = (*pending)->wait_into(run.outputs);
      break;
    }
    case Path::Resident:
    case Path::CompiledResident:
    case Path::DeviceBuffers:
    case Path::Step:
    case Path::RecordedStep:
    case Path::Ranges:
    case Path::CompiledRanges:
    case Path::RecordedRanges: {
      const bool in_one = path >= Path::Ranges;
      ResidentCopies copies(backend, program, inputs,
                            in_one ? Layout::OneBuffer : Layout::Separate);
      if (auto there = copies.upload(); !there) return std::unexpected(std::move(there.error()));
      timing = detail::run_resident(path, backend, program, copies, config);
      if (!timing) break;
      auto outputs = copies.results();
      if (!outputs) return std::unexpected(std::move(outputs.error()));
      run.outputs = std::move(*outputs);
    }
  }
  if (!timing) return std::unexpected(std::move(timing.error()));
  run.timing = std::move(*timing);
  return run;
}

}  // namespace felsite::test
