// What a dispatch takes and gives: bytes, configuration, timing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/program.h"

namespace felsite {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

// How a fixpoint run notices that nothing changes any more.
struct Convergence {
  enum class Kind : std::uint8_t {
    Automatic,  // an iteration that leaves every changing buffer as it was is the last
    Flag,  // a u32 buffer the program sets when it changed something; zero before each iteration
    None,  // always run the bound
  };
  Kind kind = Kind::Automatic;
  std::string flag{};  // the buffer's name, for Kind::Flag
};

// How a program with grid barriers, or a fixpoint, is run on a device that has no barrier of the
// whole grid. The results are the same bytes in every form.
enum class GridSync : std::uint8_t {
  Automatic,     // the backend decides, and `felsite explain` says why
  HostSplit,     // segment by segment, the buffers handed on by the host
  Resident,      // segments on buffers that stay on the device, converging there
  OneWorkgroup,  // in one dispatch of one workgroup; an error where the grid is too large for it
};

// All optional.
struct DispatchConfig {
  std::optional<std::array<std::uint32_t, 3>> grid_override{};  // workgroups
  std::optional<std::array<std::uint32_t, 3>> workgroup_override{};
  std::optional<std::uint32_t> fixpoint_iterations{};  // absent: 1; 0 is an error
  Convergence convergence{};
  GridSync grid_sync = GridSync::Automatic;
  // In place of the program's own: exact floats have the same bits everywhere, fast ones may differ
  // by device.
  std::optional<ir::FloatMode> float_mode{};
  std::string label{};
  std::optional<std::chrono::nanoseconds> timeout{};
  std::optional<std::uint64_t> max_output_bytes{};
  bool cooperative = false;  // a native grid barrier over many workgroups
  bool profile = false;      // also measure the device's own time, where it has a clock
};

// A part that was not measured is absent, never zero.
struct DispatchTiming {
  std::optional<std::uint64_t> wall_ns{};
  std::optional<std::uint64_t> device_ns{};   // from the first command to the last
  std::optional<std::uint64_t> enqueue_ns{};  // until the work was with the device
  std::optional<std::uint64_t> wait_ns{};     // from then until it was done
  // Of each step of a profiled sequence in order; of one that is repeated, its last run. Of a
  // program with grid barriers or iterations: of each segment, all its runs together.
  std::vector<std::uint64_t> step_device_ns{};
  std::uint32_t iterations_run = 0;
  bool converged = false;
};

// The sum of two timings, of work that ran one after the other. A part that one of them lacks, or
// that overflows, is absent.
DispatchTiming sum(const DispatchTiming& a, const DispatchTiming& b);

struct TimedOutputs {
  std::vector<Bytes> outputs;
  DispatchTiming timing;
};

}  // namespace felsite
