// What a profile says of devices that are not here: each field with both of its values.
#include <doctest/doctest.h>

#include <algorithm>

#include "dispatch/schedule/grid_kernels.h"
#include "support/results.h"
#include "vk/device/vulkan_profile.h"
#include "vk/made_up_devices.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr vk::HostProcessor kHost{
    .cores = 6, .llvmpipe = {}, .cache_bytes = {32 << 10, 1 << 20, 8 << 20}};

DeviceProfile profile_of(const vk::DeviceSnapshot& device, const std::string& mask = {}) {
  return vk::profile_of(device, must(vk::plan_opening(device, {.device = {}, .mask = mask})),
                        kHost);
}

vk::DeviceSnapshot with_subgroups(std::uint32_t size = 8) {
  vk::DeviceSnapshot device = software_device();  // its driver has linear subgroups
  device.subgroups = {size,
                      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                          VK_SUBGROUP_FEATURE_ARITHMETIC_BIT,
                      VK_SHADER_STAGE_COMPUTE_BIT};
  return device;
}

bool emulates(const DeviceProfile& profile, std::string_view word) {
  return std::ranges::any_of(profile.emulations, [&](const std::string& text) {
    return text.find(word) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("profile: whose it is") {
  CHECK(profile_of(discrete_device()).backend == "vulkan");
  CHECK(profile_of(discrete_device()).name == "Radeon RX 6800");
}

TEST_CASE("profile: integers are as wide as the mask allows") {
  const DeviceProfile wide = profile_of(integrated_device());
  CHECK(wide.int64);
  CHECK(wide.native_int_bits == 64);
  CHECK_FALSE(emulates(wide, "pairs of words"));
  const DeviceProfile masked = profile_of(integrated_device(), "-int64");
  CHECK_FALSE(masked.int64);
  CHECK(masked.native_int_bits == 32);
  CHECK(emulates(masked, "pairs of words"));
  CHECK(profile_of(bare_device()).native_int_bits == 32);
  CHECK(masked.mul_high);
}

TEST_CASE("profile: doubles are the device's") {
  vk::DeviceSnapshot device = integrated_device();
  CHECK_FALSE(profile_of(device).f64);
  device.features.float64 = true;
  CHECK(profile_of(device).f64);
  CHECK_FALSE(profile_of(device, "-float64").f64);
}

TEST_CASE("profile: subgroups and their shuffles are native together, or not at all") {
  const DeviceProfile native = profile_of(with_subgroups());
  CHECK(native.subgroup_ops);
  CHECK(native.subgroup_shuffle);
  CHECK(native.subgroup_size == 8);
  CHECK_FALSE(emulates(native, "Subgroups"));
  const auto is_emulated = [](const DeviceProfile& profile) {
    CHECK_FALSE(profile.subgroup_ops);
    CHECK_FALSE(profile.subgroup_shuffle);
    CHECK(emulates(profile, "Subgroups"));
  };
  for (const char* mask : {"-linear_subgroups", "-subgroup_ballot", "-subgroup_shuffle"}) {
    CAPTURE(mask);
    is_emulated(profile_of(with_subgroups(), mask));
  }
  CHECK(profile_of(with_subgroups(), "-subgroup_arithmetic").subgroup_ops);
  CHECK(profile_of(with_subgroups(64)).subgroup_ops);
  is_emulated(profile_of(with_subgroups(128)));
  vk::DeviceSnapshot other = with_subgroups();
  other.driver = VK_DRIVER_ID_MESA_RADV;  // promises no order
  is_emulated(profile_of(other));
}

TEST_CASE("profile: dispatches overlap where no copy and no software driver orders them") {
  CHECK(profile_of(integrated_device()).async_compute);
  CHECK_FALSE(profile_of(integrated_device(), "-in_place_reads").async_compute);
  CHECK_FALSE(profile_of(rebar_device()).async_compute);  // reads are staged
  CHECK_FALSE(profile_of(discrete_device()).async_compute);
  CHECK_FALSE(profile_of(software_device()).async_compute);
}

TEST_CASE("profile: what no Vulkan device promises, and what all of them do") {
  for (const vk::DeviceSnapshot& device : {with_subgroups(), discrete_device(), bare_device()}) {
    const DeviceProfile profile = profile_of(device);
    CHECK(profile.traps);
    CHECK(profile.mul_high);
    CHECK(profile.indirect_dispatch);
    CHECK(profile.resident_dispatch);
    CHECK_FALSE(profile.f16);
    CHECK_FALSE(profile.bf16);
    CHECK(emulates(profile, "f16 and bf16"));
    CHECK_FALSE(profile.specialization_constants);
    CHECK(emulates(profile, "lowered again"));
    CHECK_FALSE(profile.tensor_cores);
    CHECK_FALSE(profile.speculation);
    CHECK_FALSE(profile.persistent_threads);
    CHECK_FALSE(profile.grid_sync);
    CHECK(emulates(profile, "Grid barriers"));
    CHECK_FALSE(profile.distributed);
    CHECK_FALSE(profile.collectives);
  }
}

TEST_CASE("profile: conditions and the clock") {
  CHECK(profile_of(integrated_device()).conditional_steps);
  CHECK_FALSE(profile_of(integrated_device(), "-conditional_rendering").conditional_steps);
  CHECK_FALSE(profile_of(bare_device()).conditional_steps);
  CHECK(profile_of(integrated_device()).timing_quality == TimingQuality::DeviceTimestamps);
  CHECK(profile_of(bare_device()).timing_quality == TimingQuality::HostClock);
  CHECK(to_string(TimingQuality::DeviceTimestamps) == "device timestamps");
  CHECK(to_string(TimingQuality::HostClock) == "host clock");
}

TEST_CASE("profile: heaps, and which of them the host sees") {
  using Heaps = std::vector<DeviceMemoryHeap>;
  CHECK(profile_of(discrete_device()).memory_heaps == Heaps{{16 * kGiB - 256 * kMiB, true, false},
                                                            {32 * kGiB, false, true},
                                                            {256 * kMiB, true, true}});
  CHECK(profile_of(discrete_device()).memory_bytes == 32 * kGiB);
  CHECK(profile_of(integrated_device()).memory_heaps == Heaps{{12 * kGiB, true, true}});
  // A type of a heap that is not there.
  vk::DeviceSnapshot odd = integrated_device();
  odd.memory_types.push_back({kMapped, 7});
  CHECK(profile_of(odd).memory_heaps.size() == 1);
}

TEST_CASE("profile: caches and cores are the host's on software devices, else unknown or assumed") {
  CHECK(profile_of(software_device()).cache_bytes == kHost.cache_bytes);
  CHECK(profile_of(software_device()).compute_units == 6);
  for (const vk::DeviceSnapshot& device : {discrete_device(), integrated_device()}) {
    CHECK(profile_of(device).cache_bytes == std::array<std::uint64_t, 3>{});
    CHECK(profile_of(device).compute_units != 6);
  }
}

TEST_CASE("profile: limits are those of the device, within the mask") {
  vk::DeviceSnapshot device = integrated_device();
  device.limits.workgroup_size = {512, 256, 32};
  device.limits.workgroup_invocations = 512;
  device.limits.workgroup_count = {70000, 80000, 90000};
  device.limits.shared_bytes = 40000;
  device.limits.storage_buffer_range = kGiB;
  device.limits.allocation_bytes = 2 * kGiB;
  device.limits.storage_buffer_alignment = 32;
  device.limits.storage_buffers_per_stage = 12;
  device.limits.storage_buffers_per_set = 10;
  DeviceProfile profile = profile_of(device);
  CHECK(profile.max_workgroup_size == Extent3{512, 256, 32});
  CHECK(profile.max_workgroup_invocations == 512);
  CHECK(profile.workgroups_per_dispatch == Extent3{70000, 80000, 90000});
  CHECK(profile.max_workgroup_count == Extent3{UINT32_MAX, UINT32_MAX, UINT32_MAX});
  CHECK(profile.shared_memory_bytes == 40000);
  CHECK(profile.max_storage_buffer_bytes == kGiB);
  CHECK(profile.storage_offset_alignment == 32);
  CHECK(profile.max_storage_buffers == 10);
  CHECK(profile.loop_budget == 0);
  device.limits.allocation_bytes = kGiB / 2;
  CHECK(profile_of(device).max_storage_buffer_bytes == kGiB / 2);
  CHECK(profile_of(software_device()).loop_budget == 65535);
}

TEST_CASE("profile: the ideal workgroup is that of Felsite's own kernels, which access words") {
  const DeviceProfile profile = profile_of(integrated_device());
  for (const auto kernel : {dispatch::GridKernel::Compare, dispatch::GridKernel::Clear,
                            dispatch::GridKernel::CopyWords, dispatch::GridKernel::Advance}) {
    CHECK(must(dispatch::grid_kernel(kernel)).workgroup_size() == profile.ideal_workgroup_size);
  }
  CHECK(profile.ideal_vector_width == 1);
}
