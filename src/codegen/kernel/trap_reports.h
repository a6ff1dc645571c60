// Traps. In a kernel with several segments, a trap in one of them comes before any in a later one:
// where a segment ends, all invocations learn whether somebody trapped in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/kernel_part.h"

namespace felsite::codegen {

class TrapReports : KernelPart {
 public:
  explicit TrapReports(const KernelPart& kernel) : KernelPart(kernel) {}

  // Declares what the segments share, before anything is written.
  void declare();
  void report(std::string_view tag, Word address);
  // A barrier of the program, which may end a segment.
  void write_barrier(ir::NodeId id);
  // Where a segment ends without a barrier.
  void end_segment_at(ir::NodeId id);
  // Writes the second way of a branch: traps in the first one are not ahead of it.
  template <class Body>
  void write_otherwise(ir::NodeId id, Body body) {
    const bool trapped = plan_.regions.cut[id] && std::exchange(trapped_in_segment_, false);
    body();
    trapped_in_segment_ = trapped_in_segment_ || trapped;
  }
  std::vector<std::string> take_tags() { return std::move(tags_); }

 private:
  void close_reports();

  std::vector<std::string> tags_;
  bool trapped_in_segment_ = false;  // there is a trap in the segment that is being written
  Id closed_ = 0;  // whether an earlier segment trapped, where one kernel has several
};

}  // namespace felsite::codegen
