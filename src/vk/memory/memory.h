// Buffers of a device, and the memory they are in.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "dispatch/contract/service.h"
#include "vk/device/device.h"
#include "vk/memory/memory_budget.h"

namespace felsite::vk {

// Who accesses a buffer decides in which memory it is.
enum class Place : std::uint8_t {
  Device,    // kernels access it; the host too where the memory strategy says so
  Upload,    // the host writes it, the device copies from it
  Readback,  // the device copies into it, the host reads it
  Control,   // small blocks that kernels and the host read and write
};

class Buffer final : public dispatch::Allocation {
 public:
  ~Buffer() override;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  // The size as asked for, and with padding: a multiple of four that is never zero.
  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t range() const { return range_; }
  bool is_mapped() const { return mapped_ != nullptr; }
  // Whether the host accesses it in place. On a device with in-place memory some buffers are still
  // not mapped.
  bool is_written_in_place() const { return is_mapped() && device_.plan().memory.writes_in_place; }
  bool is_read_in_place() const { return is_mapped() && device_.plan().memory.reads_in_place; }

  // Only for mapped buffers. Work that is submitted later sees written bytes; a read sees what
  // finished work made visible to the host.
  Result<void> write(std::uint64_t offset, ByteSpan bytes);
  Result<void> read(std::uint64_t offset, std::span<std::byte> bytes) const;

  // Names it for debuggers, and its memory too if no other buffer shares it.
  void name(const ObjectName& what) const;
  void set_label(std::string_view label) const override { name(label); }

 private:
  friend class Memory;
  explicit Buffer(const Device& device) : device_(device) {}

  const Device& device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  bool is_callers_ = false;   // owned by the caller, never destroyed here
  bool is_imported_ = false;  // bound to imported memory of the caller
  VkDeviceMemory imported_ = VK_NULL_HANDLE;
  std::shared_ptr<MemoryBudget> budget_;  // the budget that it is taken from; null: the driver's
  std::byte* mapped_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t range_ = 0;
};
using SharedBuffer = std::shared_ptr<Buffer>;

// Thread-safe. All buffers must be destroyed before the device.
class Memory {
 public:
  // A device with its own memory has the driver's budget, or most of the heap without one. A
  // software device reports nothing useful, so it has a budget of the host's memory.
  explicit Memory(const Device& device);
  // With another budget; null: as on a device with its own memory.
  Memory(const Device& device, std::shared_ptr<MemoryBudget> budget)
      : device_(device), budget_(std::move(budget)) {}

  // DeviceOutOfMemory with the requested and the available size, before the machine runs out of
  // memory.
  Result<SharedBuffer> make(Place place, std::uint64_t bytes, const ObjectName& name);
  // Imports the caller's bytes as a buffer for kernels that only read it, without a copy; they must
  // outlive the buffer. None where the device cannot import, or it does not pay.
  struct Imported {
    SharedBuffer buffer;
    std::uint64_t offset = 0;  // of the bytes; the import begins at a page
  };
  std::optional<Imported> import(ByteSpan bytes, const ObjectName& name);

  // A buffer that the caller made on its own device; never mapped, never destroyed.
  SharedBuffer adopt(VkBuffer handle, std::uint64_t bytes);

  std::uint64_t allocations() const { return allocations_; }
  struct Figures {
    std::uint64_t in_use = 0;  // by buffers
    std::uint64_t idle = 0;    // free in blocks of the allocator
  };
  Figures figures() const;
  const Device& device() const { return device_; }

 private:
  const Device& device_;
  const std::shared_ptr<MemoryBudget> budget_;
  std::atomic<std::uint64_t> allocations_ = 0;
};

}  // namespace felsite::vk
