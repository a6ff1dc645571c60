#include "dispatch/cut/segment_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace felsite::dispatch {

using ir::BinaryOp;
using ir::BufferId;
using ir::ExprId;
using ir::ExprKind;
using ir::kNone;
using ir::NodeId;
using ir::NodeKind;
using ir::VarId;

namespace {

std::string unused_prefix(const ir::Program& program) {
  std::string prefix = "felsite_";
  const auto taken = [&] {
    const auto begins = [&](std::string_view name) { return name.starts_with(prefix); };
    return std::ranges::any_of(program.buffers(), begins, &ir::BufferDecl::name) ||
           std::ranges::any_of(
               program.vars(),
               [&](const ir::Variable& v) { return begins(program.name(v.name)); }) ||
           std::ranges::any_of(program.ops(),
                               [&](const ir::OpDecl& op) { return begins(program.name(op.name)); });
  };
  while (taken()) prefix += "x_";
  return prefix;
}

}  // namespace

SegmentWriter::SegmentWriter(const SegmentDecisions& decisions)
    : d_(decisions),
      program_(decisions.program),
      copier_(decisions.program),
      prefix_(unused_prefix(decisions.program)),
      seen_(decisions.program.buffers().size(), 0),
      kept_buffers_(decisions.program.buffers().size(), kNone) {
  for (const ir::BufferDecl& buffer : program_.buffers()) {
    if (buffer.access != ir::Access::Workgroup) taken_bindings_.push_back(buffer.binding);
  }
  std::ranges::sort(taken_bindings_);
  const ir::NodeRange entry = program_.entry();
  const auto nodes = program_.nodes().subspan(entry.begin, entry.end - entry.begin);
  has_returns_ = std::ranges::find(nodes, NodeKind::Return, &ir::Node::kind) != nodes.end();
  copier_.rewrite = [this](NodeId id) { return replace(id); };
}

GridSegment SegmentWriter::write(std::uint32_t segment) {
  segment_ = segment;
  made_ = {};
  made_.next = cut().next;
  made_.repeats = cut().repeats;
  next_binding_ = 0;
  note_copies();
  const bool has_text = !program_.source().empty();
  assembler_ = std::make_unique<ir::Assembler>(has_text ? ir::Assembler::Positions::Rows
                                                        : ir::Assembler::Positions::None);
  if (has_text) out().keep_positions(program_.source());
  copier_.write_to(out());
  const Uses uses = find_uses(segment);
  declare_buffers(segment, uses);
  copier_.copy_ops();
  if (cut().copy != kNone) {
    write_copy();
  } else {
    write_places();
    take_from_memory();
    leave_if_returned();
    take_over({});
    recheck_guards();
    open_scopes(uses);
    write_events();
    if (!ends_with_return()) write_end();
  }
  while (out().open_depth() != 0) out().close();
  if (out().node_count() == 0)
    out().plain(NodeKind::Return);  // a program has at least one statement
  if (cut().copy == kNone) made_.recomputed = values().recomputed;
  made_.loaded = values().loaded;
  made_.stored = values().stored;
  for (const BufferId id : d_.kept[segment].restored) kept_buffers_[id] = kNone;
  for (const BufferId id : d_.kept[segment].saved) kept_buffers_[id] = kNone;
  // The name has no number, so that equal segments share one kernel.
  made_.program = out().finish(fmt::format("{}_segment", program_.name()),
                               program_.workgroup_size(), program_.float_mode());
  return std::move(made_);
}

// The number of an id along all axes, x fastest.
ExprId SegmentWriter::linear(ExprKind id, ExprKind extent) {
  if (id == ExprKind::WorkgroupId && d_.options.one_dimensional) return out().builtin(id, 0);
  ExprId number = out().builtin(id, 2);
  for (std::uint8_t axis = 2; axis-- > 0;) {
    const ExprId scaled = out().binary(BinaryOp::Mul, number, out().builtin(extent, axis));
    number = out().binary(BinaryOp::Add, scaled, out().builtin(id, axis));
  }
  return number;
}

ExprId SegmentWriter::group_number() {
  return linear(ExprKind::WorkgroupId, ExprKind::NumWorkgroups);
}

ExprId SegmentWriter::group_count() {
  ExprId count = out().builtin(ExprKind::NumWorkgroups, 0);
  if (d_.options.one_dimensional) return count;
  for (std::uint8_t axis = 1; axis < 3; ++axis) {
    count = out().binary(BinaryOp::Mul, count, out().builtin(ExprKind::NumWorkgroups, axis));
  }
  return count;
}

