// How a program would run, and why so: the route, the segments between its grid barriers and what
// each of them touches, what is kept across barriers, and what moves between host and device.
//
// Nothing runs for it, and no device is touched: a profile stands for the device. What is not
// known, such as the sizes of inputs that were not given, is absent, and the assumptions say what
// was taken instead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/device_profile.h"
#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "felsite/program.h"

namespace felsite {

struct ExplainInputs {
  // In the order of the declarations, one for each buffer that takes the caller's bytes; absent, or
  // past the end: not known.
  std::vector<std::optional<std::uint64_t>> bytes;
  // What the program will read its grid from, if it does and the words are known.
  std::optional<std::array<std::uint32_t, 3>> indirect_grid;
  // The text that the program was parsed from, to be shown beside its segments. Without it the
  // program is printed for that.
  std::string source{};
};

// Bytes where they are known, and in any case how they come about: "4·len(x) + 8·invocations".
struct ByteCount {
  std::optional<std::uint64_t> bytes;
  std::string formula;
};

// A buffer on the device for the whole run: the program's, or one that the plan adds.
struct ExplainedBuffer {
  enum class Kind : std::uint8_t { Program, Spill, GroupSpill, Kept, Control };
  Kind kind = Kind::Program;
  std::string name;
  std::string type;  // of its elements
  std::string role;  // of a buffer of the program
  ByteCount size;
};
std::string_view to_string(ExplainedBuffer::Kind kind);

// What a segment does with a buffer.
struct ExplainedUse {
  std::uint32_t buffer = 0;  // place among Explanation::buffers
  // readonly, readwrite, writeonly; accumulator: only written, and what it held before survives;
  // carried: handed on untouched.
  std::string role;
  bool reads = false;
  bool writes = false;
  bool atomics = false;
};

struct ExplainedSegment {
  std::string label;     // the names of its regions
  bool launched = true;  // does something
  std::vector<ExplainedUse> uses;
  std::vector<std::string> workgroup_memory;
  // Values of invocations: computed again, read from a spill, left in one.
  std::vector<std::string> recomputed;
  std::vector<std::string> loaded;
  std::vector<std::string> stored;
  std::optional<std::uint64_t> launches;  // in one iteration
  // Of one launch in the host split.
  ByteCount up;
  ByteCount down;
};

// The order of the segments as a tree.
struct ExplainedPart {
  enum class Kind : std::uint8_t { Segment, Repeat, If, Else };
  Kind kind = Kind::Segment;
  std::uint32_t segment = 0;  // of a Segment
  std::string variable;       // of a Repeat, with its bounds
  std::string from;
  std::string to;
  std::string condition;                 // of an If
  bool on_device = false;                // only the device can tell bounds or condition
  std::optional<std::uint64_t> trips;    // of a Repeat: in one iteration, all together
  std::optional<std::uint64_t> entered;  // how often a Repeat begins in one iteration
  std::vector<ExplainedPart> parts;
};

struct ExplainedSpill {
  std::string value;
  std::string type;
  std::uint32_t word = 0;
  std::uint32_t words = 1;
  std::optional<std::uint32_t> bit;  // of a bool, which shares its word
  bool of_group = false;             // one for each workgroup, not for each invocation
};

struct ExplainedHazard {
  enum class Kind : std::uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };
  Kind kind = Kind::ReadAfterWrite;
  std::uint32_t buffer = 0;   // place among Explanation::buffers
  std::uint32_t earlier = 0;  // segments
  std::uint32_t later = 0;
};
std::string_view to_string(ExplainedHazard::Kind kind);  // RAW, WAR, WAW

// A barrier between two launches that the resident form puts there, because accesses conflict.
struct ExplainedBarrier {
  std::uint32_t after = 0;  // segments
  std::uint32_t before = 0;
  bool next_iteration =
      false;  // between the last segment of an iteration and the first of the next one
  std::optional<std::uint64_t> times;  // in one iteration
  std::vector<ExplainedHazard> hazards;
};

struct ExplainedConvergence {
  std::uint32_t iterations = 1;       // at most
  std::string kind;                   // once, automatic, flag or none
  std::string flag;                   // the buffer
  std::vector<std::string> evolving;  // buffers that an iteration may change
  std::vector<std::string> reported;  // those whose stores tell of changes
  std::vector<std::string> compared;  // those that are compared with the iteration before
};

struct ExplainedTraffic {
  // Buffers that stay on the device: once, whatever the number of segments and iterations.
  ByteCount resident_up;
  ByteCount resident_down;
  // Buffers handed on by the host: of one iteration, and of all iterations that there can be.
  ByteCount split_up;
  ByteCount split_down;
  ByteCount split_up_at_most;
  ByteCount split_down_at_most;
};

// A line of the program's text.
struct ExplainedLine {
  std::string text;
  std::vector<std::uint32_t> segments;  // that statements on it belong to
  bool grid_barrier = false;            // one stands on it
};

struct Explanation {
  std::string program;
  std::string fingerprint;
  std::string device;
  std::string route;  // plain, native, host split, resident, one workgroup
  std::string reason;
  std::array<std::uint32_t, 3> workgroup_size{};
  std::optional<std::array<std::uint32_t, 3>> grid;  // absent: not known
  std::string grid_reason;
  std::vector<std::string> assumptions;  // sentences
  std::vector<std::string> notes;        // sentences
  bool has_plan = true;                  // absent for what cannot be cut, with a note on why
  bool host_knows_way = true;
  std::uint32_t grid_barriers = 0;
  std::optional<std::uint64_t> launches;  // in one iteration, on the route
  std::vector<ExplainedBuffer> buffers;
  std::vector<ExplainedSegment> segments;
  std::vector<ExplainedPart> order;
  std::vector<ExplainedSpill> spills;
  std::uint32_t spill_words = 0;  // of one invocation
  std::uint32_t group_words = 0;  // of one workgroup
  ByteCount kept;                 // all that is kept across barriers
  std::vector<ExplainedBarrier> barriers;
  ExplainedConvergence convergence;
  ExplainedTraffic traffic;
  std::vector<ExplainedLine> source;
};

// Whether all of it is one dispatch: then segments are parts of it, with native barriers between
// them, and nothing is kept in memory for them.
bool is_one_dispatch(const Explanation& explanation);

// The errors of a dispatch that can be told without its bytes: a program that does not validate,
// inputs of a wrong size, a form that cannot be taken, a workgroup or a grid that is too large, and
// results or values kept across barriers that exceed the memory.
Result<Explanation> explain(const ir::Program& program, const DispatchConfig& config,
                            const ExplainInputs& inputs, const DeviceProfile& device);

// The grid of a dispatch with inputs of these sizes, in the order of their declarations.
struct GridChoice {
  std::optional<std::array<std::uint32_t, 3>> grid;  // absent: the device reads it from a buffer
  std::string reason;                                // "for the 250 elements of `y`"
  bool is_inferred = false;
};
Result<GridChoice> choose_grid(const ir::Program& program, const DispatchConfig& config,
                               const std::vector<std::uint64_t>& input_bytes);

// For reading, at most 100 columns wide as far as names allow; docs/tool.md describes the JSON.
std::string to_text(const Explanation& explanation);
std::string to_json(const Explanation& explanation);
// One page that needs nothing else: no network, no script.
std::string to_html(const Explanation& explanation);

}  // namespace felsite
