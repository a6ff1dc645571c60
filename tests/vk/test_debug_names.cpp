// VK_EXT_debug_utils: objects and steps arrive there with their names.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "support/run_kernel.h"
#include "support/scratch_folder.h"
#include "support/skip.h"
#include "vk/backend_on_device.h"
#include "vk/made_up_devices.h"
#include "vk/object_watch.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// What a debugger would have seen.
struct Debugger {
  std::mutex mutex;
  std::multimap<VkObjectType, std::string> names;
  std::vector<std::string> labels;  // in the order in which they begin
  std::map<VkCommandBuffer, int> open;
  bool unbalanced = false;

  bool has(VkObjectType type, std::string_view name) {
    const auto [begin, end] = names.equal_range(type);
    return std::any_of(begin, end, [&](const auto& entry) { return entry.second == name; });
  }
  std::ptrdiff_t labelled(std::string_view name) { return std::ranges::count(labels, name); }
};
Debugger debugger;
vk::InstanceFunctions originals;

void watch(vk::InstanceFunctions& functions) {
  originals = functions;
  watch_objects(functions);
  functions.set_object_name = [](VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    object_watch().named(*info);
    const std::lock_guard lock(debugger.mutex);
    debugger.names.emplace(info->objectType, info->pObjectName);
    return originals.set_object_name(device, info);
  };
  functions.begin_label = [](VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
    const std::lock_guard lock(debugger.mutex);
    debugger.labels.emplace_back(label->pLabelName);
    ++debugger.open[commands];
    originals.begin_label(commands, label);
  };
  functions.end_label = [](VkCommandBuffer commands) {
    const std::lock_guard lock(debugger.mutex);
    debugger.unbalanced |= --debugger.open[commands] < 0;
    originals.end_label(commands);
  };
}

// Every command buffer must end with all its labels ended.
PFN_vkEndCommandBuffer end_commands = nullptr;
void watch_ends(vk::DeviceFunctions& table) {
  end_commands = table.vkEndCommandBuffer;
  table.vkEndCommandBuffer = [](VkCommandBuffer commands) {
    {
      const std::lock_guard lock(debugger.mutex);
      debugger.unbalanced |= debugger.open[commands] != 0;
    }
    return end_commands(commands);
  };
}

class Watched {
 public:
  Watched() : instance_(must(vk::Instance::shared())) {
    debugger.names.clear();
    debugger.labels.clear();
    debugger.open.clear();
    debugger.unbalanced = false;
    object_watch().clear();
    if (names()) instance_->edit_functions(watch);
  }
  ~Watched() {
    CHECK_FALSE(debugger.unbalanced);
    for (const std::string& maker : object_watch().nameless()) {
      FAIL_CHECK("What this made has no name: " << maker);
    }
    if (names()) {
      instance_->edit_functions([](vk::InstanceFunctions& functions) { functions = originals; });
    }
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool names() const { return instance_->names_objects(); }
  bool labels() const { return instance_->labels_steps(); }

 private:
  std::shared_ptr<vk::Instance> instance_;
};

constexpr const char* kNoLabels =
    "no debug names here, or a validation layer that cannot bear labels";
constexpr std::uint64_t kWeightBytes = std::uint64_t{64} << 20;

// Everything that makes Vulkan objects, at least once.
void use_everything(Backend& backend) {
  DispatchConfig measured;
  measured.profile = true;
  must(backend.dispatch(add_one(), {bytes_of(Words{1})}, measured));
  must(backend.dispatch(trapping(), {bytes_of(Words{1})}));
  const auto in_segments = valid_program(
      "program in_segments workgroup(4) { readwrite x: u32[]; let i = invocation.x; let mine = "
      "x[i];"
      " gridsync; x[(i + 1) % len(x)] = mine; }");
  for (const GridSync form : {GridSync::OneWorkgroup, GridSync::Resident, GridSync::HostSplit}) {
    DispatchConfig split;
    split.grid_sync = form;
    split.fixpoint_iterations = 3;
    must(backend.dispatch(in_segments, {bytes_of(Words{1, 2, 3, 4})}, split));
  }
  // Of a size that is imported where the device can, and begins with a page.
  const std::size_t large = std::size_t{2} << 20;
  std::vector<std::byte> memory(large + 4096);
  void* begin = memory.data();
  std::size_t room = memory.size();
  REQUIRE(std::align(4096, large, begin, room) != nullptr);
  const ByteSpan aligned(static_cast<const std::byte*>(begin), large);
  const Bytes target(16);
  must(backend.dispatch_borrowed(copying(), std::array<ByteSpan, 2>{aligned, target}));

  const DeviceBuffer buffer = must(backend.allocate_device_buffer(kWeightBytes, "weights"));
  must(backend.upload_resident(buffer.resident, Bytes(kWeightBytes)));
  const std::array steps{ResidentStep{
      .program = add_one(), .resources = {buffer.resident}, .grid_override = {{1, 1, 1}}}};
  const std::array reads{ResidentRange{.buffer = buffer.resident, .offset = 0, .length = 16}};
  const auto recorded = must(
      backend.record_resident({.prefix = steps, .repeated = steps, .count = 1000, .reads = reads},
                              {.profile = true, .label = "layer 7"}));
  std::vector<Bytes> outputs;
  must(recorded->run_into(outputs));
  CHECK(words_of(outputs[0]) == Words(4, 1001));
  must(backend.download_resident(buffer.resident));
  must(backend.flush());
}

}  // namespace

