// The small programs that the runtime itself runs between the steps of a caller: they compare, open
// and close gates, count, and find the segment that follows. Their texts stand in kernels/.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "felsite/device_profile.h"
#include "felsite/error.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

// Each is the file of its name, which says what it does.
enum class GridKernel : std::uint8_t {
  Compare,
  Any,
  Clear,
  CopyWords,
  CopyBytes,
  Gate,
  Mask,
  Advance,
  NextSegment,
  IterationEndCounted,
  IterationEndChanged,
  IterationEndFlag,
};
inline constexpr std::size_t kGridKernelCount =
    static_cast<std::size_t>(GridKernel::IterationEndFlag) + 1;
const Result<ir::ValidProgram>& grid_kernel(GridKernel kernel);

// Invocations of a workgroup of those that run on many words: all up to Advance.
inline constexpr std::uint32_t kGridKernelSize = 64;

// What a walk on the device knows, as the first words of its buffer `c`.
struct WalkWords {
  static constexpr std::uint32_t kRunning = 0;     // zero once all is done
  static constexpr std::uint32_t kIterations = 1;  // that ran
  static constexpr std::uint32_t kConverged = 2;   // the last one changed nothing
  static constexpr std::uint32_t kLaunched = 3;    // segments that ran
  static constexpr std::uint32_t kFirstFree = 4;
};

// The parameters `p` of the kernels from NextSegment on. A gate is `words` words at `at`; it is
// opened by copying as many words from `shape` on out of the shapes.
struct WalkParameters {
  enum Word : std::uint32_t {
    Kind,  // NextSegment::Kind
    SelfAt,
    SelfWords,
    TargetAt,
    TargetWords,
    TargetShape,
    ElseAt,
    ElseWords,
    ElseShape,
    TripAt,
    EndAt,
    ChoiceAt,
    Launches,
    Bound,
    ChangedAt,
    Count,
  };
};

// What the kernel of an IndirectDispatch writes: the grid that runs, and what was asked for.
struct IndirectGateWords {
  static constexpr std::uint32_t kIsStopped = 3;
  static constexpr std::uint32_t kAsked = 4;  // three words
  static constexpr std::uint32_t kCount = 7;
};
// words: u32[], gate: u32[IndirectGateWords::kCount]. The grid stands in three words from
// `first_word` on.
Result<ir::ValidProgram> indirect_gate_program(std::uint32_t first_word, const Extent3& most);
// The error if it stopped the grid. `words`: what it wrote.
Result<void> check_indirect_gate(std::span<const std::uint32_t> words, std::uint32_t caller_step,
                                 const DeviceProfile& device);

}  // namespace felsite::dispatch
