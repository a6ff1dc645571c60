// VK_EXT_debug_utils: objects and steps arrive there with their names.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "vk/backend_on_device.h"

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
  bool null_handle = false;

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
  functions.set_object_name = [](VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    const std::lock_guard lock(debugger.mutex);
    debugger.names.emplace(info->objectType, info->pObjectName);
    debugger.null_handle |= info->objectHandle == 0;
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
void watch_ends(VolkDeviceTable& table) {
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
    if (names()) instance_->edit_functions(watch);
  }
  ~Watched() {
    CHECK_FALSE(debugger.unbalanced);
    CHECK_FALSE(debugger.null_handle);
    if (names()) {
      instance_->edit_functions([](vk::InstanceFunctions& functions) { functions = originals; });
    }
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool names() const { return instance_->names_objects(); }

 private:
  std::shared_ptr<vk::Instance> instance_;
};

}  // namespace

TEST_CASE("buffers, pipelines, command buffers and steps carry their names") {
  const Watched watched;
  if (!watched.names()) return;  // neither the loader nor a driver has the extension
  for (const std::string mask : {"", "-in_place_memory"}) {
    CAPTURE(mask);
    const std::unique_ptr<Backend> backend = open_backend(settings_for(mask, watch_ends));
    must(backend->dispatch(add_one(), {bytes_of(Words{1})}));
    CHECK(debugger.has(VK_OBJECT_TYPE_PIPELINE, "add_one"));
    CHECK(debugger.has(VK_OBJECT_TYPE_BUFFER, "x"));
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
  if (!watched.names()) return;
  const std::unique_ptr<Backend> backend = open_backend(settings_for({}, watch_ends));
  const ir::Program counted = valid_program(
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
