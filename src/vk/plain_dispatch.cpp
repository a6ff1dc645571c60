#include "vk/plain_dispatch.h"

#include <algorithm>

#include "base/deadline.h"
#include "base/host_memory.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"
#include "vk/schedule/materialize.h"
#include "vk/schedule/outcome.h"

namespace felsite::vk {
namespace {

using dispatch::BoundBuffer;

constexpr std::uint64_t kPlainDispatch = 1;  // the first word of the keys of such recordings

bool all_zero(ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<ir::ValidProgram> prepare_program(Engine& engine, const ir::Program& given,
                                         const DispatchConfig& config) {
  FELSITE_CHECK(dispatch::check_choices(given, config));
  FELSITE_TRY(auto program, engine.pipelines().validate(dispatch::configured(given, config)));
  FELSITE_CHECK(dispatch::check_config(program, config));
  return program;
}

Result<PlainDispatch> PlainDispatch::start(std::shared_ptr<Engine> engine, ir::ValidProgram program,
                                           std::span<const ByteSpan> inputs,
                                           const DispatchConfig& config, bool may_borrow) {
  // Errors of the caller come before what the backend cannot do, as on every backend.
  FELSITE_TRY(auto plan, dispatch::plan_inputs(program, inputs, config));
  FELSITE_CHECK(dispatch::check_result_memory(plan, base::default_memory_limit()));
  PlainDispatch made(std::move(engine), std::move(program), std::move(plan), config);
  const auto contents = [&](ir::BufferId id) {
    const std::uint32_t input = made.plan_.buffers[id].input;
    return input == ir::kNone || made.is_flag(id) ? ByteSpan{} : inputs[input];
  };
  FELSITE_TRY(const auto grid,
              dispatch::plan_grid(made.program_, made.plan_, config,
                                  dispatch::indirect_grid(made.program_, contents)));
  made.can_try_ = may_borrow && !made.engine_->is_over_budget(made.program_.fingerprint());
  if (!base::check_timeout(config.timeout)) {
    FELSITE_CHECK(made.make_schedule(grid));
    return made;  // nothing starts, and `finish` says why
  }
  // After a timeout the kernel goes on reading, while the caller may have freed what it reads.
  const bool borrows = may_borrow && !config.timeout;
  FELSITE_CHECK(made.bind(inputs, grid, borrows));
  return made;
}

PlainDispatch::~PlainDispatch() {
  if (engine_ != nullptr && running_) engine_->abandon(std::move(*running_));
}

// A convergence flag is cleared before each iteration, also before a single one.
bool PlainDispatch::is_flag(ir::BufferId id) const {
  return config_.convergence.kind == Convergence::Kind::Flag &&
         program_.buffer(id).name == config_.convergence.flag;
}

Result<void> PlainDispatch::bind(std::span<const ByteSpan> inputs, const Extent3& grid,
                                 bool may_borrow) {
  const bool measured = config_.profile || dispatch::tracing();
  RecordingKey key;
  key.add(kPlainDispatch).add(program_.fingerprint()).add(measured ? 1 : 0).add(config_.label);
  // All that the schedule depends on.
  key.add(static_cast<std::uint64_t>(config_.grid_sync)).add(can_try_ ? 1 : 0);
  key.add(config_.cooperative ? 1 : 0);
  key.add(config_.fixpoint_iterations.value_or(1));
  key.add(static_cast<std::uint64_t>(config_.convergence.kind));
  for (const std::uint32_t extent : grid) key.add(extent);
  for (ir::BufferId id = 0; id < plan_.buffers.size(); ++id) {
    key.add(plan_.buffers[id].bytes).add(is_flag(id) ? 1 : 0);
  }
  key_ = key.hash();

  borrowed_.resize(plan_.buffers.size());
  std::shared_ptr<Recording> recording = engine_->recordings().take(key_);
  if (recording == nullptr) {
    FELSITE_TRY(const auto schedule, make_schedule(grid));
    FELSITE_TRY(auto sequence, make_sequence(schedule, inputs, may_borrow));
    sequence.measured = measured;
    FELSITE_TRY(recording, engine_->record(std::move(sequence)));
  }
  is_attempt_ = recording->sequence().is_attempt;

  std::vector<ByteSpan> uploads;
  std::vector<bool> is_bound(plan_.buffers.size());
  for (const auto [id, written] : recording->sequence().program_buffers) {
    const BoundBuffer& buffer = plan_.buffers[id];
    is_bound[id] = true;
    const bool is_uploaded = buffer.input != ir::kNone && !is_flag(id) && !borrowed_[id];
    if (is_uploaded) uploads.push_back(inputs[buffer.input]);
  }
  unbound_outputs_.resize(plan_.output_count);
  for (ir::BufferId id = 0; id < plan_.buffers.size(); ++id) {
    const BoundBuffer& buffer = plan_.buffers[id];
    if (is_bound[id] || buffer.output == ir::kNone) continue;
    Bytes& contents = unbound_outputs_[buffer.output];
    if (buffer.input != ir::kNone && !is_flag(id)) {
      contents.assign(inputs[buffer.input].begin(), inputs[buffer.input].end());
    }
    contents.resize(buffer.bytes);
  }
  auto running = engine_->start(std::move(recording), uploads);
  if (!running) {
    if (!is_pooled_) engine_->wait_until_idle();  // a part of it may have been submitted
    return std::unexpected(std::move(running.error()));
  }
  running_ = std::move(*running);
  std::uint64_t given = 0;
  for (const ByteSpan input : inputs) given += input.size();
  dispatch::count(Counter::InputBytes, given);
  return {};
}

Result<dispatch::Schedule> PlainDispatch::make_schedule(const Extent3& grid) const {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const BoundBuffer& buffer : plan_.buffers) {
    counts.push_back(buffer.count);
    bytes.push_back(buffer.role == ir::Role::Shared ? 0 : buffer.bytes);
  }
  return dispatch::make_schedule(
      {.program = program_,
       .config = config_,
       .counts = counts,
       .bytes = bytes,
       .grid = grid,
       .fresh_outputs = true,
       .can_try = can_try_,
       .name = config_.label.empty() ? std::string(program_.name()) : config_.label},
      engine_->profile());
}

// A single kernel has its own list of buffers. Several kernels share all buffers of the program.
std::vector<ProgramBuffer> PlainDispatch::buffers_of(const dispatch::Schedule& schedule,
                                                     std::span<const SharedKernel> kernels) const {
  std::vector<ProgramBuffer> buffers;
  if (schedule.route.route == dispatch::Route::Plain) {
    for (const codegen::BufferBinding& binding : kernels.front()->kernel.buffers) {
      buffers.push_back({binding.buffer, binding.written});
    }
    return buffers;
  }
  for (ir::BufferId id = 0; id < plan_.buffers.size(); ++id) {
    if (plan_.buffers[id].role != ir::Role::Shared) buffers.push_back({id, true});
  }
  return buffers;
}

Result<Sequence> PlainDispatch::make_sequence(const dispatch::Schedule& schedule,
                                              std::span<const ByteSpan> inputs, bool may_borrow) {
  Sequence sequence;
  sequence.name = config_.label.empty() ? std::string(program_.name()) : config_.label;
  sequence.is_alone = true;
  sequence.is_attempt = schedule.route.is_attempt;
  FELSITE_TRY(const auto kernels, kernels_of(engine_->pipelines(), schedule));
  sequence.program_buffers = buffers_of(schedule, kernels);
  std::vector<BufferSlice> slices(plan_.buffers.size());
  is_pooled_ = true;
  borrowed_.assign(plan_.buffers.size(), false);
  for (const auto [id, written] : sequence.program_buffers) {
    const BoundBuffer& buffer = plan_.buffers[id];
    const bool has_input = buffer.input != ir::kNone && !is_flag(id);
    BufferSlice& slice = slices[id];
    const ObjectName name(sequence.name, program_.buffer(id).name);
    // An input that is also a result needs a buffer that belongs to the dispatch.
    const bool can_borrow = has_input && buffer.output == ir::kNone && !written;
    if (can_borrow && may_borrow) {
      if (auto imported = engine_->memory().import(inputs[buffer.input], name)) {
        slice = {std::move(imported->buffer), imported->offset, buffer.bytes};
        is_pooled_ = false;
        borrowed_[id] = true;
        continue;
      }
    }
    FELSITE_TRY(auto made, engine_->memory().make(Place::Device, buffer.bytes, name));
    slice = {std::move(made), 0, buffer.bytes};
    sequence.own_bytes += buffer.bytes;
    if (has_input) {
      sequence.uploads.push_back(slice);
    } else {
      sequence.fills.push_back({slice, std::byte{0}});
    }
    if (buffer.output != ir::kNone) sequence.reads.push_back(slice);
  }
  FELSITE_CHECK(materialize(*engine_, schedule, kernels, slices, sequence));
  return sequence;
}

bool PlainDispatch::is_done() { return !running_ || engine_->advance(*running_); }

Result<void> PlainDispatch::read_outputs(std::vector<Bytes>& outputs) {
  std::vector<std::uint64_t> sizes(plan_.output_count);
  for (const BoundBuffer& buffer : plan_.buffers) {
    if (buffer.output != ir::kNone) sizes[buffer.output] = buffer.bytes;
  }
  dispatch::count_slots(outputs, sizes);
  outputs.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes& unbound = unbound_outputs_[i];
    outputs[i].assign(unbound.begin(), unbound.end());
    outputs[i].resize(sizes[i]);
  }
  std::size_t read = 0;
  const auto& record = running_->recording->sequence().iterations;
  for (const auto [id, written] : running_->recording->sequence().program_buffers) {
    const BoundBuffer& buffer = plan_.buffers[id];
    if (buffer.output == ir::kNone) continue;
    Bytes& out = outputs[buffer.output];
    const bool in_words = is_flag(id) && record && record->flag;
    FELSITE_CHECK(in_words ? read_flag(out) : running_->recording->read(read, out));
    ++read;
  }
  dispatch::count(Counter::OutputBytes, plan_.output_bytes);
  return {};
}

// The words that the last iteration left become the flag's contents.
Result<void> PlainDispatch::read_flag(Bytes& out) const {
  const Sequence& sequence = running_->recording->sequence();
  FELSITE_TRY(const auto words, running_->recording->read_words(
                                    slice_in(sequence.scheduled, *sequence.iterations->flag)));
  const auto bytes = std::as_bytes(std::span(words));
  dispatch::count(Counter::DownloadBytes, out.size());
  std::copy_n(bytes.begin(), out.size(), out.begin());
  return {};
}

Result<DispatchTiming> PlainDispatch::finish(std::vector<Bytes>& outputs,
                                             const base::StopFlag* stop) {
  if (!running_) {
    return std::unexpected(engine_->device().error(VK_TIMEOUT, "finish the work in no time"));
  }
  auto timing = engine_->finish(*running_, config_.timeout.value_or(kNoTimeout), stop);
  // After a failed wait the queue owns the recording.
  const bool is_abandoned = running_->recording == nullptr;
  // The caller may reuse its memory only when the kernel no longer reads it.
  if (is_abandoned && !is_pooled_) engine_->wait_until_idle();
  Result<void> read;
  if (timing) read = read_outputs(outputs);
  std::optional<dispatch::IterationsRun> iterations;
  if (timing && read && running_->recording->sequence().iterations) {
    FELSITE_TRY(iterations, iterations_of(*running_->recording));
    timing->step_device_ns = segment_times(running_->recording->sequence(), timing->step_device_ns);
  }
  if (!is_abandoned && is_pooled_ && !engine_->is_lost()) {
    const std::uint64_t own_bytes = running_->recording->own_bytes();
    engine_->recordings().release(key_, std::move(running_->recording), own_bytes);
  }
  running_.reset();
  if (!timing && timing.error().code == ErrorCode::LoopBudgetExceeded && is_attempt_) {
    engine_->note_over_budget(program_.fingerprint());
  }
  if (!timing) return timing;
  if (!read) return std::unexpected(std::move(read.error()));
  if (iterations) {
    timing->iterations_run = iterations->iterations;
    timing->converged = iterations->converged;
  } else {
    dispatch::count(Counter::IterationsRun, timing->iterations_run);
  }
  for (ir::BufferId id = 0; id < plan_.buffers.size(); ++id) {
    if (is_flag(id)) timing->converged = all_zero(outputs[plan_.buffers[id].output]);
  }
  return timing;
}

}  // namespace felsite::vk
