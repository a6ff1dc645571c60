#include "devices_json.h"

#include <nlohmann/json.hpp>

#include "output.h"
#include "profile_rows.h"

namespace felsite::tool {
namespace {

using nlohmann::json;

json names_of(const std::vector<VulkanFeature>& features, bool VulkanFeature::*which) {
  json names = json::array();
  for (const VulkanFeature& feature : features) {
    if (feature.*which) names.push_back(feature.name);
  }
  return names;
}

json limits_json(const VulkanDeviceInfo& device) {
  json limits{{"subgroup_size", device.subgroup_size}};
  for (const VulkanLimit& limit : device.limits) limits[std::string(limit.name)] = limit.value;
  return limits;
}

json memory_json(const VulkanDeviceInfo& device) {
  json heaps = json::array();
  for (const VulkanMemoryHeap& heap : device.memory_heaps) {
    heaps.push_back({{"bytes", heap.bytes}, {"device_local", heap.device_local}});
  }
  json types = json::array();
  for (const VulkanMemoryType& type : device.memory_types) {
    types.push_back({{"heap", type.heap},
                     {"device_local", type.device_local},
                     {"host_visible", type.host_visible},
                     {"host_coherent", type.host_coherent},
                     {"host_cached", type.host_cached}});
  }
  return {{"heaps", heaps}, {"types", types}};
}

json queues_json(const VulkanDeviceInfo& device) {
  json families = json::array();
  for (const VulkanQueueFamily& family : device.queue_families) {
    families.push_back({{"graphics", family.graphics},
                        {"compute", family.compute},
                        {"transfer", family.transfer},
                        {"queues", family.queues},
                        {"timestamp_bits", family.timestamp_bits}});
  }
  return families;
}

json plan_json(const VulkanDeviceInfo& device) {
  if (!device.plan) return nullptr;
  const VulkanDevicePlan& plan = *device.plan;
  return {{"features", names_of(device.features, &VulkanFeature::on)},
          {"runtime_features", names_of(device.runtime_features, &VulkanFeature::on)},
          {"extensions", plan.extensions},
          {"compute_family", plan.compute_family},
          {"transfer_family", plan.transfer_family ? json(*plan.transfer_family) : json()},
          {"writes_in_place", plan.writes_in_place},
          {"reads_in_place", plan.reads_in_place},
          {"notes", plan.notes}};
}

json device_json(const VulkanDeviceInfo& device) {
  json quirks = json::array();
  for (const VulkanQuirk& quirk : device.quirks) {
    quirks.push_back({{"name", quirk.name}, {"why", quirk.why}});
  }
  return {{"position", device.position},
          {"name", device.name},
          {"kind", device.kind},
          {"uuid", device.uuid},
          {"vendor_id", device.vendor_id},
          {"device_id", device.device_id},
          {"driver", {{"name", device.driver_name}, {"info", device.driver_info}}},
          {"vulkan", device.vulkan_version},
          {"spirv", device.spirv_version},
          {"usable", device.usable},
          {"chosen", device.chosen},
          {"reason", device.reason},
          {"features", names_of(device.features, &VulkanFeature::found)},
          {"runtime_features", names_of(device.runtime_features, &VulkanFeature::found)},
          {"limits", limits_json(device)},
          {"queue_families", queues_json(device)},
          {"memory", memory_json(device)},
          {"quirks", quirks},
          {"plan", plan_json(device)},
          {"profile", device.profile ? to_json(*device.profile) : json()}};
}

}  // namespace

std::string to_json(const std::vector<VulkanDeviceInfo>& devices) {
  json body{{"devices", json::array()}, {"chosen", nullptr}};
  for (const VulkanDeviceInfo& device : devices) {
    body["devices"].push_back(device_json(device));
    if (device.chosen) body["chosen"] = device.position;
  }
  return json_text(body);  // a driver may name itself in any encoding
}

}  // namespace felsite::tool
