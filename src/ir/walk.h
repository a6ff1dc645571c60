// Walks over nodes in program order and reports where bodies begin and end. It keeps the open
// bodies itself instead of recursing, since the nesting may be deeper than the stack allows.
//
//   for (Walk walk(program, program.entry()); walk.next();) {
//     switch (walk.step()) { … walk.id() … }
//   }
#pragma once

#include <span>
#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

class Walk {
 public:
  enum class Step : std::uint8_t {
    Leaf,   // a node without a body
    Enter,  // a node with a body, before the body
    Else,   // between the two arms of an If; skipped if the second arm is empty
    Leave,  // a node with a body, after the body
  };

  Walk(const Program& program, NodeRange range)
      : program_(program), next_(range.begin), end_(range.end) {}

  // Moves to the next step; false after the last one.
  bool next() {
    if (!open_.empty()) {
      const NodeId around = open_.back();
      const Node& node = program_.node(around);
      if (next_ == node.end) {
        open_.pop_back();
        return is_at(Step::Leave, around);
      }
      const bool between = node.kind == NodeKind::If && next_ == node.extra;
      const bool was_there = step_ == Step::Else && id_ == around;
      if (between && !was_there) return is_at(Step::Else, around);
    }
    if (next_ == end_) return false;
    const NodeId id = next_++;
    if (!info(program_.node(id).kind).has_body) return is_at(Step::Leaf, id);
    open_.push_back(id);
    return is_at(Step::Enter, id);
  }

  Step step() const { return step_; }
  NodeId id() const { return id_; }
  // The nodes whose bodies contain this one, outermost first.
  std::span<const NodeId> around() const {
    return std::span(open_).first(open_.size() - (step_ == Step::Enter || step_ == Step::Else));
  }
  // After Enter: skips the body of the node. There is no Leave for it.
  void skip_body() {
    next_ = program_.node(id_).end;
    open_.pop_back();
    step_ = Step::Leaf;
  }

 private:
  bool is_at(Step step, NodeId id) {
    step_ = step;
    id_ = id;
    return true;
  }

  const Program& program_;
  NodeId next_;  // the first node that has not been visited
  NodeId end_;
  NodeId id_ = kNone;
  Step step_ = Step::Leaf;
  std::vector<NodeId> open_;
};

}  // namespace felsite::ir
