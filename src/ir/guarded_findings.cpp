#include "ir/guarded_findings.h"

#include <array>
#include <mutex>

#include "base/guarded.h"

namespace felsite::ir {
namespace {

// Lists with room for one finding: a list needs memory even to report that there is none.
struct Reserve {
  std::mutex mutex;
  std::array<Findings, 16> lists;
};
Reserve& reserve() {
  static Reserve the_reserve;
  return the_reserve;
}

}  // namespace

void fill_findings_reserve() noexcept {
  base::best_effort([] {
    const std::lock_guard lock(reserve().mutex);
    for (Findings& list : reserve().lists) list.reserve(1);
  });
}

Findings out_of_memory_findings() {
  Findings findings;
  {
    const std::lock_guard lock(reserve().mutex);
    for (Findings& list : reserve().lists) {
      if (findings.capacity() == 0) findings.swap(list);
    }
  }
  Finding& finding = findings.emplace_back();
  finding.code = FindingCode::OutOfMemory;
  // These are short enough for a string to store in place.
  finding.message = "Out of memory.";
  finding.fix = "free memory.";
  return findings;
}

}  // namespace felsite::ir
