// The buffers, segments, spills and the order of a plan, as text.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "dispatch/cut/spill_slots.h"
#include "dispatch/explain/explained_plan.h"
#include "dispatch/schedule/grid_walk.h"
#include "felsite/text.h"
#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

using ir::BufferId;
using ir::kNone;
using BufferKind = SegmentBuffer::Kind;

// A longer walk is not taken: the numbers are for a reader.
constexpr std::size_t kMaxSteps = std::size_t{1} << 20;

bool has(const std::vector<BufferId>& list, BufferId id) {
  return std::ranges::binary_search(list, id);
}

std::string value_name(const ir::Program& program, ir::VarId variable) {
  if (variable == SpilledValue::kRunning) return "still running";
  return std::string(program.var_name(variable));
}

std::vector<std::string> value_names(const ir::Program& program,
                                     const std::vector<ir::VarId>& vars) {
  std::vector<std::string> names;
  for (const ir::VarId v : vars) names.push_back(value_name(program, v));
  return names;
}

// The names of the outermost regions, with which the program's author named its parts.
std::string label_of(const ir::Program& segment) {
  std::string label;
  const ir::NodeRange entry = segment.entry();
  for (ir::NodeId id = entry.begin; id < entry.end;) {
    const ir::Node& node = segment.node(id);
    if (node.kind != ir::NodeKind::Region) {
      ++id;
      continue;
    }
    const std::string_view name = segment.name(node.name);
    if (!name.empty()) label += (label.empty() ? "" : ", ") + std::string(name);
    id = node.end;
  }
  return label;
}

std::string role_in_segment(const ir::BufferDecl& declared, const ExplainedUse& use) {
  const bool writes = use.writes || use.atomics;
  if (!writes) return "readonly";
  if (declared.access == ir::Access::WriteOnly) return "writeonly";
  return use.reads || use.atomics ? "readwrite" : "accumulator";
}

ExplainedSegment explain_segment(const GridSyncPlan& plan, const GridSegment& segment,
                                 const BufferList& buffers) {
  ExplainedSegment explained;
  explained.label = label_of(segment.program);
  explained.launched = !segment.empty;
  explained.recomputed = value_names(plan.program, segment.recomputed);
  explained.loaded = value_names(plan.program, segment.loaded);
  explained.stored = value_names(plan.program, segment.stored);
  const ir::Effects effects = ir::effects_of(segment.program, segment.program.entry());
  std::vector<bool> touched(plan.program.buffers().size(), false);
  for (BufferId id = 0; id < segment.buffers.size(); ++id) {
    const SegmentBuffer& buffer = segment.buffers[id];
    const ir::BufferDecl& declared = segment.program.buffer(id);
    if (buffer.kind == BufferKind::Program) touched[buffer.source] = true;
    if (declared.access == ir::Access::Workgroup) {
      explained.workgroup_memory.push_back(declared.name);
      continue;
    }
    const std::uint32_t place = buffers.place_of(buffer);
    if (place == kNone) continue;
    ExplainedUse use{.buffer = place,
                     .role = {},
                     .reads = has(effects.reads, id),
                     .writes = has(effects.writes, id),
                     .atomics = has(effects.atomics, id)};
    use.role = role_in_segment(declared, use);
    explained.uses.push_back(std::move(use));
  }
  // Segments that do not use one of the caller's buffers still hand it on.
  for (BufferId id = 0; id < touched.size(); ++id) {
    const bool carried = ir::role_of(plan.program.buffer(id)) == ir::Role::InputOutput;
    if (!carried || touched[id]) continue;
    const std::uint32_t place = buffers.place_of({BufferKind::Program, id});
    explained.uses.push_back({place, "carried", false, false, false});
  }
  std::ranges::sort(explained.uses, {}, &ExplainedUse::buffer);
  return explained;
}

// Whether the control flow depends on an unknown length or grid. Forks depend on literals, lengths,
// the grid and variables that are never assigned: everything that a host can know.
bool needs_unknown_size(const GridSyncPlan& plan, const KnownSizes& sizes) {
  const ir::Program& program = plan.program;
  std::vector<ir::ExprId> value_of(program.vars().size(), kNone);
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind == ir::NodeKind::Let) value_of[node.ref] = node.args[0];
  }
  std::vector<ir::ExprId> open;
  for (const GridFork& fork : plan.forks) {
    const auto roots = program.expressions(fork.node);
    open.insert(open.end(), roots.begin(), roots.end());
  }
  while (!open.empty()) {
    const ir::ExprId root = open.back();
    open.pop_back();
    for (const ir::ExprId row : program.rows(root)) {
      const ir::Expr& expr = program.expr(row);
      const bool is_length = expr.kind == ir::ExprKind::BufLen &&
                             program.buffer(expr.ref).access != ir::Access::Workgroup;
      if (is_length && !sizes.lengths[expr.ref]) return true;
      if (expr.kind == ir::ExprKind::NumWorkgroups && !sizes.grid) return true;
      // Each value is visited once.
      if (expr.kind == ir::ExprKind::Var && value_of[expr.ref] != kNone) {
        open.push_back(std::exchange(value_of[expr.ref], kNone));
      }
    }
  }
  return false;
}

