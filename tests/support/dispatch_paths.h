// Every path on which one program with one configuration reaches a backend. All mean the same.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
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
  Ranges,
  CompiledRanges,
  Lent,
  Step,
  AsynchronousStep,
  RecordedStep,  // in its second run
  StartedStep,   // the same without waiting
  RangesStep,    // recorded
  LentStep,      // recorded with other bytes, and run with these
  Block,
  AsynchronousBlock,
  RecordedBlock,
  RangesBlock,
};

// Where the resources are. `OneBuffer`: only the size of an element aligns them, and bytes that
// nobody may touch lie between them. `Lent`: bytes that the program only reads stay the caller's.
enum class Memory : std::uint8_t { Callers, Buffers, OneBuffer, Lent };

// Which fields of the configuration there are. A block has iterations and convergence; the form is
// chosen for it. A step has neither of them.
enum class Takes : std::uint8_t { Step, Block, Everything };

struct PathName {
  Path path;
  const char* name;
  Memory memory;
  Takes takes;

  bool on_resident_buffers() const { return memory != Memory::Callers; }
  bool is_submitted() const { return takes != Takes::Everything; }
};
inline constexpr PathName kPaths[] = {
    {Path::Plain, "plain", Memory::Callers, Takes::Everything},
    {Path::Timed, "timed", Memory::Callers, Takes::Everything},
    {Path::Compiled, "compiled", Memory::Callers, Takes::Everything},
    {Path::Batched, "batched", Memory::Callers, Takes::Everything},
    {Path::Asynchronous, "asynchronous", Memory::Callers, Takes::Everything},
    {Path::Resident, "resident", Memory::Buffers, Takes::Everything},
    {Path::CompiledResident, "compiled, resident", Memory::Buffers, Takes::Everything},
    {Path::DeviceBuffers, "device buffers", Memory::Buffers, Takes::Everything},
    {Path::Ranges, "ranges of one buffer", Memory::OneBuffer, Takes::Everything},
    {Path::CompiledRanges, "compiled, ranges of one buffer", Memory::OneBuffer, Takes::Everything},
    {Path::Lent, "lent bytes", Memory::Lent, Takes::Everything},
    {Path::Step, "step", Memory::Buffers, Takes::Step},
    {Path::AsynchronousStep, "asynchronous step", Memory::Buffers, Takes::Step},
    {Path::RecordedStep, "recorded step", Memory::Buffers, Takes::Step},
    {Path::StartedStep, "started recorded step", Memory::Buffers, Takes::Step},
    {Path::RangesStep, "recorded step on ranges of one buffer", Memory::OneBuffer, Takes::Step},
    {Path::LentStep, "recorded step with lent bytes", Memory::Lent, Takes::Step},
    {Path::Block, "block", Memory::Buffers, Takes::Block},
    {Path::AsynchronousBlock, "asynchronous block with lent bytes", Memory::Lent, Takes::Block},
    {Path::RecordedBlock, "recorded block", Memory::Buffers, Takes::Block},
    {Path::RangesBlock, "block on ranges of one buffer", Memory::OneBuffer, Takes::Block},
};

constexpr const PathName& named(Path path) { return kPaths[static_cast<std::size_t>(path)]; }
static_assert([] {
  for (std::size_t i = 0; i < std::size(kPaths); ++i) {
    if (kPaths[i].path != static_cast<Path>(i)) return false;
  }
  return std::size(kPaths) == static_cast<std::size_t>(Path::RangesBlock) + 1;
}());

