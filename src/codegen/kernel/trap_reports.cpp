#include "codegen/kernel/trap_reports.h"

#include <algorithm>

namespace felsite::codegen {

void TrapReports::declare() {
  if (!program_.facts().has_trap || !program_.facts().has_grid_sync) return;
  constexpr auto kPrivate = spv::StorageClass::Private;
  SpirvModule& m = e_.module();
  closed_ = m.variable(kPrivate, m.type_pointer(kPrivate, e_.type_bool()));
  m.name(closed_, "closed");
  e_.store(closed_, e_.flag(false).id);
  interface_.set_closed(closed_);
}

void TrapReports::report(std::string_view tag, Word address) {
  auto found = std::ranges::find(tags_, tag);
  if (found == tags_.end()) found = tags_.emplace(found, tag);
  interface_.report_trap(as_operand(found - tags_.begin()), address);
  trapped_in_segment_ = true;
}

void TrapReports::write_barrier(ir::NodeId id) {
  buffers_.barrier();
  if (plan_.regions.cut[id]) close_reports();
}

void TrapReports::end_segment_at(ir::NodeId id) {
  if (!plan_.regions.cut[id] || !trapped_in_segment_) return;
  buffers_.barrier();
  close_reports();
}

// Stands behind a barrier: if anybody has trapped, no later segment counts. Nobody may trap in the
// next one before all have read that.
void TrapReports::close_reports() {
  if (!trapped_in_segment_) return;
  const Flag before = e_.load_flag(closed_);
  e_.store(closed_, (before || interface_.has_report()).id);
  buffers_.barrier();
  trapped_in_segment_ = false;
}

}  // namespace felsite::codegen
