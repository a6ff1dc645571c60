// How a program is cut into segments at its whole-grid barriers, as plain data.
//
// Each segment is a program that one dispatch runs; the boundary between two dispatches is the
// barrier. Values that an invocation holds at a barrier are recomputed after it, or kept in buffers
// that the plan adds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "felsite/extent.h"
#include "felsite/validate.h"

namespace felsite {

// What a buffer of a segment is for.
struct SegmentBuffer {
  enum class Kind : std::uint8_t {
    Program,         // one of the program's own
    Trips,           // values of the loop variables of repeats, by GridFork::trip
    Choices,         // conditions and bounds that the segment computed, by GridFork::choice
    Spill,           // values of each invocation
    WorkgroupSpill,  // values that are uniform in a workgroup
    Kept,            // the contents of workgroup memory, one part for each workgroup
    Changed,         // one word, set when the segment changes a buffer whose changes it reports
    Before,          // of a buffer that the kernel compares: its contents before the iteration
    Iterations,      // control words of a kernel that runs the iterations (codegen::IterationLoop)
  };
  Kind kind = Kind::Program;
  // Program, Kept and Before: the buffer it stands for. Spill and WorkgroupSpill: its number.
  ir::BufferId source = ir::kNone;
  std::uint32_t part = 0;  // Kept: which of the buffers that its elements are spread over
  bool operator==(const SegmentBuffer&) const = default;
};
std::string_view to_string(SegmentBuffer::Kind kind);

// A uniform If or Loop that contains a grid barrier: control flow forks after a segment.
struct GridFork {
  ir::NodeId node = 0;
  bool is_loop = false;
  std::uint32_t trip = ir::kNone;  // of a loop: the index of its variable among the trips
  std::uint32_t choice = 0;        // first of two words: an If's 0 or 1; a loop's from and to
};

// Which segment follows.
struct NextSegment {
  enum class Kind : std::uint8_t {
    Jump,       // to `target`
    Branch,     // to `target` or `else_target`, by the fork's condition
    EnterLoop,  // to `target`, or to `else_target` if the loop has no trips
    NextTrip,   // to `target` for another trip, or past the loop to `else_target`
    End,        // of the iteration
  };
  Kind kind = Kind::End;
  std::uint32_t target = 0;
  std::uint32_t else_target = 0;
  std::uint32_t fork = 0;
};

struct GridSegment {
  ir::Program program;
  std::vector<SegmentBuffer> buffers;  // by the segment's own BufferId
  NextSegment next;
  bool empty = false;                  // does nothing, and need not be launched
  std::vector<std::uint32_t> repeats;  // forks of the loops around it, the outermost first
  // Values from earlier segments that it recomputes or loads from a spill, and values that it
  // stores into one.
  std::vector<ir::VarId> recomputed;
  std::vector<ir::VarId> loaded;
  std::vector<ir::VarId> stored;
};

// A value in the spill slot of its invocation or workgroup.
struct SpilledValue {
  static constexpr ir::VarId kRunning = ir::kNone;  // whether the invocation is still running
  ir::VarId variable = kRunning;
  std::uint32_t word = 0;
  std::uint32_t bit = ir::kNone;  // of a bool; other values take whole words
  bool per_workgroup = false;
};

// How much one buffer that a plan adds holds at most, for devices that limit the size of a binding.
// 0: no limit.
struct SpillSpread {
  std::uint32_t lane_words = 0;   // of an invocation
  std::uint32_t group_bytes = 0;  // of a workgroup: of its spill, or of one of its buffers
  bool operator==(const SpillSpread&) const = default;
};

struct GridSyncPlan {
  ir::Program program;
  std::vector<GridSegment> segments;  // in program order; the first one begins an iteration
  std::vector<GridFork> forks;
  std::vector<SpilledValue> spilled;
  std::vector<ir::BufferId> kept;      // workgroup buffers whose contents live across barriers
  std::vector<ir::BufferId> evolving;  // storage buffers that an iteration may change
  std::vector<ir::BufferId> reported;  // those of them whose changes the segments report
  std::uint32_t trip_count = 0;
  std::uint32_t choice_words = 0;
  std::uint32_t spill_words = 0;  // of one invocation
  std::uint32_t group_words = 0;  // of one workgroup
  SpillSpread spread;             // without the limits that it keeps anyway
  std::uint32_t grid_syncs = 0;   // barriers in the program
  // Whether every fork depends on lengths, the grid and loop variables alone, so the host can
  // resolve all of them before anything runs.
  bool host_resolvable = true;
};

struct GridSyncOptions {
  bool many_iterations = false;  // outputs keep what earlier iterations left in them
  bool report_changes = false;   // segments set a word when they change a watched buffer
  bool store_choices = false;    // segments store conditions and bounds for whoever walks the plan
  bool one_dimensional = false;  // the grid has one workgroup along y and z
  bool fresh_outputs = true;     // outputs start as zeros, not with the caller's bytes
  // Does not cut: one segment that contains the grid barriers, for a grid of one workgroup.
  bool whole = false;
  // The kernel of an uncut program runs its iterations itself, and compares the buffers whose
  // changes it cannot report.
  bool iterations_in_kernel = false;
  SpillSpread spread{};
};

// Collectives have one rank. Fails with UnsupportedFeature for asynchronous copies that are pending
// at a grid barrier.
Result<GridSyncPlan> plan_grid_sync(const ir::ValidProgram& program,
                                    const GridSyncOptions& options = {});

// The bytes of device memory that the plan keeps for a grid of this many workgroups. Absent if they
// overflow 64 bits.
std::optional<std::uint64_t> kept_bytes(const GridSyncPlan& plan, const Extent3& grid);

}  // namespace felsite
