#include <fmt/format.h>

#include <cstdlib>
#include <thread>

#include "report.h"
#include "vk/device/device.h"

namespace felsite::bench {
namespace {

// The device that the rows open, its driver, and what else changes how fast it is.
std::string vulkan_device() {
  const auto instance = vk::Instance::shared();
  const auto devices = vk::list_devices();
  if (!instance || !devices) return "no Vulkan device";
  const auto plan = vk::plan_device(*devices, vk::with_environment({}));
  if (!plan) return "no Vulkan device";
  const vk::DeviceSnapshot& device = (*devices)[plan->device];
  const char* const workers = std::getenv("LP_NUM_THREADS");  // lavapipe's
  return fmt::format("{}, {} {}, LP_NUM_THREADS {}, validation layer {}", device.name,
                     device.driver_name, device.driver_info,
                     workers == nullptr ? "not set" : workers,
                     (*instance)->validated() ? "on" : "off");
}

}  // namespace

std::string device_line() {
#ifdef NDEBUG
  constexpr std::string_view kBuild = "Release build";
#else
  constexpr std::string_view kBuild = "Debug build";
#endif
  static const std::string line = fmt::format("{}, {} hardware threads, {}", vulkan_device(),
                                              std::thread::hardware_concurrency(), kBuild);
  return line;
}

}  // namespace felsite::bench
