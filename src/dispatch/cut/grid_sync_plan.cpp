#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/cut/segment_writer.h"
#include "dispatch/telemetry/counters.h"
#include "felsite/grid_sync.h"
#include "felsite/validate.h"
#include "ir/analysis/workgroup_memory.h"

namespace felsite {
namespace {

using base::unsupported;
using dispatch::Cut;
using dispatch::CutEvent;
using dispatch::CutSegment;
using dispatch::KeptInSegment;
using ir::BufferId;
using ir::NodeId;
using ir::NodeKind;

template <class Visit>
void each_node(const CutSegment& segment, Visit visit) {
  for (const CutEvent& event : segment.events) {
    if (event.kind != CutEvent::Kind::Nodes) continue;
    for (NodeId id = event.nodes.begin; id < event.nodes.end; ++id) visit(id);
  }
}

std::vector<ir::Effects> segment_effects(const ir::Program& program, const Cut& cut) {
  const ir::AsyncDestinations copies(program);
  std::vector<ir::Effects> effects(cut.segments.size());
  for (std::size_t s = 0; s < effects.size(); ++s) {
    ir::Effects& all = effects[s];
    for (const CutEvent& event : cut.segments[s].events) {
      if (event.kind != CutEvent::Kind::Nodes) continue;
      const ir::Effects part = ir::effects_of(program, event.nodes, copies);
      all.reads.insert(all.reads.end(), part.reads.begin(), part.reads.end());
      all.writes.insert(all.writes.end(), part.writes.begin(), part.writes.end());
      all.atomics.insert(all.atomics.end(), part.atomics.begin(), part.atomics.end());
    }
    for (auto* list : {&all.reads, &all.writes, &all.atomics}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }
  return effects;
}

// Copies that may be in flight at the end of a segment. A wait completes those issued before it in
// its own body or in nested bodies: whenever they are issued, the wait is reached.
class OpenCopies {
 public:
  explicit OpenCopies(const ir::Program& program) : program_(program) {}

  std::vector<ir::NameId> at_end_of(const CutSegment& segment) {
    std::vector<ir::NameId> open;
    for (const CutEvent& event : segment.events) {
      if (event.kind == CutEvent::Kind::Nodes) go_through(event.nodes, open);
    }
    return open;
  }

 private:
  // The recursion is as deep as the nesting, which validation bounds.
  void go_through(ir::NodeRange body, std::vector<ir::NameId>& open) {
    for (NodeId id = body.begin; id < body.end; id = program_.node(id).end) {
      const ir::Node& node = program_.node(id);
      const bool issues = ir::info(node.kind).issues_copy;
      if (issues) open.push_back(node.name);
      if (node.kind == NodeKind::AsyncWait) std::erase(open, node.name);
      if (!ir::info(node.kind).has_body) continue;
      for (const ir::NodeRange inner : {program_.then_body(id), program_.else_body(id)}) {
        std::vector<ir::NameId> left;
        go_through(inner, left);
        open.insert(open.end(), left.begin(), left.end());
      }
    }
  }

  const ir::Program& program_;
};

// A copy that is issued in one segment and waited for in another, or in the same one on its next
// trip, would be lost in between.
Result<void> check_copies(const ir::Program& program, const Cut& cut) {
  if (!program.facts().has_async || cut.segments.size() == 1) return {};
  std::vector<std::pair<ir::NameId, std::uint32_t>> waits;  // tag and segment
  for (std::uint32_t s = 0; s < cut.segments.size(); ++s) {
    each_node(cut.segments[s], [&](NodeId id) {
      if (program.node(id).kind == NodeKind::AsyncWait)
        waits.emplace_back(program.node(id).name, s);
    });
  }
  OpenCopies copies(program);
  for (std::uint32_t s = 0; s < cut.segments.size(); ++s) {
    const bool comes_again = !cut.segments[s].repeats.empty();
    for (const ir::NameId tag : copies.at_end_of(cut.segments[s])) {
      const auto is_late = [&](const auto& wait) {
        return wait.first == tag && (wait.second != s || comes_again);
      };
      if (std::ranges::none_of(waits, is_late)) continue;
      return std::unexpected(
          unsupported(fmt::format("The asynchronous copy `{}` may be under way at a grid barrier.",
                                  program.name(tag)),
                      "wait for the copy before the barrier.", program.name()));
    }
  }
  return {};
}

// Which segments keep the contents of workgroup memory for later ones. Liveness propagates
// backwards from reads to where a buffer is filled as a whole.
class KeptMemory {
 public:
  KeptMemory(const ir::Program& program, const Cut& cut, const std::vector<ir::Effects>& effects,
             const std::vector<std::vector<BufferId>>& filled)
      : cut_(cut), effects_(effects), filled_(filled), kept_(cut.segments.size()) {
    before_.resize(cut.segments.size());
    for (std::uint32_t s = 0; s < cut.segments.size(); ++s) {
      const NextSegment& next = cut.segments[s].next;
      if (next.kind == NextSegment::Kind::End) continue;
      before_[next.target].push_back(s);
      if (next.else_target != next.target) before_[next.else_target].push_back(s);
    }
    for (BufferId id = 0; id < program.buffers().size(); ++id) {
      if (program.buffer(id).access == ir::Access::Workgroup) follow(id);
    }
  }

  std::vector<KeptInSegment> take() { return std::move(kept_); }

 private:
  static bool has(const std::vector<BufferId>& list, BufferId id) {
    return std::ranges::binary_search(list, id);
  }
  bool reads(std::uint32_t s, BufferId id) const {
    return has(effects_[s].reads, id) || has(effects_[s].atomics, id);
  }
  bool writes(std::uint32_t s, BufferId id) const {
    return has(effects_[s].writes, id) || has(effects_[s].atomics, id);
  }

  // Segments that a write may precede.
  std::vector<bool> behind_writes(BufferId id) const {
    std::vector<bool> behind(cut_.segments.size(), false);
    std::vector<std::uint32_t> open;
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      if (writes(s, id)) open.push_back(s);
    }
    while (!open.empty()) {
      const NextSegment& next = cut_.segments[open.back()].next;
      open.pop_back();
      if (next.kind == NextSegment::Kind::End) continue;
      for (const std::uint32_t to : {next.target, next.else_target}) {
        if (behind[to]) continue;
        behind[to] = true;
        open.push_back(to);
      }
    }
    return behind;
  }

  void follow(BufferId id) {
    const std::vector<bool> behind = behind_writes(id);
    std::vector<bool> live_in(cut_.segments.size(), false);
    std::vector<bool> live_out(cut_.segments.size(), false);
    std::vector<std::uint32_t> open;
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      if (!reads(s, id) || has(filled_[s], id) || !behind[s]) continue;
      live_in[s] = true;
      open.push_back(s);
    }
    while (!open.empty()) {
      const std::uint32_t s = open.back();
      open.pop_back();
      for (const std::uint32_t before : before_[s]) {
        live_out[before] = true;
        if (live_in[before] || has(filled_[before], id)) continue;
        live_in[before] = true;
        open.push_back(before);
      }
    }
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      const bool saves = live_out[s] && (writes(s, id) || s == 0);
      const bool restores = live_in[s] && s != 0 && (reads(s, id) || saves);
      if (saves) kept_[s].saved.push_back(id);
      if (restores) kept_[s].restored.push_back(id);
    }
  }

