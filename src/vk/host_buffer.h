// A storage buffer in memory that host and device both see.
#pragma once

#include <cstddef>
#include <span>

#include "vk/device.h"

namespace felsite::vk {

class HostBuffer {
 public:
  // For `bytes` of contents: the range that kernel.h demands for them. What is in it before the
  // first write is unspecified.
  static Result<HostBuffer> make(const Device& device, std::uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) = delete;
  ~HostBuffer();

  VkBuffer handle() const { return buffer_; }
  std::uint64_t range() const { return mapped_.size(); }

  // What was given, the rest zeros; seen by all work submitted later.
  Result<void> write(std::span<const std::byte> contents);
  // From the start; what all finished work has left there.
  Result<void> read(std::span<std::byte> contents) const;

 private:
  explicit HostBuffer(const Device& device) : device_(device) {}

  const Device& device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VmaAllocation allocation_ = VK_NULL_HANDLE;
  std::span<std::byte> mapped_;
};

}  // namespace felsite::vk
