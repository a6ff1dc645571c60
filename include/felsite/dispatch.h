// What a dispatch takes and returns: bytes, configuration, timing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/extent.h"
#include "felsite/program.h"

namespace felsite {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

// How a fixpoint detects that nothing changes any more.
struct Convergence {
  enum class Kind : std::uint8_t {
    Automatic,  // stops after an iteration that leaves every evolving buffer unchanged
    Flag,       // a u32 buffer that is zero before each iteration and set when something changes
    None,       // always run all iterations
  };
  Kind kind = Kind::Automatic;
  std::string flag{};  // the buffer's name, for Kind::Flag
};

// How a program with grid barriers, or a fixpoint, runs on a device without a barrier for the whole
// grid. Every form gives the same bytes.
enum class GridSync : std::uint8_t {
  Automatic,     // the backend decides, and `felsite explain` says why
  HostSplit,     // segment by segment; the host passes the buffers on
  Resident,      // segments on buffers that stay on the device, which also detects convergence
  OneWorkgroup,  // in one dispatch of one workgroup; an error if the grid is too large for it
};

// Every field is optional.
struct DispatchConfig {
  std::optional<Extent3> grid_override{};  // workgroups
  std::optional<Extent3> workgroup_override{};
  std::optional<std::uint32_t> fixpoint_iterations{};  // absent: 1; 0 is an error
  Convergence convergence{};
  GridSync grid_sync = GridSync::Automatic;
  // Overrides the program's own mode: exact floats have the same bits everywhere, fast ones may
  // differ between devices.
  std::optional<ir::FloatMode> float_mode{};
  std::string label{};
  std::optional<std::chrono::nanoseconds> timeout{};
  std::optional<std::uint64_t> max_output_bytes{};
  bool cooperative = false;  // a native grid barrier over many workgroups
  bool profile = false;      // also measure the time on the device, if it has a clock
};

// What a block of a submission did.
struct BlockTiming {
  std::uint32_t iterations_run = 0;
  bool converged = false;
  bool operator==(const BlockTiming&) const = default;
};

// A time that was not measured is absent, never zero.
struct DispatchTiming {
  std::optional<std::uint64_t> wall_ns{};
  std::optional<std::uint64_t> device_ns{};   // from the first command to the last
  std::optional<std::uint64_t> enqueue_ns{};  // until the work was submitted
  std::optional<std::uint64_t> wait_ns{};     // from the submission until the work was done
  // One entry for each step of a profiled submission, in order: the prefix, the repeated steps, the
  // steps of the blocks. A step that runs a fixed number of times has the time of its last run; one
  // of a block that converges, or that the host repeats, the sum of all its runs. For one program
  // with grid barriers or iterations: one entry for each segment, the sum of all its runs.
  std::vector<std::uint64_t> step_device_ns{};
  std::uint32_t iterations_run = 0;
  bool converged = false;
  std::vector<BlockTiming> blocks{};  // of a submission, in order
};

// The sum of two timings, for work that ran one after the other. A time that one of them lacks, or
// that overflows, is absent. The blocks are those of the first, then those of the second.
DispatchTiming sum(const DispatchTiming& a, const DispatchTiming& b);

struct TimedOutputs {
  std::vector<Bytes> outputs;
  DispatchTiming timing;
};

}  // namespace felsite
