// What the backend keeps to be fast is bounded, is shown, and goes with its owner; and what callers
// allocate stays within what there is.
#include <algorithm>
#include <array>
#include <thread>

#include "base/host_memory.h"
#include "support/skip.h"
#include "vk/backend_on_device.h"
#include "vk/made_up_devices.h"
#include "vk/memory/memory_budget.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A host that never gets fuller, as where pages are promised and not touched.
std::shared_ptr<vk::MemoryBudget> made_up(std::uint64_t total, std::uint64_t available) {
  return std::make_shared<vk::MemoryBudget>(
      [=] { return base::HostMemory{.total = total, .available = available}; });
}

std::unique_ptr<Backend> open_within(std::shared_ptr<vk::MemoryBudget> budget) {
  vk::BackendSettings settings = settings_for();
  settings.budget = std::move(budget);
  return open_backend(std::move(settings));
}

void check_out_of_memory(const Error& error, std::uint64_t requested) {
  CAPTURE(to_string(error));
  CHECK(error.code == ErrorCode::DeviceOutOfMemory);
  REQUIRE(error.context.requested);
  REQUIRE(error.context.available);
  CHECK(*error.context.requested == requested);
  CHECK(*error.context.available < requested);
  CHECK_FALSE(error.fix.empty());
}

}  // namespace

TEST_CASE("a budget gives three quarters of the memory, and not what would fill the host") {
  const auto all = made_up(64 * kMiB, 64 * kMiB);
  CHECK(all->take(48 * kMiB));
  CHECK(all->take(1).error() == 0);
  all->release(1);
  CHECK(all->take(2).error() == 1);
  CHECK(all->take(1));
  CHECK(all->taken() == 48 * kMiB);

  // A sixteenth stays free.
  const auto busy = made_up(64 * kMiB, 24 * kMiB);
  CHECK(busy->take(20 * kMiB + 1).error() == 20 * kMiB);
  CHECK(busy->take(20 * kMiB));
  CHECK(made_up(64 * kMiB, 4 * kMiB)->take(1).error() == 0);
  CHECK(made_up(0, 0)->take(1).error() == 0);
  CHECK(made_up(64 * kMiB, 64 * kMiB)->take(UINT64_MAX).error() == 48 * kMiB);
}

