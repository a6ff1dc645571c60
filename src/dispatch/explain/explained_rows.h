// The rows of an explanation from top to bottom, which the text and the picture share.
#pragma once

#include <string>
#include <vector>

#include "felsite/explain.h"

namespace felsite::dispatch {

struct ExplainedRow {
  enum class Kind : std::uint8_t { Open, Close, Segment, Barrier, NativeBarrier };
  Kind kind = Kind::Segment;
  std::uint32_t depth = 0;       // enclosing brackets
  std::uint32_t index = 0;       // of a Segment or Barrier; the segment after a NativeBarrier
  std::string title;             // of Open
  bool is_if = false;            // of Open and Close: a branch, not a loop
  bool is_loop_carried = false;  // of a Barrier: to the next trip or iteration
};

// An iteration that may repeat is a bracket too. A barrier precedes the segment that waits, or ends
// the loop or iteration that it leads back to.
std::vector<ExplainedRow> rows_of(const Explanation& explanation);

std::string hazards_text(const Explanation& explanation, const ExplainedBarrier& barrier);
// "96 bytes", or "? bytes = 4·len(x)".
std::string to_string(const ByteCount& count);
// "3 × 1 × 1"
std::string to_string(const Extent3& extents);
std::string grid_text(const Explanation& explanation);
std::string iterations_text(const Explanation& explanation);
std::string cut_text(const Explanation& explanation);
// "3 launches", "1 launch", or with an unknown count "launch count depends on loop bounds".
std::string launches_text(const Explanation& explanation, const ExplainedSegment& segment);
std::string join(const std::vector<std::string>& names);

}  // namespace felsite::dispatch
