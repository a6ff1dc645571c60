// What the reference says of itself, and that it holds.
#include "base/host_memory.h"
#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("a cooperative grid fits if all its workgroups can be kept, and it is not split") {
  const auto backend = make_reference_backend({.memory_limit = 1 << 20});
  const ir::Program program = valid_program(
      "program p workgroup(64) { readwrite x: u32[]; let i = invocation.x; let y = x[i];"
      " gridsync; x[i] = y + x[0]; }");
  const auto fits = [&](const DispatchConfig& config) {
    return must(backend->cooperative_grid_sync_fits(program, config));
  };
  // The same threshold as that of a run.
  const auto runs = [&](std::uint32_t groups) {
    DispatchConfig config = on_grid(groups);
    config.cooperative = true;
    const auto run = backend->dispatch(program, {Bytes(64)}, config);
    if (!run) CHECK(run.error().code == ErrorCode::DeviceOutOfMemory);
    return run.has_value();
  };
  std::uint32_t most = 1;
  std::uint32_t too_many = 1 << 20;
  while (too_many - most > 1) {
    const std::uint32_t groups = most + (too_many - most) / 2;
    (fits(on_grid(groups)) ? most : too_many) = groups;
  }
  CHECK(most > 1);
  CHECK(runs(most));
  CHECK_FALSE(runs(too_many));
  DispatchConfig split = on_grid(1);
  split.grid_sync = GridSync::HostSplit;
  CHECK_FALSE(fits(split));
  split.grid_sync = GridSync::Resident;
  CHECK(code_of(backend->cooperative_grid_sync_fits(program, split)) ==
        ErrorCode::UnsupportedFeature);
}

TEST_CASE("plain dispatches in flight overlap with each other and with the host") {
  const auto backend = must(make_backend("reference"));
  REQUIRE(backend->device_profile().async_compute);
  // Longer than any test.
  const ir::Program endless = valid_program(
      "program endless workgroup(1) { readwrite n: u32[1];"
      " loop i in 0..4294967295 { loop j in 0..4294967295 { n[0] = n[0] + 1; } } }");
  const auto first = must(backend->dispatch_async(endless, {Bytes(4)}, on_grid(1)));
  const auto second = must(backend->dispatch_async(
      valid_program("program one workgroup(1) { output o: u32[1]; o[0] = 1; }"), {}));
  must(second->wait());
  CHECK_FALSE(first->is_ready());
}

TEST_CASE("identity and profile of the reference backend") {
  const auto backend = make_reference_backend();
  CHECK(backend->id() == "reference");
  CHECK(!backend->version().empty());
  CHECK(!backend->device_feature_cache_key().empty());
  CHECK(backend->supported_ops().size() == ir::kExprKindCount + ir::kNodeKindCount);
  const DeviceProfile profile = backend->device_profile();
  CHECK(profile.grid_sync);
  CHECK(profile.f64);
  CHECK(profile.int64);
  CHECK(profile.backend == "reference");
  CHECK(profile.native_int_bits == 64);
  CHECK(profile.mul_high);
  CHECK(profile.traps);
  CHECK(profile.subgroup_ops);
  CHECK(profile.subgroup_shuffle);
  CHECK(profile.async_compute);
  CHECK(profile.indirect_dispatch);
  CHECK(profile.resident_dispatch);
  // Emulated: f32 that is rounded, programs that are prepared again.
  CHECK_FALSE(profile.f16);
  CHECK_FALSE(profile.bf16);
  CHECK(profile.emulations ==
        std::vector<std::string>{"f16 and bf16 are computed in 32 bits and rounded.",
                                 "For another workgroup size a program is prepared again."});
  CHECK_FALSE(profile.specialization_constants);
  CHECK_FALSE(profile.tensor_cores);
  CHECK(profile.timing_quality == TimingQuality::HostClock);
  CHECK(profile.ideal_workgroup_size == Extent3{});
  CHECK(profile.ideal_vector_width == 1);
  CHECK(profile.cache_bytes == base::host_cache_bytes());
  CHECK(profile.memory_bytes == base::default_memory_limit());
  CHECK(profile.subgroup_size == 32);
  const DeviceProfile small =
      make_reference_backend({.threads = 3, .memory_limit = 5000})->device_profile();
  CHECK(small.compute_units == 3);
  CHECK(small.memory_heaps == std::vector<DeviceMemoryHeap>{{5000, true, true}});
  ReferenceOptions narrow;
  narrow.subgroup_width = 8;
  CHECK(make_reference_backend(narrow)->device_profile().subgroup_size == 8);
  CHECK(make_reference_backend(narrow)->device_feature_cache_key() !=
        backend->device_feature_cache_key());
}
