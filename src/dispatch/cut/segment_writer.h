// Writes each segment of a plan as a program.
#pragma once

#include <array>
#include <vector>

#include "dispatch/cut/change_reports.h"
#include "dispatch/cut/grid_sync_values.h"
#include "dispatch/cut/spill_slots.h"
#include "ir/assembler.h"
#include "ir/copier.h"

namespace felsite::dispatch {

// What a segment does with workgroup memory that is live across barriers.
struct KeptInSegment {
  std::vector<ir::BufferId> restored;  // at its beginning
  std::vector<ir::BufferId> saved;     // at its end
};

// Everything that is decided about a plan before its segments are written.
struct SegmentDecisions {
  const ir::Program& program;
  const Cut& cut;
  const Values& values;
  const std::vector<ir::Effects>& effects;  // by segment
  const std::vector<KeptInSegment>& kept;   // by segment
  const ChangeReports& reports;
  const std::vector<std::uint32_t>& first_writer;  // by BufferId: the first segment that changes it
  const std::vector<ir::BufferId>&
      compared;  // compared inside a kernel that runs its iterations itself
  const GridSyncOptions& options;
};

class SegmentWriter {
 public:
  explicit SegmentWriter(const SegmentDecisions& decisions);

  GridSegment write(std::uint32_t segment);

 private:
  // What the segment uses, found before anything is written.
  struct Uses {
    std::vector<ir::BufferId> buffers;
    std::vector<bool> trips;
    bool stores_reports = false;
  };

  // segment_buffers.cpp
  Uses find_uses(std::uint32_t segment);
  void see(ir::ExprId root, Uses& uses);
  void declare_buffers(std::uint32_t segment, const Uses& uses);
  void write_copy();
  ir::BufferDecl declaration(std::uint32_t segment, ir::BufferId id) const;
  ir::BufferId add_own(SegmentBuffer::Kind kind, std::string_view name, ir::Type element,
                       std::uint32_t count, ir::Access access, ir::BufferId source = ir::kNone,
                       std::uint32_t part = 0);
  void declare_spills();

  // The beginning and the end of a segment.
  void write_places();
  void take_from_memory();
  void leave_if_returned();
  void recheck_guards();
  void open_scopes(const Uses& uses);
  void take_over(const CutScope& scope);
  void write_events();
  void write_end();
  bool ends_with_return() const;
  bool replace(ir::NodeId id);
  void note_copies();
  bool does_nothing(ir::NodeId id) const;
  void report_store(ir::NodeId id);
  void report_atomic(ir::NodeId id);
  void compare_state();
  void compare_buffer(ir::BufferId buffer);
  ir::ExprId as_bits(ir::Type element, ir::ExprId value);

  // spilled_values.cpp
  std::uint32_t words_per_spill(bool per_workgroup) const;
  ir::BufferId spill_of(const SpilledValue& slot, std::uint32_t word) const;
  ir::ExprId place_of(const SpilledValue& slot, std::uint32_t word);
  ir::ExprId spilled_word(const SpilledValue& slot, std::uint32_t word);
  ir::ExprId spilled_value(ir::VarId variable);
  void store_spills();
  void store_words(const SpilledValue& slot);
  void store_bits(std::span<const SpilledValue> slots);
  void mark_returned();
  ir::ExprId bits_of(ir::VarId variable);
  ir::ExprId zero_of(ir::Type type);

  // Workgroup memory that is live across barriers.
  void restore(ir::BufferId buffer);
  void save(ir::BufferId buffer);
  template <class Body>
  void each_element(ir::BufferId buffer, bool together, Body body);
  ir::ExprId kept_place(const KeptPart& part, ir::VarId element);
  ir::ExprId shared_place(const KeptPart& part, ir::VarId element);

  ir::ExprId word(std::uint32_t value) { return out().literal(ir::literal(value)); }
  ir::ExprId var(ir::VarId id) { return out().variable(id); }
  // The rows of operands are in order: the second operand is written after the first.
  ir::ExprId with(ir::BinaryOp op, ir::ExprId a, std::uint32_t b) {
    return out().binary(op, a, word(b));
  }
  ir::ExprId linear(ir::ExprKind id, ir::ExprKind extent);
  void number_lanes();
  ir::ExprId group_number();
  ir::ExprId group_count();
  std::string own(std::string_view name) const { return prefix_ + std::string(name); }
  ir::Assembler& out() { return *assembler_; }
  const CutSegment& cut() const { return d_.cut.segments[segment_]; }
  const SegmentValues& values() const { return d_.values.segments[segment_]; }

  const SegmentDecisions& d_;
  const ir::Program& program_;
  ir::Copier copier_;
  std::string prefix_;  // no name of the program begins with it
  bool has_returns_ = false;
  std::vector<std::uint32_t> taken_bindings_;  // by the program, sorted

  std::vector<std::uint32_t> seen_;  // by BufferId: one more than the last segment that uses it

  // State of the segment that is being written.
  std::uint32_t segment_ = 0;
  std::unique_ptr<ir::Assembler> assembler_;
  std::uint32_t next_binding_ = 0;
  GridSegment made_;
  // By BufferId of the program: its first Kept buffer. Those of further parts follow.
  std::vector<ir::BufferId> kept_buffers_;
  std::vector<std::pair<ir::BufferId, ir::BufferId>>
      before_;  // the compared buffer, and the one with its old contents
  ir::BufferId trips_ = ir::kNone;
  ir::BufferId choices_ = ir::kNone;
  // Of invocations and of workgroups, by number; kNone for those that the segment does not use.
  std::array<std::vector<ir::BufferId>, 2> spills_;
  ir::BufferId changed_ = ir::kNone;
  ir::VarId lane_ = ir::kNone;   // the invocation's number in the grid
  ir::VarId lanes_ = ir::kNone;  // the number of invocations
  ir::VarId group_ = ir::kNone;
  ir::VarId groups_ = ir::kNone;
  std::vector<std::pair<ir::VarId, ir::VarId>>
      from_group_;                  // a variable, and the one it was read into
  std::vector<ir::NameId> issued_;  // tags of asynchronous copies
  std::vector<ir::NameId> waited_;
};

}  // namespace felsite::dispatch