  const Cut& cut_;
  const std::vector<ir::Effects>& effects_;
  const std::vector<std::vector<BufferId>>& filled_;
  std::vector<std::vector<std::uint32_t>> before_;
  std::vector<KeptInSegment> kept_;
};

bool host_can_evaluate(const ir::Program& program, const dispatch::Values& values,
                       ir::ExprId root) {
  std::vector<ir::ExprId> open{root};
  std::vector<bool> seen(program.vars().size(), false);
  while (!open.empty()) {
    const ir::ExprId tree = open.back();
    open.pop_back();
    for (const ir::ExprId row : program.rows(tree)) {
      const ir::Expr& expr = program.expr(row);
      // Fast floats may differ between device and host.
      if (program.float_mode() == ir::FloatMode::Fast && ir::is_float(expr.type)) return false;
      const ir::DependsOn depends_on = ir::info(expr.kind).depends_on;
      if (depends_on == ir::DependsOn::Variable) {
        if (values.trip_of[expr.ref] != ir::kNone || seen[expr.ref]) continue;
        const NodeId let = values.declared_at[expr.ref];
        if (program.var(expr.ref).assigned || let == ir::kNone) return false;
        seen[expr.ref] = true;
        open.push_back(program.node(let).args[0]);
        continue;
      }
      // Nothing on the host evaluates the body of an operation.
      const bool is_known =
          depends_on == ir::DependsOn::Operands || depends_on == ir::DependsOn::Grid;
      if (!is_known || expr.kind == ir::ExprKind::Call) return false;
    }
  }
  return true;
}

