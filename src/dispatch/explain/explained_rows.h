// An explanation from top to bottom: what the text and the picture have in common.
#pragma once

#include <string>
#include <vector>

#include "felsite/explain.h"

namespace felsite::dispatch {

struct ExplainedRow {
  enum class Kind : std::uint8_t { Open, Close, Segment, Barrier, NativeBarrier };
  Kind kind = Kind::Segment;
  std::uint32_t depth = 0;  // brackets around it
  std::uint32_t index = 0;  // of a Segment or Barrier; the segment after a NativeBarrier
  std::string title;        // of Open
  bool is_if = false;       // of Open and Close: a branch, not something repeated
  bool goes_back = false;   // of a Barrier: to the next trip or iteration
};

// An iteration that may come again is a bracket too. A barrier stands before the segment that
// waits, or at the end of the loop or iteration that it goes back in.
std::vector<ExplainedRow> rows_of(const Explanation& explanation);

std::string hazards_text(const Explanation& explanation, const ExplainedBarrier& barrier);
// "96 bytes", or "? bytes = 4·len(x)".
std::string to_string(const ByteCount& count);
// "3 × 1 × 1"
std::string to_string(const std::array<std::uint32_t, 3>& extents);
std::string grid_text(const Explanation& explanation);
std::string iterations_text(const Explanation& explanation);
std::string cut_text(const Explanation& explanation);
// "3 launches", "1 launch", with the count absent: "launched as often as its loops say".
std::string launches_text(const Explanation& explanation, const ExplainedSegment& segment);
std::string join(const std::vector<std::string>& names);

}  // namespace felsite::dispatch
