// The cut of a program at its grid barriers as text.
#pragma once

#include <fmt/format.h>

#include <string>

#include "dispatch/cut/grid_sync_cut.h"
#include "support/parse.h"

namespace felsite::test {

// What a node does, in one word: the variable of a Let or loop, the buffer of a store with "[]".
inline std::string node_word(const ir::Program& program, ir::NodeId id) {
  const ir::Node& node = program.node(id);
  switch (node.kind) {
    case ir::NodeKind::Let:
    case ir::NodeKind::Assign:
    case ir::NodeKind::Loop:
      return fmt::format("{}:{}", ir::info(node.kind).name, program.var_name(node.ref));
    case ir::NodeKind::Store:
      return program.buffer(node.ref).name + "[]";
    case ir::NodeKind::If:
    case ir::NodeKind::Return:
    case ir::NodeKind::Block:
    case ir::NodeKind::Region:
    case ir::NodeKind::Barrier:
    case ir::NodeKind::IndirectDispatch:
    case ir::NodeKind::AsyncLoad:
    case ir::NodeKind::AsyncStore:
    case ir::NodeKind::AsyncWait:
    case ir::NodeKind::Trap:
    case ir::NodeKind::Resume:
    case ir::NodeKind::AllReduce:
    case ir::NodeKind::AllGather:
    case ir::NodeKind::ReduceScatter:
    case ir::NodeKind::Broadcast:
      break;
  }
  return std::string(ir::info(node.kind).name);
}

inline std::string scope_word(const ir::Program& program, const dispatch::CutScope& scope) {
  return scope.otherwise ? "Else" : node_word(program, scope.node);
}

inline std::string next_text(const NextSegment& next) {
  switch (next.kind) {
    case NextSegment::Kind::Jump:
      return fmt::format("{}", next.target);
    case NextSegment::Kind::Branch:
      return fmt::format("if fork {}: {} else {}", next.fork, next.target, next.else_target);
    case NextSegment::Kind::EnterLoop:
      return fmt::format("enter fork {}: {} else {}", next.fork, next.target, next.else_target);
    case NextSegment::Kind::NextTrip:
      return fmt::format("again fork {}: {} else {}", next.fork, next.target, next.else_target);
    case NextSegment::Kind::End:
      break;
  }
  return "end";
}

// One line per segment, such as "1 in Loop:k: x[] { x[] -> again fork 0: 1 else 2": the bodies that
// are open at its beginning, its statements, and where to go from it.
inline std::string text_of(const ir::Program& program, const dispatch::Cut& cut) {
  using Kind = dispatch::CutEvent::Kind;
  std::string text;
  for (std::size_t s = 0; s < cut.segments.size(); ++s) {
    const dispatch::CutSegment& segment = cut.segments[s];
    text += fmt::format("{}", s);
    std::vector<std::uint32_t> repeats;
    for (const dispatch::CutScope& scope : segment.entry) {
      text += fmt::format(" in {}", scope_word(program, scope));
      for (std::uint32_t fork = 0; fork < cut.forks.size(); ++fork) {
        if (cut.forks[fork].is_loop && cut.forks[fork].node == scope.node) repeats.push_back(fork);
      }
    }
    CHECK(segment.repeats == repeats);
    text += ":";
    std::vector<dispatch::CutScope> open = segment.entry;
    for (const dispatch::CutEvent& event : segment.events) {
      if (event.kind == Kind::Open) {
        open.push_back(event.scope);
        text += fmt::format(" {}{{", scope_word(program, event.scope));
      } else if (event.kind == Kind::Close) {
        REQUIRE(!open.empty());
        open.pop_back();
        text += " }";
      } else {
        for (ir::NodeId id = event.nodes.begin; id < event.nodes.end; id = program.node(id).end) {
          text += " " + node_word(program, id);
        }
      }
    }
    CHECK(segment.end == open);
    if (segment.copy != ir::kNone) text += " (copy)";
    text += fmt::format(" -> {}\n", next_text(segment.next));
  }
  return text;
}

}  // namespace felsite::test
