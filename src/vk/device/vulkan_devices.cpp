// The public listing: snapshots, verdicts and plans as plain data without Vulkan's types.
#include "felsite/vulkan_devices.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "felsite/vulkan.h"
#include "vk/device/device.h"
#include "vk/device/vulkan_profile.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/device_ranking.h"
#include "vk/plan/quirks.h"

namespace felsite {
namespace {

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

std::vector<VulkanFeature> kernel_features(const codegen::Capabilities& found,
                                           const vk::DevicePlan* plan) {
  std::vector<VulkanFeature> rows;
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const codegen::FeatureInfo& row = codegen::info(static_cast<codegen::Feature>(i));
    rows.push_back({row.name, row.means, found.has(row.feature),
                    plan != nullptr && plan->capabilities.has(row.feature)});
  }
  return rows;
}

std::vector<VulkanFeature> runtime_features(const vk::RuntimeFeatures& found,
                                            const vk::DevicePlan* plan) {
  std::vector<VulkanFeature> rows;
  for (std::size_t i = 0; i < vk::kRuntimeFeatureCount; ++i) {
    const vk::RuntimeFeatureInfo& row = vk::info(static_cast<vk::RuntimeFeature>(i));
    rows.push_back(
        {row.name, row.means, has(found, row.feature), plan != nullptr && plan->has(row.feature)});
  }
  return rows;
}

std::vector<VulkanLimit> limits_of(const vk::SnapshotLimits& limits) {
  return {{"workgroup_size_x", limits.workgroup_size[0]},
          {"workgroup_size_y", limits.workgroup_size[1]},
          {"workgroup_size_z", limits.workgroup_size[2]},
          {"workgroup_invocations", limits.workgroup_invocations},
          {"workgroup_count_x", limits.workgroup_count[0]},
          {"workgroup_count_y", limits.workgroup_count[1]},
          {"workgroup_count_z", limits.workgroup_count[2]},
          {"shared_bytes", limits.shared_bytes},
          {"storage_buffers_per_stage", limits.storage_buffers_per_stage},
          {"storage_buffers_per_set", limits.storage_buffers_per_set},
          {"storage_buffer_range", limits.storage_buffer_range},
          {"storage_buffer_alignment", limits.storage_buffer_alignment},
          {"push_constant_bytes", limits.push_constant_bytes},
          {"push_descriptors", limits.push_descriptors},
          {"allocation_bytes", limits.allocation_bytes},
          {"allocations", limits.allocations},
          {"non_coherent_atom", limits.non_coherent_atom},
          {"host_pointer_alignment", limits.host_pointer_alignment}};
}

void describe_queues_and_memory(const vk::DeviceSnapshot& snapshot, VulkanDeviceInfo& out) {
  for (const vk::QueueFamily& family : snapshot.queue_families) {
    out.queue_families.push_back({.graphics = (family.flags & VK_QUEUE_GRAPHICS_BIT) != 0,
                                  .compute = (family.flags & VK_QUEUE_COMPUTE_BIT) != 0,
                                  .transfer = (family.flags & VK_QUEUE_TRANSFER_BIT) != 0,
                                  .queues = family.queues,
                                  .timestamp_bits = family.timestamp_bits});
  }
  for (const vk::MemoryHeap& heap : snapshot.memory_heaps) {
    out.memory_heaps.push_back({heap.bytes, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
  }
  for (const vk::MemoryType& type : snapshot.memory_types) {
    const auto has = [&](VkMemoryPropertyFlags flag) { return (type.flags & flag) != 0; };
    out.memory_types.push_back({.heap = type.heap,
                                .device_local = has(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT),
                                .host_visible = has(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT),
                                .host_coherent = has(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT),
                                .host_cached = has(VK_MEMORY_PROPERTY_HOST_CACHED_BIT)});
  }
}

VulkanDeviceInfo describe(const vk::DeviceSnapshot& snapshot, const vk::DeviceVerdict& verdict,
                          const vk::DevicePlan* plan) {
  VulkanDeviceInfo out;
  out.name = snapshot.name;
  out.kind = vk::kind_of(snapshot);
  out.uuid = snapshot.uuid;
  out.vendor_id = snapshot.vendor_id;
  out.device_id = snapshot.device_id;
  out.driver_name = snapshot.driver_name;
  out.driver_info = snapshot.driver_info;
  out.vulkan_version = version_text(snapshot.stated_version);
  out.usable = verdict.usable;
  out.chosen = verdict.chosen;
  out.reason = verdict.reason;
  const codegen::Capabilities found = vk::capabilities_of(snapshot);
  out.spirv_version = fmt::format("1.{}", found.spirv_version >> 8 & 0xFF);
  out.subgroup_size = found.subgroup_size;
  out.features = kernel_features(found, plan);
  out.runtime_features = runtime_features(vk::runtime_features_of(snapshot), plan);
  out.limits = limits_of(snapshot.limits);
  describe_queues_and_memory(snapshot, out);
  for (const vk::Quirk& quirk : vk::quirks()) {
    if (quirk.applies(snapshot)) out.quirks.push_back({quirk.name, quirk.why});
  }
  if (plan != nullptr) {
    out.plan = VulkanDevicePlan{.compute_family = plan->compute_family,
                                .transfer_family = plan->transfer_family,
                                .writes_in_place = plan->memory.writes_in_place,
                                .reads_in_place = plan->memory.reads_in_place,
                                .extensions = plan->extensions,
                                .notes = plan->notes};
    out.profile = vk::profile_of(snapshot, *plan, vk::host_processor());
  }
  return out;
}

}  // namespace

std::vector<VulkanFeature> vulkan_runtime_features() { return runtime_features({}, nullptr); }

Result<void> check_vulkan_mask(std::string_view list) {
  return base::guarded([&]() -> Result<void> {
    const std::string for_kernels = vk::split_mask(list, {}).for_kernels;
    if (auto mask = codegen::apply_mask(codegen::all_capabilities(), for_kernels); !mask) {
      return std::unexpected(vk::with_runtime_names(std::move(mask.error())));
    }
    return {};
  });
}

Result<codegen::Capabilities> vulkan_capabilities(const VulkanOptions& options) {
  return base::guarded([&]() -> Result<codegen::Capabilities> {
    FELSITE_TRY(const auto devices, vk::list_devices());
    const auto wish = vk::with_environment({.device = options.device, .mask = options.mask});
    FELSITE_TRY(const auto chosen, vk::choose_device(devices, wish.device));
    return codegen::apply_mask(vk::capabilities_of(devices[chosen]),
                               vk::split_mask(wish.mask, {}).for_kernels);
  });
}

Result<std::vector<VulkanDeviceInfo>> list_vulkan_devices(const VulkanOptions& options) {
  return base::guarded([&]() -> Result<std::vector<VulkanDeviceInfo>> {
    FELSITE_TRY(const auto snapshots, vk::list_devices());
    const auto wish = vk::with_environment({.device = options.device, .mask = options.mask});
    const std::vector<vk::DeviceVerdict> verdicts = vk::judge_devices(snapshots, wish);
    std::vector<VulkanDeviceInfo> infos;
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
      const auto plan =
          verdicts[i].usable ? std::optional(vk::plan_opening(snapshots[i], wish)) : std::nullopt;
      const bool planned = plan && *plan;
      infos.push_back(describe(snapshots[i], verdicts[i], planned ? &**plan : nullptr));
      infos.back().position = i;
    }
    return infos;
  });
}

}  // namespace felsite