class Planner {
 public:
  Planner(const ir::ValidProgram& program, const GridSyncOptions& options)
      : program_(program),
        options_(options),
        cut_(options.whole ? dispatch::uncut(program) : dispatch::cut_at_grid_syncs(program)) {}

  Result<GridSyncPlan> run() {
    FELSITE_CHECK(check_copies(program_, cut_));
    effects_ = segment_effects(program_, cut_);
    values_ = dispatch::find_values(program_, cut_, effects_, options_.store_choices);
    find_writers();
    if (options_.report_changes) {
      reports_ = dispatch::find_change_reports(program_, plan_.evolving, options_);
      forget_values_of_other_segments();
    }
    reports_.nodes.resize(program_.nodes().size());
    reports_.before.resize(program_.nodes().size(), ir::kNone);
    find_compared();
    kept_.resize(cut_.segments.size());
    find_kept();
    write();
    describe();
    return std::move(plan_);
  }

 private:
  void find_writers() {
    first_writer_.assign(program_.buffers().size(), ir::kNone);
    for (std::uint32_t s = 0; s < effects_.size(); ++s) {
      for (const auto* list : {&effects_[s].writes, &effects_[s].atomics}) {
        for (const BufferId id : *list) first_writer_[id] = std::min(first_writer_[id], s);
      }
    }
    for (BufferId id = 0; id < first_writer_.size(); ++id) {
      const bool stored = program_.buffer(id).access != ir::Access::Workgroup;
      if (stored && first_writer_[id] != ir::kNone) plan_.evolving.push_back(id);
    }
  }

