#include <algorithm>

#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("a backend says what it is") {
  CHECK(tested().id() == tested_choice().backend);
  CHECK(!tested().version().empty());
  CHECK(!tested().device_feature_cache_key().empty());
  CHECK(tested().device_feature_cache_key() == tested().device_feature_cache_key());
}

TEST_CASE("it is among the backends that can be had by name") {
  const std::vector<std::string> ids = backend_ids();
  CHECK(std::ranges::count(ids, tested_choice().backend) == 1);
  CHECK(must(make_backend(tested_choice().backend))->id() == tested_choice().backend);
  CHECK(code_of(make_backend("no such backend")) == ErrorCode::UnsupportedFeature);
}

TEST_CASE("a backend registers by name while the process runs, once, and with all it takes") {
  const auto make = [] { return make_backend("reference"); };
  must(register_backend("another name for the reference", make));
  CHECK(must(make_backend("another name for the reference"))->id() == "reference");
  CHECK(std::ranges::count(backend_ids(), "another name for the reference") == 1);
  CHECK(code_of(register_backend("another name for the reference", make)) == ErrorCode::BadInputs);
  CHECK(code_of(register_backend("vulkan", make)) == ErrorCode::BadInputs);
  CHECK(code_of(register_backend("", make)) == ErrorCode::BadInputs);
  CHECK(code_of(register_backend("no maker", nullptr)) == ErrorCode::BadInputs);
  CHECK(code_of(make_backend("no maker")) == ErrorCode::UnsupportedFeature);
}

TEST_CASE("it runs at least everything that one kernel can hold") {
  const std::vector<std::string> ops = tested().supported_ops();
  for (std::size_t i = 0; i < ir::kExprKindCount; ++i) {
    const ir::ExprKindInfo& row = info(static_cast<ir::ExprKind>(i));
    CHECK_MESSAGE(std::ranges::count(ops, row.name) == 1, row.name);
  }
  for (std::size_t i = 0; i < ir::kNodeKindCount; ++i) {
    const ir::NodeKindInfo& row = info(static_cast<ir::NodeKind>(i));
    if (row.orders != ir::Orders::Grid)
      CHECK_MESSAGE(std::ranges::count(ops, row.name) == 1, row.name);
  }
}

TEST_CASE("the profile holds what Vulkan promises of every device") {
  const DeviceProfile profile = tested().device_profile();
  CHECK(!profile.name.empty());
  CHECK(profile.backend == tested().id());
  CHECK(profile.traps);
  CHECK((profile.native_int_bits == 32 || profile.native_int_bits == 64));
  CHECK(profile.int64 == (profile.native_int_bits == 64));
  CHECK(profile.ideal_vector_width >= 1);
  CHECK(profile.compute_units >= 1);
  REQUIRE(!profile.memory_heaps.empty());
  CHECK(std::ranges::max(profile.memory_heaps, {}, &DeviceMemoryHeap::bytes).bytes ==
        profile.memory_bytes);
  if (!profile.subgroup_ops) CHECK(!profile.subgroup_shuffle);
  CHECK(profile.resident_dispatch);
  CHECK(profile.subgroup_size >= 1);
  CHECK(profile.max_workgroup_invocations >= 128);
  CHECK(profile.shared_memory_bytes >= 16384);
  CHECK(profile.max_storage_buffer_bytes >= (std::uint64_t{1} << 27));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    CHECK(profile.max_workgroup_count[axis] >= 65535);
    CHECK(profile.max_workgroup_size[axis] >= 64);
  }
  CHECK(profile.grid_sync == (tested_choice().backend == "reference"));
}

TEST_CASE("a cooperative grid fits exactly where such a dispatch runs") {
  for (const char* text :
       {"program p workgroup(1) { readwrite x: u32[1]; let y = x[0]; gridsync; x[0] = y + 1; }",
        "program p workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }"}) {
    const ir::Program program = valid_program(text);
    for (const bool has_grid : {false, true}) {
      DispatchConfig config;
      if (has_grid) config = on_grid(1);
      CHECK(must(tested().cooperative_grid_sync_fits(program, config)) == has_grid_barriers());
      config.cooperative = true;
      const auto run = tested().dispatch(program, {bytes_of(Words{41})}, config);
      CHECK(run.has_value() == has_grid_barriers());
    }
  }
}

