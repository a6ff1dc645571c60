// A compute program written by hand in Vulkan, for the rows that set the backend beside it: one
// kernel on storage buffers that stay mapped, command buffers recorded once, no more barriers than
// the work needs. What fails ends the process: a benchmark whose work fails measures nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "felsite/error.h"
#include "raw_functions.h"

namespace felsite::bench {

// Which device Felsite takes: its position as the loader numbers them, and the family of its queue.
struct RawChoice {
  std::size_t device = 0;
  std::uint32_t family = 0;
  bool conditions = false;  // with conditional rendering, where the device has it
};
Result<RawChoice> choose_as_felsite();

// An instance with one device and one queue, with no feature turned on: robust access neither.
class RawDevice {
 public:
  // An error where the host cannot reach the memory of the device: the peers copy nothing twice.
  static Result<std::shared_ptr<RawDevice>> open(const RawChoice& choice);
  // The device that Felsite takes.
  static Result<std::shared_ptr<RawDevice>> open();
  static Result<std::shared_ptr<RawDevice>> open_with_conditions();
  ~RawDevice();
  RawDevice(const RawDevice&) = delete;
  RawDevice& operator=(const RawDevice&) = delete;

  VkDevice handle = VK_NULL_HANDLE;
  RawDeviceFunctions vk{};
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  std::uint32_t memory_type = 0;   // device-local, mapped, coherent
  std::uint64_t memory_bytes = 0;  // of the heap that it is of
  bool has_conditions = false;     // asked for, and there

  // From any thread: a queue takes one submission at a time.
  void submit(VkCommandBuffer commands, VkFence fence);
  // And makes the fence ready for the next time.
  void wait(VkFence fence);

 private:
  RawDevice() = default;
  VkPhysicalDevice find_device(std::size_t position);
  void make_device(VkPhysicalDevice physical);

  VkInstance instance_ = VK_NULL_HANDLE;
  RawInstanceFunctions instance_functions_{};
  std::mutex queue_lock_;
};
using SharedRawDevice = std::shared_ptr<RawDevice>;

// A storage buffer, and what else the work takes, in memory of its own, mapped from beginning to
// end.
class RawBuffer {
 public:
  RawBuffer(SharedRawDevice device, std::uint64_t bytes);
  ~RawBuffer();
  RawBuffer(const RawBuffer&) = delete;
  RawBuffer& operator=(const RawBuffer&) = delete;

  VkBuffer handle = VK_NULL_HANDLE;
  std::byte* mapped = nullptr;

 private:
  SharedRawDevice device_;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

// What a kernel takes: storage buffers in one set, and words as push constants. By itself it takes
// one buffer, and the number of its elements.
struct RawInterface {
  std::uint32_t buffers = 1;
  std::uint32_t parameters = 1;
};

class RawKernel {
 public:
  RawKernel(SharedRawDevice device, std::span<const std::uint32_t> words,
            VkPipelineCache cache = VK_NULL_HANDLE, const RawInterface& interface = {});
  ~RawKernel();
  RawKernel(const RawKernel&) = delete;
  RawKernel& operator=(const RawKernel&) = delete;

  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;

 private:
  SharedRawDevice device_;
};

// Dispatches in one command buffer, recorded at construction.
struct RawWork {
  std::vector<const RawBuffer*> buffers{};  // one after the other, `repeats` dispatches on each
  std::uint32_t elements = 0;               // of each buffer
  std::uint32_t groups = 1;
  std::uint32_t repeats = 1;  // each depends on the one before
};

class RawCommands {
 public:
  // Kernel and buffers outlive it.
  RawCommands(SharedRawDevice device, const RawKernel& kernel, const RawWork& work);
  ~RawCommands();
  RawCommands(const RawCommands&) = delete;
  RawCommands& operator=(const RawCommands&) = delete;

  void submit();
  // What the kernel wrote is then in the mapped bytes.
  void wait();

 private:
  void make_sets(const RawKernel& kernel, const RawWork& work);
  void record(const RawKernel& kernel, const RawWork& work);

  SharedRawDevice device_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets_;  // one for each buffer
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

// Ends the process where a call failed.
void check_raw(VkResult result, const char* call);

}  // namespace felsite::bench