// The invocation's number in the grid and the number of invocations, for work that all share.
void SegmentWriter::number_lanes() {
  const auto& size = program_.workgroup_size();
  const std::uint32_t in_group = size[0] * size[1] * size[2];
  const ExprId first = with(BinaryOp::Mul, group_number(), in_group);
  lane_ = out().let(own("lane"), out().binary(BinaryOp::Add, first,
                                              linear(ExprKind::LocalId, ExprKind::WorkgroupSize)));
  lanes_ = out().let(own("lanes"), with(BinaryOp::Mul, group_count(), in_group));
}

// The places of this invocation and its workgroup in the spill buffers.
void SegmentWriter::write_places() {
  const auto& size = program_.workgroup_size();
  const std::uint32_t in_group = size[0] * size[1] * size[2];
  group_ = groups_ = lane_ = lanes_ = kNone;
  const bool keeps = !d_.kept[segment_].restored.empty() || !d_.kept[segment_].saved.empty();
  const bool spills_groups = !spills_[1].empty();
  if (spills_groups || keeps) group_ = out().let(own("group"), group_number());
  if (spills_groups && words_per_spill(/*per_workgroup=*/true) > 1) {
    groups_ = out().let(own("groups"), group_count());
  }
  if (spills_[0].empty()) return;
  const bool one_row = d_.options.one_dimensional && size[1] * size[2] == 1;
  ExprId lane = kNone;
  if (one_row) {
    lane = out().builtin(ExprKind::InvocationId, 0);
  } else {
    const ExprId before = with(BinaryOp::Mul, group_number(), in_group);
    lane = out().binary(BinaryOp::Add, before, linear(ExprKind::LocalId, ExprKind::WorkgroupSize));
  }
  lane_ = out().let(own("lane"), lane);
  if (words_per_spill(/*per_workgroup=*/false) > 1) {
    const ExprId groups = group_count();
    lanes_ = out().let(own("lanes"), with(BinaryOp::Mul, groups, in_group));
  }
}

// All invocations take part, even those that have returned, and read before any of them writes new
// values.
void SegmentWriter::take_from_memory() {
  from_group_.clear();
  for (const VarId v : values().loaded) {
    if (!d_.values.slots[d_.values.slot_of[v]].per_workgroup) continue;
    const ExprId value = spilled_value(v);
    from_group_.emplace_back(v, out().let(own(fmt::format("group_{}", from_group_.size())), value));
  }
  for (const BufferId id : d_.kept[segment_].restored) restore(id);
  const bool writes_groups = std::ranges::any_of(values().stored, [&](VarId v) {
    return d_.values.slots[d_.values.slot_of[v]].per_workgroup;
  });
  const bool races = !from_group_.empty() && writes_groups;
  if (!d_.kept[segment_].restored.empty() || races) out().barrier(ir::Ordering::AcqRel);
}

void SegmentWriter::leave_if_returned() {
  if (!d_.values.tracks_running || segment_ == 0) return;
  const SpilledValue& running = d_.values.slots.front();
  const ExprId bit = with(BinaryOp::BitAnd, spilled_word(running, 0), 1u << running.bit);
  out().open_if(with(BinaryOp::Eq, bit, 0));
  out().plain(NodeKind::Return);
  out().close();
}

void SegmentWriter::recheck_guards() {
  for (const Values::Guard& guard : d_.values.guards) {
    if (guard.segment >= segment_) break;
    const bool in_scope = !(guard.scope == CutScope{});
    if (in_scope) {
      out().open_block();
      // They get new names: variables in scope here may have the old ones.
      for (const VarId v : guard.needs) {
        if (d_.values.scope_of[v] == CutScope{}) continue;
        const ExprId value = copier_.expression(program_.node(d_.values.declared_at[v]).args[0]);
        copier_.map_variable(v, out().let(own(fmt::format("asked_{}", v)), value));
      }
    }
    out().open_if(copier_.expression(program_.node(guard.node).args[0]));
    out().plain(NodeKind::Return);
    out().close();
    if (in_scope) out().close();
  }
}

