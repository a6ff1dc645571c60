// The backend on a device that the caller made, and buffers that both work on without copies.
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <ostream>
#include <thread>

#include "felsite/telemetry.h"
#include "felsite/vulkan_interop.h"
#include "vk/backend_on_device.h"
#include "vk/callers_device.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr VkBufferUsageFlags kUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT;

// A buffer as a program makes it that knows nothing of Felsite.
class CallersBuffer {
 public:
  CallersBuffer(const CallersDevice& callers, std::uint64_t bytes) : callers_(callers) {
    const vk::DeviceFunctions& vulkan = callers.functions();
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = kUsage;
    REQUIRE(vulkan.vkCreateBuffer(callers.device(), &info, nullptr, &buffer_) == VK_SUCCESS);
    VkMemoryRequirements needed{};
    vulkan.vkGetBufferMemoryRequirements(callers.device(), buffer_, &needed);
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needed.size;
    allocation.memoryTypeIndex =
        static_cast<std::uint32_t>(std::countr_zero(needed.memoryTypeBits));
    REQUIRE(vulkan.vkAllocateMemory(callers.device(), &allocation, nullptr, &memory_) ==
            VK_SUCCESS);
    REQUIRE(vulkan.vkBindBufferMemory(callers.device(), buffer_, memory_, 0) == VK_SUCCESS);
  }
  ~CallersBuffer() {
    callers_.functions().vkDestroyBuffer(callers_.device(), buffer_, nullptr);
    callers_.functions().vkFreeMemory(callers_.device(), memory_, nullptr);
  }
  CallersBuffer(const CallersBuffer&) = delete;
  CallersBuffer& operator=(const CallersBuffer&) = delete;

  VkBuffer get() const { return buffer_; }
  VkDeviceMemory memory() const { return memory_; }

 private:
  const CallersDevice& callers_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
};

// Commands of the caller's own on the queue that it shares with Felsite.
class CallersCommands {
 public:
  explicit CallersCommands(const CallersDevice& callers)
      : callers_(callers), vulkan_(callers.functions()) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    REQUIRE(vulkan_.vkCreateCommandPool(callers.device(), &info, nullptr, &pool_) == VK_SUCCESS);
    VkFenceCreateInfo fence{};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    REQUIRE(vulkan_.vkCreateFence(callers.device(), &fence, nullptr, &fence_) == VK_SUCCESS);
  }
  ~CallersCommands() {
    wait();
    vulkan_.vkDestroyFence(callers_.device(), fence_, nullptr);
    vulkan_.vkDestroyCommandPool(callers_.device(), pool_, nullptr);
  }
  CallersCommands(const CallersCommands&) = delete;
  CallersCommands& operator=(const CallersCommands&) = delete;

  // Writes words at the beginning of a buffer.
  void write(VkBuffer buffer, const Words& words, std::mutex* mutex = nullptr) {
    run(mutex, [&](VkCommandBuffer commands) {
      vulkan_.vkCmdUpdateBuffer(commands, buffer, 0, words.size() * 4, words.data());
    });
  }
  void wait() {
    if (!pending_) return;
    pending_ = false;
    CHECK(vulkan_.vkWaitForFences(callers_.device(), 1, &fence_, VK_TRUE, UINT64_MAX) ==
          VK_SUCCESS);
  }
  Words read(VkBuffer buffer, std::size_t count) {
    const CallersBuffer target(callers_, count * 4);
    run(nullptr, [&](VkCommandBuffer commands) {
      const VkBufferCopy region{.srcOffset = 0, .dstOffset = 0, .size = count * 4};
      vulkan_.vkCmdCopyBuffer(commands, buffer, target.get(), 1, &region);
      barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
              VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    });
    wait();
    void* bytes = nullptr;
    // Software drivers have no memory that the host does not see.
    REQUIRE(vulkan_.vkMapMemory(callers_.device(), target.memory(), 0, VK_WHOLE_SIZE, 0, &bytes) ==
            VK_SUCCESS);
    Words words(count);
    std::memcpy(words.data(), bytes, count * 4);
    vulkan_.vkUnmapMemory(callers_.device(), target.memory());
    return words;
  }

 private:
  void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags wrote,
               VkPipelineStageFlags to, VkAccessFlags sees) {
    VkMemoryBarrier memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    memory.srcAccessMask = wrote;
    memory.dstAccessMask = sees;
    vulkan_.vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
  }

  void run(std::mutex* mutex, const std::function<void(VkCommandBuffer)>& record) {
    wait();
    vulkan_.vkResetCommandPool(callers_.device(), pool_, 0);
    vulkan_.vkResetFences(callers_.device(), 1, &fence_);
    VkCommandBufferAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocation.commandPool = pool_;
    allocation.commandBufferCount = 1;
    if (commands_ == VK_NULL_HANDLE) {
      vulkan_.vkAllocateCommandBuffers(callers_.device(), &allocation, &commands_);
    }
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    vulkan_.vkBeginCommandBuffer(commands_, &begin);
    const VkAccessFlags all = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, all);
    record(commands_);
    vulkan_.vkEndCommandBuffer(commands_);
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands_;
    std::unique_lock<std::mutex> lock;
    if (mutex != nullptr) lock = std::unique_lock(*mutex);
    CHECK(vulkan_.vkQueueSubmit(callers_.queue(), 1, &submit, fence_) == VK_SUCCESS);
    pending_ = true;
  }

  const CallersDevice& callers_;
  const vk::DeviceFunctions& vulkan_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  bool pending_ = false;
};

