// Programs without grid barriers: one kernel, on a grid that is known or that the device reads.
#include <algorithm>

#include "base/try.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/forms/converging_iterations.h"
#include "dispatch/forms/schedule_writer.h"

namespace felsite::dispatch {
namespace {

// Invocation ids have 32 bits, whatever the device allows.
Extent3 most_workgroups(const DeviceProfile& device, const Extent3& workgroup_size) {
  Extent3 most = device.workgroups_per_dispatch;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t by_ids = (std::uint64_t{1} << 32) / workgroup_size[axis];
    most[axis] = static_cast<std::uint32_t>(std::min<std::uint64_t>(most[axis], by_ids));
  }
  return most;
}

class PlainSteps {
 public:
  explicit PlainSteps(ScheduleWriter& writer) : writer_(writer), request_(writer.request()) {}

  // `flag`: instead of the program's buffer.
  Result<std::vector<ScheduledStep>> make(const std::optional<BufferRef>& flag) {
    std::vector<ScheduledStep> made;
    if (!request_.grid) {
      FELSITE_TRY(auto gate, gate_step());
      made.push_back(std::move(gate));
    }
    ScheduledStep step{.kernel = kernel(),
                       .counts = {request_.counts.begin(), request_.counts.end()}};
    for (ir::BufferId id = 0; id < request_.program.buffers().size(); ++id) {
      step.buffers.push_back(flag && id == writer_.rule().flag ? *flag : writer_.buffer_of(id));
    }
    step.grid = step.workgroups = writer_.grid();
    if (!request_.grid) step.indirect = BufferRef{gate_->buffer, gate_->offset, 12};
    step.reads_own_grid = step.indirect.has_value();
    step.name = request_.name;
    step.is_callers = true;
    made.push_back(std::move(step));
    return made;
  }

 private:
  std::uint32_t kernel() {
    if (kernel_) return *kernel_;
    ScheduledKernel made{.program = request_.program};
    made.grid_in_parts =
        !fits_one_dispatch(writer_.grid(), writer_.device().workgroups_per_dispatch);
    kernel_ = writer_.add_kernel(std::move(made));
    return *kernel_;
  }

  // A grid that the device reads is first checked by a kernel, which replaces one that the device
  // cannot run by an empty grid.
  Result<ScheduledStep> gate_step() {
    const ir::Node& node = request_.program.node(request_.program.entry().begin);
    if (!gate_) {
      FELSITE_TRY(
          auto program,
          indirect_gate_program(
              node.extra, most_workgroups(writer_.device(), request_.program.workgroup_size())));
      gate_ = writer_.add_control(std::uint64_t{IndirectGateWords::kCount} * 4, "gate");
      // If the step never runs, its gate counts as open.
      writer_.begin_as_zeros(*gate_);
      gate_kernel_ = writer_.add_kernel({.program = std::move(program)});
      writer_.out().indirect_gates.push_back({*gate_});
    }
    const BufferRef source = writer_.buffer_of(node.ref);
    return ScheduledStep{.kernel = gate_kernel_,
                         .buffers = {source, *gate_},
                         .counts = {source.bytes / 4, IndirectGateWords::kCount},
                         .supplied = {},
                         .name = request_.name + " gate"};
  }

  ScheduleWriter& writer_;
  const ScheduleRequest& request_;
  std::optional<BufferRef> gate_;
  std::uint32_t gate_kernel_ = 0;
  std::optional<std::uint32_t> kernel_;
};

}  // namespace

Result<void> write_plain(ScheduleWriter& writer) {
  FELSITE_TRY(auto steps, PlainSteps(writer).make({}));
  std::ranges::move(steps, std::back_inserter(writer.out().prefix));
  return {};
}

Result<void> write_grids_of_iterations(ScheduleWriter& writer) {
  const IterationRule& rule = writer.rule();
  PlainSteps steps(writer);
  Schedule& out = writer.out();
  IterationOutcome& outcome = out.outcome.emplace();
  outcome.bound = rule.bound;
  outcome.launches_in_iteration = 1;
  const auto iteration =
      [&](const BufferRef&,
          const std::optional<BufferRef>& flag) -> Result<std::vector<ScheduledStep>> {
    FELSITE_TRY(auto made, steps.make(flag));
    made.back().counts_as_launch = false;  // the outcome counts those that really ran
    return made;
  };
  if (!rule.converges) {
    FELSITE_TRY(out.repeated, iteration({}, {}));
    out.count = outcome.always = rule.bound;
    // The block is watched, so that it is submitted in pieces.
    out.watch = writer.add_control(4, "going");
    writer.begin_with(*out.watch, {1});
    return {};
  }
  ConvergingBody body{.bound = rule.bound, .steps = 2, .iteration = iteration};
  if (rule.flag) body.own_flag_words = writer.request().counts[*rule.flag];
  std::vector<std::pair<BufferRef, BufferRef>> compared;  // now, before
  if (rule.compares) {
    for (const ir::BufferId id : changed_buffers(writer.request().program)) {
      const BufferRef now = writer.words_of(id);
      if (now.bytes == 0) continue;
      compared.emplace_back(
          now, writer.add_buffer(PlannedBuffer::Kind::Device, now.bytes, "state before"));
    }
    body.steps += compared.size();
    body.comparisons = [&](const BufferRef& changed) -> Result<std::vector<ScheduledStep>> {
      std::vector<ScheduledStep> made;
      for (const auto& [now, before] : compared) {
        FELSITE_TRY(auto step, writer.comparison(now, before, changed));
        made.push_back(std::move(step));
      }
      return made;
    };
  }
  FELSITE_CHECK(write_converging(writer, body, outcome));
  if (rule.flag) outcome.flag_buffer = writer.callers_buffer(*rule.flag);
  return {};
}

}  // namespace felsite::dispatch
