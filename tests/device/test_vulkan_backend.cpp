// The Vulkan backend keeps the contract of backends: results and errors are the reference's.
#include <algorithm>
#include <atomic>
#include <thread>

#include "felsite/vulkan.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

const char* const kSaxpy =
    "program saxpy workgroup(8) { uniform a: u32[1]; readonly x: u32[]; readwrite y: u32[];"
    " let i = invocation.x; if i < len(y) { y[i] = a[0] * x[i] + y[i]; } }";
const char* const kGroups = "program p workgroup(1) { output o: u32[3]; o[0] = num_workgroups.x; }";

std::unique_ptr<Backend> make(const VulkanOptions& options = {}) {
  auto backend = make_vulkan_backend(options);
  if (!backend) throw std::runtime_error(to_string(backend.error()));
  return *std::move(backend);
}

// One for all tests that do not care: opening a device takes a while.
Backend& shared_backend() {
  static const std::unique_ptr<Backend> backend = make();
  return *backend;
}

std::vector<Bytes> saxpy_inputs(std::uint32_t factor = 2) {
  return {bytes_of(Words{factor}), bytes_of(counting(5)), bytes_of(counting(5, 100))};
}

void check_as_reference(std::string_view text, const std::vector<Bytes>& inputs,
                        const DispatchConfig& config = {}) {
  INFO(text);
  const ir::Program program = valid_program(text);
  const auto expected = make_reference_backend()->dispatch(program, inputs, config);
  const auto found = shared_backend().dispatch(program, inputs, config);
  REQUIRE(expected.has_value() == found.has_value());
  if (expected) {
    CHECK(*expected == *found);
  } else {
    CHECK(expected.error().code == found.error().code);
    CHECK(expected.error().message == found.error().message);
    CHECK(expected.error().fix == found.error().fix);
    CHECK(found.error().context.program == program.name());
    CHECK(!found.error().context.device.empty());
  }
}

Error error_of(const char* text, const DispatchConfig& config = {}) {
  const auto result = shared_backend().dispatch(valid_program(text), {}, config);
  REQUIRE(!result.has_value());
  CHECK(!result.error().fix.empty());
  return result.error();
}

}  // namespace

TEST_CASE("it runs a program, again and with another workgroup size") {
  check_as_reference(kSaxpy, saxpy_inputs());
  check_as_reference(kSaxpy, saxpy_inputs(7));
  DispatchConfig config;
  for (const Extent3 size : {std::array{1u, 1u, 1u}, std::array{4u, 1u, 1u}}) {
    config.workgroup_override = size;
    check_as_reference(kSaxpy, saxpy_inputs(), config);
  }
  check_as_reference(kSaxpy, saxpy_inputs(), on_grid(0));
}

TEST_CASE("the same bad input gives the same error as on the reference") {
  check_as_reference(kSaxpy, {});
  check_as_reference(kSaxpy, {Bytes(4), Bytes(3), Bytes(4)});
  check_as_reference(kSaxpy, {Bytes(8), Bytes(4), Bytes(4)});
  check_as_reference(kSaxpy, saxpy_inputs(), on_grid(4294967295));
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  check_as_reference(kSaxpy, saxpy_inputs(), config);
  config = {};
  config.convergence = {Convergence::Kind::Flag, "x"};
  check_as_reference(kSaxpy, saxpy_inputs(), config);
  config = {};
  config.max_output_bytes = 3;
  check_as_reference(kSaxpy, saxpy_inputs(), config);
  config = {};
  config.workgroup_override = {0, 1, 1};
  check_as_reference(kSaxpy, saxpy_inputs(), config);
  // Also where the backend could not run the program at all.
  check_as_reference(
      "program p workgroup(1) { readwrite x: u32[]; x[0] = 1; gridsync; x[1] = x[0]; }", {});
}

TEST_CASE("an input that lies in an output slot is refused") {
  std::vector<Bytes> slots{Bytes(64)};
  const Bytes factor(4);
  const std::vector<ByteSpan> inputs{factor, ByteSpan(slots[0]).first(8), ByteSpan(factor)};
  const auto done = shared_backend().dispatch_borrowed_into(valid_program(kSaxpy), inputs, slots);
  REQUIRE(!done.has_value());
  CHECK(done.error().code == ErrorCode::BadInputs);
}