std::unique_ptr<Backend> backend_on(const VulkanInterop& interop, const std::string& mask = {}) {
  return must(make_vulkan_backend(interop, {.mask = mask}));
}

// Each with another way for bytes to go.
constexpr std::array kInteropMasks{"", "-in_place_memory", "none"};

// Loses the device that was brought along, as far as Felsite sees.
std::atomic<bool> is_lost = false;
PFN_vkGetDeviceProcAddr real_device_function = nullptr;
PFN_vkQueueSubmit real_submit = nullptr;

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL losing_device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = real_device_function(device, name);
  if (std::string_view(name) != "vkQueueSubmit") return real;
  real_submit = reinterpret_cast<PFN_vkQueueSubmit>(real);
  const PFN_vkQueueSubmit losing = [](VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                      VkFence fence) {
    return is_lost ? VK_ERROR_DEVICE_LOST : real_submit(queue, count, infos, fence);
  };
  return reinterpret_cast<PFN_vkVoidFunction>(losing);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL losing_instance_function(VkInstance instance,
                                                                  const char* name) {
  const PFN_vkVoidFunction real = vk::loader().get_instance_proc_addr(instance, name);
  if (std::string_view(name) != "vkGetDeviceProcAddr") return real;
  real_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(losing_device_function);
}

}  // namespace

TEST_CASE("a backend on the caller's device does what others do") {
  for (const TurnedOn how : {TurnedOn::Nothing, TurnedOn::VersionStructs}) {
    const CallersDevice callers(how == TurnedOn::Nothing ? VK_API_VERSION_1_1 : VK_API_VERSION_1_3,
                                how);
    {
      const auto backend = backend_on(callers.interop());
      CHECK(backend->id() == "vulkan");
      CHECK(!backend->device_profile().name.empty());
      CHECK(still_works(*backend));
      const ResidentHandle buffer = must(backend->allocate_resident(8));
      must(backend->upload_resident(buffer, bytes_of(Words{1, 2})));
      must(backend->dispatch_resident(add_one(), std::array{buffer}));
      CHECK(words_of(must(backend->download_resident(buffer))) == Words{2, 3});
      must(backend->flush());
    }
    CHECK(callers.works());
    CHECK(still_works(*backend_on(callers.interop(), "none")));
  }
}

