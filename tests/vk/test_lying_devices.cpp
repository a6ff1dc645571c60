// Devices whose drivers state what cannot be: refused with a reason, or planned as far as what they
// state makes sense. Nothing crashes, divides by zero or goes on for ever.
#include <doctest/doctest.h>

#include <limits>

#include "felsite/kernel.h"
#include "support/run_program.h"
#include "vk/made_up_devices.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/device_plan.h"
#include "vk/record/sequence_layout.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;

namespace {

struct Lie {
  std::string_view name;
  void (*tell)(DeviceSnapshot& device);
  bool is_refused;
};

constexpr std::uint32_t kMost32 = UINT32_MAX;
constexpr std::uint64_t kMost64 = UINT64_MAX;

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all{
      {"no heaps", [](DeviceSnapshot& d) { d.memory_heaps.clear(); }, true},
      {"no memory types", [](DeviceSnapshot& d) { d.memory_types.clear(); }, true},
      {"a type of no heap", [](DeviceSnapshot& d) { d.memory_types[0].heap = kMost32; }, true},
      {"no queue families", [](DeviceSnapshot& d) { d.queue_families.clear(); }, true},
      {"no workgroups on x", [](DeviceSnapshot& d) { d.limits.workgroup_count[0] = 0; }, true},
      {"no workgroups on z", [](DeviceSnapshot& d) { d.limits.workgroup_count[2] = 0; }, true},
      {"workgroups of none",
       [](DeviceSnapshot& d) {
         d.limits.workgroup_size = {0, 0, 0};
       },
       true},
      {"no invocations", [](DeviceSnapshot& d) { d.limits.workgroup_invocations = 0; }, true},
      {"no buffers a stage", [](DeviceSnapshot& d) { d.limits.storage_buffers_per_stage = 0; },
       true},
      {"no buffers a set", [](DeviceSnapshot& d) { d.limits.storage_buffers_per_set = 0; }, true},
      {"buffers of no bytes", [](DeviceSnapshot& d) { d.limits.storage_buffer_range = 0; }, true},
      {"allocations of no bytes", [](DeviceSnapshot& d) { d.limits.allocation_bytes = 0; }, true},
      {"alignment 0", [](DeviceSnapshot& d) { d.limits.storage_buffer_alignment = 0; }, true},
      {"alignment 3", [](DeviceSnapshot& d) { d.limits.storage_buffer_alignment = 3; }, true},
      {"alignment 2^63",
       [](DeviceSnapshot& d) { d.limits.storage_buffer_alignment = std::uint64_t{1} << 63; }, true},
      {"atom 0", [](DeviceSnapshot& d) { d.limits.non_coherent_atom = 0; }, true},
      {"atom 2^64-1", [](DeviceSnapshot& d) { d.limits.non_coherent_atom = kMost64; }, true},
      {"a clock that stands",
       [](DeviceSnapshot& d) {
         d.queue_families[0].timestamp_bits = 64;
         d.limits.timestamp_period_ns = 0;
       },
       true},
      {"a clock of no number",
       [](DeviceSnapshot& d) {
         d.queue_families[0].timestamp_bits = 64;
         d.limits.timestamp_period_ns = std::numeric_limits<float>::quiet_NaN();
       },
       true},
      {"everything endless",
       [](DeviceSnapshot& d) {
         d.limits.workgroup_size.fill(kMost32);
         d.limits.workgroup_invocations = kMost32;
         d.limits.workgroup_count.fill(kMost32);
         d.limits.shared_bytes = kMost32;
         d.limits.storage_buffers_per_stage = kMost32;
         d.limits.storage_buffers_per_set = kMost32;
         d.limits.push_constant_bytes = kMost32;
         d.limits.storage_buffer_range = kMost64;
         d.limits.allocation_bytes = kMost64;
         d.limits.allocations = kMost32;
         d.limits.push_descriptors = kMost32;
         for (MemoryHeap& heap : d.memory_heaps) heap.bytes = kMost64;
         for (QueueFamily& family : d.queue_families) family.queues = kMost32;
       },
       false},
      {"heaps of no bytes",
       [](DeviceSnapshot& d) {
         for (MemoryHeap& heap : d.memory_heaps) heap.bytes = 0;
       },
       false},
      {"timestamps of 2^32-1 bits",
       [](DeviceSnapshot& d) {
         for (QueueFamily& family : d.queue_families) family.timestamp_bits = kMost32;
       },
       false},
      {"subgroups of none",
       [](DeviceSnapshot& d) {
         d.subgroups = {0, kMost32, kMost32};
       },
       false},
      {"subgroups of three",
       [](DeviceSnapshot& d) {
         d.subgroups = {3, kMost32, kMost32};
       },
       false},
      {"subgroups of 2^31",
       [](DeviceSnapshot& d) {
         d.subgroups = {std::uint32_t{1} << 31, kMost32, kMost32};
       },
       false},
      {"pages of 2^63",
       [](DeviceSnapshot& d) { d.limits.host_pointer_alignment = std::uint64_t{1} << 63; }, false},
      {"pages of 12 bytes", [](DeviceSnapshot& d) { d.limits.host_pointer_alignment = 12; }, false},
      {"no push constants", [](DeviceSnapshot& d) { d.limits.push_constant_bytes = 0; }, false},
      {"no workgroup memory", [](DeviceSnapshot& d) { d.limits.shared_bytes = 0; }, false},
      {"the newest Vulkan of all", [](DeviceSnapshot& d) { d.api_version = kMost32; }, false},
  };
  return all;
}

