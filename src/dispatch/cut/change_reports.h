// Which statements can report whether an iteration changes their buffer.
#pragma once

#include <optional>
#include <vector>

#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// The storage buffers that an iteration may change, sorted.
std::vector<ir::BufferId> changed_buffers(const ir::Program& program);

// What an atomic operation makes of the old value, if no sequence of such operations brings an
// element back to a value that it had.
std::optional<ir::BinaryOp> one_way(ir::AtomicOp op);

struct ChangeReports {
  std::vector<bool> nodes;            // by NodeId: stores, and Lets of atomics
  std::vector<ir::NodeId> before;     // by NodeId of such a store: a Let of the old value, or kNone
  std::vector<ir::BufferId> buffers;  // whose changes they report, sorted
};

// Two kinds of buffers are changed by an iteration exactly if one of its statements changes them:
// those that one statement stores to, each invocation at its own place and at most once per
// iteration; and those that only atomics change that all go one way, such as atomic_or. Others have
// to be compared. `evolving`: the storage buffers that an iteration may change.
ChangeReports find_change_reports(const ir::Program& program,
                                  const std::vector<ir::BufferId>& evolving,
                                  const GridSyncOptions& options);

// Whether a kernel that compares the values of a buffer's elements compares its bytes. A caller's
// bytes may hold a float or a bool in another form than the one that is stored; bytes that only the
// program has written do not.
bool values_are_bytes(const ir::BufferDecl& buffer, bool fresh_outputs);

}  // namespace felsite::dispatch
