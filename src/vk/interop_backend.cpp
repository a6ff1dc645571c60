// The backend on a caller's device, and buffers that Felsite and the caller share.
#include <fmt/format.h>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "felsite/vulkan_interop.h"
#include "vk/instance/vulkan_error.h"
#include "vk/kernel/pipeline_cache_file.h"
#include "vk/vulkan_backend.h"

namespace felsite {
namespace {

using base::bad_inputs;

using dispatch::BackendCore;
using dispatch::SharedDevice;

Result<void> check_callers_buffer(const vk::Device& device, VkBuffer buffer, std::uint64_t bytes) {
  if (!device.is_adopted()) {
    return std::unexpected(
        bad_inputs("A Vulkan buffer was given to a backend whose device is not the caller's.",
                   "make the backend from a VulkanInterop of the device that has the buffer."));
  }
  if (buffer == VK_NULL_HANDLE) {
    return std::unexpected(bad_inputs("No Vulkan buffer was given.", "give one of this device."));
  }
  if (bytes == 0 || bytes % 4 != 0) {
    return std::unexpected(
        bad_inputs(fmt::format("A Vulkan buffer of {} bytes cannot be shared.", bytes),
                   "share a multiple of four bytes, at least four."));
  }
  VkMemoryRequirements needed{};
  device.functions().vkGetBufferMemoryRequirements(device.handle(), buffer, &needed);
  if (bytes <= needed.size) return {};
  Error error =
      bad_inputs(fmt::format("A Vulkan buffer does not hold {} bytes: all its memory is {}.", bytes,
                             needed.size),
                 "give the size that the buffer was made with.");
  return std::unexpected(base::with_amounts(std::move(error), bytes, needed.size));
}

}  // namespace

Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanInterop& interop,
                                                     const VulkanOptions& options) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    if (!options.device.empty()) {
      return std::unexpected(bad_inputs(
          fmt::format("The device `{}` was named, but the caller gave a device.", options.device),
          "leave `device` empty."));
    }
    FELSITE_TRY(auto adopted, vk::adopt_device(interop, options.mask));
    // Behind a shared_ptr, because std::function demands that its target can be copied.
    auto device = std::make_shared<std::unique_ptr<vk::Device>>(std::move(adopted));
    const auto open = [device,
                       name = (*device)->snapshot().name]() -> Result<std::unique_ptr<vk::Device>> {
      if (*device != nullptr) return std::move(*device);
      return std::unexpected(
          vk::unsupported("The lost device is the caller's, so Felsite cannot open it again.",
                          "make a new device, and a new backend on it.", name));
    };
    return vk::make_backend({.open = open,
                             .cache_folder = vk::cache_folder(),
                             .static_budget = options.static_upload_budget,
                             .grace = options.close_timeout});
  });
}

Result<VulkanBuffer> vulkan_buffer(Backend& backend, const DeviceBuffer& buffer) {
  return base::guarded([&]() -> Result<VulkanBuffer> {
    FELSITE_CHECK(vk::check_is_vulkan(backend));
    FELSITE_CHECK(dispatch::check_device_buffer(buffer, backend.id()));
    return BackendCore::of(backend).call(
        "vulkan_buffer", [&](const SharedDevice& open) -> Result<VulkanBuffer> {
          FELSITE_TRY(const auto held, open->buffers.find(buffer.resident));
          return VulkanBuffer{.buffer = static_cast<const vk::Buffer&>(*held).handle(),
                              .offset = 0,
                              .bytes = held->bytes()};
        });
  });
}

Result<DeviceBuffer> adopt_vulkan_buffer(Backend& backend, VkBuffer buffer, std::uint64_t bytes,
                                         std::string label) {
  return base::guarded([&]() -> Result<DeviceBuffer> {
    FELSITE_CHECK(vk::check_is_vulkan(backend));
    return BackendCore::of(backend).call(
        "adopt_vulkan_buffer", [&](const SharedDevice& open) -> Result<DeviceBuffer> {
          FELSITE_TRY(const auto engine, vk::engine_of(backend));
          FELSITE_CHECK(check_callers_buffer(engine->device(), buffer, bytes));
          return DeviceBuffer{.backend = std::string(backend.id()),
                              .bytes = bytes,
                              .label = std::move(label),
                              .resident = open->buffers.add(engine->memory().adopt(buffer, bytes))};
        });
  });
}

}  // namespace felsite
