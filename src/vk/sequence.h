// Device work as it is recorded: buffers and kernels are at hand, nothing is recorded yet.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "vk/kernel_on_device.h"
#include "vk/memory.h"

namespace felsite::vk {

struct BufferSlice {
  SharedBuffer buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The bytes of a slice that a kernel is bound to, as kernel.h demands: whole words, and something
// also for an empty buffer, unless the kernel takes a null descriptor for it.
inline std::uint64_t bound_bytes(const BufferSlice& slice, const codegen::Kernel& kernel) {
  if (slice.bytes != 0) return (slice.bytes + 3) / 4 * 4;
  return kernel.needs_robust_access2 ? 0 : 8;
}

struct KernelStep {
  SharedKernel kernel;
  std::vector<BufferSlice> buffers;            // as Kernel::buffers
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups
  // The device reads three words of the grid from here instead.
  std::optional<BufferSlice> indirect;
  std::vector<std::uint32_t> parameters;  // as Kernel::parameters
  std::string name;
  // Of the caller's steps, the one that this belongs to; none for those that Felsite adds.
  std::optional<std::uint32_t> caller_step;
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

// Fills, uploads, prefix, `count` times the repeated steps, reads. The bytes of the uploads come
// with each run.
struct Sequence {
  std::vector<FillStep> fills;
  std::vector<BufferSlice> uploads;
  std::vector<KernelStep> prefix;
  std::vector<KernelStep> repeated;
  std::uint32_t count = 1;
  std::vector<BufferSlice> reads;
  std::vector<IndirectGate> gates;
  bool measured = false;  // with the device's clock, where it has one
  std::string name;
};

}  // namespace felsite::vk