// The resources of a program in the order of their bindings, with the inputs in them and zeros in
// the outputs, as a plain dispatch would begin. Freed at the end.
class ResidentCopies {
 public:
  ResidentCopies(Backend& backend, const ir::Program& program, std::span<const ByteSpan> inputs,
                 Memory memory)
      : backend_(backend), memory_(memory) {
    std::size_t input = 0;
    for (const ir::BufferDecl& buffer : program.buffers()) {
      const ir::Role role = ir::role_of(buffer);
      if (role == ir::Role::Shared) continue;
      const std::uint64_t element = ir::info(buffer.element).bytes;
      Entry entry{.binding = buffer.binding, .element = element, .name = buffer.name};
      const bool is_input = ir::takes_caller_bytes(role);
      if (is_input && input < inputs.size()) {
        entry.contents.assign(inputs[input].begin(), inputs[input].end());
      } else {
        entry.contents.assign(buffer.count * element, std::byte{0});
      }
      if (is_input) ++input;
      if (ir::gives_result(role)) entry.output = output_count_++;
      const bool is_only_read =
          buffer.access == ir::Access::ReadOnly || buffer.access == ir::Access::Uniform;
      entry.is_lent = memory == Memory::Lent && is_only_read && !buffer.output;
      entries_.push_back(std::move(entry));
    }
    std::ranges::stable_sort(entries_, {}, &Entry::binding);
    if (memory == Memory::OneBuffer) contents_.emplace_back();
    for (Entry& entry : entries_) place(entry);
    if (memory == Memory::OneBuffer) contents_[0].push_back(kUntouched);
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
      for (const Bytes& contents : contents_) sizes.push_back(contents.size());
      auto handles = backend_.allocate_resident_many(sizes);
      if (!handles) return std::unexpected(std::move(handles.error()));
      handles_ = std::move(*handles);
    }
    std::vector<ResidentUpload> uploads;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      uploads.push_back({.buffer = handles_[i], .bytes = contents_[i]});
    }
    return backend_.upload_resident_many(uploads);
  }

  ResidentResources resources() const {
    ResidentResources all;
    for (const Entry& entry : entries_) all.push_back(resource_of(entry));
    return all;
  }
  ResidentResource resource(std::string_view name) const {
    return resource_of(*std::ranges::find(entries_, name, &Entry::name));
  }
  std::vector<DeviceBuffer> device_buffers() const {
    std::vector<DeviceBuffer> buffers;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      buffers.push_back({.backend = std::string(backend_.id()),
                         .bytes = contents_[i].size(),
                         .label = "copy",
                         .resident = handles_[i]});
    }
    return buffers;
  }
  std::vector<ByteSpan> lent() const {
    std::vector<ByteSpan> all;
    for (const Entry& entry : entries_) {
      if (entry.is_lent) all.push_back(entry.contents);
    }
    return all;
  }

  Result<std::vector<Bytes>> results() const {
    std::vector<Bytes> now;
    for (const ResidentHandle& handle : handles_) {
      auto bytes = backend_.download_resident(handle);
      if (!bytes) return std::unexpected(std::move(bytes.error()));
      now.push_back(std::move(*bytes));
    }
    std::vector<Bytes> outputs(output_count_);
    std::vector<Bytes> untouched = contents_;
    for (const Entry& entry : entries_) {
      if (!entry.output) continue;
      const auto begin = now[entry.buffer].begin() + entry.offset;
      const auto end = begin + static_cast<std::ptrdiff_t>(entry.contents.size());
      outputs[*entry.output].assign(begin, end);
      std::copy(begin, end, untouched[entry.buffer].begin() + entry.offset);
    }
    CHECK_MESSAGE(now == untouched, "bytes that are no results are touched");
    return outputs;
  }

 private:
  static constexpr std::byte kUntouched{0xA5};
  struct Entry {
    std::uint32_t binding = 0;
    std::uint64_t element = 1;
    std::string name{};
    Bytes contents{};
    std::optional<std::size_t> output{};
    bool is_lent = false;
    std::size_t buffer = 0;  // of those that stay on the device
    std::ptrdiff_t offset = 0;
  };

  void place(Entry& entry) {
    if (entry.is_lent) return;
    if (memory_ != Memory::OneBuffer) {
      entry.buffer = contents_.size();
      contents_.push_back(entry.contents);
      return;
    }
    Bytes& all = contents_[0];
    // One byte of a neighbour at least; no two resources begin alike.
    all.resize((all.size() + 1 + entry.element - 1) / entry.element * entry.element, kUntouched);
    entry.offset = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), entry.contents.begin(), entry.contents.end());
  }
  ResidentResource resource_of(const Entry& entry) const {
    if (entry.is_lent) return ResidentResource::of(entry.contents);
    if (memory_ != Memory::OneBuffer) return handles_[entry.buffer];
    return {handles_[0], static_cast<std::uint64_t>(entry.offset), entry.contents.size()};
  }

  Backend& backend_;
  const Memory memory_;
  std::vector<Entry> entries_;
  std::vector<Bytes> contents_;  // of the buffers on the device, as they begin
  std::vector<ResidentHandle> handles_;
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

// The iterations of a configuration, of which the program is the only step. Of one iteration only a
// flag says whether it converged.
inline Repeat repeat_of(const DispatchConfig& config, const ResidentCopies& copies) {
  const std::uint32_t bound = config.fixpoint_iterations.value_or(1);
  if (config.convergence.kind == Convergence::Kind::Flag) {
    return Repeat::until_zero(copies.resource(config.convergence.flag), bound);
  }
  const bool compares = config.convergence.kind == Convergence::Kind::Automatic && bound > 1;
  return compares ? Repeat::until_unchanged(bound) : Repeat::times(bound);
}

inline Result<DispatchTiming> run_recorded(Path path, Backend& backend,
                                           const ResidentSubmission& submission,
                                           ResidentCopies& copies, const SubmissionConfig& config) {
  auto recorded = backend.record_resident(submission, config);
  if (!recorded) return std::unexpected(std::move(recorded.error()));
  std::vector<Bytes> nothing;
  const auto run = [&]() -> Result<DispatchTiming> {
    if (path != Path::StartedStep) return (*recorded)->run_into(nothing, {}, copies.lent());
    auto pending = (*recorded)->start({}, copies.lent());
    if (!pending) return std::unexpected(std::move(pending.error()));
    return (*pending)->wait_into(nothing);
  };
  if (auto first = run(); !first) return first;
  if (auto again = copies.upload(); !again) return std::unexpected(std::move(again.error()));
  return run();
}