std::vector<DeviceSnapshot> honest_devices() {
  return {bare_device(),       discrete_device(), rebar_device(),
          integrated_device(), software_device(), portability_device()};
}

// One for each kind of limit.
const std::vector<ir::Program>& programs() {
  static const std::vector<ir::Program> all{
      valid_program("program plain workgroup(64) { readonly x: f32[]; readwrite y: f32[];"
                    " let i = invocation.x; if i < len(y) { y[i] = y[i] + 2.0 * x[i]; } }"),
      valid_program("program shared workgroup(64) { readwrite y: u32[]; workgroup t: u32[64];"
                    " let i = local.x; t[i] = y[i]; barrier; y[i] = t[63 - i]; }"),
      valid_program("program sum workgroup(64) { readonly x: u32[]; output s: u32[1];"
                    " let total = subgroup_add(x[invocation.x]);"
                    " if subgroup_lane == 0 { atomic_add(s[0], total); } }"),
  };
  return all;
}

void check_lowering(const codegen::Capabilities& mask) {
  for (const ir::Program& program : programs()) {
    CAPTURE(program.name());
    const auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
    if (kernel) {
      CHECK_FALSE(kernel->words.empty());
    } else {
      CHECK_MESSAGE(kernel.error().code == ErrorCode::UnsupportedFeature,
                    to_string(kernel.error()));
      CHECK_FALSE(kernel.error().fix.empty());
    }
  }
}

}  // namespace

TEST_CASE(
    "a device whose driver states what cannot be is refused or planned for what makes sense") {
  for (const Lie& lie : lies()) {
    for (const DeviceSnapshot& honest : honest_devices()) {
      CAPTURE(lie.name);
      CAPTURE(honest.name);
      DeviceSnapshot device = honest;
      lie.tell(device);
      for (const char* const mask : {"", "none", "transfer_queue,-in_place_memory"}) {
        CAPTURE(mask);
        const DeviceWish wish{.mask = mask};
        const auto plan = plan_device(std::vector{device}, wish);
        const auto verdict = judge_devices(std::vector{device}, wish).front();
        CHECK(verdict.usable == plan.has_value());
        CHECK(plan.has_value() == !lie.is_refused);
        if (plan) {
          CHECK(plan->compute_family < device.queue_families.size());
          CHECK(plan->transfer_family.value_or(0) < device.queue_families.size());
          check_lowering(plan->capabilities);
          continue;
        }
        CHECK(plan.error().code == ErrorCode::UnsupportedFeature);
        CHECK_FALSE(plan.error().fix.empty());
        CHECK_FALSE(verdict.reason.empty());
      }
    }
  }
}

TEST_CASE("a device that lies does not stand in the way of one that does not") {
  for (const Lie& lie : lies()) {
    if (!lie.is_refused) continue;
    CAPTURE(lie.name);
    DeviceSnapshot liar = discrete_device();
    lie.tell(liar);
    const auto plan = plan_device(std::vector{liar, integrated_device()}, {});
    REQUIRE_MESSAGE(plan.has_value(), to_string(plan.error()));
    CHECK(plan->device == 1);
  }
}

TEST_CASE("kernels are lowered or refused for any limits that a mask may have") {
  codegen::Capabilities none = codegen::no_capabilities();
  none.limits = {.workgroup_size = {0, 0, 0},
                 .workgroup_invocations = 0,
                 .workgroup_count = {0, 0, 0},
                 .shared_bytes = 0,
                 .storage_buffers = 0,
                 .push_constant_bytes = 0};
  none.subgroup_size = 0;
  check_lowering(none);
  codegen::Capabilities endless = codegen::all_capabilities();
  endless.limits = {.workgroup_size = {kMost32, kMost32, kMost32},
                    .workgroup_invocations = kMost32,
                    .workgroup_count = {kMost32, kMost32, kMost32},
                    .shared_bytes = kMost32,
                    .storage_buffers = kMost32,
                    .push_constant_bytes = kMost32};
  for (const std::uint32_t size : {0u, 3u, 64u, 128u, 1u << 31, kMost32}) {
    CAPTURE(size);
    endless.subgroup_size = size;
    check_lowering(endless);
  }
  endless.subgroup_size = 32;
  for (const std::uint32_t budget : {1u, 2u, kMost32}) {
    CAPTURE(budget);
    endless.loop_budget = budget;
    check_lowering(endless);
  }
}

TEST_CASE("a grid is cut into parts for any number of workgroups that one dispatch takes") {
  CHECK(dispatch::grid_parts(Extent3{3, 2, 1}, Extent3{0, 0, 0}).size() == 6);
  CHECK(dispatch::grid_parts(Extent3{3, 2, 1}, Extent3{1, 1, 1}).size() == 6);
  CHECK(dispatch::grid_parts(Extent3{kMost32, kMost32, kMost32}, Extent3{kMost32, kMost32, kMost32})
            .size() == 1);
  CHECK(dispatch::grid_parts(Extent3{kMost32, 1, 1}, Extent3{kMost32 - 1, 1, 1}).size() == 2);
  CHECK(dispatch::grid_parts(Extent3{0, 1, 1}, Extent3{0, 0, 0}).empty());
}
