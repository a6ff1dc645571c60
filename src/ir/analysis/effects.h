// The effects of nodes on memory: which buffers they read, write and change atomically.
#pragma once

#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

// Each list is sorted, without duplicates. An atomic is in `atomics` only. Unresolved names are
// left out.
struct Effects {
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  std::vector<BufferId> atomics;
  bool operator==(const Effects&) const = default;
};

// The buffers that a wait for a tag writes: the destinations of all copies with that tag.
class AsyncDestinations {
 public:
  explicit AsyncDestinations(const Program& program);

  template <class Visit>
  void each(NameId tag, Visit visit) const {
    for (auto row = first(tag); row != rows_.end() && row->first == tag; ++row) visit(row->second);
  }

 private:
  using Rows = std::vector<std::pair<NameId, BufferId>>;
  Rows::const_iterator first(NameId tag) const;

  Rows rows_;  // sorted
};

// The effects of all nodes in the range, with everything nested in them. An asynchronous copy reads
// its source where it is issued and writes its destination where it is waited for.
Effects effects_of(const Program& program, NodeRange range);
// The same for many ranges of one program, which share the table of its copies.
Effects effects_of(const Program& program, NodeRange range, const AsyncDestinations& copies);

}  // namespace felsite::ir
