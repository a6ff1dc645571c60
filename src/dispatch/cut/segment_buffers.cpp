// The buffer tables of segments: the program's buffers that a segment uses, with the access it
// needs, and those that the plan adds. Also the copies that collectives become.
#include <fmt/format.h>

#include <algorithm>

#include "dispatch/cut/segment_writer.h"

namespace felsite::dispatch {

using ir::Access;
using ir::BufferId;
using ir::ExprKind;
using ir::kNone;
using ir::NodeKind;

namespace {

// A copy keeps the bytes: loads and stores of floats would canonicalize them.
ir::Type bits_of_size(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return ir::Type::U8;
    case 2:
      return ir::Type::U16;
    case 4:
      return ir::Type::U32;
    default:
      return ir::Type::U64;
  }
}

}  // namespace

void SegmentWriter::see(ir::ExprId root, Uses& uses) {
  copier_.collect_ops(root);
  for (const ir::ExprId row : program_.rows(root)) {
    const ir::Expr& expr = program_.expr(row);
    const bool names_buffer = ir::info(expr.kind).names == ir::Names::Buffer;
    if (names_buffer && seen_[expr.ref] != segment_ + 1) {
      seen_[expr.ref] = segment_ + 1;
      uses.buffers.push_back(expr.ref);
    }
    if (expr.kind == ExprKind::Var && d_.values.trip_of[expr.ref] != kNone) {
      uses.trips[d_.values.trip_of[expr.ref]] = true;
    }
  }
}

SegmentWriter::Uses SegmentWriter::find_uses(std::uint32_t segment) {
  Uses uses;
  uses.trips.resize(d_.cut.trip_count);
  const auto name = [&](std::uint32_t ref) {
    if (ref == kNone || seen_[ref] == segment + 1) return;
    seen_[ref] = segment + 1;
    uses.buffers.push_back(ref);
  };
  for (const CutEvent& event : cut().events) {
    if (event.kind != CutEvent::Kind::Nodes) continue;
    for (ir::NodeId id = event.nodes.begin; id < event.nodes.end; ++id) {
      const ir::Node& node = program_.node(id);
      for (const ir::ExprId root : program_.expressions(id)) see(root, uses);
      const ir::NodeKindInfo& facts = ir::info(node.kind);
      // Of the collectives only the copies are work for a kernel.
      const bool is_lowered = facts.orders != ir::Orders::Grid || id == cut().copy;
      const bool uses_ref = facts.issues_copy || facts.reads == ir::NodeMemory::Buffer ||
                            facts.writes == ir::NodeMemory::Buffer;
      if (is_lowered && uses_ref) name(node.ref);
      if (is_lowered && facts.reads == ir::NodeMemory::Source) name(node.ref2);
      if (d_.reports.nodes[id]) uses.stores_reports = true;
    }
  }
  if (cut().copy != kNone) {
    std::ranges::sort(uses.buffers);
    return uses;
  }
  for (const ir::VarId v : values().recomputed) {
    see(program_.node(d_.values.declared_at[v]).args[0], uses);
  }
  for (const Values::Guard& guard : d_.values.guards) {
    if (guard.segment >= segment) break;
    see(program_.node(guard.node).args[0], uses);
    for (const ir::VarId v : guard.needs) {
      see(program_.node(d_.values.declared_at[v]).args[0], uses);
    }
  }
  const NextSegment& next = cut().next;
  const bool decides =
      next.kind == NextSegment::Kind::Branch || next.kind == NextSegment::Kind::EnterLoop;
  if (d_.options.store_choices && decides) {
    for (const ir::ExprId root : program_.expressions(d_.cut.forks[next.fork].node)) {
      see(root, uses);
    }
  }
  for (const auto* list : {&d_.kept[segment].restored, &d_.kept[segment].saved}) {
    for (const BufferId id : *list) name(id);
  }
  for (const BufferId id : d_.compared) name(id);
  if (d_.options.iterations_in_kernel && d_.options.report_changes) uses.stores_reports = true;
  std::ranges::sort(uses.buffers);
  return uses;
}

// An output that nothing has written yet is zeros and takes no bytes; one that an earlier segment,
// trip or iteration has written is handed on. Every other buffer holds the caller's bytes, and a
// segment that only writes must not lose any. No segment carries output flags.
ir::BufferDecl SegmentWriter::declaration(std::uint32_t segment, BufferId id) const {
  ir::BufferDecl buffer = program_.buffer(id);
  if (buffer.access == Access::Workgroup) return buffer;
  const ir::Effects& effects = d_.effects[segment];
  const auto has = [&](const std::vector<BufferId>& list) {
    return std::ranges::binary_search(list, id);
  };
  const bool is_output = ir::role_of(buffer) == ir::Role::Output;
  buffer.output = false;
  buffer.pipeline_live_out = false;
  if (cut().copy != kNone) buffer.element = bits_of_size(ir::info(buffer.element).bytes);
  const bool writes = has(effects.writes) || has(effects.atomics);
  if (!writes) {
    if (buffer.access != Access::Uniform) buffer.access = Access::ReadOnly;
    return buffer;
  }
  const bool is_fresh = is_output && d_.first_writer[id] == segment &&
                        !d_.options.many_iterations && d_.cut.segments[segment].repeats.empty();
  const bool reads = has(effects.reads) || has(effects.atomics);
  buffer.access = is_fresh && !reads ? Access::WriteOnly : Access::ReadWrite;
  return buffer;
}