TEST_CASE("many small pieces do not slip past the budget, from any number of threads") {
  const auto budget = made_up(64 * kMiB, 64 * kMiB);
  std::array<std::uint64_t, 4> taken{};
  std::vector<std::thread> threads;
  for (std::uint64_t& mine : taken) {
    threads.emplace_back([&] {
      while (budget->take(64 << 10)) mine += 64 << 10;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken[0] + taken[1] + taken[2] + taken[3] == 48 * kMiB);
}

TEST_CASE("resident buffers end where the budget does, and come back when some are freed") {
  const auto backend = open_within(made_up(128 * kMiB, 128 * kMiB));
  std::vector<ResidentHandle> handles;
  while (handles.size() < 100) {
    const auto handle = backend->allocate_resident(8 * kMiB);
    if (!handle) {
      check_out_of_memory(handle.error(), 8 * kMiB);
      break;
    }
    handles.push_back(*handle);
  }
  CHECK(handles.size() <= 12);
  CHECK(handles.size() >= 9);  // staging memory is within the budget too
  CHECK_FALSE(backend->allocate_resident(8 * kMiB));
  must(backend->free_resident(handles.back()));
  handles.back() = must(backend->allocate_resident(8 * kMiB));
  must(backend->free_resident(handles.back()));
  CHECK(still_works(*backend));
  // All or nothing.
  const std::uint64_t before = backend->metric_snapshot().resident_bytes;
  const std::array<std::uint64_t, 3> sizes{kMiB, kMiB, 64 * kMiB};
  CHECK_FALSE(backend->allocate_resident_many(sizes));
  CHECK(backend->metric_snapshot().resident_bytes == before);
}

TEST_CASE("what is kept to be fast makes room within the budget") {
  const auto backend = open_within(made_up(64 * kMiB, 64 * kMiB));
  must(backend->dispatch(add_one(), {Bytes(4 * kMiB)}));  // its buffer is kept
  CHECK(backend->metric_snapshot().recording_bytes >= 4 * kMiB);
  const std::uint64_t left = 48 * kMiB - backend->metric_snapshot().device_bytes;
  must(backend->allocate_resident(left + 2 * kMiB));
  CHECK(backend->metric_snapshot().recording_bytes == 0);
}

TEST_CASE("400 buffers of 512 MiB are refused before the machine is exhausted") {
  const auto backend = open_backend();
  const bool is_software =
      vulkan_engine(*backend)->device().snapshot().type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  const bool touches = backend->device_profile().name.find("SwiftShader") != std::string::npos;
  FELSITE_SKIP_IF(!is_software || touches,
                  "the driver touches what it allocates, or has memory of its own");
  const base::HostMemory host = base::host_memory();
  REQUIRE(host.total < 200 * 1024 * kMiB);
  std::vector<ResidentHandle> handles;
  Error refused;
  for (int i = 0; i < 400; ++i) {
    const auto handle = backend->allocate_resident(512 * kMiB);
    if (!handle) {
      refused = handle.error();
      break;
    }
    handles.push_back(*handle);
  }
  check_out_of_memory(refused, 512 * kMiB);
  CHECK(handles.size() * 512 * kMiB <= host.total / 4 * 3);
  for (const ResidentHandle& handle : handles) must(backend->free_resident(handle));
  CHECK(still_works(*backend));
  CHECK(backend->allocate_resident(kMiB));
}

TEST_CASE("without a budget of the host the device's own holds") {
  const auto device = must(vk::open_device());
  std::uint64_t heap = 0;
  for (const vk::MemoryHeap& other : device->snapshot().memory_heaps) {
    heap = std::max(heap, other.bytes);
  }
  FELSITE_SKIP_IF(
      heap > 4096 * kMiB || device->snapshot().name.find("SwiftShader") != std::string::npos,
      "the device's heap is too large to fill, or is touched when allocated");
  vk::Memory memory(*device, nullptr);
  std::vector<vk::SharedBuffer> buffers;
  std::optional<Error> refused;
  while (!refused && buffers.size() * 256 * kMiB <= heap) {
    auto buffer = memory.make(vk::Place::Device, 256 * kMiB, "large");
    buffer ? buffers.push_back(std::move(*buffer)) : static_cast<void>(refused = buffer.error());
  }
  REQUIRE(refused);
  check_out_of_memory(*refused, 256 * kMiB);
  CHECK(buffers.size() * 256 * kMiB < heap);
  CHECK(!buffers.empty());
}

TEST_CASE("what only dropped pipelines have used goes with them") {
  const auto backend = open_backend();
  const auto entries = [&] { return backend->pipeline_cache_snapshot().entries; };
  const DispatchConfig plain;
  const auto kept = [&] { return backend->metric_snapshot().recordings_kept; };
  {
    std::vector<std::unique_ptr<CompiledPipeline>> pipelines;
    for (std::uint32_t i = 1; i <= 200; ++i) {
      pipelines.push_back(must(backend->compile(add_number(i), plain)));
      if (i <= 20) must(pipelines.back()->dispatch({Bytes(64)}));
    }
    CHECK(entries() == 200);
    CHECK(kept() == 20);
    CHECK(backend->pipeline_cache_snapshot().bytes > 200 * 100);
  }
  CHECK(entries() == 0);
  CHECK(kept() == 0);
  CHECK(backend->pipeline_cache_snapshot().bytes == 0);
  CHECK(backend->metric_snapshot().recording_bytes == 0);
}

TEST_CASE("what two pipelines or plain dispatches have used stays for the other") {
  const auto backend = open_backend();
  const auto entries = [&] { return backend->pipeline_cache_snapshot().entries; };
  const DispatchConfig plain;
  DispatchConfig labelled;
  labelled.label = "two";
  // Two owners: the last one counts. Another configuration is an owner of its own.
  auto one = must(backend->compile(add_number(1), plain));
  auto two = must(backend->compile(add_number(1), labelled));
  one.reset();
  CHECK(entries() == 1);
  must(two->dispatch({Bytes(64)}));
  two.reset();
  CHECK(entries() == 0);

  // Plain dispatches want it too: it stays as long as there is room.
  must(backend->dispatch(add_number(2), {Bytes(64)}));
  two = must(backend->compile(add_number(2), plain));
  two.reset();
  CHECK(entries() == 1);
  const std::uint64_t misses = backend->pipeline_cache_snapshot().misses;
  must(backend->dispatch(add_number(2), {Bytes(64)}));
  CHECK(backend->pipeline_cache_snapshot().misses == misses);
}

TEST_CASE("kernels that depend on the grid and runs on resident buffers go with their pipeline") {
  const auto backend = open_backend();
  const auto entries = [&] { return backend->pipeline_cache_snapshot().entries; };
  const DispatchConfig plain;
  const auto resident = must(backend->allocate_resident(64));
  auto three = must(backend->compile(add_number(3), plain));
  must(three->dispatch_resident(std::array{resident}));
  three.reset();
  CHECK(entries() == 0);
  const auto synced = valid_program(
      "program synced workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " let next = x[(i + 1) % len(x)]; gridsync; x[i] = x[i] + next; }");
  auto four = must(backend->compile(synced, plain));
  must(four->dispatch({Bytes(64)}));
  CHECK(entries() > 0);
  four.reset();
  CHECK(entries() == 0);
  CHECK(still_works(*backend));
}

TEST_CASE("kernels are bounded by their bytes too, the least recently used go first") {
  const auto device = must(vk::open_device());
  const auto probe = must(vk::Pipelines::make(*device, std::nullopt));
  must(probe->get(add_number(101)));
  const std::uint64_t one = probe->snapshot().bytes;
  REQUIRE(one > 0);
  const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt, {.bytes = 2 * one}));
  for (std::uint32_t i = 101; i <= 103; ++i) must(pipelines->get(add_number(i)));
  CHECK(pipelines->snapshot().entries == 2);
  CHECK(pipelines->snapshot().evictions == 1);
  CHECK(pipelines->snapshot().bytes == 2 * one);
  // One that is larger than the bound is kept as long as it is the last one used.
  const auto small = must(vk::Pipelines::make(*device, std::nullopt, {.bytes = 1}));
  const auto first = must(small->get(add_number(1)));
  CHECK(must(small->get(add_number(1))) == first);
  CHECK(small->snapshot().entries == 1);
}

