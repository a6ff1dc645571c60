// A grid that fits one workgroup: grid barriers are workgroup barriers, and the kernel runs its
// iterations itself.
#include <algorithm>

#include "base/try.h"
#include "vk/grid/grid_steps.h"

namespace felsite::vk {
namespace {

using ir::BufferId;

// Offsets of the words in which the kernel counts its iterations.
constexpr std::uint64_t kLeft = 0;
constexpr std::uint64_t kRun = 4;
constexpr std::uint64_t kConverged = 8;
constexpr std::uint64_t kIterationBytes = 16;

// Iterations of one dispatch: enough to make its start cheap in comparison, and few enough for
// displays and watchdogs, depending on the size of the grid.
constexpr std::uint64_t kInvocationsAtOnce = std::uint64_t{1} << 24;
constexpr std::uint64_t kMinIterationsAtOnce = 2048;
constexpr std::uint64_t kMaxIterationsAtOnce = 16384;

// If so, the first iteration is the last one.
bool flag_is_never_set(const GridRequest& request) {
  if (request.config.convergence.kind != Convergence::Kind::Flag) return false;
  const auto flag = request.program.find_buffer(request.config.convergence.flag);
  return !std::ranges::binary_search(dispatch::changed_buffers(request.program), *flag);
}

class OneWorkgroupStep {
 public:
  OneWorkgroupStep(Engine& engine, const GridRequest& request, Sequence& out)
      : engine_(engine),
        request_(request),
        out_(out),
        is_never_set_(flag_is_never_set(request)),
        bound_(is_never_set_ ? 1 : request.config.fixpoint_iterations.value_or(1)),
        compares_(bound_ > 1 && request.config.convergence.kind == Convergence::Kind::Automatic) {}

  Result<void> prepare() {
    if (!runs_iterations()) return {};  // the other form is compiled with the buffers
    FELSITE_TRY(const auto plan, plan_grid_sync(request_.program, options()));
    FELSITE_TRY(auto kernel, kernel_of(plan.segments.front()));
    return {};
  }

  Result<void> add() {
    if (!runs_iterations()) return add_single_iterations();
    FELSITE_TRY(auto plan, plan_grid_sync(request_.program, options()));
    const GridSegment& segment = plan.segments.front();
    FELSITE_CHECK(bind(segment));
    FELSITE_CHECK(add_step(segment));
    IterationRecord& record = out_.iterations.emplace();
    record.bound = request_.config.fixpoint_iterations.value_or(1);
    record.always_converges = is_never_set_;
    if (bound_ == 1) {
      record.always = 1;
    } else {
      record.counted = BufferSlice{iterations_, kRun, 4};
      record.converged = BufferSlice{iterations_, kConverged, 4};
    }
    return {};
  }

 private:
  GridSyncOptions options() const {
    return {.many_iterations = bound_ > 1,
            .report_changes = compares_,
            .one_dimensional = request_.grid[1] == 1 && request_.grid[2] == 1,
            .fresh_outputs = request_.fresh_outputs,
            .whole = true,
            .iterations_in_kernel = bound_ > 1};
  }

  // Whether the kernel itself can see when to stop.
  bool runs_iterations() const {
    return !compares_ || dispatch::kernel_sees_changes(request_.program, options());
  }

  // Each iteration is one dispatch, and further kernels compare its results.
  Result<void> add_single_iterations() {
    GridSteps steps(engine_, request_);
    FELSITE_CHECK(steps.plan_whole());
    bool too_long = false;
    FELSITE_CHECK(add_iterations(steps, out_, too_long));
    out_.own_bytes += steps.own_bytes();
    return {};
  }

