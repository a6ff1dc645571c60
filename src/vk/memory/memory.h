// Buffers of a device, and where they lie.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "felsite/dispatch.h"
#include "vk/device/device.h"
#include "vk/memory/memory_budget.h"

namespace felsite::vk {

// Who touches a buffer decides in which memory it lies.
enum class Place : std::uint8_t {
  Device,    // kernels work on it; the host too where the device's strategy says so
  Upload,    // the host writes it, the device copies from it
  Readback,  // the device copies into it, the host reads it
  Control,   // small blocks that kernels and the host read and write
};

class Buffer {
 public:
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  // As asked for, and with what pads it: a multiple of four, and never nothing.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t range() const { return range_; }
  bool is_mapped() const { return mapped_ != nullptr; }
  // Whether the host writes and reads it itself. Not each buffer of a device that works so can be.
  bool is_written_in_place() const { return is_mapped() && device_.plan().memory.writes_in_place; }
  bool is_read_in_place() const { return is_mapped() && device_.plan().memory.reads_in_place; }

  // Only of a mapped buffer. Written bytes are seen by all work submitted later, and what is read
  // is what finished work left that made it visible to the host.
  Result<void> write(std::uint64_t offset, ByteSpan bytes);
  Result<void> read(std::uint64_t offset, std::span<std::byte> bytes) const;

  // For debuggers, also of its memory where that is for this buffer alone.
  void name(const ObjectName& what) const;

 private:
  friend class Memory;
  explicit Buffer(const Device& device) : device_(device) {}

  const Device& device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  bool is_callers_ = false;   // the caller's, not ours to destroy
  bool is_imported_ = false;  // memory of the caller's, not the allocator's
  VkDeviceMemory imported_ = VK_NULL_HANDLE;
  std::shared_ptr<MemoryBudget> budget_;  // that it is taken from; none: the device's own
  std::byte* mapped_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t range_ = 0;
};
using SharedBuffer = std::shared_ptr<Buffer>;

// Usable from many threads. All buffers must be gone before the device is.
class Memory {
 public:
  // On a device with memory of its own the driver's budget holds, or most of the heap where it has
  // none. A software device says nothing of use: there it is the host's.
  explicit Memory(const Device& device);
  // The same with another budget; none: as on a device with memory of its own.
  Memory(const Device& device, std::shared_ptr<MemoryBudget> budget)
      : device_(device), budget_(std::move(budget)) {}

  // DeviceOutOfMemory, with what was asked for and what there is, before the machine runs out.
  Result<SharedBuffer> make(Place place, std::uint64_t bytes, const ObjectName& name);
  // The caller's own bytes as a buffer, for kernels that only read them; they must stay there as
  // long as the buffer. Nothing is copied. None where the device cannot, or it would not help.
  struct Imported {
    SharedBuffer buffer;
    std::uint64_t offset = 0;  // of the bytes: what is imported begins with a page
  };
  std::optional<Imported> import(ByteSpan bytes, const ObjectName& name);

  // A buffer that the caller made on its own device; never mapped, never destroyed.
  SharedBuffer adopt(VkBuffer handle, std::uint64_t bytes);

  std::uint64_t allocations() const { return allocations_; }
  struct Figures {
    std::uint64_t in_use = 0;  // by buffers
    std::uint64_t idle = 0;    // kept by the allocator for the next ones
  };
  Figures figures() const;
  const Device& device() const { return device_; }

 private:
  const Device& device_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::atomic<std::uint64_t> allocations_ = 0;
};

}  // namespace felsite::vk
