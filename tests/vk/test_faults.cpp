// Every call that can fail fails once: an error comes back, and nothing stays behind.
#include <doctest/doctest.h>

#include <type_traits>

#include "vk/hand_made_kernels.h"
#include "vk/run_kernel.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using Words = std::vector<std::uint32_t>;

namespace {

struct Faults {
  int calls = 0;
  int fail_at = 0;  // the call, counted over all intercepted functions
  VkResult result = VK_SUCCESS;
  int alive = 0;  // objects made and not yet destroyed
};
Faults faults;

// Replaces a function by one that may fail; `made` is how many objects a success makes.
template <auto Member, int made, class R, class... Args>
void replace(VolkDeviceTable& table, R (VKAPI_PTR* VolkDeviceTable::*)(Args...)) {
  static R(VKAPI_PTR * original)(Args...) = nullptr;
  original = table.*Member;
  table.*Member = [](Args... args) -> R {
    if constexpr (std::is_void_v<R>) {
      faults.alive += made;
      original(args...);
    } else {
      const bool fails = faults.calls++ == faults.fail_at;
      // Waiting really waits: a test that then destroyed what is in use would crash.
      constexpr bool waits = std::is_same_v<R(VKAPI_PTR*)(Args...), PFN_vkWaitForFences>;
      if (fails && !waits) return faults.result;
      const R result = original(args...);
      if (fails) return faults.result;
      if (result == VK_SUCCESS) faults.alive += made;
      return result;
    }
  };
}
template <auto Member, int made = 0>
void intercept(VolkDeviceTable& table) {
  replace<Member, made>(table, Member);
}

void intercept_all(VolkDeviceTable& table) {
  using T = VolkDeviceTable;
  intercept<&T::vkCreateBuffer, +1>(table);
  intercept<&T::vkDestroyBuffer, -1>(table);
  intercept<&T::vkAllocateMemory, +1>(table);
  intercept<&T::vkFreeMemory, -1>(table);
  intercept<&T::vkCreateShaderModule, +1>(table);
  intercept<&T::vkDestroyShaderModule, -1>(table);
  intercept<&T::vkCreateDescriptorSetLayout, +1>(table);
  intercept<&T::vkDestroyDescriptorSetLayout, -1>(table);
  intercept<&T::vkCreatePipelineLayout, +1>(table);
  intercept<&T::vkDestroyPipelineLayout, -1>(table);
  intercept<&T::vkCreateComputePipelines, +1>(table);
  intercept<&T::vkDestroyPipeline, -1>(table);
  intercept<&T::vkCreateDescriptorPool, +1>(table);
  intercept<&T::vkDestroyDescriptorPool, -1>(table);
  intercept<&T::vkCreateQueryPool, +1>(table);
  intercept<&T::vkDestroyQueryPool, -1>(table);
  intercept<&T::vkCreateCommandPool, +1>(table);
  intercept<&T::vkDestroyCommandPool, -1>(table);
  intercept<&T::vkCreateFence, +1>(table);
  intercept<&T::vkDestroyFence, -1>(table);
  intercept<&T::vkMapMemory>(table);
  intercept<&T::vkBindBufferMemory2>(table);
  intercept<&T::vkAllocateDescriptorSets>(table);
  intercept<&T::vkAllocateCommandBuffers>(table);
  intercept<&T::vkBeginCommandBuffer>(table);
  intercept<&T::vkEndCommandBuffer>(table);
  intercept<&T::vkResetFences>(table);
  intercept<&T::vkQueueSubmit>(table);
  intercept<&T::vkWaitForFences>(table);
  intercept<&T::vkGetQueryPoolResults>(table);
}

Result<std::vector<Bytes>> run_everything() {
  auto device = open_device({.edit_functions = intercept_all});
  if (!device) return std::unexpected(device.error());
  const HandMade made = add_scaled(true);
  const auto prepared = PreparedKernel::prepare(**device, made.kernel, made.program);
  if (!prepared) return std::unexpected(prepared.error());
  const Words x{1, 2};
  const Words y{3, 4};
  const std::vector<ByteSpan> inputs{bytes_of(x), {}, bytes_of(y), {}};
  auto bound = prepared->bind(inputs, {.variables = {{0, 10}}, .measure_device_time = true});
  if (!bound) return std::unexpected(bound.error());
  const auto timing = bound->submit_and_wait(2);
  if (!timing) return std::unexpected(timing.error());
  return bound->read_outputs();
}

}  // namespace

TEST_CASE("a fault in any call is an error and leaks nothing") {
  struct Expected {
    VkResult result;
    ErrorCode code;
  };
  for (const auto& [result, code] :
       {Expected{VK_ERROR_OUT_OF_DEVICE_MEMORY, ErrorCode::DeviceOutOfMemory},
        Expected{VK_ERROR_DEVICE_LOST, ErrorCode::DeviceLost}}) {
    int failed = 0;
    for (int call = 0;; ++call) {
      faults = {.fail_at = call, .result = result};
      const auto outputs = run_everything();
      CAPTURE(call);
      CHECK(faults.alive == 0);
      if (outputs) {  // the allocator gets over some failures by itself
        CHECK(words_of((*outputs)[0]) == Words{25, 46});
      } else {
        ++failed;
        CHECK_MESSAGE(outputs.error().code == code, to_string(outputs.error()));
        CHECK(outputs.error().context.vk_result == result);
        CHECK_FALSE(outputs.error().context.device.empty());
      }
      if (faults.calls <= call) break;  // nothing left to fail
    }
    CHECK(failed >= 15);
  }
}

TEST_CASE("a kernel that the driver refuses is a compile error") {
  const auto device = open_device({.edit_functions = [](VolkDeviceTable& table) {
    table.vkCreateComputePipelines =
        [](VkDevice, VkPipelineCache, std::uint32_t, const VkComputePipelineCreateInfo*,
           const VkAllocationCallbacks*, VkPipeline*) { return VK_ERROR_INVALID_SHADER_NV; };
  }});
  REQUIRE(device);
  const HandMade made = add_scaled();
  const auto refused = PreparedKernel::prepare(**device, made.kernel, made.program);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::KernelCompileFailed);
  CHECK(refused.error().context.vk_result == VK_ERROR_INVALID_SHADER_NV);
}
