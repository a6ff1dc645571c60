// Vulkan's validation layer: whether it is wanted, and what it complained about.
#pragma once

#include <vulkan/vulkan.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "felsite/error.h"
#include "vk/instance/instance_functions.h"

namespace felsite::vk {

inline constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

enum class Validation : std::uint8_t { Off, On, Synchronization };

// What FELSITE_VALIDATION says. Off, with a warning, where the layer is not installed: the work
// itself does not depend on it. Needs the loader open.
Result<Validation> wanted_validation();

// Of the layer that is installed; none where it is not. Needs the loader open.
std::optional<std::uint32_t> validation_layer_version();

// Whether threads may label the steps of their command buffers while it listens. Layers up to
// 1.3.239 keep the labels of all command buffers in one table that they do not lock, and crash when
// two threads make or destroy command buffers; 1.4.309 is the first known to be well.
constexpr bool keeps_labels_apart(std::uint32_t layer_version) {
  return layer_version >= VK_MAKE_API_VERSION(0, 1, 4, 309);
}

// Messages of the layer, which are warnings too.
class ValidationLog {
 public:
  void add(std::string_view message) noexcept;
  std::uint64_t count() const { return count_; }
  // The first few, as a broken program can repeat one a million times; and forgets them all.
  std::vector<std::string> take();

 private:
  static constexpr std::size_t kMostKept = 32;
  std::atomic<std::uint64_t> count_ = 0;
  std::mutex mutex_;
  std::vector<std::string> kept_;
};

// What it said to all instances that the process has made, also about what was left behind when
// devices closed. Those that a caller brings along have their owner's log.
ValidationLog& validation_log();

// Fills the log from now on; null if that cannot be arranged. The log must outlive it.
VkDebugUtilsMessengerEXT make_messenger(VkInstance instance, const InstanceFunctions& functions,
                                        ValidationLog& log);

}  // namespace felsite::vk
