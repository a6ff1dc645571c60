#include "mask.h"

#include <fmt/format.h>

#include "felsite/vulkan.h"

namespace felsite::tool {
namespace {

constexpr std::string_view kDevice = "device";

bool starts_from_device(std::string_view list) { return list.substr(0, list.find(',')) == kDevice; }

std::string_view without_base(std::string_view list) {
  if (!starts_from_device(list)) return list;
  list.remove_prefix(kDevice.size());
  if (!list.empty()) list.remove_prefix(1);  // the comma
  return list;
}

std::string message_of(const Error& error) {
  std::string message = error.message;
  if (message.ends_with('.')) message.pop_back();
  return message;
}

constexpr std::string_view kEntries =
    "  all, none                every feature, no feature\n"
    "  spirv=1.3 to spirv=1.6   the version of SPIR-V\n"
    "  subgroup=N               lanes of a subgroup\n"
    "  loop_budget=N            loop trips after which a driver stops an invocation; 0: never\n"
    "  NAME, -NAME              a feature, a feature taken away:\n";

std::string kernel_features() {
  std::string text;
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const codegen::FeatureInfo& row = codegen::info(static_cast<codegen::Feature>(i));
    text += fmt::format("    {:25}{}\n", row.name, row.means);
  }
  return text;
}

}  // namespace

std::string check_mask(const std::string& list) {
  const auto mask = check_vulkan_mask(list);
  return mask ? std::string() : message_of(mask.error());
}

std::string check_mask_with_base(const std::string& list) {
  const auto mask = codegen::apply_mask(codegen::all_capabilities(), without_base(list));
  return mask ? std::string() : message_of(mask.error());
}

Result<codegen::Capabilities> lowering_mask(std::string_view list, const std::string& device) {
  if (!starts_from_device(list)) return codegen::apply_mask(codegen::all_capabilities(), list);
  return vulkan_capabilities({.device = device, .mask = std::string(without_base(list))});
}

DeviceProfile planning_profile(std::string_view list, const std::string& device,
                               const codegen::Capabilities& mask) {
  if (starts_from_device(list)) {
    const auto backend =
        make_vulkan_backend({.device = device, .mask = std::string(without_base(list))});
    if (backend) return (*backend)->device_profile();
  }
  DeviceProfile profile;
  profile.name = "a device as the mask describes it";
  profile.allows_host_grid_sync_split = true;
  profile.resident_dispatch = true;
  profile.max_workgroup_size = mask.limits.workgroup_size;
  profile.max_workgroup_invocations = mask.limits.workgroup_invocations;
  profile.shared_memory_bytes = mask.limits.shared_bytes;
  profile.max_workgroup_count.fill(UINT32_MAX);
  profile.workgroups_per_dispatch.fill(UINT32_MAX);
  profile.conditional_steps = true;
  profile.subgroup_size = mask.subgroup_size;
  profile.int64 = mask.has(codegen::Feature::Int64);
  profile.max_storage_buffers = mask.limits.storage_buffers;
  profile.loop_budget = mask.loop_budget;
  return profile;
}

std::string mask_help() {
  return fmt::format(
      "A mask is a list such as device,-int64,spirv=1.5. Its entries, from left to right:\n"
      "  device                   as the first one: what the device at hand has\n{}{}",
      kEntries, kernel_features());
}

std::string runtime_mask_help() {
  std::string text = fmt::format(
      "A mask is a list such as -int64,spirv=1.5, applied from left to right to what the device "
      "has:\n{}{}  and of those that the runtime uses:\n",
      kEntries, kernel_features());
  for (const VulkanFeature& row : vulkan_runtime_features()) {
    text += fmt::format("    {:25}{}\n", row.name, row.means);
  }
  return text;
}

}  // namespace felsite::tool
