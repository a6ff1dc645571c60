// How a program would run, and why: the route, the segments between its grid barriers and the
// buffers that each of them uses, what is kept across barriers, and what moves between host and
// device.
//
// Nothing runs and no device is touched: a profile stands for the device. What is unknown, such as
// the sizes of inputs that were not given, is absent, and the assumptions say what was assumed
// instead.
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
#include "felsite/extent.h"
#include "felsite/program.h"

namespace felsite {

struct ExplainInputs {
  // One for each buffer that takes the caller's bytes, in the order of the declarations. Absent or
  // past the end: unknown.
  std::vector<std::optional<std::uint64_t>> bytes;
  // The grid that an indirect dispatch will read, if its words are known.
  std::optional<Extent3> indirect_grid;
  // The bytes of these inputs, in the same order, where they are known too; empty: unknown. Bounds
  // of loops that are read from a fixed place follow from them.
  std::vector<Bytes> contents{};
  // The text that the program was parsed from, shown beside its segments. Without it the program is
  // printed for this.
  std::string source{};
};

// The number of bytes where it is known, and always its formula: "4·len(x) + 8·invocations".
struct ByteCount {
  std::optional<std::uint64_t> bytes;
  std::string formula;
};

// A buffer that is on the device during the whole run: the program's, or one that the plan adds.
struct ExplainedBuffer {
  enum class Kind : std::uint8_t { Program, Spill, WorkgroupSpill, Kept, Control };
  Kind kind = Kind::Program;
  std::string name;
  std::string type;  // of its elements
  std::string role;  // of a buffer of the program
  ByteCount size;
};
std::string_view to_string(ExplainedBuffer::Kind kind);

// What a segment does with a buffer.
struct ExplainedUse {
  std::uint32_t buffer = 0;  // index into Explanation::buffers
  // readonly, readwrite, writeonly; accumulator: only written, and its old contents survive;
  // carried: passed on unchanged.
  std::string role;
  bool reads = false;
  bool writes = false;
  bool atomics = false;
};

struct ExplainedSegment {
  std::string label;     // the names of its regions
  bool launched = true;  // false: it does nothing and is not launched
  std::vector<ExplainedUse> uses;
  std::vector<std::string> workgroup_memory;
  // Values of invocations that are recomputed, loaded from a spill, or stored into one.
  std::vector<std::string> recomputed;
  std::vector<std::string> loaded;
  std::vector<std::string> stored;
  std::optional<std::uint64_t> launches;  // in one iteration
  // For one launch in the host split.
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
  bool on_device = false;                // only the device can resolve the bounds or the condition
  std::optional<std::uint64_t> trips;    // of a Repeat: in one iteration, in total
  std::optional<std::uint64_t> entered;  // how often a Repeat is entered in one iteration
  std::vector<ExplainedPart> parts;
};

struct ExplainedSpill {
  std::string value;
  std::string type;
  std::uint32_t word = 0;
  std::uint32_t words = 1;
  std::optional<std::uint32_t> bit;  // of a bool, which shares its word
  bool per_workgroup = false;        // one for each workgroup instead of each invocation
};

struct ExplainedHazard {
  enum class Kind : std::uint8_t { ReadAfterWrite, WriteAfterRead, WriteAfterWrite };
  Kind kind = Kind::ReadAfterWrite;
  std::uint32_t buffer = 0;   // index into Explanation::buffers
  std::uint32_t earlier = 0;  // a segment
  std::uint32_t later = 0;
};
std::string_view to_string(ExplainedHazard::Kind kind);  // RAW, WAR, WAW

// A barrier that the schedule has between two launches, and the accesses of segments that it
// orders. There are none where only words of the runtime itself are in conflict.
struct ExplainedBarrier {
  std::uint32_t after = 0;  // a segment
  std::uint32_t before = 0;
  bool next_iteration = false;  // between the last segment and the first one of the next iteration
  std::optional<std::uint64_t> times;  // in one iteration
  std::vector<ExplainedHazard> hazards;
};

struct ExplainedConvergence {
  std::uint32_t iterations = 1;       // at most
  std::string kind;                   // once, automatic, flag or none
  std::string flag;                   // the buffer
  std::vector<std::string> evolving;  // buffers that an iteration may change
  std::vector<std::string> reported;  // those whose stores report changes
  std::vector<std::string> compared;  // those that are compared with the iteration before
};

struct ExplainedTraffic {
  // Buffers that stay on the device: moved once, whatever the number of segments and iterations.
  ByteCount resident_up;
  ByteCount resident_down;
  // Buffers that the host passes on: for one iteration, and for the largest number of iterations.
  ByteCount split_up;
  ByteCount split_down;
  ByteCount split_up_at_most;
  ByteCount split_down_at_most;
};

// A line of the program's text.
struct ExplainedLine {
  std::string text;
  std::vector<std::uint32_t> segments;  // those that the statements on it belong to
  bool grid_barrier = false;            // it holds a grid barrier
};

// What the forms on the device would cost, where the choice is between them.
struct ExplainedEstimates {
  double one_workgroup_ns = 0;
  double resident_ns = 0;
  std::string text;                      // "one workgroup 62 µs, resident 340 µs"
  std::vector<std::string> assumptions;  // sentences: what they assume of the program's loops
};

struct Explanation {
  std::string program;
  std::string fingerprint;
  std::string device;
  std::string route;  // plain, native, host split, resident, one workgroup
  std::string reason;
  std::optional<ExplainedEstimates> estimates{};
  Extent3 workgroup_size{};
  std::optional<Extent3> grid;  // absent: unknown
  std::string grid_reason;
  std::vector<std::string> assumptions;  // sentences
  std::vector<std::string> notes;        // sentences
  bool has_plan = true;                  // false for a program that cannot be cut; a note says why
  bool host_resolvable = true;
  std::uint32_t grid_barriers = 0;
  std::optional<std::uint64_t> launches;  // in one iteration, on the route
  std::vector<ExplainedBuffer> buffers;
  std::vector<ExplainedSegment> segments;
  std::vector<ExplainedPart> order;
  std::vector<ExplainedSpill> spills;
  std::uint32_t spill_words = 0;  // of one invocation
  std::uint32_t group_words = 0;  // of one workgroup
  ByteCount kept;                 // everything that is kept across barriers
  std::vector<ExplainedBarrier> barriers;
  // What runs, line by line: buffers, kernels, steps with the barriers between them, and what is
  // read afterwards. Unknown inputs are taken to be large. Empty where the host takes turns with
  // the device, or the backend has grid barriers.
  std::vector<std::string> schedule;
  ExplainedConvergence convergence;
  ExplainedTraffic traffic;
  std::vector<ExplainedLine> source;
};

// Whether everything is one dispatch. The segments are then parts of it, separated by native
// barriers, and nothing is kept in memory for them.
bool is_one_dispatch(const Explanation& explanation);

// Fails with the errors of a dispatch that can be found without its bytes: a program that does not
// validate, inputs of a wrong size, a form that is impossible, a workgroup or a grid that is too
// large, and results or values kept across barriers that exceed the memory.
Result<Explanation> explain(const ir::Program& program, const DispatchConfig& config,
                            const ExplainInputs& inputs, const DeviceProfile& device);

// The grid of a dispatch with inputs of these sizes, in the order of the declarations.
struct GridChoice {
  std::optional<Extent3> grid;  // absent: the device reads it from a buffer
  std::string reason;           // "for the 250 elements of `y`"
  bool is_inferred = false;
};
Result<GridChoice> choose_grid(const ir::Program& program, const DispatchConfig& config,
                               const std::vector<std::uint64_t>& input_bytes);

// Text is at most 100 columns wide as far as names allow; docs/tool.md describes the JSON.
std::string to_text(const Explanation& explanation);
std::string to_json(const Explanation& explanation);
// One self-contained page, without network access or scripts.
std::string to_html(const Explanation& explanation);

}  // namespace felsite
