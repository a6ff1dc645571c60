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

// What FELSITE_VALIDATION asks for. Off, with a warning, if the layer is not installed. The loader
// must be open.
Result<Validation> wanted_validation();

// The version of the installed layer, if there is one. The loader must be open.
std::optional<std::uint32_t> validation_layer_version();

// Whether threads may label the steps of their command buffers while the layer is on. Layers up to
// 1.3.239 keep the labels of all command buffers in one table without a lock, and crash when two
// threads make or destroy command buffers; 1.4.309 is the first known to work.
constexpr bool keeps_labels_apart(std::uint32_t layer_version) {
  return layer_version >= VK_MAKE_API_VERSION(0, 1, 4, 309);
}

// Collects the messages of the layer, which also become warnings.
class ValidationLog {
 public:
  void add(std::string_view message) noexcept;
  std::uint64_t count() const { return count_; }
  // Returns the first few, since a broken program can repeat one a million times, and forgets all.
  std::vector<std::string> take();

 private:
  static constexpr std::size_t kMaxKept = 32;
  std::atomic<std::uint64_t> count_ = 0;
  std::mutex mutex_;
  std::vector<std::string> kept_;
};

// The messages to all instances that Felsite made, including those about objects that were not
// destroyed. Instances of callers have their own logs.
ValidationLog& validation_log();

// Adds messages to the log from now on; null if it cannot be made. The log must outlive it.
VkDebugUtilsMessengerEXT make_messenger(VkInstance instance, const InstanceFunctions& functions,
                                        ValidationLog& log);

}  // namespace felsite::vk