TEST_CASE("the caller writes its buffer, a program changes it, the caller reads it") {
  for (const std::string mask : kInteropMasks) {
    CAPTURE(mask);
    const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
    const CallersBuffer buffer(callers, 64);
    CallersCommands commands(callers);
    {
      const auto backend = backend_on(callers.interop(), mask);
      const DeviceBuffer shared = must(adopt_vulkan_buffer(*backend, buffer.get(), 16, "shared"));
      CHECK(shared.backend == "vulkan");
      CHECK(shared.bytes == 16);
      CHECK(shared.label == "shared");
      CHECK(must(backend->resident_size(shared.resident)) == 16);
      for (std::uint32_t round = 0; round < 3; ++round) {
        // Nobody waits in between: the queue keeps the order.
        commands.write(buffer.get(), {round, 10, 20, 30, 99});
        must(backend->dispatch_device_buffers(add_one(), {&shared, 1}));
        must(backend->dispatch_device_buffers(add_one(), {&shared, 1}));
        // What lies behind the bytes that were lent is the caller's alone.
        CHECK(commands.read(buffer.get(), 5) == Words{round + 2, 12, 22, 32, 99});
      }
      must(backend->free_device_buffer(shared));
      CHECK(code_of(backend->resident_size(shared.resident)) == ErrorCode::InvalidHandle);
      commands.write(buffer.get(), {7});  // it is still there
      CHECK(commands.read(buffer.get(), 1) == Words{7});
      must(adopt_vulkan_buffer(*backend, buffer.get(), 64, "left to the end"));
    }
    CHECK(commands.read(buffer.get(), 1) == Words{7});
    CHECK(callers.works());
  }
}