// The variables of a scope that live across the boundary.
void SegmentWriter::take_over(const CutScope& scope) {
  const auto is_here = [&](VarId v) { return d_.values.scope_of[v] == scope; };
  for (const VarId v : values().recomputed) {
    if (is_here(v)) copier_.node(d_.values.declared_at[v]);
  }
  for (const VarId v : values().loaded) {
    if (!is_here(v)) continue;
    const auto read = std::ranges::find(from_group_, v, &std::pair<VarId, VarId>::first);
    const ExprId value = read != from_group_.end() ? var(read->second) : spilled_value(v);
    copier_.map_variable(v, out().let(program_.var_name(v), value));
  }
  for (const VarId v : values().blank) {
    if (!is_here(v)) continue;
    copier_.map_variable(v, out().let(program_.var_name(v), zero_of(program_.var(v).type)));
  }
}

// Blocks and regions enclose both halves; the body of a fork is a scope like a block.
void SegmentWriter::open_scopes(const Uses& uses) {
  for (const CutScope& scope : cut().entry) {
    const ir::Node& node = program_.node(scope.node);
    if (node.kind == NodeKind::Region) {
      out().open_region(program_.name(node.name));
    } else {
      out().open_block();
    }
    if (node.kind == NodeKind::Loop) {
      const std::uint32_t trip = d_.values.trip_of[node.ref];
      if (uses.trips[trip]) {
        const ExprId value = out().load(trips_, word(trip));
        copier_.map_variable(node.ref, out().let(program_.var_name(node.ref), value));
      }
    }
    take_over(scope);
  }
}

void SegmentWriter::write_events() {
  for (const CutEvent& event : cut().events) {
    switch (event.kind) {
      case CutEvent::Kind::Open: {
        const ir::Node& node = program_.node(event.scope.node);
        if (node.kind == NodeKind::Region) {
          out().open_region(program_.name(node.name));
        } else {
          out().open_block();
        }
        break;
      }
      case CutEvent::Kind::Close:
        out().close();
        break;
      case CutEvent::Kind::Nodes:
        copier_.nodes(event.nodes);
        break;
    }
  }
}

bool SegmentWriter::ends_with_return() const {
  const std::vector<CutEvent>& events = cut().events;
  if (events.empty() || events.back().kind != CutEvent::Kind::Nodes) return false;
  const ir::NodeRange nodes = events.back().nodes;
  NodeId last = nodes.begin;
  while (program_.node(last).end != nodes.end) last = program_.node(last).end;
  return program_.node(last).kind == NodeKind::Return;
}

void SegmentWriter::write_end() {
  store_spills();
  compare_state();
  const NextSegment& next = cut().next;
  if (choices_ != kNone) {
    const GridFork& fork = d_.cut.forks[next.fork];
    const ir::Node& node = program_.node(fork.node);
    if (fork.is_loop) {
      const ExprId first = word(fork.choice);
      out().store(choices_, first, copier_.expression(node.args[0]));
      const ExprId second = word(fork.choice + 1);
      out().store(choices_, second, copier_.expression(node.args[1]));
    } else {
      // In a variable, because the condition may already be as deep as an expression may be.
      const VarId condition = out().let(own("condition"), copier_.expression(node.args[0]));
      const ExprId at = word(fork.choice);
      const ExprId is_true = var(condition);
      const ExprId yes = word(1);
      out().store(choices_, at, out().select(is_true, yes, word(0)));
    }
  }
  if (d_.kept[segment_].saved.empty()) return;
  out().barrier(ir::Ordering::AcqRel);
  for (const BufferId id : d_.kept[segment_].saved) save(id);
}

void SegmentWriter::note_copies() {
  issued_.clear();
  waited_.clear();
  if (!program_.facts().has_async) return;
  for (const CutEvent& event : cut().events) {
    if (event.kind != CutEvent::Kind::Nodes) continue;
    for (NodeId id = event.nodes.begin; id < event.nodes.end; ++id) {
      const ir::Node& node = program_.node(id);
      const bool issues = ir::info(node.kind).issues_copy;
      if (issues) issued_.push_back(node.name);
      if (node.kind == NodeKind::AsyncWait) waited_.push_back(node.name);
    }
  }
  std::ranges::sort(issued_);
  std::ranges::sort(waited_);
}

// No copy is in flight at a segment boundary: a copy without a wait in this segment is never seen,
// and copies issued elsewhere have been waited for. The trap of a `resume` may be in another
// segment.
bool SegmentWriter::does_nothing(NodeId id) const {
  const ir::Node& node = program_.node(id);
  const auto lacks = [&](const std::vector<ir::NameId>& tags) {
    return !std::ranges::binary_search(tags, node.name);
  };
  const bool issues = ir::info(node.kind).issues_copy;
  return node.kind == NodeKind::Resume || (issues && lacks(waited_)) ||
         (node.kind == NodeKind::AsyncWait && lacks(issued_));
}

