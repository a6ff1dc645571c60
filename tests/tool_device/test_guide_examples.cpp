// The examples of docs/vulkan.md, compiled and run: every line of its C++ stands here or in
// samples/resident_sequence.cpp.
#include <array>
#include <chrono>
#include <cstdio>

#include "device_tool.h"
#include "felsite/environment.h"
#include "felsite/telemetry.h"
#include "felsite/text.h"
#include "felsite/trace.h"
#include "felsite/vulkan.h"
#include "felsite/vulkan_interop.h"

using namespace felsite;
using namespace felsite::test;

namespace {

ir::Program scale() {
  const auto program = ir::parse(R"(program scale workgroup(64) {
    readonly table: u32[];
    readwrite x: u32[];
    if invocation.x < len(x) {
      x[invocation.x] = x[invocation.x] * table[0];
    }
  })");
  REQUIRE(program.has_value());
  return *program;
}

Bytes bytes_of(const std::vector<std::uint32_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

Result<std::unique_ptr<Backend>> open_weaker_device() {
  // clang-format off
  const auto devices = list_vulkan_devices();
  if (!devices) return std::unexpected(devices.error());
  for (const VulkanDeviceInfo& device : *devices) {
    std::printf("%s: %s\n", device.name.c_str(), device.reason.c_str());
  }
  auto backend = make_vulkan_backend({.device = "0", .mask = "-int64,-timeline_semaphores"});
  // clang-format on
  return backend;
}

Result<Bytes> resident(Backend& backend, const ir::Program& program, const Bytes& table,
                       const Bytes& x) {
  // clang-format off
  const std::array<std::uint64_t, 2> sizes{table.size(), x.size()};
  const auto buffers = backend.allocate_resident_many(sizes);
  if (!buffers) return std::unexpected(buffers.error());
  const std::array<ResidentUpload, 2> uploads{{{(*buffers)[0], 0, table}, {(*buffers)[1], 0, x}}};
  if (auto done = backend.upload_resident_many(uploads); !done) return std::unexpected(done.error());
  if (auto done = backend.dispatch_resident(program, *buffers); !done) return std::unexpected(done.error());
  return backend.download_resident_range((*buffers)[1], 0, 8);
  // clang-format on
}

Result<Bytes> repeated(Backend& backend, const ir::Program& program, ResidentHandle table,
                       ResidentHandle x) {
  // clang-format off
  const ResidentStep step{.program = program, .resources = {table, x}};
  const ResidentRange whole{.buffer = x};
  std::vector<Bytes> outputs;
  const auto timing = backend.dispatch_resident_repeated_sequence_read_ranges_timed_into(
      {}, {&step, 1}, 10, {&whole, 1}, outputs);
  // clang-format on
  if (!timing) return std::unexpected(timing.error());
  return outputs[0];
}

Result<Bytes> with_static_table(Backend& backend, const ir::Program& program, const Bytes& table,
                                ResidentHandle x) {
  // clang-format off
  const ByteSpan payload = table;
  const auto held = backend.acquire_static_uploads("tables", {&payload, 1});
  if (!held) return std::unexpected(held.error());
  const std::array<ResidentHandle, 2> resources{held->handles[0], x};
  if (auto done = backend.dispatch_resident(program, resources); !done) return std::unexpected(done.error());
  if (auto done = backend.release_static_uploads(*held); !done) return std::unexpected(done.error());
  // clang-format on
  return backend.download_resident(x);
}

Result<Bytes> on_parts(Backend& backend, const ir::Program& program, ResidentHandle pool) {
  // clang-format off
  const std::array<ResidentResource, 2> parts{{{pool, 0, 4}, {pool, 4, 8}}};
  if (auto done = backend.dispatch_resident(program, parts); !done) return std::unexpected(done.error());
  // clang-format on
  return backend.download_resident(pool);
}

Result<Bytes> in_flight(Backend& backend, const ir::Program& program, const Bytes& table) {
  // clang-format off
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (std::uint32_t i = 0; i < 4; ++i) {
    auto started = backend.dispatch_async(program, {table, bytes_of({i, i + 1})});
    if (!started) return std::unexpected(started.error());
    pending.push_back(std::move(*started));
  }
  Bytes last;
  for (const auto& dispatch : pending) {
    auto results = dispatch->wait();
    if (!results) return std::unexpected(results.error());
    last = std::move(results->front());
  }
  // clang-format on
  return last;
}

Result<void> recovering(Backend& backend, const ir::Program& program,
                        std::span<const ResidentHandle> resources) {
  // clang-format off
  auto done = backend.dispatch_resident(program, resources, {.timeout = std::chrono::seconds(2)});
  if (!done && done.error().code == ErrorCode::DeviceLost) {
    if (auto recovered = backend.try_recover(); !recovered) return recovered;
    // A new device: allocate, upload and record again. Older handles are InvalidHandle.
  }
  if (!done) std::fprintf(stderr, "%s\n", to_string(done.error()).c_str());
  // clang-format on
  return done;
}

std::string traced(Backend& backend, const ir::Program& program,
                   std::span<const ResidentHandle> resources) {
  // clang-format off
  start_trace();
  const Telemetry before = telemetry_snapshot();
  const auto done = backend.dispatch_resident(program, resources);
  const Telemetry counted = difference(telemetry_snapshot(), before);
  const std::string trace = stop_trace();
  // clang-format on
  CHECK(done.has_value());
  CHECK(counted[Counter::Launches] == 1);
  return trace;
}

// Only compiled.
[[maybe_unused]] VulkanInterop describe(VkInstance instance, VkPhysicalDevice physical_device,
                                        VkDevice device, VkQueue queue, std::uint32_t family,
                                        const VkPhysicalDeviceFeatures2& features,
                                        std::mutex& queue_mutex) {
  // clang-format off
  static const char* const extensions[] = {"VK_KHR_push_descriptor"};
  VulkanInterop mine;
  mine.instance = instance;
  mine.physical_device = physical_device;
  mine.device = device;
  mine.queue = queue;
  mine.queue_family = family;
  mine.api_version = VK_API_VERSION_1_3;
  mine.extensions = extensions;
  mine.features = &features;
  mine.queue_mutex = &queue_mutex;
  // clang-format on
  return mine;
}

}  // namespace