  // An old value from before a cut would have to be kept; the store loads it again instead.
  void forget_values_of_other_segments() {
    std::vector<std::uint32_t> segment_of(program_.nodes().size(), ir::kNone);
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      each_node(cut_.segments[s], [&](NodeId id) { segment_of[id] = s; });
    }
    for (NodeId store = 0; store < segment_of.size(); ++store) {
      NodeId& let = reports_.before[store];
      if (let != ir::kNone && segment_of[let] != segment_of[store]) let = ir::kNone;
    }
  }

  // What a kernel that runs its iterations itself has to compare.
  void find_compared() {
    if (!options_.iterations_in_kernel || !options_.report_changes) return;
    std::ranges::set_difference(plan_.evolving, reports_.buffers, std::back_inserter(compared_));
  }

  dispatch::SegmentDecisions decisions() const {
    return {program_, cut_, values_, effects_, kept_, reports_, first_writer_, compared_, options_};
  }

  // The segments are written once without kept memory, to see which of them fill workgroup memory
  // before anything reads it.
  void find_kept() {
    const auto is_shared = [](const ir::BufferDecl& b) {
      return b.access == ir::Access::Workgroup;
    };
    if (cut_.segments.size() == 1 || std::ranges::none_of(program_.buffers(), is_shared)) return;
    const dispatch::SegmentDecisions without = decisions();
    dispatch::SegmentWriter writer(without);
    std::vector<std::vector<BufferId>> filled(cut_.segments.size());
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      const GridSegment segment = writer.write(s);
      const ir::NodeRange entry = segment.program.entry();
      const std::vector<BufferId> used =
          ir::used_workgroup_buffers(segment.program, ir::effects_of(segment.program, entry));
      const std::vector<BufferId> zeroed = ir::buffers_to_zero(segment.program, entry, used);
      for (const BufferId id : used) {
        if (std::ranges::find(zeroed, id) == zeroed.end()) {
          filled[s].push_back(segment.buffers[id].source);
        }
      }
      std::ranges::sort(filled[s]);
    }
    kept_ = KeptMemory(program_, cut_, effects_, filled).take();
  }

  bool does_nothing(std::uint32_t s) const {
    const ir::Effects& effects = effects_[s];
    const auto is_shared = [&](BufferId id) {
      return program_.buffer(id).access == ir::Access::Workgroup;
    };
    const NextSegment& next = cut_.segments[s].next;
    const bool decides =
        next.kind == NextSegment::Kind::Branch || next.kind == NextSegment::Kind::EnterLoop;
    bool acts = !std::ranges::all_of(effects.writes, is_shared) ||
                !std::ranges::all_of(effects.atomics, is_shared) ||
                !values_.segments[s].stored.empty() || !kept_[s].saved.empty() ||
                (options_.store_choices && decides);
    const bool is_last = next.kind == NextSegment::Kind::End;
    if (values_.tracks_running && !is_last) acts = acts || s == 0;
    each_node(cut_.segments[s], [&](NodeId id) {
      const NodeKind kind = program_.node(id).kind;
      acts = acts || kind == NodeKind::Trap ||
             (kind == NodeKind::Return && values_.tracks_running && !is_last);
    });
    return !acts;
  }

  void write() {
    const dispatch::SegmentDecisions all = decisions();
    dispatch::SegmentWriter writer(all);
    plan_.segments.reserve(cut_.segments.size());
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      plan_.segments.push_back(writer.write(s));
      plan_.segments.back().empty = does_nothing(s);
    }
  }

  void describe() {
    plan_.program = program_;
    plan_.forks = cut_.forks;
    plan_.spilled = values_.slots;
    plan_.reported = reports_.buffers;
    plan_.trip_count = cut_.trip_count;
    plan_.choice_words = 2 * static_cast<std::uint32_t>(cut_.forks.size());
    plan_.spill_words = values_.spill_words;
    plan_.group_words = values_.group_words;
    plan_.grid_syncs = cut_.grid_syncs;
    for (const KeptInSegment& kept : kept_) {
      plan_.kept.insert(plan_.kept.end(), kept.saved.begin(), kept.saved.end());
    }
    std::ranges::sort(plan_.kept);
    plan_.kept.erase(std::unique(plan_.kept.begin(), plan_.kept.end()), plan_.kept.end());
    plan_.spread = dispatch::effective_spread(plan_, options_.spread);
    for (const GridFork& fork : cut_.forks) {
      for (const ir::ExprId root : program_.expressions(fork.node)) {
        plan_.host_resolvable = plan_.host_resolvable && host_can_evaluate(program_, values_, root);
      }
    }
  }

  const ir::Program& program_;
  const GridSyncOptions& options_;
  const Cut cut_;
  std::vector<ir::Effects> effects_;
  dispatch::Values values_;
  std::vector<std::uint32_t> first_writer_;
  dispatch::ChangeReports reports_;
  std::vector<BufferId> compared_;
  std::vector<KeptInSegment> kept_;
  GridSyncPlan plan_;
};

}  // namespace

std::string_view to_string(SegmentBuffer::Kind kind) {
  switch (kind) {
    case SegmentBuffer::Kind::Program:
      return "program";
    case SegmentBuffer::Kind::Trips:
      return "trips";
    case SegmentBuffer::Kind::Choices:
      return "choices";
    case SegmentBuffer::Kind::Spill:
      return "spill";
    case SegmentBuffer::Kind::WorkgroupSpill:
      return "workgroup spill";
    case SegmentBuffer::Kind::Kept:
      return "kept";
    case SegmentBuffer::Kind::Changed:
      return "changed";
    case SegmentBuffer::Kind::Before:
      return "before";
    case SegmentBuffer::Kind::Iterations:
      return "iterations";
  }
  return "?";
}

Result<GridSyncPlan> plan_grid_sync(const ir::ValidProgram& program,
                                    const GridSyncOptions& options) {
  return base::guarded([&]() -> Result<GridSyncPlan> {
    dispatch::count(Counter::GridSyncPlans);
    return Planner(program, options).run();
  });
}

}  // namespace felsite