TEST_CASE("asked whether it fits, a dispatch that would be refused is refused alike") {
  const auto check = [](const ir::Program& program, const DispatchConfig& config) {
    const Error error = error_of(tested().cooperative_grid_sync_fits(program, config));
    const Error of_run = error_of(tested().dispatch(program, {bytes_of(Words{1})}, config));
    CHECK(error.code == of_run.code);
    CHECK(error.message == of_run.message);
    CHECK(error.context.device == tested().device_profile().name);
  };
  check(ir::Program(), {});
  const ir::Program program = valid_program(kGrow);
  check(program, {.workgroup_override = Extent3{0, 1, 1}});
  check(program, {.fixpoint_iterations = 0});
  check(program, {.convergence = {.kind = Convergence::Kind::Flag, .flag = "nosuch"}});
  auto closed = make_tested();
  must(closed->shutdown());
  CHECK(code_of(closed->cooperative_grid_sync_fits(program)) == ErrorCode::DispatchFailed);
}

TEST_CASE("a device that is there is not lost, and has nothing to recover from") {
  CHECK(!tested().device_lost());
  must(tested().try_recover());
  CHECK(!tested().device_lost());
  CHECK(words_of(must(tested().dispatch(valid_program(kGrow), {bytes_of(Words{1, 2})}))[0]) ==
        Words{3, 5});
}

TEST_CASE("ready programs are counted") {
  const ir::Program program =
      valid_program("program only_here workgroup(1) { output o: u32[1]; o[0] = 4711; }");
  const PipelineCacheSnapshot before = tested().pipeline_cache_snapshot();
  must(tested().prepare(program));
  const PipelineCacheSnapshot between = tested().pipeline_cache_snapshot();
  CHECK(between.misses > before.misses);
  CHECK(between.entries > 0);
  const Telemetry again =
      counted([&] { CHECK(words_of(must(tested().dispatch(program, {}))[0]) == Words{4711}); });
  CHECK(again[Counter::PipelinesCompiled] == 0);
  CHECK(again[Counter::PipelinesCached] > 0);
  const PipelineCacheSnapshot after = tested().pipeline_cache_snapshot();
  CHECK(after.misses == between.misses);
  CHECK(after.hits > between.hits);
}

TEST_CASE("the metrics show what the caches keep") {
  const auto backend = make_tested();
  const MetricSnapshot before = backend->metric_snapshot();
  CHECK(before.pipelines_kept == 0);
  CHECK(before.pipeline_bytes == 0);
  CHECK(before.validated_programs == 0);
  CHECK(before.validated_bytes == 0);
  DispatchConfig config;
  config.workgroup_override = {2, 1, 1};  // a program that nobody has validated yet
  for (int i = 0; i < 2; ++i) {
    must(backend->dispatch(valid_program(kGrow), {bytes_of(Words{1, 2})}, config));
  }
  const MetricSnapshot after = backend->metric_snapshot();
  const PipelineCacheSnapshot cache = backend->pipeline_cache_snapshot();
  CHECK(after.pipelines_kept == 1);
  CHECK(after.pipeline_bytes > 0);
  CHECK(after.pipelines_kept == cache.entries);
  CHECK(after.pipeline_bytes == cache.bytes);
  CHECK(after.pipeline_driver_bytes == cache.driver_bytes);
  CHECK(after.pipeline_disk_bytes == cache.disk_bytes);
  CHECK(after.pipeline_misses == 1);
  CHECK(after.pipeline_misses == cache.misses);
  CHECK(after.pipeline_hits == cache.hits);
  CHECK(after.pipeline_evictions == 0);
  CHECK(after.validated_programs == 1);
  CHECK(after.validated_bytes > 0);
  must(backend->shutdown());
  CHECK(backend->metric_snapshot().pipeline_bytes == 0);
  CHECK(backend->metric_snapshot().validated_bytes == 0);
}
