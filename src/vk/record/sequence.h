// Device work as it is recorded: buffers and kernels are at hand, nothing is recorded yet.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "vk/kernel/kernel_on_device.h"
#include "vk/memory/memory.h"

namespace felsite::vk {

struct BufferSlice {
  SharedBuffer buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

inline bool overlap(const BufferSlice& a, const BufferSlice& b) {
  return a.buffer == b.buffer &&
         std::max(a.offset, b.offset) < std::min(a.offset + a.bytes, b.offset + b.bytes);
}

// The bytes of a slice that a kernel is bound to, as kernel.h demands: whole words, and something
// also for an empty buffer, unless the kernel takes a null descriptor for it.
inline std::uint64_t bound_bytes(const BufferSlice& slice, const codegen::Kernel& kernel) {
  if (slice.bytes != 0) return (slice.bytes + 3) / 4 * 4;
  return kernel.needs_robust_access2 ? 0 : 8;
}

// A program that is run in parts, one after the other, is cut into segments.
struct SegmentPlace {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};

struct KernelStep {
  SharedKernel kernel;
  std::vector<BufferSlice> buffers;            // as Kernel::buffers
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups
  std::array<std::uint32_t, 3> base{};         // those that come before, in other steps
  // The device reads three words of the grid from here instead.
  std::optional<BufferSlice> indirect;
  std::vector<std::uint32_t> parameters;  // as Kernel::parameters
  std::string name;
  // Of the caller's steps, the one that this belongs to; none for those that Felsite adds.
  std::optional<std::uint32_t> caller_step;
  // Four bytes of a buffer of Place::Control or Place::Device. The step runs only where the word
  // there is not zero when its turn comes. Needs RuntimeFeature::ConditionalRendering.
  std::optional<BufferSlice> condition{};
  // Of the caller's program; errors name it.
  std::optional<SegmentPlace> segment{};
  // Whether one of the caller's counts among the launches.
  bool counts_as_launch = true;
  // More workgroups of the grid that the step before it runs on.
  bool is_further_part = false;
};

inline BufferSlice bound_slice(const KernelStep& step, std::size_t buffer) {
  BufferSlice slice = step.buffers[buffer];
  slice.bytes = bound_bytes(slice, step.kernel->kernel);
  return slice;
}

// Then nothing that comes after it may go by what the word was before.
inline bool writes_own_condition(const KernelStep& step) {
  if (!step.condition) return false;
  for (std::size_t i = 0; i < step.buffers.size(); ++i) {
    if (!step.kernel->kernel.buffers[i].written) continue;
    if (overlap(bound_slice(step, i), *step.condition)) return true;
  }
  return false;
}

// How a run that goes over a program several times tells afterwards what it did.
struct IterationRecord {
  std::uint32_t bound = 1;
  std::uint32_t always = 0;              // iterations that ran whatever happened
  std::vector<BufferSlice> ran;          // an iteration ran for each word that is not zero
  std::optional<BufferSlice> counted;    // and as many more
  std::optional<BufferSlice> left;       // not zero: the last iteration still changed something
  std::optional<BufferSlice> converged;  // not zero: it did not
  std::optional<BufferSlice>
      flag;            // what the last iteration left in the flag, if not in its buffer
  bool rests = false;  // nothing can tell of a change, so the first iteration is the last
  std::uint32_t launches_in_iteration = 0;
  std::optional<BufferSlice> launches;
  std::uint32_t segments = 1;
};

struct FillStep {
  BufferSlice target;
  std::byte value{};
};

// A grid that the device reads goes through a gate first: a kernel that lets through what the
// device can run, and stops the rest.
struct IndirectGate {
  SharedBuffer words;  // what goes to the device, whether it was stopped, and what was asked for
  std::uint32_t caller_step = 0;
};

// Constants that the host puts in place when a run begins: counters and flags that every run has to
// find fresh. The buffer is one of Place::Control.
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
  std::optional<IterationRecord> iterations{};
  std::optional<BufferSlice> flag{};  // the caller's buffer that IterationRecord::flag has to go to
  // Four bytes of a buffer of Place::Control. The repeated steps then run at most `count` times:
  // the host looks at the word after each submission, and where it finds zero they are not
  // submitted again. Several runs may stand in one submission, so runs that come too late must do
  // no harm.
  std::optional<BufferSlice> watch{};
  std::vector<HostWords> host_words{};
  // Of buffers that are there for this sequence alone.
  std::uint64_t own_bytes = 0;
  // No other work uses any of its buffers: it needs to wait for none.
  bool is_alone = false;
  bool measured = false;  // with the device's clock, where it has one
  std::string name{};
};

}  // namespace felsite::vk
