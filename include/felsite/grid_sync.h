// Whole-grid barriers: how a program is cut at them into segments, as plain data.
//
// Each segment is a program of its own that one dispatch runs; the boundary between two dispatches
// is the barrier. What an invocation knows at a barrier is recomputed behind it or kept in buffers
// that the plan adds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "felsite/validate.h"

namespace felsite {

// What a buffer of a segment is for.
struct SegmentBuffer {
  enum class Kind : std::uint8_t {
    Program,     // one of the program's own
    Trips,       // values of the loop variables of repeats, by GridFork::trip
    Choices,     // conditions and bounds that the segment found out, by GridFork::choice
    Spill,       // values of each invocation
    GroupSpill,  // values that are the same all over a workgroup
    Kept,        // what workgroup memory held, a part for each workgroup
    Changed,     // one word, set when the segment changes a buffer whose changes it reports
    Before,      // of a buffer that is compared in the kernel: what it held before the iteration
    Iterations,  // of a kernel that runs the iterations itself: how many (codegen::IterationLoop)
  };
  Kind kind = Kind::Program;
  // Program, Kept and Before: the buffer that is meant. Spill: its number.
  ir::BufferId source = ir::kNone;
  bool operator==(const SegmentBuffer&) const = default;
};
std::string_view to_string(SegmentBuffer::Kind kind);

// A uniform If or Loop with a grid barrier in it: the way parts behind a segment.
struct GridFork {
  ir::NodeId node = 0;
  bool is_loop = false;
  std::uint32_t trip = ir::kNone;  // of a loop: where its variable stands among the trips
  std::uint32_t choice = 0;        // first of two words: 0 or 1 of an If; from and to of a loop
};

// Where to go from a segment.
struct NextSegment {
  enum class Kind : std::uint8_t {
    Go,     // to `yes`
    If,     // to `yes` or `no`, by the fork's condition
    Enter,  // into a loop, to `yes`, unless it has no trip: to `no`
    Again,  // the loop's next trip, from `yes` on, or behind it, to `no`
    End,    // of the iteration
  };
  Kind kind = Kind::End;
  std::uint32_t yes = 0;
  std::uint32_t no = 0;
  std::uint32_t fork = 0;
};

struct GridSegment {
  ir::Program program;
  std::vector<SegmentBuffer> buffers;  // by the segment's own BufferId
  NextSegment next;
  bool empty = false;                  // does nothing, and need not be launched
  std::vector<std::uint32_t> repeats;  // forks of the loops around it, the outermost first
  // Of the values that it takes over: those computed again, those read from a spill, and those it
  // leaves in one.
  std::vector<ir::VarId> recomputed;
  std::vector<ir::VarId> loaded;
  std::vector<ir::VarId> stored;
};

// A value in the spill of its invocation, or of its workgroup.
struct SpilledValue {
  static constexpr ir::VarId kRunning = ir::kNone;  // whether the invocation has not returned
  ir::VarId variable = kRunning;
  std::uint32_t word = 0;
  std::uint32_t bit = ir::kNone;  // of a bool; other values take whole words
  bool of_group = false;
};

struct GridSyncPlan {
  ir::Program program;
  std::vector<GridSegment>
      segments;  // in the order of the program; the first one begins an iteration
  std::vector<GridFork> forks;
  std::vector<SpilledValue> spilled;
  std::vector<ir::BufferId> kept;      // workgroup buffers whose contents live across barriers
  std::vector<ir::BufferId> evolving;  // storage buffers that an iteration may change
  std::vector<ir::BufferId> reported;  // those of them whose changes the segments report
  std::uint32_t trip_count = 0;
  std::uint32_t choice_words = 0;
  std::uint32_t spill_words = 0;  // of one invocation
  // Of these, how many lie in one spill buffer; the last one may hold fewer.
  std::uint32_t words_per_spill = 0;
  std::uint32_t group_words = 0;  // of one workgroup
  std::uint32_t grid_syncs = 0;   // barriers in the program
  // Whether every fork depends on lengths, the grid and loop variables alone, so that the host can
  // tell the way before anything runs.
  bool host_knows_way = true;
};

struct GridSyncOptions {
  bool many_iterations = false;  // outputs keep what earlier iterations left in them
  bool report_changes = false;   // segments set a word when they change what they can watch
  bool store_choices = false;    // segments store conditions and bounds, for who walks the plan
  bool one_dimensional = false;  // the grid has one workgroup along y and z
  bool fresh_outputs = true;     // outputs begin as zeros, not as a caller's bytes
  // No cut at all: one segment with the grid barriers in it, for a grid that is one workgroup.
  bool whole = false;
  // The kernel of a whole program runs its iterations itself, and compares what it cannot report
  // on.
  bool iterations_in_kernel = false;
  // The most words of an invocation in one spill buffer, for devices that bind no larger one.
  // 0: all of them.
  std::uint32_t words_per_spill = 0;
};

// Collectives have one rank. UnsupportedFeature for asynchronous copies that are under way at a
// grid barrier.
Result<GridSyncPlan> plan_grid_sync(const ir::ValidProgram& program,
                                    const GridSyncOptions& options = {});

// Bytes on the device for what the plan keeps, for a grid of so many workgroups. Absent where 64
// bits do not count them.
std::optional<std::uint64_t> kept_bytes(const GridSyncPlan& plan,
                                        const std::array<std::uint32_t, 3>& grid);

}  // namespace felsite
