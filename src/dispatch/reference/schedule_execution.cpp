#include "dispatch/reference/schedule_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/align.h"
#include "base/errors.h"
#include "base/try.h"
#include "dispatch/schedule/grid_kernels.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

class Execution {
 public:
  Execution(const Schedule& schedule, PreparedPrograms& programs, const ExecutionOptions& options)
      : schedule_(schedule), programs_(programs), options_(options) {}

  Result<IterationsRun> run(std::span<const std::span<std::byte>> callers) {
    allocate(callers);
    FELSITE_CHECK(write_initial_words());
    for (const ScheduledStep& step : schedule_.prefix) FELSITE_CHECK(run_step(step));
    FELSITE_CHECK(run_repeated());
    FELSITE_CHECK(check_gates());
    FELSITE_CHECK(copy_flag());
    const auto read = [&](const BufferRef& words) { return read_words(words); };
    if (options_.after) FELSITE_CHECK(options_.after(read));
    if (!schedule_.outcome) return IterationsRun{.iterations = 1, .launches = launches_};
    return read_outcome(*schedule_.outcome, read);
  }

 private:
  // Each buffer has whole words, since kernels of the runtime access any buffer as words.
  void allocate(std::span<const std::span<std::byte>> callers) {
    own_.reserve(schedule_.buffers.size());
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
      const PlannedBuffer& planned = schedule_.buffers[i];
      if (planned.kind == PlannedBuffer::Kind::Caller ||
          planned.kind == PlannedBuffer::Kind::Workgroup) {
        memory_.push_back(callers[i]);
        continue;
      }
      Bytes& bytes = own_.emplace_back(base::align_up(planned.bytes, 4), options_.fresh);
      std::ranges::copy(std::as_bytes(std::span(planned.constants)), bytes.begin());
      memory_.push_back(bytes);
    }
  }

  static Error broken(const ScheduledStep* step, std::string_view what) {
    return base::dispatch_failed(
        fmt::format("The schedule is wrong: {} {}.", step == nullptr ? "a word" : step->name, what),
        "report the program and its configuration.");
  }

  Result<std::span<std::byte>> bytes_of(const BufferRef& ref, const ScheduledStep* step) {
    const bool is_inside = ref.buffer < memory_.size() && ref.offset % 4 == 0 &&
                           ref.offset <= memory_[ref.buffer].size() &&
                           ref.bytes <= memory_[ref.buffer].size() - ref.offset;
    if (!is_inside) return std::unexpected(broken(step, "is outside of its buffer"));
    return memory_[ref.buffer].subspan(ref.offset, ref.bytes);
  }

  Result<std::vector<std::uint32_t>> read_words(const BufferRef& ref) {
    FELSITE_TRY(const auto bytes, bytes_of(ref, nullptr));
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
  }

  Result<void> write_initial_words() {
    for (const InitialWords& initial : schedule_.initial_words) {
      FELSITE_TRY(const auto bytes, bytes_of(initial.target, nullptr));
      std::ranges::copy(std::as_bytes(std::span(initial.words)), bytes.begin());
    }
    return {};
  }

  Result<void> run_repeated() {
    if (schedule_.repeated.empty()) return {};
    for (std::uint32_t run = 0; run < schedule_.count; ++run) {
      if (schedule_.watch && run % options_.runs_between_looks == 0) {
        FELSITE_TRY(const auto watched, read_words(*schedule_.watch));
        if (run != 0 && watched.front() == 0) break;
      }
      for (const ScheduledStep& step : schedule_.repeated) FELSITE_CHECK(run_step(step));
    }
    return {};
  }

  Result<void> copy_flag() {
    if (!schedule_.outcome || !schedule_.outcome->flag) return {};
    FELSITE_TRY(const auto from, bytes_of(*schedule_.outcome->flag, nullptr));
    FELSITE_TRY(const auto to, bytes_of(schedule_.outcome->flag_buffer, nullptr));
    std::copy_n(from.begin(), to.size(), to.begin());
    return {};
  }

  Result<void> check_gates() {
    for (const IndirectGate& gate : schedule_.indirect_gates) {
      FELSITE_TRY(const auto words, read_words(gate.words));
      FELSITE_CHECK(check_indirect_gate(words, gate.caller_step, options_.device));
    }
    return {};
  }

  Result<void> run_step(const ScheduledStep& step) {
    if (step.condition) {
      FELSITE_TRY(const auto condition, read_words(*step.condition));
      if (condition.front() == 0) return {};
    }
    Extent3 workgroups = step.workgroups;
    if (step.indirect) {
      FELSITE_TRY(const auto grid, read_words(*step.indirect));
      std::copy_n(grid.begin(), 3, workgroups.begin());
    }
    const ScheduledKernel& kernel = schedule_.kernels[step.kernel];
    const auto start = std::chrono::steady_clock::now();
    FELSITE_TRY(const auto interpreter, programs_.get(kernel.program));
    std::vector<std::uint32_t> supplied = step.supplied;
    FELSITE_TRY(const auto views, bind(step, kernel, supplied));
    if (step.is_callers && step.counts_as_launch) ++launches_;
    reference::RunOptions run;
    run.grid = step.grid;
    run.reference = options_.reference;
    run.deadline = options_.deadline;
    run.stop = options_.stop;
    // An iteration without workgroups checks no clock.
    if (auto reason = base::reason_to_end(options_.deadline, options_.stop)) {
      return std::unexpected(on_step(std::move(*reason), step));
    }
    FELSITE_TRY(const bool runs, set_grid(step, workgroups, run));
    if (!runs) return {};
    const auto done =
        kernel.one_workgroup && kernel.one_workgroup->iterations
            ? run_iterations(*interpreter, views, run, *kernel.one_workgroup->iterations)
            : run_kernel(*interpreter, views, run);
    note_device_slice(options_.device.name, step.name, start,
                      std::chrono::steady_clock::now() - start);
    if (!done) return std::unexpected(on_step(done.error(), step));
    return {};
  }

  // Whether there is anything to run.
  Result<bool> set_grid(const ScheduledStep& step, const Extent3& workgroups,
                        reference::RunOptions& run) const {
    const ScheduledKernel& kernel = schedule_.kernels[step.kernel];
    if (!kernel.one_workgroup) {
      if (step.reads_own_grid) run.grid = workgroups;
      run.part = workgroups;
      run.base = step.base;
      return true;
    }
    run.grid = kernel.one_workgroup->grid;
    if (workgroups == Extent3{1, 1, 1}) return true;
    if (workgroups[0] == 0) return false;
    return std::unexpected(broken(&step, "is not one workgroup"));
  }

  Result<std::vector<reference::BufferView>> bind(const ScheduledStep& step,
                                                  const ScheduledKernel& kernel,
                                                  std::vector<std::uint32_t>& supplied) {
    std::vector<reference::BufferView> views;
    for (ir::BufferId id = 0; id < step.buffers.size(); ++id) {
      reference::BufferView view{.data = nullptr, .count = step.counts[id]};
      const BufferRef& ref = step.buffers[id];
      if (id == kernel.parameters) {
        view = {reinterpret_cast<std::byte*>(supplied.data()), supplied.size()};
      } else if (ref.buffer != BufferRef::kUnbound) {
        FELSITE_TRY(const auto bytes, bytes_of(ref, &step));
        const std::uint64_t element = ir::info(kernel.program.buffer(id).element).bytes;
        if (view.count > bytes.size() / element) {
          return std::unexpected(broken(&step, "has more elements than bytes"));
        }
        view.data = bytes.data();
      }
      views.push_back(view);
    }
    return views;
  }

  // Says which step it was.
  Error on_step(Error error, const ScheduledStep& step) const {
    if (error.context.program.empty()) {
      error.context.program = schedule_.kernels[step.kernel].program.name();
    }
    if (step.is_callers) error.context.step = step.caller_step;
    if (step.segment) error.context.segment = step.segment->index;
    return error;
  }
  static Result<void> run_kernel(const reference::Interpreter& interpreter,
                                 std::span<const reference::BufferView> views,
                                 const reference::RunOptions& run) {
    FELSITE_CHECK(interpreter.run(views, run));
    return {};
  }

  // As codegen::IterationLoop says.
  static Result<void> run_iterations(const reference::Interpreter& interpreter,
                                     std::span<const reference::BufferView> views,
                                     const reference::RunOptions& run,
                                     const codegen::IterationLoop& loop) {
    std::array<std::uint32_t, 3> control{};
    auto& [left, ran, converged] = control;
    const reference::BufferView words = views[loop.control];
    std::memcpy(control.data(), words.data, sizeof control);
    for (std::uint32_t i = 0; i < loop.most && left != 0 && converged == 0; ++i) {
      std::span<std::byte> changed;
      if (loop.changed) changed = {views[*loop.changed].data, views[*loop.changed].count * 4};
      std::ranges::fill(changed, std::byte{0});
      FELSITE_CHECK(run_kernel(interpreter, views, run));
      ++ran;
      --left;
      const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
      if (loop.changed && std::ranges::all_of(changed, is_zero)) {
        left = 0;
        converged = 1;
      }
    }
    std::memcpy(words.data, control.data(), sizeof control);
    return {};
  }

  const Schedule& schedule_;
  PreparedPrograms& programs_;
  const ExecutionOptions& options_;
  std::vector<std::span<std::byte>> memory_;  // by Schedule::buffers
  std::vector<Bytes> own_;                    // those that the schedule brings
  std::uint64_t launches_ = 0;
};

}  // namespace

Result<IterationsRun> execute(const Schedule& schedule,
                              std::span<const std::span<std::byte>> memory,
                              PreparedPrograms& programs, const ExecutionOptions& options) {
  return Execution(schedule, programs, options).run(memory);
}

}  // namespace felsite::dispatch