bool SegmentWriter::replace(NodeId id) {
  const ir::Node& node = program_.node(id);
  if (does_nothing(id)) return true;
  // Of a program that is not cut: with one rank there is nothing else to it.
  if (ir::info(node.kind).orders == ir::Orders::Grid) {
    out().barrier(ir::Ordering::GridSync);
    return true;
  }
  if (d_.reports.nodes[id]) {
    if (node.kind == NodeKind::Store) {
      report_store(id);
    } else {
      report_atomic(id);
    }
    return true;
  }
  const bool is_last = cut().next.kind == NextSegment::Kind::End;
  if (node.kind == NodeKind::Return && d_.values.tracks_running && !is_last) {
    mark_returned();
    out().plain(NodeKind::Return);
    return true;
  }
  return false;
}

// A value whose equality is the equality of its bits.
ExprId SegmentWriter::as_bits(ir::Type element, ExprId value) {
  if (element == ir::Type::F32) return out().bitcast(ir::Type::U32, value);
  if (element == ir::Type::F64) return out().bitcast(ir::Type::U64, value);
  if (ir::is_float(element)) {
    return out().bitcast(ir::Type::U32, out().cast(ir::Type::F32, value));
  }
  if (element == ir::Type::Bool) return out().cast(ir::Type::U32, value);
  return value;
}

// At the end of an iteration inside the kernel, all invocations together compare the buffers that
// no store reports on.
void SegmentWriter::compare_state() {
  if (before_.empty()) return;
  out().barrier(ir::Ordering::GridSync);
  out().open_block();
  number_lanes();
  for (const auto& [buffer, before] : before_) compare_buffer(buffer);
  out().close();
}

void SegmentWriter::compare_buffer(BufferId buffer) {
  const BufferId now = copier_.buffer(buffer);
  const BufferId before =
      std::ranges::find(before_, buffer, &std::pair<BufferId, BufferId>::first)->second;
  const ir::Type element = program_.buffer(buffer).element;
  const ExprId from = word(0);
  const ExprId length = out().buffer_length(now);
  const ExprId whole = out().binary(BinaryOp::Div, length, var(lanes_));
  const VarId round = out().open_loop(own("round"), from, with(BinaryOp::Add, whole, 1));
  const ExprId turn = var(round);
  const ExprId first = out().binary(BinaryOp::Mul, turn, var(lanes_));
  const VarId at = out().let(own("at"), out().binary(BinaryOp::Add, first, var(lane_)));
  const ExprId index = var(at);
  out().open_if(out().binary(BinaryOp::Lt, index, out().buffer_length(now)));
  const ExprId is = as_bits(element, out().load(now, var(at)));
  out().open_if(out().binary(BinaryOp::Ne, is, as_bits(element, out().load(before, var(at)))));
  const ExprId to = var(at);
  out().store(before, to, out().load(now, var(at)));
  const ExprId flag = word(0);
  out().store(changed_, flag, word(1));
  out().close();
  out().close();
  out().close();
}

// This is the only store to the element in an iteration, so the iteration changes it exactly if the
// store does. The old value is loaded once, for the comparison and for the new value.
void SegmentWriter::report_store(NodeId id) {
  const ir::Node& node = program_.node(id);
  const ir::Type element = program_.buffer(node.ref).element;
  const BufferId to = copier_.buffer(node.ref);
  out().open_block();
  const VarId at = out().let(own("at"), copier_.expression(node.args[0]));
  const NodeId let = d_.reports.before[id];
  const VarId before = let != ir::kNone ? copier_.variable(program_.node(let).ref)
                                        : out().let(own("before"), out().load(to, var(at)));
  const ir::Expr& own_place = program_.expr(node.args[0]);
  copier_.is_replaced = [&](ExprId row) {
    const ir::Expr& load = program_.expr(row);
    if (load.kind != ExprKind::Load || load.ref != node.ref) return false;
    const ir::Expr& index = program_.expr(load.args[0]);
    return program_.operands(load.args[0]).empty() && index.kind == own_place.kind &&
           index.ref == own_place.ref && index.aux == own_place.aux;
  };
  copier_.replacement = [&](ExprId) { return var(before); };
  const VarId fresh = out().let(own("fresh"), copier_.expression(node.args[1]));
  copier_.is_replaced = nullptr;
  const ExprId index = var(at);
  const ExprId inside = out().binary(BinaryOp::Lt, index, out().buffer_length(to));
  const ExprId old_bits = as_bits(element, var(before));
  const ExprId differs = out().binary(BinaryOp::Ne, old_bits, as_bits(element, var(fresh)));
  out().open_if(out().binary(BinaryOp::And, inside, differs));
  const ExprId target = var(at);
  out().store(to, target, var(fresh));
  const ExprId flag = word(0);
  out().store(changed_, flag, word(1));
  out().close();
  out().close();
}