TEST_CASE("the examples of the guide run") {
  const auto opened = make_vulkan_backend();
  REQUIRE(opened.has_value());
  Backend& backend = **opened;
  const ir::Program program = scale();
  const Bytes table = bytes_of({3});
  CHECK(resident(backend, program, table, bytes_of({1, 2, 5})) == bytes_of({3, 6}));
  const auto a = backend.allocate_resident(table.size());
  const auto x = backend.allocate_resident(8);
  REQUIRE(a.has_value());
  REQUIRE(x.has_value());
  REQUIRE(backend.upload_resident(*a, table).has_value());
  REQUIRE(backend.upload_resident(*x, bytes_of({1, 2})).has_value());
  CHECK(repeated(backend, program, *a, *x) == bytes_of({59049, 2 * 59049}));
  CHECK(with_static_table(backend, program, table, *x) == bytes_of({3 * 59049, 6 * 59049}));
  const auto pool = backend.allocate_resident(12);
  REQUIRE(pool.has_value());
  REQUIRE(backend.upload_resident(*pool, bytes_of({3, 4, 5})).has_value());
  CHECK(on_parts(backend, program, *pool) == bytes_of({3, 12, 15}));
  CHECK(in_flight(backend, program, table) == bytes_of({9, 12}));
  const std::array<ResidentHandle, 2> resources{*a, *x};
  CHECK(recovering(backend, program, resources).has_value());
  CHECK(contains(traced(backend, program, resources), "\"scale\""));
  CHECK(open_weaker_device().has_value());
}

TEST_CASE("every line of C++ in the guide is one that was compiled") {
  const std::string guide = read_whole(FELSITE_SOURCE_DIR "/docs/vulkan.md");
  const std::string compiled =
      read_whole(FELSITE_SOURCE_DIR "/samples/resident_sequence.cpp") +
      read_whole(FELSITE_SOURCE_DIR "/samples/one_wait.cpp") +
      read_whole(FELSITE_SOURCE_DIR "/tests/tool_device/test_guide_examples.cpp");
  std::istringstream lines(guide);
  bool inside = false;
  int quoted = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line == "```cpp";
      continue;
    }
    if (!inside || trimmed(line).empty()) continue;
    CAPTURE(line);
    CHECK(contains(compiled, trimmed(line)));
    ++quoted;
  }
  CHECK(quoted > 30);
}

TEST_CASE("the guide names every variable of the environment, as its table does") {
  const std::string guide = read_whole(FELSITE_SOURCE_DIR "/docs/vulkan.md");
  for (const EnvironmentVariable& variable : environment_variables()) {
    CAPTURE(variable.name);
    CHECK(contains(guide, "| `" + std::string(variable.name) + "` | "));
  }
}
