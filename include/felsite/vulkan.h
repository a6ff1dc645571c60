// The Vulkan backend: programs lowered to SPIR-V and run on a device, with the reference's bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/capabilities.h"
#include "felsite/vulkan_devices.h"

namespace felsite {

struct VulkanOptions {
  // The device's position in the list of devices, part of its name, or at least eight digits of its
  // UUID. Empty: the device that FELSITE_DEVICE names, or else the best one.
  std::string device{};
  // Changes what Felsite assumes of the device, by a list as codegen::apply_mask takes it, so that
  // one device can stand in for a weaker one. The list may also name runtime features. Asking for
  // more than the device has is UnsupportedFeature.
  std::string mask{};
  // Bytes of static uploads that may stay on the device while nobody holds them.
  std::uint64_t static_upload_budget = std::uint64_t{256} << 20;
  // How long a shutdown waits for abandoned work, after a timeout or a drop. Vulkan cannot stop
  // such work: if it has not ended by then, it keeps its memory until the process ends.
  std::chrono::nanoseconds close_timeout = std::chrono::seconds(5);
};

// Runs every program. Collectives have one rank.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanOptions& options = {});

// The mask that the backend lowers with under these options. It opens no device, so the mask may
// exceed what the device has.
Result<codegen::Capabilities> vulkan_capabilities(const VulkanOptions& options = {});

// All devices of the machine, with the verdict on each under these options. At most one is chosen.
// The list is empty if there is no device; without Vulkan the call is UnsupportedFeature.
Result<std::vector<VulkanDeviceInfo>> list_vulkan_devices(const VulkanOptions& options = {});

// Whether `mask` accepts a list on some device; BadInputs if not.
Result<void> check_vulkan_mask(std::string_view list);

}  // namespace felsite
