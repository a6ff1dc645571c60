// Everything that one call does on a device, in order, as plain data. No device takes part in
// making it: a backend allocates the buffers, looks the kernels up, plans barriers and runs it; the
// reference executes it step by step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dispatch/schedule/routing.h"
#include "felsite/kernel.h"

namespace felsite::dispatch {

// Bytes of Schedule::buffers[buffer].
struct BufferRef {
  static constexpr std::uint32_t kUnbound = ir::kNone;  // a buffer in workgroup memory
  std::uint32_t buffer = kUnbound;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool operator==(const BufferRef&) const = default;
};

struct PlannedBuffer {
  enum class Kind : std::uint8_t {
    Caller,     // bound by the caller
    Workgroup,  // of the program, in workgroup memory: nothing is bound
    Device,     // made for the schedule; only kernels access it
    Control,    // made for the schedule; the host writes and reads words of it
  };
  Kind kind = Kind::Caller;
  std::uint64_t bytes = 0;
  std::string name;
  std::vector<std::uint32_t> constants{};  // its contents, if they never change
};

// What runs as one kernel, as codegen::Segment describes it. The program is the caller's, one that
// was cut out of it, or the runtime's own; whoever compiles it validates it.
struct ScheduledKernel {
  ir::Program program;
  std::optional<ir::BufferId> parameters{};
  bool grid_in_parts = false;
  std::optional<codegen::OneWorkgroup> one_workgroup{};

  // `valid`: the program, validated.
  codegen::Segment as_segment(ir::ValidProgram valid) const {
    codegen::Segment segment(std::move(valid));
    segment.parameters = parameters;
    segment.grid_in_parts = grid_in_parts;
    segment.one_workgroup = one_workgroup;
    return segment;
  }
};

// Which segment of a cut program a step runs.
struct SegmentPlace {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};

// One dispatch of a kernel.
struct ScheduledStep {
  std::uint32_t kernel = 0;               // of Schedule::kernels
  std::vector<BufferRef> buffers{};       // by BufferId of the kernel's program
  std::vector<std::uint64_t> counts{};    // their elements
  std::vector<std::uint32_t> supplied{};  // the elements of ScheduledKernel::parameters
  Extent3 grid{1, 1, 1};                  // as the program sees it
  Extent3 workgroups{1, 1, 1};            // those that this step runs
  Extent3 base{};                         // workgroups before these, which other steps run
  std::optional<BufferRef> indirect{};    // three words that say how many run instead
  // It runs only if this word is not zero when its turn comes.
  std::optional<BufferRef> condition{};
  std::string name{};
  bool is_callers = false;        // it belongs to a caller's program, not to the runtime
  std::uint32_t caller_step = 0;  // to which of the steps of a submission
  bool reads_own_grid = false;    // the program sees the grid that `indirect` gives
  std::optional<SegmentPlace> segment{};
  bool counts_as_launch = true;
  bool is_further_part = false;  // it runs more workgroups of the grid of the step before it
};

// Words that the host writes before each run.
struct InitialWords {
  BufferRef target;
  std::vector<std::uint32_t> words;
};

// What the kernel wrote that checked a grid which the device reads: IndirectGateWords.
struct IndirectGate {
  BufferRef words;
  std::uint32_t caller_step = 0;
};

// Where to read, after a run of several iterations, what it did.
struct IterationOutcome {
  std::uint32_t bound = 1;
  std::uint32_t always = 0;            // iterations that run in any case
  std::vector<BufferRef> ran;          // one more iteration ran for each word that is not zero
  std::optional<BufferRef> counted;    // this word counts further iterations
  std::optional<BufferRef> left;       // not zero: the last iteration still changed something
  std::optional<BufferRef> converged;  // not zero: the last iteration changed nothing
  std::optional<BufferRef> flag;  // what the last iteration left in the flag, if not in its buffer
  BufferRef flag_buffer;          // where that belongs
  bool always_converges = false;  // nothing reports changes, so the first iteration is the last
  std::uint32_t launches_in_iteration = 0;
  std::optional<BufferRef> launches;
  std::uint32_t segments = 1;
};

// The prefix runs once, then the repeated steps at most `count` times.
struct Schedule {
  RouteChoice route;
  std::vector<PlannedBuffer> buffers;    // first those of the program, by BufferId
  std::vector<ScheduledKernel> kernels;  // each once
  std::vector<ScheduledStep> prefix;
  std::vector<ScheduledStep> repeated;
  std::uint32_t count = 1;
  // A word of a control buffer. Whoever runs the repeated steps reads it from time to time, and
  // stops once it is zero. Surplus runs do no harm.
  std::optional<BufferRef> watch;
  std::vector<InitialWords> initial_words;
  std::vector<IndirectGate> indirect_gates;  // one for each grid that the device reads
  std::optional<IterationOutcome> outcome;   // absent: one iteration of one kernel
};

// Which segment of the caller's program a kernel runs, for errors.
std::optional<std::uint32_t> segment_of(const Schedule& schedule, std::uint32_t kernel);

// Kernels can be bound to memory from multiples of it on.
std::uint64_t binding_alignment(const DeviceProfile& device);

// Where a caller's range lies in the memory that is bound for it.
struct RangePlace {
  // Bytes of that memory before the range, because devices bind memory only from certain places on.
  std::uint64_t start = 0;
  // The last word that is bound also holds bytes that are not the range's. An empty range has one
  // too.
  bool shares_last_word = false;
};

struct ScheduleRequest {
  const ir::ValidProgram& program;  // with the workgroup size and float mode that run
  const DispatchConfig& config;
  std::span<const std::uint64_t> counts;  // elements by BufferId
  std::span<const std::uint64_t> bytes;   // by BufferId; 0 for workgroup memory
  std::span<const RangePlace> places{};   // by BufferId; empty: the bound memory is the range
  // Absent: the device reads it from the buffer that the program's IndirectDispatch names.
  std::optional<Extent3> grid{};
  bool fresh_outputs = false;          // they are zeroed before the run
  bool can_try = true;                 // RouteFacts::can_try
  std::optional<RouteChoice> route{};  // if it was chosen already
  std::string name;                    // of the steps
};

// The one place that decides what runs: the form, its gates, its iterations, its spills and how
// changes are noticed. UnsupportedFeature or DeviceOutOfMemory where a form was asked for that
// cannot be taken; what a backend runs itself (Route::Native, Route::HostSplit) has no steps.
Result<Schedule> make_schedule(const ScheduleRequest& request, const DeviceProfile& device);

// What the first dispatch would compile, as far as it is known without inputs.
Result<std::vector<ScheduledKernel>> kernels_without_inputs(const ir::ValidProgram& program,
                                                            const DispatchConfig& config,
                                                            const DeviceProfile& device);

}  // namespace felsite::dispatch