TEST_CASE("buffers, pipelines, command buffers and steps carry their names") {
  const Watched watched;
  FELSITE_SKIP_IF(!watched.labels(), kNoLabels);
  for (const std::string mask : {"", "-in_place_memory"}) {
    CAPTURE(mask);
    const std::unique_ptr<Backend> backend = open_backend(settings_for(mask, watch_ends));
    must(backend->dispatch(add_one(), {bytes_of(Words{1})}));
    CHECK(debugger.has(VK_OBJECT_TYPE_PIPELINE, "add_one"));
    CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "add_one x"));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "add_one"));
    CHECK(debugger.labelled("add_one") == 1);

    DispatchConfig labelled;
    labelled.label = "first of the day";
    must(backend->dispatch(add_one(), {bytes_of(Words{1, 2})}, labelled));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "first of the day"));
    CHECK(debugger.labelled("first of the day") == 1);

    const DeviceBuffer buffer = must(backend->allocate_device_buffer(16, "weights"));
    CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "weights"));
    const Bytes bytes(16);
    const std::array fills{ResidentFill{.buffer = buffer.resident}};
    const std::array uploads{ResidentUpload{.buffer = buffer.resident, .bytes = bytes}};
    const std::array prefix{
        ResidentStep{.program = add_one(), .resources = {buffer.resident}, .label = "warm up"}};
    const std::array repeated{
        ResidentStep{.program = add_one(), .resources = {buffer.resident}, .label = "grow"},
        ResidentStep{.program = add_one(), .resources = {buffer.resident}}};
    const std::array reads{ResidentRange{.buffer = buffer.resident}};
    debugger.labels.clear();
    std::vector<Bytes> outputs;
    must(backend->submit_resident({.fills = fills,
                                   .uploads = uploads,
                                   .prefix = prefix,
                                   .repeated = repeated,
                                   .count = 5,
                                   .reads = reads},
                                  outputs, {.label = "layer 7"}));
    CHECK(words_of(outputs[0]) == Words(4, 11));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "layer 7"));
    // In the order in which they run; so short a block is recorded run after run. The upload is
    // over the fill.
    std::vector<std::string> expected{"fill", "copy", "warm up"};
    for (int run = 0; run < 5; ++run) expected.insert(expected.end(), {"grow", "add_one"});
    if (!mask.empty()) expected.emplace_back("copy");
    CHECK(debugger.labels == expected);
    if (!mask.empty()) {
      CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "layer 7 upload"));
      CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "layer 7 readback"));
      CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "transfer"));
    }
    debugger.names.clear();
    debugger.labels.clear();
  }
}

