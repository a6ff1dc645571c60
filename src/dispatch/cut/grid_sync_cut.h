// Where grid barriers cut a program: its nodes in segments, and the control flow between them.
// Collectives cut it too. There is one rank, so a collective does nothing or copies one buffer to
// another, in its own segment.
#pragma once

#include <vector>

#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// A body that encloses a segment: of a Block, Region or loop, or an arm of an If. Bodies of forks
// are only scopes: the plan decides whether they are entered.
struct CutScope {
  ir::NodeId node = ir::kNone;  // kNone: the entry itself
  bool otherwise = false;       // the else arm
  bool operator==(const CutScope&) const = default;
};

struct CutEvent {
  enum class Kind : std::uint8_t { Open, Close, Nodes };
  Kind kind;
  CutScope scope{};       // of Open
  ir::NodeRange nodes{};  // of Nodes: sibling statements without a grid barrier
};

struct CutSegment {
  std::vector<CutScope> entry;  // open at its beginning, outermost first
  std::vector<CutEvent> events;
  std::vector<CutScope> end;  // open at its end
  NextSegment next;
  std::vector<std::uint32_t> repeats;
  ir::NodeId copy = ir::kNone;  // the collective that the segment consists of
};

struct Cut {
  std::vector<CutSegment> segments;
  std::vector<GridFork> forks;
  std::uint32_t trip_count = 0;
  std::uint32_t grid_syncs = 0;
};

// Whether the collective copies one buffer to another with one rank.
bool is_copy(const ir::Node& node);

Cut cut_at_grid_syncs(const ir::ValidProgram& program);
// The whole program as one segment, grid barriers and all.
Cut uncut(const ir::ValidProgram& program);

}  // namespace felsite::dispatch
