// A grid that fits one workgroup: grid barriers are workgroup barriers, and the kernel runs its
// iterations itself.
#include <algorithm>

#include "base/try.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/forms/schedule_writer.h"

namespace felsite::dispatch {
namespace {

using ir::BufferId;

// Offsets of the words in which the kernel counts its iterations.
constexpr std::uint64_t kLeft = 0;
constexpr std::uint64_t kRun = 4;
constexpr std::uint64_t kConverged = 8;
constexpr std::uint64_t kIterationBytes = 12;

// Iterations of one dispatch: enough to make its start cheap in comparison, and few enough for
// displays and watchdogs, depending on the size of the grid.
constexpr std::uint64_t kInvocationsAtOnce = std::uint64_t{1} << 24;
constexpr std::uint64_t kMinIterationsAtOnce = 2048;
constexpr std::uint64_t kMaxIterationsAtOnce = 16384;

// If so, the first iteration is the last one.
bool flag_is_never_set(const ir::Program& program, const IterationRule& rule) {
  return rule.flag && !std::ranges::binary_search(changed_buffers(program), *rule.flag);
}

class OneWorkgroup {
 public:
  explicit OneWorkgroup(ScheduleWriter& writer)
      : writer_(writer),
        request_(writer.request()),
        out_(writer.out()),
        is_never_set_(flag_is_never_set(request_.program, writer.rule())),
        bound_(is_never_set_ ? 1 : writer.rule().bound),
        compares_(bound_ > 1 && writer.rule().compares) {}

  Result<void> add() {
    const bool is_seen = !compares_ || kernel_sees_changes(request_.program, options());
    if (!is_seen) return add_single_iterations();
    FELSITE_TRY(const auto plan, plan_grid_sync(request_.program, options()));
    const GridSegment& segment = plan.segments.front();
    FELSITE_CHECK(bind(segment));
    add_step(segment);
    IterationOutcome& outcome = out_.outcome.emplace();
    outcome.bound = writer_.rule().bound;
    outcome.always_converges = is_never_set_;
    if (bound_ == 1) {
      outcome.always = 1;
    } else {
      outcome.counted = BufferRef{iterations_.buffer, kRun, 4};
      outcome.converged = BufferRef{iterations_.buffer, kConverged, 4};
    }
    return {};
  }

 private:
  GridSyncOptions options() const {
    return {.many_iterations = bound_ > 1,
            .report_changes = compares_,
            .one_dimensional = writer_.grid()[1] == 1 && writer_.grid()[2] == 1,
            .fresh_outputs = request_.fresh_outputs,
            .whole = true,
            .iterations_in_kernel = bound_ > 1};
  }

  // The kernel itself cannot see when to stop: each iteration is one dispatch, and further kernels
  // compare its results.
  Result<void> add_single_iterations() {
    FELSITE_CHECK(writer_.cut(ScheduleWriter::Cut::Whole));
    FELSITE_CHECK(writer_.add_kept());
    std::vector<FlatStep> walk;
    if (!writer_.plan().segments.front().empty) walk.emplace_back();
    return write_iterations(writer_, std::move(walk));
  }

  Result<void> bind(const GridSegment& segment) {
    struct Compared {
      BufferRef now;
      BufferRef before;
    };
    std::vector<Compared> compared;
    for (const SegmentBuffer& buffer : segment.buffers) {
      BufferRef ref;
      if (buffer.kind == SegmentBuffer::Kind::Program) {
        ref = writer_.buffer_of(buffer.source);
      } else if (buffer.kind == SegmentBuffer::Kind::Before) {
        const BufferRef now = writer_.words_of(buffer.source);
        ref = writer_.add_buffer(PlannedBuffer::Kind::Device, now.bytes, "state before");
        compared.push_back({now, ref});
        ref.bytes = request_.bytes[buffer.source];
      } else {
        const bool iterations = buffer.kind == SegmentBuffer::Kind::Iterations;
        ref = writer_.add_control(kIterationBytes, to_string(buffer.kind));
        if (!iterations) ref.bytes = 4;
        (iterations ? iterations_ : changed_) = ref;
      }
      refs_.push_back(ref);
    }
    // Stores the state before the first iteration.
    for (const auto& [now, before] : compared) {
      if (now.bytes == 0) continue;
      FELSITE_TRY(auto step, writer_.runtime_step(GridKernel::Compare, {now, before, changed_},
                                                  now.bytes / 4));
      out_.prefix.push_back(std::move(step));
    }
    if (iterations_.bytes != 0) writer_.begin_with(iterations_, {bound_, 0, 0});
    return {};
  }

  void add_step(const GridSegment& segment) {
    ScheduledKernel kernel{.program = segment.program};
    kernel.one_workgroup.emplace();
    kernel.one_workgroup->grid = writer_.grid();
    if (bound_ > 1) kernel.one_workgroup->iterations = iteration_loop(segment);
    ScheduledStep step{.kernel = writer_.add_kernel(std::move(kernel)), .buffers = refs_};
    for (BufferId id = 0; id < refs_.size(); ++id) {
      step.counts.push_back(refs_[id].bytes / ir::info(segment.program.buffer(id).element).bytes);
    }
    step.grid = writer_.grid();
    step.name = request_.name;
    step.is_callers = true;
    if (bound_ == 1) {
      out_.prefix.push_back(std::move(step));
      return;
    }
    // One dispatch runs all iterations, unless a loop budget makes it stop before.
    out_.repeated.push_back(std::move(step));
    out_.count = bound_;
    out_.watch = BufferRef{iterations_.buffer, kLeft, 4};
  }

  // The number of invocations, at least one; the grid fits one workgroup.
  std::uint64_t invocations() const {
    const auto& size = request_.program.workgroup_size();
    std::uint64_t count = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      count *= std::uint64_t{writer_.grid()[axis]} * size[axis];
    }
    return count;
  }

  codegen::IterationLoop iteration_loop(const GridSegment& segment) const {
    codegen::IterationLoop iterations;
    iterations.most = static_cast<std::uint32_t>(
        std::clamp(kInvocationsAtOnce / invocations(), kMinIterationsAtOnce, kMaxIterationsAtOnce));
    for (BufferId id = 0; id < segment.buffers.size(); ++id) {
      const SegmentBuffer& buffer = segment.buffers[id];
      if (buffer.kind == SegmentBuffer::Kind::Iterations) iterations.control = id;
      if (buffer.kind == SegmentBuffer::Kind::Changed) iterations.changed = id;
      const bool is_flag =
          buffer.kind == SegmentBuffer::Kind::Program && buffer.source == writer_.rule().flag;
      if (is_flag) iterations.changed = id;
    }
    return iterations;
  }

  ScheduleWriter& writer_;
  const ScheduleRequest& request_;
  Schedule& out_;
  const bool is_never_set_;
  const std::uint32_t bound_;
  const bool compares_;
  std::vector<BufferRef> refs_;  // by BufferId of the segment
  BufferRef iterations_;
  BufferRef changed_;
};

}  // namespace

Result<void> write_one_workgroup(ScheduleWriter& writer) { return OneWorkgroup(writer).add(); }

}  // namespace felsite::dispatch
