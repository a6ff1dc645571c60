// Device work before it is recorded: buffers and kernels exist, command buffers do not.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/schedule/schedule.h"
#include "vk/kernel/kernel_on_device.h"
#include "vk/memory/memory.h"

namespace felsite::vk {

struct BufferSlice {
  SharedBuffer buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The slice that a reference means, among those of Schedule::buffers.
inline BufferSlice slice_in(std::span<const BufferSlice> slices, const dispatch::BufferRef& ref) {
  const BufferSlice& whole = slices[ref.buffer];
  return {whole.buffer, whole.offset + ref.offset, ref.bytes};
}

inline bool overlap(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer &&
         std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
}

// How many bytes of a slice are bound, as kernel.h demands: whole words, and more than zero for an
// empty buffer, unless the kernel takes a null descriptor for it.
inline std::uint64_t bound_bytes(const BufferSlice& slice, const codegen::Kernel& kernel) {
  if (slice.bytes != 0) return (slice.bytes + 3) / 4 * 4;
  return kernel.needs_robust_access2 ? 0 : codegen::kBoundBytesOfEmpty;
}

// What a kernel accesses.
struct SliceAccess {
  BufferSlice slice;
  bool writes = false;
};

struct KernelStep {
  SharedKernel kernel;
  std::vector<BufferSlice> buffers;   // as Kernel::buffers
  std::vector<SliceAccess> accesses;  // of its shader, for barriers; dispatch::sequence_of has them
  Extent3 grid{1, 1, 1};              // workgroups
  Extent3 base{};                     // workgroups before these, which other steps run
  // The device reads three words of the grid from here instead.
  std::optional<BufferSlice> indirect;
  std::vector<std::uint32_t> parameters;  // as Kernel::parameters
  std::string name;
  // Which of the caller's steps this belongs to; absent for steps that Felsite adds.
  std::optional<std::uint32_t> caller_step;
  // Four bytes of a buffer of Place::Control or Place::Device. The step runs only where the word
  // there is not zero when its turn comes. Needs RuntimeFeature::ConditionalRendering.
  std::optional<BufferSlice> condition{};
  // Of the caller's program; errors state it.
  std::optional<dispatch::SegmentPlace> segment{};
  // Whether a step of the caller counts as a launch.
  bool counts_as_launch = true;
  // It runs more workgroups of the grid of the step before it.
  bool is_further_part = false;
};

// If so, no later step may rely on the old value of the word.
inline bool writes_own_condition(const KernelStep& step) {
  return step.condition && std::ranges::any_of(step.accesses, [&](const SliceAccess& access) {
           return access.writes && overlap(access.slice, *step.condition);
         });
}

struct FillStep {
  BufferSlice target;
  std::byte value{};
};

// What the kernel wrote that checked a grid which the device reads.
struct IndirectGate {
  BufferSlice words;  // dispatch::IndirectGateWords
  std::uint32_t caller_step = 0;
};

// Constants that the host writes before each run: initial values of counters and flags. The buffer
// is one of Place::Control.
struct HostWords {
  BufferSlice target;
  std::vector<std::uint32_t> words;
};

// Fills, uploads, prefix, `count` times the repeated steps, reads. The bytes of the uploads come
// with each run.
struct Sequence {
  std::vector<FillStep> fills{};
  std::vector<BufferSlice> uploads{};
  std::vector<KernelStep> prefix{};
  std::vector<KernelStep> repeated{};
  std::uint32_t count = 1;
  std::vector<BufferSlice> reads{};
  std::vector<IndirectGate> gates{};
  // What to read after a run of several iterations: words of `scheduled`.
  std::optional<dispatch::IterationOutcome> iterations{};
  std::vector<BufferSlice> scheduled{};  // by Schedule::buffers
  // Four bytes of a buffer of Place::Control. The repeated steps then run at most `count` times:
  // the host reads the word after each submission, and submits no more once it is zero. One
  // submission may hold several runs, so surplus runs must do no harm.
  std::optional<BufferSlice> watch{};
  std::vector<HostWords> host_words{};
  // The size of the buffers that only this sequence uses.
  std::uint64_t own_bytes = 0;
  // No other work uses any of its buffers, so it needs no barrier against earlier work.
  bool is_alone = false;
  bool measured = false;  // with the device's clock, where it has one
  std::string name{};
};

}  // namespace felsite::vk