TEST_CASE("slots are reused: the same allocations, whatever they held") {
  const ir::Program program = valid_program(kSaxpy);
  const std::vector<Bytes> inputs = saxpy_inputs();
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  std::vector<Bytes> slots{Bytes(500, std::byte{0xFF}), Bytes(1)};
  const std::byte* const memory = slots[0].data();
  REQUIRE(shared_backend().dispatch_borrowed_into(program, spans, slots).has_value());
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].data() == memory);
  CHECK(words_of(slots[0]) == Words{100, 103, 106, 109, 112});
}

TEST_CASE("an indirect grid is read from the input") {
  const char* const text =
      "program p workgroup(1) { readonly g: u32[]; output o: u32[4]; indirect_dispatch(g[1]);"
      " atomic_add(o[0], 1); o[1] = num_workgroups.x; o[2] = num_workgroups.y; o[3] = "
      "num_workgroups.z; }";
  check_as_reference(text, {bytes_of(Words{9, 2, 3, 2})});
  check_as_reference(text, {bytes_of(Words{9, 2, 3})});
  check_as_reference(text, {bytes_of(Words{})});
  check_as_reference(text, {bytes_of(Words{9, 2, 3, 2})}, on_grid(1));
}

TEST_CASE("a flag is zero before the only iteration, and says whether it converged") {
  const ir::Program program = valid_program(
      "program p workgroup(1) { readwrite f: u32[2]; readonly set: u32[1]; output o: u32[1];"
      " o[0] = f[0]; if set[0] != 0 { f[1] = 1; } }");
  DispatchConfig config;
  config.convergence = {Convergence::Kind::Flag, "f"};
  for (const std::uint32_t set : {0u, 1u}) {
    const Bytes flag = bytes_of(Words{5, 5});
    const Bytes value = bytes_of(Words{set});
    const std::vector<ByteSpan> inputs{flag, value};
    const auto expected =
        make_reference_backend()->dispatch_borrowed_timed(program, inputs, config);
    const auto found = shared_backend().dispatch_borrowed_timed(program, inputs, config);
    REQUIRE(expected.has_value());
    REQUIRE(found.has_value());
    CHECK(expected->outputs == found->outputs);
    CHECK(expected->timing.converged == found->timing.converged);
    CHECK(found->timing.iterations_run == 1);
  }
}

TEST_CASE("what Vulkan lacks is refused, with a way out") {
  DispatchConfig config;
  config.cooperative = true;
  CHECK(error_of(kGroups, config).code == ErrorCode::UnsupportedFeature);
  config = {};
  config.fixpoint_iterations = 1;
  check_as_reference(kGroups, {}, config);
}

TEST_CASE("traps and timeouts are errors, and leave the backend usable") {
  const Error trap = error_of("program p workgroup(1) { output o: u32[1]; trap(7, broken); }");
  CHECK(trap.code == ErrorCode::Trapped);
  REQUIRE(trap.context.trap.has_value());
  CHECK(trap.context.trap->tag == "broken");
  CHECK(trap.context.trap->address == 7);
  DispatchConfig config;
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns}) {
    config.timeout = timeout;
    CHECK(error_of(kGroups, config).code == ErrorCode::Timeout);
  }
  config.timeout = std::chrono::nanoseconds::max();
  check_as_reference(kGroups, {}, config);
}

TEST_CASE("results that no memory holds are refused before anything is allocated") {
  CHECK(error_of("program p workgroup(1) { output a: u64[4294967295]; output b: u64[4294967295];"
                 " output c: u64[4294967295]; output d: u64[4294967295]; a[0] = 1u64; }",
                 on_grid(1))
            .code == ErrorCode::DeviceOutOfMemory);
}

TEST_CASE("identity and profile") {
  Backend& backend = shared_backend();
  CHECK(backend.id() == "vulkan");
  const DeviceProfile profile = backend.device_profile();
  CHECK(!profile.name.empty());
  CHECK(profile.subgroup_size >= 1);
  CHECK(profile.max_workgroup_invocations >= 128);
  CHECK(profile.max_storage_buffer_bytes >= std::uint64_t{1} << 27);
  CHECK(!profile.grid_sync);
  CHECK(!profile.collectives);
  CHECK(profile.backend == "vulkan");
  const auto ops = backend.supported_ops();
  const auto has = [&](std::string_view name) { return std::ranges::find(ops, name) != ops.end(); };
  CHECK(has(info(ir::ExprKind::Atomic).name));
  // With one rank. Several ranks need a separate component, which `collectives` would report.
  CHECK(has(info(ir::NodeKind::AllReduce).name));
}