namespace {

// A driver whose pipeline caches grow by a thousand bytes with each pipeline.
struct GrowingCaches {
  static inline int made = 0;
  static inline std::size_t bytes = 0;  // of the last one
  static inline PFN_vkCreatePipelineCache create = nullptr;
  static inline PFN_vkCreateComputePipelines compile = nullptr;

  static Result<std::unique_ptr<vk::Device>> open() {
    made = 0;
    bytes = 0;
    return vk::open_device({}, [](vk::DeviceFunctions& functions) {
      create = functions.vkCreatePipelineCache;
      compile = functions.vkCreateComputePipelines;
      functions.vkCreatePipelineCache = [](VkDevice device, const VkPipelineCacheCreateInfo* info,
                                           const VkAllocationCallbacks* allocator,
                                           VkPipelineCache* cache) {
        ++made;
        bytes = 0;
        return create(device, info, allocator, cache);
      };
      functions.vkCreateComputePipelines =
          [](VkDevice device, VkPipelineCache cache, std::uint32_t count,
             const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* allocator,
             VkPipeline* pipelines) {
            bytes += 1000;
            return compile(device, cache, count, infos, allocator, pipelines);
          };
      functions.vkGetPipelineCacheData = [](VkDevice, VkPipelineCache, std::size_t* size, void*) {
        *size = bytes;
        return VK_SUCCESS;
      };
    });
  }
};

}  // namespace

TEST_CASE("what the driver keeps of pipelines begins again past its bound") {
  const auto device = must(GrowingCaches::open());
  const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt, {.driver_bytes = 32'000}));
  CHECK(GrowingCaches::made == 1);
  for (std::uint32_t i = 0; i < 32; ++i) must(pipelines->get(add_number(i)));
  CHECK(pipelines->snapshot().driver_bytes == 32'000);
  CHECK(GrowingCaches::made == 1);
  // It is looked at after each sixteenth.
  for (std::uint32_t i = 32; i < 48; ++i) must(pipelines->get(add_number(i)));
  CHECK(pipelines->snapshot().driver_bytes == 0);
  CHECK(GrowingCaches::made == 2);
  CHECK(pipelines->snapshot().entries == 48);
}

TEST_CASE("a driver that does not say what it keeps begins again after a number of pipelines") {
  const auto device = must(GrowingCaches::open());
  const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt, {.driver_pipelines = 4}));
  for (std::uint32_t i = 0; i < 3; ++i) must(pipelines->get(add_number(i)));
  CHECK(GrowingCaches::made == 1);
  for (std::uint32_t i = 3; i < 10; ++i) must(pipelines->get(add_number(i)));
  CHECK(GrowingCaches::made == 3);
  CHECK(pipelines->snapshot().entries == 10);
}

TEST_CASE("the driver gives back what it keeps of dropped pipelines") {
  vk::BackendSettings settings = settings_for();
  settings.open = GrowingCaches::open;
  const auto backend = open_backend(std::move(settings));
  std::vector<std::unique_ptr<CompiledPipeline>> pipelines;
  for (std::uint32_t i = 0; i < 200; ++i) {
    pipelines.push_back(must(backend->compile(add_number(i), DispatchConfig())));
  }
  CHECK(backend->pipeline_cache_snapshot().driver_bytes == 200'000);
  pipelines.resize(50);
  CHECK(backend->pipeline_cache_snapshot().driver_bytes == 200'000);
  pipelines.resize(49);
  CHECK(backend->pipeline_cache_snapshot().driver_bytes == 0);
  CHECK(GrowingCaches::made == 2);
  pipelines.clear();
  CHECK(GrowingCaches::made == 2);
}

TEST_CASE("every cache shows its bytes, and gives them back when the backend shuts down") {
  const auto backend = open_backend();
  must(backend->dispatch(add_one(), {Bytes(4096)}));
  const auto held = must(backend->acquire_static_uploads("a", std::array{ByteSpan(Bytes(1000))}));
  CHECK(backend->metric_snapshot().static_bytes == 1000);
  CHECK(backend->metric_snapshot().recording_bytes >= 4096);
  CHECK(backend->metric_snapshot().device_bytes >= 5096);
  CHECK(backend->metric_snapshot().idle_bytes > 0);
  CHECK(backend->pipeline_cache_snapshot().bytes > 0);
  must(backend->release_static_uploads(held));
  must(backend->shutdown());
  CHECK(backend->metric_snapshot().static_bytes == 0);
  CHECK(backend->metric_snapshot().recording_bytes == 0);
  CHECK(backend->metric_snapshot().device_bytes == 0);
  CHECK(backend->pipeline_cache_snapshot().bytes == 0);
}