TEST_CASE("a gate and a grid in parts stand under the name of their step") {
  const Watched watched;
  FELSITE_SKIP_IF(!watched.labels(), kNoLabels);
  const std::unique_ptr<Backend> backend = open_backend(settings_for({}, watch_ends));
  const auto counted = valid_program(
      "program counted workgroup(1) { readonly g: u32[]; readwrite n: u32[];"
      " indirect_dispatch(g[0]); atomic_add(n[0], 1); }");
  const ResidentHandle grid = must(backend->allocate_resident(12));
  const ResidentHandle count = must(backend->allocate_resident(4));
  must(backend->upload_resident(grid, bytes_of(Words{2, 1, 1})));
  must(backend->dispatch_resident(counted, std::array{grid, count}));
  CHECK(debugger.labelled("counted gate") == 1);
  CHECK(debugger.labelled("counted") == 1);
  debugger.labels.clear();
  DispatchConfig parts;
  parts.grid_override = {70'000, 1, 1};  // more than software drivers take at once
  must(backend->dispatch(add_one(), {bytes_of(Words{1})}, parts));
  CHECK(debugger.labels == std::vector<std::string>{"add_one"});
}

TEST_CASE("every object that is made has a name") {
  std::set<std::string> made;
  for (const std::string mask : {"", "-in_place_memory", "-push_descriptors,-timeline_semaphores",
                                 "none", "transfer_queue,-in_place_memory"}) {
    CAPTURE(mask);
    const Watched watched;  // complains of what has none when all is gone
    FELSITE_SKIP_IF(!watched.names(), "neither the loader nor a driver has debug names");
    const ScratchFolder folder;
    // The second backend finds the first one's pipelines on disk, and writes its own beside them.
    for (const int round : {1, 2}) {
      vk::BackendSettings settings = settings_for(mask, watch_ends);
      settings.cache_folder = folder.path();
      const std::unique_ptr<Backend> backend = open_backend(std::move(settings));
      use_everything(*backend);
      if (round == 2) must(backend->dispatch(copying(), {zero_words(1), zero_words(1)}));
    }
    made.merge(object_watch().makers());

    CHECK(debugger.has(VK_OBJECT_TYPE_DEVICE, "felsite"));
    CHECK(debugger.has(VK_OBJECT_TYPE_QUEUE, "compute queue"));
    CHECK(debugger.has(VK_OBJECT_TYPE_SHADER_MODULE, "add_one"));
    CHECK(debugger.has(VK_OBJECT_TYPE_PIPELINE_LAYOUT, "add_one"));
    CHECK(debugger.has(VK_OBJECT_TYPE_PIPELINE_CACHE, "pipelines"));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_POOL, "layer 7"));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "layer 7 block"));
    CHECK(debugger.has(VK_OBJECT_TYPE_COMMAND_BUFFER, "layer 7 epilogue"));
    // Large enough for memory of its own.
    CHECK(debugger.has(VK_OBJECT_TYPE_DEVICE_MEMORY, "weights"));
    if (mask == "none") {
      CHECK(debugger.has(VK_OBJECT_TYPE_FENCE, "compute queue"));
      CHECK(debugger.has(VK_OBJECT_TYPE_DESCRIPTOR_SET, "layer 7 add_one"));
    }
  }
  // Or the names of what was not made would not have been looked at.
  std::set<std::string> all{"vkCreateDevice"};
  for (const WatchedFunction& function : kWatchedFunctions) all.insert(function.name);
  CHECK(made == all);
}

TEST_CASE("a kernel alone is named as well") {
  const Watched watched;
  FELSITE_SKIP_IF(!watched.names(), "neither the loader nor a driver has debug names");
  const auto device = must(vk::open_device());
  const auto program = add_one();
  const Bytes bytes = bytes_of(Words{41});
  const ByteSpan input = bytes;
  const auto kernel =
      must(codegen::lower(codegen::Segment(valid(program)), device->capabilities()));
  CHECK(words_of(must(vk::run_kernel(*device, kernel, program, {&input, 1}, {}))[0]) == Words{42});
  CHECK(debugger.has(VK_OBJECT_TYPE_PIPELINE, "add_one"));
  CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "add_one x"));
}

// Vulkan allows labels in families with graphics or compute only.
TEST_CASE("command buffers for a queue that only copies have no labels") {
  const vk::DeviceSnapshot card = discrete_device();
  const auto plan = must(vk::plan_device(std::vector{card}, {}));
  REQUIRE(plan.transfer_family);
  CHECK(vk::takes_labels(card.queue_families[plan.compute_family].flags));
  CHECK_FALSE(vk::takes_labels(card.queue_families[*plan.transfer_family].flags));
  CHECK(vk::takes_labels(VK_QUEUE_COMPUTE_BIT));
  CHECK(vk::takes_labels(VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_TRANSFER_BIT));

  const Watched watched;
  FELSITE_SKIP_IF(!watched.labels(), kNoLabels);
  const auto device = must(vk::open_device({}, watch_ends));
  vk::Memory memory(*device);
  const vk::BufferSlice words{must(memory.make(vk::Place::Device, 32, "words")), 0, 32};
  const auto sets = must(vk::DescriptorSets::make(*device, {}, "labels"));
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = device->queue_family();
  const auto pool = must(device->make<VkCommandPool>(device->functions().vkCreateCommandPool,
                                                     device->functions().vkDestroyCommandPool,
                                                     pool_info, "labels"));
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = pool.get();
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  for (const std::uint32_t family : {plan.compute_family, *plan.transfer_family}) {
    debugger.labels.clear();
    VkCommandBuffer commands = VK_NULL_HANDLE;
    REQUIRE(device->functions().vkAllocateCommandBuffers(device->handle(), &allocation,
                                                         &commands) == VK_SUCCESS);
    device->name(commands, "labels");
    vk::CommandWriter writer(*device, commands, card.queue_families[family], sets);
    must(writer.begin(false));
    const VkBuffer buffer = words.buffer->handle();
    writer.copy(buffer, 0, buffer, 16, 16);
    must(writer.end());
    CHECK(debugger.labelled("copy") == (family == plan.compute_family ? 1 : 0));
  }
}
