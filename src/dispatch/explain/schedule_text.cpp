#include "dispatch/explain/schedule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace felsite::dispatch {
namespace {

std::string extent_text(const Extent3& extent) { return fmt::format("{}", fmt::join(extent, "×")); }

// 7 0×64 1
std::string words_text(std::span<const std::uint32_t> words) {
  std::string text;
  for (std::size_t at = 0; at < words.size();) {
    const auto rest = words.subspan(at);
    const auto other =
        std::ranges::find_if(rest, [&](std::uint32_t word) { return word != rest.front(); });
    const auto equal = static_cast<std::size_t>(other - rest.begin());
    // A grid stays three words.
    const std::size_t taken = equal > 3 ? equal : 1;
    text += fmt::format("{}{}", at == 0 ? "" : " ", words[at]);
    if (taken > 1) text += fmt::format("×{}", taken);
    at += taken;
  }
  return text;
}

std::string_view kind_text(PlannedBuffer::Kind kind) {
  switch (kind) {
    case PlannedBuffer::Kind::Caller:
      return "caller";
    case PlannedBuffer::Kind::Workgroup:
      return "workgroup memory";
    case PlannedBuffer::Kind::Device:
      return "device";
    case PlannedBuffer::Kind::Control:
      return "control";
  }
  return "?";
}

class ScheduleText {
 public:
  ScheduleText(const Schedule& schedule, const BarrierPlan& barriers)
      : schedule_(schedule), barriers_(barriers) {}

  std::string make() {
    add("route: {}. {}\n", to_string(schedule_.route.route), schedule_.route.reason);
    if (schedule_.route.estimates) {
      add("estimated: {}\n", to_string(*schedule_.route.estimates));
    }
    add_buffers();
    add_kernels();
    if (!schedule_.initial_words.empty()) add("initial words:\n");
    for (const InitialWords& initial : schedule_.initial_words) {
      add("  {} = {}\n", text_of(initial.target), words_text(initial.words));
    }
    if (!schedule_.prefix.empty()) add_steps("prefix", schedule_.prefix, Section::Prologue);
    const bool is_repeated = !schedule_.repeated.empty() || schedule_.count != 1 || schedule_.watch;
    if (is_repeated) add_steps(repeat_header(), schedule_.repeated, Section::Block);
    if (!schedule_.indirect_gates.empty()) {
      std::vector<std::string> gates;
      for (const IndirectGate& gate : schedule_.indirect_gates) {
        gates.push_back(text_of(gate.words));
        if (gate.caller_step != 0) gates.back() += fmt::format(" of step {}", gate.caller_step);
      }
      add("grids that were read: {}\n", fmt::join(gates, " "));
    }
    if (schedule_.outcome) add_outcome(*schedule_.outcome);
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  std::string text_of(const BufferRef& ref) const {
    if (ref.buffer == BufferRef::kUnbound) return "-";
    const bool is_whole = ref.buffer < schedule_.buffers.size() && ref.offset == 0 &&
                          ref.bytes == schedule_.buffers[ref.buffer].bytes;
    if (is_whole) return fmt::format("b{}", ref.buffer);
    return fmt::format("b{}[{}..{}]", ref.buffer, ref.offset, ref.offset + ref.bytes);
  }

  std::string list(std::span<const BufferRef> refs) const {
    std::vector<std::string> texts;
    for (const BufferRef& ref : refs) texts.push_back(text_of(ref));
    return fmt::format("{}", fmt::join(texts, " "));
  }

  void add_buffers() {
    if (!schedule_.buffers.empty()) add("buffers:\n");
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
      const PlannedBuffer& buffer = schedule_.buffers[i];
      add("  b{} {} {}", i, kind_text(buffer.kind), buffer.name);
      if (buffer.kind != PlannedBuffer::Kind::Workgroup) add(", {} bytes", buffer.bytes);
      if (!buffer.constants.empty()) add(", always {}", words_text(buffer.constants));
      add("\n");
    }
  }

  void add_kernels() {
    if (!schedule_.kernels.empty()) add("kernels:\n");
    for (std::size_t i = 0; i < schedule_.kernels.size(); ++i) {
      const ScheduledKernel& kernel = schedule_.kernels[i];
      const auto name = [&](ir::BufferId id) { return kernel.program.buffer(id).name; };
      add("  k{} {}, workgroup {}", i, kernel.program.name(),
          extent_text(kernel.program.workgroup_size()));
      if (kernel.grid_in_parts) add(", grid in parts");
      if (const auto& one = kernel.one_workgroup) {
        add(", one workgroup of grid {}", extent_text(one->grid));
        if (const auto& loop = one->iterations) {
          add(", at most {} iterations at once, control {}", loop->most, name(loop->control));
          if (loop->changed) add(", changes in {}", name(*loop->changed));
        }
      }
      if (kernel.parameters) add(", parameters {}", name(*kernel.parameters));
      add("\n");
    }
  }

  std::string repeat_header() const {
    std::string text = schedule_.count == UINT32_MAX
                           ? "repeated without a bound"
                           : fmt::format("repeated at most {} times", schedule_.count);
    if (schedule_.watch) text += fmt::format(", until {} is zero", text_of(*schedule_.watch));
    return text;
  }

