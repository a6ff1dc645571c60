#include "vk/instance/debug_names.h"

#include <string>

#include "base/guarded.h"

namespace felsite::vk {

void name_object(const Instance& instance, VkDevice device, VkObjectType type, std::uint64_t handle,
                 const ObjectName& name) {
  if (!instance.names_objects()) return;
  // Names are optional, so failures are ignored.
  std::string text;
  const bool has_text = base::best_effort([&] {
    text = name.owner;
    if (!name.part.empty()) text.append(" ").append(name.part);
  });
  if (!has_text) return;
  VkDebugUtilsObjectNameInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
  info.objectType = type;
  info.objectHandle = handle;
  info.pObjectName = text.c_str();
  instance.functions().set_object_name(device, &info);
}

StepLabel::StepLabel(const Instance& instance, VkCommandBuffer commands, std::string_view name,
                     bool wanted)
    : instance_(instance), commands_(commands), open_(wanted && instance.labels_steps()) {
  std::string text;
  open_ = open_ && base::best_effort([&] { text = name; });
  if (!open_) return;
  VkDebugUtilsLabelEXT label{};
  label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT;
  label.pLabelName = text.c_str();
  instance_.functions().begin_label(commands_, &label);
}

StepLabel::~StepLabel() {
  if (open_) instance_.functions().end_label(commands_);
}

}  // namespace felsite::vk
