// Liveness the slow way: every path through a small program, loops run 0, 1 and 2 times, and on
// each path what is read later before it is set. Two trips show everything: a value that is read
// at all is read on a path that takes no back edge twice.
#pragma once

#include <doctest/doctest.h>

#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "felsite/program.h"

namespace felsite::test {

class Paths {
 public:
  using Live = std::vector<std::optional<std::set<ir::VarId>>>;  // by NodeId; none if not reached

  // Nothing when the program has more than `limit` paths.
  static std::optional<Live> live_after(const ir::Program& program, std::size_t limit) {
    Paths paths(program, limit);
    const std::vector<Trace> traces = paths.body(program.entry(), {Trace{}});
    if (paths.too_many_) return std::nullopt;
    Live live(program.nodes().size());
    for (const Trace& trace : traces) {
      std::set<ir::VarId> needed;
      for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
        if (step->kind == Step::After) {
          if (!live[step->id]) live[step->id].emplace();
          live[step->id]->insert(needed.begin(), needed.end());
        }
        if (step->kind == Step::Set) needed.erase(step->id);
        if (step->kind == Step::Read) needed.insert(step->id);
      }
    }
    return live;
  }

 private:
  struct Step {
    enum Kind { Read, Set, After } kind;
    std::uint32_t id;  // VarId; NodeId of After
  };
  struct Trace {
    std::vector<Step> steps;
    bool returned = false;
  };
  using Traces = std::vector<Trace>;

  Paths(const ir::Program& program, std::size_t limit) : program_(program), limit_(limit) {}

  static void add(Traces& traces, Step step) {
    for (Trace& trace : traces) {
      if (!trace.returned) trace.steps.push_back(step);
    }
  }
  static void join(Traces& into, Traces other) {
    into.insert(into.end(), std::make_move_iterator(other.begin()),
                std::make_move_iterator(other.end()));
  }
  // Traces that have returned go no further.
  static Traces take_returned(Traces& traces) {
    Traces done;
    Traces going;
    for (Trace& trace : traces) (trace.returned ? done : going).push_back(std::move(trace));
    traces = std::move(going);
    return done;
  }

  void reads(ir::ExprId id, Traces& traces) {
    for (const ir::ExprId operand : program_.operands(id)) reads(operand, traces);
    const ir::Expr& expr = program_.expr(id);
    if (expr.kind == ir::ExprKind::Var) add(traces, {Step::Read, expr.ref});
  }

  Traces body(ir::NodeRange range, Traces traces) {
    for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
      Traces done = take_returned(traces);
      traces = node(id, std::move(traces));
      add(traces, {Step::After, id});
      if (program_.node(id).kind == ir::NodeKind::Return) {
        for (Trace& trace : traces) trace.returned = true;
      }
      join(traces, std::move(done));
      if (traces.size() > limit_) too_many_ = true;
      if (too_many_) return {};
    }
    return traces;
  }

  Traces node(ir::NodeId id, Traces traces) {
    const ir::Node& node = program_.node(id);
    for (const ir::ExprId root : program_.expressions(id)) reads(root, traces);
    if (node.kind == ir::NodeKind::Let || node.kind == ir::NodeKind::Assign) {
      add(traces, {Step::Set, node.ref});
    }
    if (node.kind == ir::NodeKind::If) {
      Traces otherwise = body(program_.else_body(id), traces);
      traces = body(program_.then_body(id), std::move(traces));
      join(traces, std::move(otherwise));
    }
    if (node.kind == ir::NodeKind::Block || node.kind == ir::NodeKind::Region) {
      traces = body(program_.then_body(id), std::move(traces));
    }
    if (node.kind == ir::NodeKind::Loop) {
      Traces once = traces;
      add(once, {Step::Set, node.ref});
      once = body(program_.then_body(id), std::move(once));
      Traces twice = once;
      Traces done = take_returned(twice);  // counted with `once` already
      add(twice, {Step::Set, node.ref});
      twice = body(program_.then_body(id), std::move(twice));
      join(traces, std::move(once));
      join(traces, std::move(twice));
    }
    return traces;
  }

  const ir::Program& program_;
  std::size_t limit_;
  bool too_many_ = false;
};

}  // namespace felsite::test