  void add_steps(std::string_view header, std::span<const ScheduledStep> steps, Section section) {
    std::vector<std::string> lines;
    for (const ScheduledStep& step : steps) lines.push_back(line_of(step));
    std::vector<std::string> barriers(lines.size() + 1);  // by the step after them
    for (const PlannedBarrier& barrier : barriers_.barriers) {
      if (barrier.section != section || barrier.before >= barriers.size()) continue;
      barriers[barrier.before] =
          fmt::format("-- barrier: {} to {}", to_string(barrier.from), to_string(barrier.to));
    }
    const std::size_t period = period_of(lines, barriers);
    if (period == lines.size()) {
      add("{}:\n", header);
    } else {
      add("{}, {} rounds of:\n", header, lines.size() / period);
    }
    for (std::size_t i = 0; i < period; ++i) {
      if (!barriers[i].empty()) add("  {}\n", barriers[i]);
      add("  {}\n", lines[i]);
    }
    if (period == lines.size()) {
      if (!barriers[period].empty()) add("  {}\n", barriers[period]);
      return;
    }
    if (!barriers[period].empty()) add("  {}, before the next round\n", barriers[period]);
    if (!barriers.back().empty()) add("  {}, after the last round\n", barriers.back());
  }

  // The lines are the first so many, again and again, with the same barriers between them. What is
  // before the first and after the last of all lines may differ.
  static std::size_t period_of(std::span<const std::string> lines,
                               std::span<const std::string> barriers) {
    for (std::size_t period = 1; period < lines.size(); ++period) {
      if (lines.size() % period != 0) continue;
      const std::size_t rest = lines.size() - period;
      if (std::ranges::equal(lines.first(rest), lines.subspan(period)) &&
          std::ranges::equal(barriers.subspan(1, rest - 1),
                             barriers.subspan(period + 1, rest - 1))) {
        return period;
      }
    }
    return lines.size();
  }

  std::string line_of(const ScheduledStep& step) const {
    std::string line = fmt::format("k{} {}", step.kernel, step.name.empty() ? "?" : step.name);
    if (step.segment) {
      line += fmt::format(" ({} of {})", step.segment->index, step.segment->count);
    }
    line += fmt::format(", grid {}", extent_text(step.grid));
    if (step.workgroups != step.grid) {
      line += fmt::format(", workgroups {}", extent_text(step.workgroups));
    }
    if (step.base != Extent3{}) line += fmt::format(" from {}", extent_text(step.base));
    if (step.indirect) line += fmt::format(", as many as {} says", text_of(*step.indirect));
    if (step.reads_own_grid) line += " and the program sees";
    if (step.condition) line += fmt::format(", if {}", text_of(*step.condition));
    line += buffers_of(step);
    if (!step.is_callers) line += ", runtime's";
    if (step.caller_step != 0) line += fmt::format(", of step {}", step.caller_step);
    if (!step.counts_as_launch) line += ", uncounted";
    if (step.is_further_part) line += ", further part";
    return line;
  }

  std::string buffers_of(const ScheduledStep& step) const {
    const ScheduledKernel& kernel = schedule_.kernels[step.kernel];
    std::string text;
    for (ir::BufferId id = 0; id < step.buffers.size(); ++id) {
      text += fmt::format("{}{} = ", id == 0 ? ": " : ", ", kernel.program.buffer(id).name);
      text += kernel.parameters == id ? fmt::format("({})", words_text(step.supplied))
                                      : text_of(step.buffers[id]);
      const bool is_bound = step.buffers[id].buffer != BufferRef::kUnbound;
      const std::uint64_t count = id < step.counts.size() ? step.counts[id] : 0;
      if (is_bound || count != 0) text += fmt::format(":{}", count);
    }
    // Words without a buffer that takes them.
    if (!kernel.parameters && !step.supplied.empty()) {
      text += fmt::format(", supplied ({})", words_text(step.supplied));
    }
    return text;
  }

  void add_outcome(const IterationOutcome& outcome) {
    add("outcome: bound {}, segments {}, iterations {}", outcome.bound, outcome.segments,
        outcome.always);
    if (!outcome.ran.empty()) add(" + one for each of {}", list(outcome.ran));
    if (outcome.counted) add(" + {}", text_of(*outcome.counted));
    if (outcome.left) add(", still changing if {}", text_of(*outcome.left));
    if (outcome.converged) add(", converged if {}", text_of(*outcome.converged));
    if (outcome.always_converges) add(", always converges");
    if (outcome.flag) {
      add(", flag {} = {}", text_of(outcome.flag_buffer), text_of(*outcome.flag));
    }
    if (outcome.launches_in_iteration != 0) {
      add(", launches in each {}", outcome.launches_in_iteration);
    }
    if (outcome.launches) add(", launches counted in {}", text_of(*outcome.launches));
    add("\n");
  }

  const Schedule& schedule_;
  const BarrierPlan& barriers_;
  std::string text_;
};

}  // namespace

std::string to_string(const Schedule& schedule, const BarrierPlan& barriers) {
  return ScheduleText(schedule, barriers).make();
}

}  // namespace felsite::dispatch