class OrderWriter {
 public:
  OrderWriter(const GridSyncPlan& plan, const std::vector<std::uint64_t>& visits)
      : plan_(plan), visits_(visits) {}

  // Segments [begin, end): loops and branches are ranges in it, which their exits delimit.
  std::vector<ExplainedPart> range(std::uint32_t begin, std::uint32_t end) const {
    std::vector<ExplainedPart> parts;
    for (std::uint32_t s = begin; s < end;) {
      ExplainedPart here;
      here.segment = s;
      parts.push_back(std::move(here));
      const NextSegment& next = plan_.segments[s].next;
      if (next.kind == NextSegment::Kind::EnterLoop) {
        parts.push_back(repeat(next, s));
        s = next.else_target;
      } else if (next.kind == NextSegment::Kind::Branch) {
        s = add_branches(next, parts);
      } else {
        ++s;
      }
    }
    return parts;
  }

 private:
  ExplainedPart repeat(const NextSegment& next, std::uint32_t before) const {
    const ir::Program& program = plan_.program;
    const ir::NodeId node = plan_.forks[next.fork].node;
    const auto bounds = program.expressions(node);
    ExplainedPart part;
    part.kind = ExplainedPart::Kind::Repeat;
    part.variable = program.var_name(program.node(node).ref);
    part.from = ir::print(program, bounds[0]);
    part.to = ir::print(program, bounds[1]);
    part.on_device = !plan_.host_resolvable;
    if (!visits_.empty()) {
      part.trips = visits_[next.target];
      part.entered = visits_[before];
    }
    part.parts = range(next.target, next.else_target);
    return part;
  }

  // The first arm ends by going to where both arms join.
  std::uint32_t add_branches(const NextSegment& next, std::vector<ExplainedPart>& parts) const {
    const ir::NodeId node = plan_.forks[next.fork].node;
    const std::uint32_t join = plan_.segments[next.else_target - 1].next.target;
    ExplainedPart part;
    part.kind = ExplainedPart::Kind::If;
    part.condition = ir::print(plan_.program, plan_.program.expressions(node)[0]);
    part.on_device = !plan_.host_resolvable;
    part.parts = range(next.target, next.else_target);
    parts.push_back(part);
    if (join > next.else_target) {
      part.kind = ExplainedPart::Kind::Else;
      part.parts = range(next.else_target, join);
      parts.push_back(std::move(part));
    }
    return std::max(join, next.else_target);
  }

  const GridSyncPlan& plan_;
  const std::vector<std::uint64_t>& visits_;
};

}  // namespace

std::optional<std::uint64_t> KnownSizes::workgroups() const {
  if (!grid) return std::nullopt;
  return base::volume(*grid);
}

std::optional<std::uint64_t> KnownSizes::invocations() const {
  const auto groups = workgroups();
  if (!groups) return std::nullopt;
  return base::checked_product({*groups, workgroup_size[0], workgroup_size[1], workgroup_size[2]});
}

ByteSum size_of(const ir::Program& program, BufferId id, const KnownSizes& sizes) {
  const ir::BufferDecl& buffer = program.buffer(id);
  const std::uint64_t element = ir::info(buffer.element).bytes;
  if (buffer.count != 0) return ByteSum(buffer.count * element);
  return {element, fmt::format("len({})", buffer.name), sizes.lengths[id]};
}

namespace {

// 0 beyond the last one.
std::uint64_t bytes_in_spill(const GridSyncPlan& plan, bool per_workgroup, std::uint32_t number) {
  const std::uint64_t all = per_workgroup ? plan.group_words : plan.spill_words;
  const std::uint64_t each =
      words_per_spill(plan.spread, per_workgroup, static_cast<std::uint32_t>(all));
  const std::uint64_t before = each * number;
  return before >= all ? 0 : std::min(each, all - before) * 4;
}

// `spill`, `spill 2`, `spill 3`.
std::string numbered(std::string name, std::uint32_t number) {
  return number == 0 ? name : fmt::format("{} {}", name, number + 1);
}

}  // namespace

ByteSum size_of(const GridSyncPlan& plan, const SegmentBuffer& buffer, const KnownSizes& sizes) {
  switch (buffer.kind) {
    case BufferKind::Program:
    case BufferKind::Before:
      return size_of(plan.program, buffer.source, sizes);
    case BufferKind::Trips:
      return ByteSum(std::uint64_t{plan.trip_count} * 4);
    case BufferKind::Choices:
      return ByteSum(std::uint64_t{plan.choice_words} * 4);
    case BufferKind::Spill:
      return {bytes_in_spill(plan, false, buffer.source), "invocations", sizes.invocations()};
    case BufferKind::WorkgroupSpill:
      return {bytes_in_spill(plan, true, buffer.source), "workgroups", sizes.workgroups()};
    case BufferKind::Kept: {
      const ir::BufferDecl& kept = plan.program.buffer(buffer.source);
      const KeptPart part = kept_parts(kept, plan.spread)[buffer.part];
      return {part.count * ir::info(kept.element).bytes, "workgroups", sizes.workgroups()};
    }
    case BufferKind::Changed:
      return ByteSum(4);
    case BufferKind::Iterations:
      return ByteSum(16);
  }
  return {};
}

