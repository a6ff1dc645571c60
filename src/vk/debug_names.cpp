#include "vk/debug_names.h"

#include <string>

namespace felsite::vk {

void name_object(const Device& device, VkObjectType type, std::uint64_t handle,
                 std::string_view name) {
  if (!device.instance().names_objects()) return;
  const std::string text(name);
  VkDebugUtilsObjectNameInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
  info.objectType = type;
  info.objectHandle = handle;
  info.pObjectName = text.c_str();
  device.instance().functions().set_object_name(device.handle(),
                                                &info);  // a name that cannot be kept is no loss
}

StepLabel::StepLabel(const Device& device, VkCommandBuffer commands, std::string_view name)
    : device_(device), commands_(commands), open_(device.instance().names_objects()) {
  if (!open_) return;
  const std::string text(name);
  VkDebugUtilsLabelEXT label{};
  label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
  label.pLabelName = text.c_str();
  device_.instance().functions().begin_label(commands_, &label);
}

StepLabel::~StepLabel() {
  if (open_) device_.instance().functions().end_label(commands_);
}

}  // namespace felsite::vk