inline Result<DispatchTiming> run_submission(Path path, Backend& backend,
                                             const ResidentSubmission& submission,
                                             ResidentCopies& copies,
                                             const SubmissionConfig& config) {
  std::vector<Bytes> nothing;
  if (path == Path::Step || path == Path::Block || path == Path::RangesBlock) {
    return backend.submit_resident(submission, nothing, config);
  }
  if (path == Path::AsynchronousStep || path == Path::AsynchronousBlock) {
    auto pending = backend.submit_resident_async(submission, config);
    if (!pending) return std::unexpected(std::move(pending.error()));
    return (*pending)->wait_into(nothing);
  }
  return run_recorded(path, backend, submission, copies, config);
}

inline Result<DispatchTiming> run_submitted(const PathName& path, Backend& backend,
                                            const ir::Program& program, ResidentCopies& copies,
                                            const DispatchConfig& config) {
  ResidentStep step = step_of(program, copies.resources(), config);
  // What it is recorded with is not what it runs with.
  std::vector<Bytes> others;
  if (path.path == Path::LentStep) {
    for (ResidentResource& resource : step.resources) {
      if (!resource.bytes) continue;
      resource = ResidentResource::of(others.emplace_back(resource.bytes->size()));
    }
  }
  ResidentSubmission submission{.prefix = {&step, 1}};
  ResidentBlock block;
  if (path.takes == Takes::Block) {
    block = {.steps = {&step, 1}, .repeat = repeat_of(config, copies)};
    submission = {.blocks = {&block, 1}};
  }
  auto timing = run_submission(path.path, backend, submission, copies, submission_of(config));
  if (timing && path.takes == Takes::Block) {
    REQUIRE(timing->blocks.size() == 1);
    timing->iterations_run = timing->blocks[0].iterations_run;
    timing->converged = timing->blocks[0].converged;
  }
  return timing;
}

inline Result<DispatchTiming> run_resident(const PathName& path, Backend& backend,
                                           const ir::Program& program, ResidentCopies& copies,
                                           const DispatchConfig& config) {
  if (path.is_submitted()) return run_submitted(path, backend, program, copies, config);
  if (path.path == Path::DeviceBuffers) {
    return backend.dispatch_device_buffers(program, copies.device_buffers(), config);
  }
  if (path.path == Path::CompiledResident || path.path == Path::CompiledRanges) {
    auto pipeline = backend.compile(program, config);
    if (!pipeline) return std::unexpected(std::move(pipeline.error()));
    return (*pipeline)->dispatch_resident(copies.resources());
  }
  return backend.dispatch_resident_timed(program, copies.resources(), config);
}

}  // namespace detail

inline Result<PathRun> run_path(Path path, Backend& backend, const ir::Program& program,
                                std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  PathRun run;
  Result<DispatchTiming> timing;
  if (path == Path::Plain) {
    timing = backend.dispatch_borrowed_into(program, inputs, run.outputs, config);
  } else if (path == Path::Timed) {
    auto timed = backend.dispatch_borrowed_timed(program, inputs, config);
    if (!timed) return std::unexpected(std::move(timed.error()));
    return PathRun{std::move(timed->outputs), std::move(timed->timing)};
  } else if (path == Path::Compiled) {
    auto pipeline = backend.compile(program, config);
    if (!pipeline) return std::unexpected(std::move(pipeline.error()));
    timing = (*pipeline)->dispatch_borrowed_into(inputs, run.outputs);
  } else if (path == Path::Batched) {
    auto pipeline = backend.compile(program, config);
    if (!pipeline) return std::unexpected(std::move(pipeline.error()));
    const std::vector<ByteSpan> set(inputs.begin(), inputs.end());
    auto outputs = (*pipeline)->dispatch_batch(std::vector{set, set});
    if (!outputs) return std::unexpected(std::move(outputs.error()));
    return PathRun{std::move(outputs->back()), {}};
  } else if (path == Path::Asynchronous) {
    auto pending = backend.dispatch_borrowed_async(program, inputs, config);
    if (!pending) return std::unexpected(std::move(pending.error()));
    timing = (*pending)->wait_into(run.outputs);
  } else {
    ResidentCopies copies(backend, program, inputs, named(path).memory);
    if (auto there = copies.upload(); !there) return std::unexpected(std::move(there.error()));
    timing = detail::run_resident(named(path), backend, program, copies, config);
    if (!timing) return std::unexpected(std::move(timing.error()));
    auto outputs = copies.results();
    if (!outputs) return std::unexpected(std::move(outputs.error()));
    run.outputs = std::move(*outputs);
  }
  if (!timing) return std::unexpected(std::move(timing.error()));
  run.timing = std::move(*timing);
  return run;
}

}  // namespace felsite::test