TEST_CASE("a cooperative grid never fits: Vulkan has no barrier of the whole grid") {
  const char* const barrier =
      "program p workgroup(1) { readwrite x: u32[1]; let y = x[0]; gridsync; x[0] = y + 1; }";
  for (const char* text : {barrier, kGroups}) {
    const ir::Program program = valid_program(text);
    for (const DispatchConfig& config : {DispatchConfig{}, on_grid(1)}) {
      const auto fits = shared_backend().cooperative_grid_sync_fits(program, config);
      REQUIRE(fits.has_value());
      CHECK_FALSE(*fits);
    }
  }
}

TEST_CASE("dispatches on a device that does not promise it run one after the other") {
  Backend& backend = shared_backend();
  if (backend.device_profile().async_compute) return;
  // One workgroup, which leaves other cores free.
  const ir::Program program = valid_program(
      "program p workgroup(8) { readwrite x: u32[]; let i = invocation.x;"
      " loop j in 0..60 { loop k in 0..1000 { x[i] = x[i] * 3 + k; } } }");
  const std::vector<Bytes> inputs{bytes_of(counting(8))};
  const auto shortest = [&](int in_flight) {
    std::chrono::nanoseconds least = std::chrono::hours(1);
    for (int round = 0; round < 9; ++round) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<std::unique_ptr<PendingDispatch>> pending;
      for (int i = 0; i < in_flight; ++i) {
        auto started = backend.dispatch_async(program, inputs, on_grid(1));
        REQUIRE(started.has_value());
        pending.push_back(*std::move(started));
      }
      for (const auto& one : pending) REQUIRE(one->wait().has_value());
      least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - start);
    }
    return least;
  };
  REQUIRE(backend.prepare(program, on_grid(1)).has_value());
  const auto one = shortest(1);
  CHECK(shortest(4).count() > 3 * one.count());
}

TEST_CASE("the mask narrows the device, and no plan of one is replayed on the other") {
  const auto narrow = make({.mask = "none"});
  CHECK(!narrow->device_profile().int64);
  CHECK(!narrow->device_profile().subgroup_ops);
  CHECK(narrow->device_feature_cache_key() != shared_backend().device_feature_cache_key());
  const auto found = narrow->dispatch(valid_program(kSaxpy), saxpy_inputs());
  REQUIRE(found.has_value());
  CHECK(words_of((*found)[0]) == Words{100, 103, 106, 109, 112});
  const auto mask = vulkan_capabilities({.mask = "none,spirv=1.3"});
  REQUIRE(mask.has_value());
  CHECK(mask->features.none());
  CHECK(mask->spirv_version == 0x0001'0300);
}

TEST_CASE("a mask or a device that cannot be had is an error") {
  const auto refused = [](const VulkanOptions& options) {
    const auto backend = make_vulkan_backend(options);
    REQUIRE(!backend.has_value());
    CHECK(!backend.error().fix.empty());
    return backend.error().code;
  };
  const std::uint32_t width = shared_backend().device_profile().subgroup_size;
  CHECK(refused({.mask = "subgroup_ballot,subgroup=" + std::to_string(width * 2)}) ==
        ErrorCode::UnsupportedFeature);
  CHECK(refused({.mask = "bogus"}) == ErrorCode::BadInputs);
  CHECK(refused({.device = "no such device"}) == ErrorCode::UnsupportedFeature);
  CHECK(refused({.device = "4711"}) == ErrorCode::UnsupportedFeature);
  const std::string name = shared_backend().device_profile().name;
  CHECK(make({.device = "0"})->device_profile().name == name);
  CHECK(make({.device = name.substr(1, 4)})->device_profile().name == name);
}

TEST_CASE("eight threads share one backend") {
  const ir::Program program = valid_program(kSaxpy);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      DispatchConfig config;
      config.workgroup_override = {1 + t % 3, 1, 1};
      for (int i = 0; i < 5; ++i) {
        const auto outputs = shared_backend().dispatch(program, saxpy_inputs(t), config);
        std::uint32_t last = 0;
        if (outputs) std::memcpy(&last, (*outputs)[0].data() + 16, 4);
        if (last != t * 4 + 104) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