  Result<void> bind(const GridSegment& segment) {
    GridSteps own(engine_, request_);
    for (const SegmentBuffer& buffer : segment.buffers) {
      BufferSlice slice;
      if (buffer.kind == SegmentBuffer::Kind::Program) {
        slice = request_.buffers[buffer.source];
        // Workgroup memory is not bound.
        if (request_.program.buffer(buffer.source).access == ir::Access::Workgroup) slice = {};
      } else if (buffer.kind == SegmentBuffer::Kind::Before) {
        const BufferSlice& now = request_.buffers[buffer.source];
        const std::uint64_t bytes = (now.bytes + 3) / 4 * 4;
        FELSITE_TRY(auto made, own.device_bytes(bytes, "state before"));
        slice = {std::move(made), 0, now.bytes};
        befores_.push_back({{now.buffer, now.offset, bytes}, {slice.buffer, 0, bytes}});
      } else {
        FELSITE_TRY(auto made, own.control(kIterationBytes, to_string(buffer.kind)));
        const bool iterations = buffer.kind == SegmentBuffer::Kind::Iterations;
        (iterations ? iterations_ : changed_) = made;
        slice = {std::move(made), 0, iterations ? kIterationBytes : 4};
      }
      slices_.push_back(std::move(slice));
    }
    out_.own_bytes += own.own_bytes();
    // Stores the state before the first iteration.
    for (const auto& [now, before] : befores_) {
      if (now.bytes == 0) continue;
      FELSITE_TRY(auto step, own.runtime_step(GridKernel::Compare, {now, before, {changed_, 0, 4}},
                                              now.bytes / 4));
      out_.prefix.push_back(std::move(step));
    }
    if (iterations_ != nullptr) {
      out_.host_words.emplace_back();
      out_.host_words.back().target = BufferSlice{iterations_, 0, kIterationBytes};
      out_.host_words.back().words = {bound_, 0, 0, 0};
    }
    return {};
  }

  Result<SharedKernel> kernel_of(const GridSegment& segment) {
    FELSITE_TRY(auto valid, engine_.pipelines().validate(segment.program));
    codegen::Segment lowered(std::move(valid));
    lowered.one_workgroup.emplace();
    lowered.one_workgroup->grid = request_.grid;
    if (bound_ > 1) lowered.one_workgroup->iterations = iteration_loop(segment);
    return engine_.pipelines().get(lowered);
  }

  Result<void> add_step(const GridSegment& segment) {
    FELSITE_TRY(auto kernel, kernel_of(segment));
    dispatch::BindingPlan bindings;
    for (BufferId id = 0; id < slices_.size(); ++id) {
      const std::uint64_t size = ir::info(segment.program.buffer(id).element).bytes;
      bindings.buffers.push_back(
          {.role = ir::Role::InputOutput, .count = slices_[id].bytes / size});
    }
    FELSITE_TRY(auto step, make_kernel_step(std::move(kernel), bindings, slices_, request_.grid));
    step.grid = {1, 1, 1};
    step.name = request_.name;
    step.caller_step = 0;
    if (bound_ == 1) {
      out_.prefix.push_back(std::move(step));
      return {};
    }
    // One dispatch runs all iterations, unless a loop budget makes it stop before.
    out_.repeated.push_back(std::move(step));
    out_.count = bound_;
    out_.watch = BufferSlice{iterations_, kLeft, 4};
    return {};
  }

  // The number of invocations, at least one; the grid fits one workgroup.
  std::uint64_t invocations() const {
    const auto& size = request_.program.workgroup_size();
    std::uint64_t count = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      count *= std::uint64_t{request_.grid[axis]} * size[axis];
    }
    return count;
  }

  codegen::IterationLoop iteration_loop(const GridSegment& segment) const {
    codegen::IterationLoop iterations;
    iterations.most = static_cast<std::uint32_t>(
        std::clamp(kInvocationsAtOnce / invocations(), kMinIterationsAtOnce, kMaxIterationsAtOnce));
    const bool has_flag = request_.config.convergence.kind == Convergence::Kind::Flag;
    for (BufferId id = 0; id < segment.buffers.size(); ++id) {
      const SegmentBuffer& buffer = segment.buffers[id];
      if (buffer.kind == SegmentBuffer::Kind::Iterations) iterations.control = id;
      if (buffer.kind == SegmentBuffer::Kind::Changed) iterations.changed = id;
      const bool is_flag =
          has_flag && buffer.kind == SegmentBuffer::Kind::Program &&
          request_.program.buffer(buffer.source).name == request_.config.convergence.flag;
      if (is_flag) iterations.changed = id;
    }
    return iterations;
  }

  Engine& engine_;
  const GridRequest& request_;
  Sequence& out_;
  const bool is_never_set_;
  const std::uint32_t bound_;
  const bool compares_;
  std::vector<BufferSlice> slices_;  // by BufferId of the segment
  struct Compared {
    BufferSlice now;
    BufferSlice before;
  };
  std::vector<Compared> befores_;
  SharedBuffer iterations_;
  SharedBuffer changed_;
};

}  // namespace

Result<void> prepare_one_workgroup(Engine& engine, const GridRequest& request) {
  Sequence nothing;
  return OneWorkgroupStep(engine, request, nothing).prepare();
}

Result<void> add_one_workgroup(Engine& engine, const GridRequest& request, Sequence& sequence) {
  return OneWorkgroupStep(engine, request, sequence).add();
}

}  // namespace felsite::vk
