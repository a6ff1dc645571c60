// Where grid barriers cut a program: its nodes in segments, and the ways between them. Collectives
// are acts of the whole grid and cut it too. With one rank, and there is one, they change nothing,
// or copy one buffer to another: in a segment of its own.
#pragma once

#include <vector>

#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// A body that a segment stands in: of a Block or Region, of a loop, or an arm of an If. Bodies of
// forks are scopes only: the way into them is the plan's.
struct CutScope {
  ir::NodeId node = ir::kNone;  // none: the entry itself
  bool otherwise = false;       // the else arm
  bool operator==(const CutScope&) const = default;
};

struct CutEvent {
  enum class Kind : std::uint8_t { Open, Close, Nodes };
  Kind kind;
  CutScope scope{};       // of Open
  ir::NodeRange nodes{};  // of Nodes: statements side by side, no grid barrier in them
};

struct CutSegment {
  std::vector<CutScope> entry;  // open at its beginning, from the outermost
  std::vector<CutEvent> events;
  std::vector<CutScope> end;  // open at its end
  NextSegment next;
  std::vector<std::uint32_t> repeats;
  ir::NodeId copy = ir::kNone;  // the collective that is all of it
};

struct Cut {
  std::vector<CutSegment> segments;
  std::vector<GridFork> forks;
  std::uint32_t trip_count = 0;
  std::uint32_t grid_syncs = 0;
};

// Whether it copies with one rank. To itself is no copy.
bool is_copy(const ir::Node& node);

// `program` must be valid.
Cut cut_at_grid_syncs(const ir::Program& program);
// The whole program as one segment, grid barriers and all.
Cut uncut(const ir::Program& program);

}  // namespace felsite::dispatch
