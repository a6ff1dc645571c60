#include "vk/instance/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "base/guarded.h"
#include "dispatch/telemetry/environment.h"
#include "dispatch/telemetry/warnings.h"
#include "vk/instance/enumerate.h"
#include "vk/instance/loader.h"

namespace felsite::vk {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL note_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data,
                                            void* log) {
  // No exception may pass through the layer, which calls this.
  base::best_effort([&] { dispatch::warn(fmt::format("validation: {}", data->pMessage)); });
  static_cast<ValidationLog*>(log)->add(data->pMessage);
  return VK_FALSE;
}

}  // namespace

std::optional<std::uint32_t> validation_layer_version() {
  std::vector<VkLayerProperties> layers;
  const VkResult result = enumerate(layers, [](std::uint32_t* count, VkLayerProperties* rows) {
    return loader().enumerate_instance_layers(count, rows);
  });
  if (result != VK_SUCCESS) return std::nullopt;
  const auto found = std::ranges::find_if(layers, [](const VkLayerProperties& layer) {
    return std::string_view(layer.layerName) == kValidationLayer;
  });
  return found == layers.end() ? std::nullopt : std::optional(found->specVersion);
}

Result<Validation> wanted_validation() {
  const std::string value = dispatch::environment(dispatch::Variable::Validation).value_or("0");
  if (value != "0" && value != "1" && value != "sync") {
    return std::unexpected(base::bad_inputs(
        fmt::format("FELSITE_VALIDATION is `{}`, which is not a known value.", value),
        "set it to 1 or sync, or unset it."));
  }
  if (value == "0") return Validation::Off;
  if (!validation_layer_version()) {
    dispatch::warn(
        fmt::format("FELSITE_VALIDATION is set, and {} is not installed. Fix: install the layer, "
                    "or unset FELSITE_VALIDATION.",
                    kValidationLayer));
    return Validation::Off;
  }
  return value == "sync" ? Validation::Synchronization : Validation::On;
}

void ValidationLog::add(std::string_view message) noexcept {
  const std::lock_guard lock(mutex_);
  ++count_;
  if (kept_.size() < kMaxKept) base::best_effort([&] { kept_.emplace_back(message); });
}

std::vector<std::string> ValidationLog::take() {
  const std::lock_guard lock(mutex_);
  count_ = 0;
  return std::exchange(kept_, {});
}

ValidationLog& validation_log() {
  // Never destroyed, because devices that are static objects close after everything else.
  static ValidationLog& log = *new ValidationLog;
  return log;
}

VkDebugUtilsMessengerEXT make_messenger(VkInstance instance, const InstanceFunctions& functions,
                                        ValidationLog& log) {
  if (functions.create_messenger == nullptr) return VK_NULL_HANDLE;
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = note_message;
  info.pUserData = &log;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  const VkResult result = functions.create_messenger(instance, &info, nullptr, &messenger);
  return result == VK_SUCCESS ? messenger : VK_NULL_HANDLE;
}

}  // namespace felsite::vk