BufferId SegmentWriter::add_own(SegmentBuffer::Kind kind, std::string_view name, ir::Type element,
                                std::uint32_t count, Access access, BufferId source,
                                std::uint32_t part) {
  ir::BufferDecl buffer;
  buffer.name = own(name);
  while (std::ranges::binary_search(taken_bindings_, next_binding_)) ++next_binding_;
  buffer.binding = next_binding_++;
  buffer.element = element;
  buffer.count = count;
  buffer.access = access;
  made_.buffers.push_back({kind, source, part});
  return out().add_buffer(std::move(buffer));
}

void SegmentWriter::declare_spills() {
  std::array<std::vector<bool>, 2> used;  // by spill number
  const auto use = [&](const SpilledValue& slot, std::uint32_t words) {
    std::vector<bool>& list = used[slot.per_workgroup ? 1 : 0];
    const std::uint32_t each = words_per_spill(slot.per_workgroup);
    const std::uint32_t last = (slot.word + words - 1) / each;
    if (list.size() <= last) list.resize(last + 1);
    list[slot.word / each] = list[last] = true;
  };
  if (d_.values.tracks_running) use(d_.values.slots.front(), 1);
  for (const auto* list : {&values().loaded, &values().stored}) {
    for (const ir::VarId v : *list) {
      use(d_.values.slots[d_.values.slot_of[v]], ir::info(program_.var(v).type).bytes == 8 ? 2 : 1);
    }
  }
  using Kind = SegmentBuffer::Kind;
  for (const bool per_workgroup : {false, true}) {
    const std::vector<bool>& list = used[per_workgroup ? 1 : 0];
    std::vector<BufferId>& spills = spills_[per_workgroup ? 1 : 0];
    spills.assign(list.size(), kNone);
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (!list[i]) continue;
      const std::string name = per_workgroup ? "workgroup_spill" : "spill";
      spills[i] = add_own(per_workgroup ? Kind::WorkgroupSpill : Kind::Spill,
                          i == 0 ? name : fmt::format("{}_{}", name, i + 1), ir::Type::U32, 0,
                          Access::ReadWrite, i);
    }
  }
}

void SegmentWriter::declare_buffers(std::uint32_t segment, const Uses& uses) {
  using Kind = SegmentBuffer::Kind;
  for (const BufferId id : uses.buffers) {
    ir::BufferDecl buffer = declaration(segment, id);
    made_.buffers.push_back({Kind::Program, id});
    copier_.map_buffer(id, out().add_buffer(std::move(buffer)));
  }
  const auto any = [](const std::vector<bool>& list) {
    return std::ranges::find(list, true) != list.end();
  };
  trips_ = choices_ = changed_ = kNone;
  spills_ = {};
  if (cut().copy != kNone) return;
  if (any(uses.trips)) {
    trips_ = add_own(Kind::Trips, "trips", ir::Type::U32, d_.cut.trip_count, Access::ReadOnly);
  }
  const NextSegment& next = cut().next;
  const bool decides =
      next.kind == NextSegment::Kind::Branch || next.kind == NextSegment::Kind::EnterLoop;
  if (d_.options.store_choices && decides) {
    choices_ = add_own(Kind::Choices, "choices", ir::Type::U32,
                       2 * static_cast<std::uint32_t>(d_.cut.forks.size()), Access::ReadWrite);
  }
  declare_spills();
  if (uses.stores_reports) {
    changed_ = add_own(Kind::Changed, "changed", ir::Type::U32, 1, Access::ReadWrite);
  }
  before_.clear();
  for (const BufferId id : d_.compared) {
    before_.emplace_back(id, add_own(Kind::Before, "before_" + program_.buffer(id).name,
                                     program_.buffer(id).element, 0, Access::ReadWrite, id));
  }
  if (d_.options.iterations_in_kernel) {
    add_own(Kind::Iterations, "iterations", ir::Type::U32, 3, Access::ReadWrite);
  }
  for (const auto* list : {&d_.kept[segment].restored, &d_.kept[segment].saved}) {
    for (const BufferId id : *list) {
      if (kept_buffers_[id] != kNone) continue;
      const ir::BufferDecl& buffer = program_.buffer(id);
      const std::size_t parts = kept_parts(buffer, d_.options.spread).size();
      for (std::uint32_t part = 0; part < parts; ++part) {
        // The number comes before the name, so that no other buffer is called the same.
        const std::string name =
            part == 0 ? "kept_" + buffer.name : fmt::format("kept_{}_{}", part + 1, buffer.name);
        const BufferId kept =
            add_own(Kind::Kept, name, buffer.element, 0, Access::ReadWrite, id, part);
        if (part == 0) kept_buffers_[id] = kept;
      }
    }
  }
}

// The whole grid copies, including invocations that have returned.
void SegmentWriter::write_copy() {
  const ir::Node& node = program_.node(cut().copy);
  const BufferId to = copier_.buffer(node.ref);
  const BufferId from = copier_.buffer(node.ref2);
  number_lanes();
  const ir::ExprId first_round = word(0);
  const ir::ExprId length = out().buffer_length(from);
  const ir::ExprId whole = out().binary(ir::BinaryOp::Div, length, var(lanes_));
  const ir::VarId round =
      out().open_loop(own("round"), first_round, with(ir::BinaryOp::Add, whole, 1));
  const ir::ExprId turn = var(round);
  const ir::ExprId first = out().binary(ir::BinaryOp::Mul, turn, var(lanes_));
  const ir::VarId at = out().let(own("at"), out().binary(ir::BinaryOp::Add, first, var(lane_)));
  const ir::ExprId index = var(at);
  out().open_if(out().binary(ir::BinaryOp::Lt, index, out().buffer_length(from)));
  const ir::ExprId place = var(at);
  out().store(to, place, out().load(from, var(at)));  // does nothing past the end
  out().close();
  out().close();
}

}  // namespace felsite::dispatch
