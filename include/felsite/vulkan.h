// The Vulkan backend: programs lowered to SPIR-V and run on a device, with the reference's bits.
#pragma once

#include <memory>
#include <string>

#include "felsite/backend.h"
#include "felsite/capabilities.h"

namespace felsite {

struct VulkanOptions {
  // Part of the device's name, or its position among the machine's devices; empty: the best.
  std::string device{};
  // Changes what the device has, by a list as codegen::apply_mask takes it, so that one device can
  // stand in for a weaker one. More than the device has is UnsupportedFeature.
  std::string mask{};
};

// Runs programs without grid barriers and collectives, in one pass; the others are refused with
// UnsupportedFeature.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanOptions& options = {});

// The mask that the backend lowers under with these options. Opens no device, so it may also hold
// more than the device has.
Result<codegen::Capabilities> vulkan_capabilities(const VulkanOptions& options = {});

}  // namespace felsite