// All that changes the buffer are operations of this kind, which never bring an element back to a
// value that it had. Past the end none changes anything.
void SegmentWriter::report_atomic(NodeId id) {
  const ir::Node& node = program_.node(id);
  const ir::Expr& atomic = program_.expr(node.args[0]);
  const BufferId to = copier_.buffer(atomic.ref);
  const VarId at = out().let(own(fmt::format("at_{}", id)), copier_.expression(atomic.args[0]));
  const VarId by = out().let(own(fmt::format("by_{}", id)), copier_.expression(atomic.args[1]));
  const ExprId index = var(at);
  ir::Expr same = atomic;
  same.ref = to;
  const std::array operands{index, var(by)};
  const VarId old = out().let(program_.var_name(node.ref), out().append(same, operands));
  copier_.map_variable(node.ref, old);
  const ExprId place = var(at);
  const ExprId inside = out().binary(BinaryOp::Lt, place, out().buffer_length(to));
  const ExprId before = var(old);
  const ExprId fresh = out().binary(*one_way(atomic.atomic()), before, var(by));
  const ExprId differs = out().binary(BinaryOp::Ne, fresh, var(old));
  out().open_if(out().binary(BinaryOp::And, inside, differs));
  const ExprId flag = word(0);
  out().store(changed_, flag, word(1));
  out().close();
}

// `element`: counted from the first one of the part.
ExprId SegmentWriter::kept_place(const KeptPart& part, VarId element) {
  const ExprId begin = with(BinaryOp::Mul, var(group_), part.count);
  return out().binary(BinaryOp::Add, begin, var(element));
}

ExprId SegmentWriter::shared_place(const KeptPart& part, VarId element) {
  return part.first == 0 ? var(element) : with(BinaryOp::Add, var(element), part.first);
}

// `together`: each invocation of the workgroup copies a share. Where some may have returned, every
// running invocation copies everything, and all of them write the same. `body` is given the Kept
// buffer of the part.
template <class Body>
void SegmentWriter::each_element(BufferId buffer, bool together, Body body) {
  const auto& size = program_.workgroup_size();
  const std::uint32_t lanes = size[0] * size[1] * size[2];
  BufferId kept = kept_buffers_[buffer];
  for (const KeptPart& part : kept_parts(program_.buffer(buffer), d_.options.spread)) {
    const std::uint32_t count = part.count;
    const ExprId from = word(0);
    const VarId round =
        out().open_loop(own("round"), from, word(together ? (count + lanes - 1) / lanes : count));
    if (!together) {
      body(kept, part, round);
    } else {
      const ExprId first = with(BinaryOp::Mul, var(round), lanes);
      const VarId element = out().let(
          own("element"),
          out().binary(BinaryOp::Add, first, linear(ExprKind::LocalId, ExprKind::WorkgroupSize)));
      const ExprId index = var(element);
      out().open_if(with(BinaryOp::Lt, index, count));
      body(kept, part, element);
      out().close();
    }
    out().close();
    ++kept;
  }
}

void SegmentWriter::restore(BufferId buffer) {
  const BufferId shared = copier_.buffer(buffer);
  each_element(buffer, true, [&](BufferId kept, const KeptPart& part, VarId element) {
    const ExprId to = shared_place(part, element);
    out().store(shared, to, out().load(kept, kept_place(part, element)));
  });
}

void SegmentWriter::save(BufferId buffer) {
  const BufferId shared = copier_.buffer(buffer);
  const auto copy = [&](BufferId kept, const KeptPart& part, VarId element) {
    const ExprId to = kept_place(part, element);
    out().store(kept, to, out().load(shared, shared_place(part, element)));
  };
  each_element(buffer, /*together=*/!has_returns_, copy);
}

}  // namespace felsite::dispatch