TEST_CASE("every call takes a caller's buffer, beside buffers of the backend") {
  for (const std::string mask : kInteropMasks) {
    CAPTURE(mask);
    const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
    const CallersBuffer callers_buffer(callers, 16);
    const auto backend = backend_on(callers.interop(), mask);
    const ResidentHandle lent =
        must(adopt_vulkan_buffer(*backend, callers_buffer.get(), 16, "lent")).resident;
    const ResidentHandle own = must(backend->allocate_resident(16));
    const Telemetry before = telemetry_snapshot();

    // Uploads, the later over the earlier, into both at once.
    const Bytes words = bytes_of(Words{1, 2, 3, 4});
    const Bytes two = bytes_of(Words{8, 9});
    const std::array uploads{ResidentUpload{.buffer = lent, .bytes = words},
                             ResidentUpload{.buffer = own, .bytes = words},
                             ResidentUpload{.buffer = lent, .offset = 4, .bytes = two},
                             ResidentUpload{.buffer = own, .offset = 8, .bytes = two}};
    must(backend->upload_resident_at_many(uploads));
    CHECK(words_of(must(backend->download_resident(lent))) == Words{1, 8, 9, 4});
    const std::array ranges{ResidentRange{.buffer = own, .offset = 4, .length = 8},
                            ResidentRange{.buffer = lent, .offset = 8, .length = 8},
                            ResidentRange{.buffer = own, .offset = 0, .length = 4}};
    std::vector<Bytes> outputs;
    must(backend->download_resident_ranges_into(ranges, outputs));
    CHECK(words_of(outputs[0]) == Words{2, 8});
    CHECK(words_of(outputs[1]) == Words{9, 4});
    CHECK(words_of(outputs[2]) == Words{1});
    const Telemetry moved = difference(telemetry_snapshot(), before);
    CHECK(moved[Counter::UploadBytes] == 48);
    CHECK(moved[Counter::DownloadBytes] == 16 + 20);

    must(backend->fill_resident(lent, std::byte{1}));
    CHECK(must(backend->download_resident(lent)) == Bytes(16, std::byte{1}));

    // The one-submission form, recorded and run twice.
    const std::array fills{ResidentFill{.buffer = lent, .offset = 8}};
    const std::array steps{ResidentStep{.program = add_one(), .resources = {lent}},
                           ResidentStep{.program = add_one(), .resources = {own}}};
    const std::array reads{ResidentRange{.buffer = lent}, ResidentRange{.buffer = own}};
    const ResidentSubmission submission{.fills = fills,
                                        .uploads = std::span(uploads).subspan(1, 2),
                                        .prefix = steps,
                                        .reads = reads};
    const auto recorded = must(backend->record_resident(submission));
    must(backend->submit_resident(submission, outputs));
    CHECK(words_of(outputs[0]) == Words{0x0101'0102, 9, 10, 1});
    CHECK(words_of(outputs[1]) == Words{2, 3, 4, 5});
    const Bytes fresh = bytes_of(Words{5, 6, 7, 8});
    must(recorded->run_into(outputs, std::array<ByteSpan, 2>{fresh, two}));
    CHECK(words_of(outputs[0]) == Words{0x0101'0103, 9, 10, 1});
    CHECK(words_of(outputs[1]) == Words{6, 7, 8, 9});

    must(backend->free_resident(lent));
    CHECK(code_of(recorded->run_into(outputs)) == ErrorCode::InvalidHandle);
    must(backend->flush());
  }
}

TEST_CASE("large transfers to and from a caller's buffer go in pieces") {
  constexpr std::uint32_t kWords = (9u << 20) / 4;  // more than two pieces
  const CallersDevice callers(VK_API_VERSION_1_1, TurnedOn::Nothing);
  const CallersBuffer buffer(callers, std::uint64_t{kWords} * 4);
  const auto backend = backend_on(callers.interop());
  const DeviceBuffer lent =
      must(adopt_vulkan_buffer(*backend, buffer.get(), std::uint64_t{kWords} * 4, "large"));
  const Bytes bytes = bytes_of(counting(kWords));
  must(backend->upload_resident(lent.resident, bytes));
  CHECK((must(backend->download_resident(lent.resident)) == bytes));
  must(backend->flush());
}

TEST_CASE("a device buffer of Felsite is a Vulkan buffer that the caller writes and reads") {
  for (const std::string mask : kInteropMasks) {
    CAPTURE(mask);
    const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
    CallersCommands commands(callers);
    const auto backend = backend_on(callers.interop(), mask);
    const DeviceBuffer buffer = must(backend->allocate_device_buffer(12, "mine"));
    const VulkanBuffer seen = must(vulkan_buffer(*backend, buffer));
    CHECK(seen.buffer != VK_NULL_HANDLE);
    CHECK(seen.offset == 0);
    CHECK(seen.bytes == 12);
    commands.write(seen.buffer, {4, 5, 6});
    must(backend->dispatch_device_buffers(add_one(), {&buffer, 1}));
    CHECK(commands.read(seen.buffer, 3) == Words{5, 6, 7});
    CHECK(words_of(must(backend->download_resident(buffer.resident))) == Words{5, 6, 7});
    // A caller's buffer comes back as itself.
    const CallersBuffer own(callers, 16);
    const DeviceBuffer lent = must(adopt_vulkan_buffer(*backend, own.get(), 16, "lent"));
    CHECK(must(vulkan_buffer(*backend, lent)).buffer == own.get());
    must(backend->free_device_buffer(buffer));
    CHECK(code_of(vulkan_buffer(*backend, buffer)) == ErrorCode::InvalidHandle);
    must(backend->free_device_buffer(lent));
  }
}

TEST_CASE("what cannot be shared is refused, with the reason") {
  const CallersDevice callers(VK_API_VERSION_1_1, TurnedOn::Nothing);
  const CallersBuffer buffer(callers, 64);
  const auto backend = backend_on(callers.interop());
  const auto adopt = [&](VkBuffer handle, std::uint64_t bytes) {
    return code_of(adopt_vulkan_buffer(*backend, handle, bytes, "x"));
  };
  CHECK(adopt(VK_NULL_HANDLE, 16) == ErrorCode::BadInputs);
  for (const std::uint64_t bytes : {0ull, 3ull, 66ull, 1ull << 40, UINT64_MAX - 3ull}) {
    CHECK(adopt(buffer.get(), bytes) == ErrorCode::BadInputs);
  }
  CHECK(backend->metric_snapshot().resident_buffers == 0);

  // Other backends, of the same kind and of another.
  const auto other = backend_on(callers.interop());
  const DeviceBuffer foreign = must(other->allocate_device_buffer(4, "foreign"));
  CHECK(code_of(vulkan_buffer(*backend, foreign)) == ErrorCode::InvalidHandle);
  CHECK(code_of(backend->dispatch_device_buffers(add_one(), {&foreign, 1})) ==
        ErrorCode::InvalidHandle);
  const auto reference = make_reference_backend();
  const DeviceBuffer of_reference = must(reference->allocate_device_buffer(4, "reference"));
  CHECK(code_of(vulkan_buffer(*backend, of_reference)) == ErrorCode::InvalidHandle);
  CHECK(code_of(vulkan_buffer(*reference, of_reference)) == ErrorCode::UnsupportedFeature);
  CHECK(code_of(adopt_vulkan_buffer(*reference, buffer.get(), 16, "x")) ==
        ErrorCode::UnsupportedFeature);
  const auto felsites = open_backend();  // on a device that is not the caller's
  CHECK(code_of(adopt_vulkan_buffer(*felsites, buffer.get(), 16, "x")) == ErrorCode::BadInputs);

  CHECK(code_of(make_vulkan_backend(callers.interop(), {.device = "0"})) == ErrorCode::BadInputs);
  CHECK(code_of(make_vulkan_backend(VulkanInterop{})) == ErrorCode::BadInputs);
  CHECK(code_of(make_vulkan_backend(callers.interop(), {.mask = "bogus"})) == ErrorCode::BadInputs);
  must(backend->shutdown());
  CHECK(adopt(buffer.get(), 16) == ErrorCode::DispatchFailed);
  CHECK(code_of(vulkan_buffer(*backend, foreign)) == ErrorCode::DispatchFailed);
}

TEST_CASE("a lost device of the caller is the caller's to make anew") {
  const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
  const CallersBuffer buffer(callers, 16);
  VulkanInterop interop = callers.interop();
  interop.get_instance_proc_addr = losing_instance_function;
  {
    const auto backend = backend_on(interop);
    must(backend->try_recover());  // nothing to recover from
    const DeviceBuffer lent = must(adopt_vulkan_buffer(*backend, buffer.get(), 16, "lent"));
    is_lost = true;
    CHECK(code_of(backend->dispatch(add_one(), {bytes_of(Words{1})})) == ErrorCode::DeviceLost);
    is_lost = false;
    CHECK(code_of(vulkan_buffer(*backend, lent)) == ErrorCode::DeviceLost);
    CHECK(code_of(adopt_vulkan_buffer(*backend, buffer.get(), 16, "x")) == ErrorCode::DeviceLost);
    for (const int round : {1, 2}) {
      CAPTURE(round);
      const Error refused = error_of(backend->try_recover());
      CHECK(refused.code == ErrorCode::UnsupportedFeature);
      CHECK(!refused.context.device.empty());
      CHECK(backend->device_lost());
      CHECK(backend->metric_snapshot().recoveries == 0);
    }
  }
  CHECK(still_works(*backend_on(interop)));
}

TEST_CASE("caller and backend use the queue at the same time, under the caller's lock") {
  const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
  std::mutex mutex;
  VulkanInterop interop = callers.interop();
  interop.queue_mutex = &mutex;
  const auto backend = backend_on(interop, "-in_place_memory");
  const CallersBuffer buffer(callers, 16);
  std::atomic<int> right = 0;
  std::thread worker([&] {
    for (int i = 0; i < 50; ++i) {
      if (still_works(*backend)) ++right;
    }
  });
  {
    CallersCommands commands(callers);
    for (std::uint32_t i = 0; i < 50; ++i) commands.write(buffer.get(), {i}, &mutex);
  }
  worker.join();
  CHECK(right == 50);
}