BufferList::BufferList(const GridSyncPlan& plan, const KnownSizes& sizes) {
  using Listed = ExplainedBuffer::Kind;
  for (BufferId id = 0; id < plan.program.buffers().size(); ++id) {
    const ir::BufferDecl& buffer = plan.program.buffer(id);
    if (buffer.access == ir::Access::Workgroup) continue;
    add({BufferKind::Program, id},
        {Listed::Program, buffer.name, std::string(ir::info(buffer.element).name),
         std::string(ir::to_string(ir::role_of(buffer))),
         size_of(plan.program, id, sizes).value()});
  }
  const auto add_own = [&](SegmentBuffer buffer, Listed kind, std::string name, std::string type) {
    const bool is_used = std::ranges::any_of(plan.segments, [&](const GridSegment& segment) {
      return std::ranges::find(segment.buffers, buffer) != segment.buffers.end();
    });
    if (!is_used) return;
    add(buffer, {kind, std::move(name), std::move(type), {}, size_of(plan, buffer, sizes).value()});
  };
  for (std::uint32_t i = 0; bytes_in_spill(plan, false, i) != 0; ++i) {
    add_own({BufferKind::Spill, i}, Listed::Spill, numbered("spill", i), "u32");
  }
  for (std::uint32_t i = 0; bytes_in_spill(plan, true, i) != 0; ++i) {
    add_own({BufferKind::WorkgroupSpill, i}, Listed::WorkgroupSpill, numbered("workgroup spill", i),
            "u32");
  }
  for (const BufferId id : plan.kept) {
    const ir::BufferDecl& kept = plan.program.buffer(id);
    const std::size_t parts = kept_parts(kept, plan.spread).size();
    for (std::uint32_t i = 0; i < parts; ++i) {
      add_own({BufferKind::Kept, id, i}, Listed::Kept, numbered("kept " + kept.name, i),
              std::string(ir::info(kept.element).name));
    }
  }
  add_own({BufferKind::Choices, kNone}, Listed::Control, "choices", "u32");
  add_own({BufferKind::Changed, kNone}, Listed::Control, "change word", "u32");
}

void BufferList::add(const SegmentBuffer& buffer, ExplainedBuffer explained) {
  sources_.push_back(buffer);
  buffers_.push_back(std::move(explained));
}

std::uint32_t BufferList::place_of(const SegmentBuffer& buffer) const {
  const auto found = std::ranges::find(sources_, buffer);
  return found == sources_.end() ? kNone : static_cast<std::uint32_t>(found - sources_.begin());
}

std::vector<ExplainedSegment> explain_segments(const GridSyncPlan& plan,
                                               const BufferList& buffers) {
  std::vector<ExplainedSegment> segments;
  for (const GridSegment& segment : plan.segments) {
    segments.push_back(explain_segment(plan, segment, buffers));
  }
  return segments;
}

std::vector<ExplainedPart> explain_order(const GridSyncPlan& plan,
                                         const std::vector<std::uint64_t>& visits) {
  return OrderWriter(plan, visits).range(0, static_cast<std::uint32_t>(plan.segments.size()));
}

std::vector<ExplainedSpill> explain_spills(const GridSyncPlan& plan) {
  std::vector<ExplainedSpill> spills;
  for (const SpilledValue& value : plan.spilled) {
    ExplainedSpill spill;
    spill.value = value_name(plan.program, value.variable);
    spill.word = value.word;
    spill.per_workgroup = value.per_workgroup;
    spill.type = "bool";
    if (value.bit != kNone) spill.bit = value.bit;
    if (value.variable != SpilledValue::kRunning) {
      const ir::TypeInfo& type = ir::info(plan.program.var(value.variable).type);
      spill.type = type.name;
      spill.words = std::max<std::uint32_t>((type.bytes + 3) / 4, 1);
    }
    spills.push_back(std::move(spill));
  }
  std::ranges::sort(spills, {}, [](const ExplainedSpill& spill) {
    return std::tuple(spill.per_workgroup, spill.word, spill.bit.value_or(0));
  });
  return spills;
}

std::optional<std::vector<std::uint32_t>> known_path(const GridSyncPlan& plan,
                                                     const KnownSizes& sizes) {
  if (!plan.host_resolvable) return std::nullopt;
  if (needs_unknown_size(plan, sizes)) return std::nullopt;
  std::vector<std::uint64_t> lengths;
  for (const auto& length : sizes.lengths) lengths.push_back(length.value_or(0));
  GridWalk walk(plan, std::move(lengths), sizes.grid.value_or(std::array{1u, 1u, 1u}));
  std::vector<std::uint32_t> path;
  for (std::optional<std::uint32_t> at = 0; at; at = walk.next(*at, {})) {
    if (path.size() == kMaxSteps) return std::nullopt;
    path.push_back(*at);
  }
  return path;
}

}  // namespace felsite::dispatch
