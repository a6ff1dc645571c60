// The backend `vulkan`: the facade on a Vulkan device.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "felsite/backend.h"
#include "vk/vulkan_service.h"

namespace felsite::vk {

// Opens the device: at the beginning, and again for each recovery.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>()>;

struct BackendSettings {
  OpenDevice open;
  std::optional<std::filesystem::path> cache_folder;
  std::uint64_t static_budget = std::uint64_t{256} << 20;
  // How long closing the device waits for work in flight.
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
  std::shared_ptr<MemoryBudget> budget{};  // instead of the one that Memory chooses
};

Result<std::unique_ptr<Backend>> make_backend(BackendSettings settings);

// UnsupportedFeature for backends of other kinds, whatever their state.
Result<void> check_is_vulkan(const Backend& backend);
// The engine of a backend on Vulkan: DeviceLost if the device is lost, DispatchFailed after the
// shutdown.
Result<std::shared_ptr<Engine>> engine_of(const Backend& backend);

}  // namespace felsite::vk
