// What the reference backend does with its memory; the conformance suite has the calls.
#include <chrono>

#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("resident buffers take from the limit, and give it back") {
  const auto backend = reference_with_memory(1000);
  const auto first = backend->allocate_resident(600);
  REQUIRE(first.has_value());
  const auto second = backend->allocate_resident(401);
  REQUIRE(!second.has_value());
  CHECK(second.error().code == ErrorCode::DeviceOutOfMemory);
  CHECK(second.error().context.requested == 401);
  CHECK(second.error().context.available == 400);
  CHECK(second.error().context.device == "reference interpreter");
  const auto whole = backend->allocate_resident(400);
  REQUIRE(whole.has_value());
  CHECK(!backend->allocate_resident(1).has_value());
  CHECK(backend->allocate_resident(0).has_value());
  REQUIRE(backend->free_resident(*first).has_value());
  CHECK(backend->metric_snapshot().device_bytes == 400);
  CHECK(backend->allocate_resident(600).has_value());
}

TEST_CASE("a group that does not fit is refused as a whole") {
  const auto backend = reference_with_memory(1000);
  const std::vector<std::uint64_t> sizes{300, 300, 300, 300};
  const auto group = backend->allocate_resident_many(sizes);
  REQUIRE(!group.has_value());
  CHECK(group.error().context.requested == 1200);
  CHECK(group.error().context.available == 1000);
  CHECK(backend->metric_snapshot().device_bytes == 0);
  CHECK(backend->metric_snapshot().allocations == 0);
  const std::vector<std::uint64_t> overflowing{UINT64_MAX, 2, UINT64_MAX};
  const auto huge = backend->allocate_resident_many(overflowing);
  REQUIRE(!huge.has_value());
  CHECK(huge.error().context.requested == UINT64_MAX);
}

TEST_CASE("no limit is no crash") {
  const auto backend = reference_with_memory(UINT64_MAX);
  for (const std::uint64_t size : {UINT64_MAX, UINT64_MAX / 2 + 1}) {
    const auto result = backend->allocate_resident(size);
    REQUIRE(!result.has_value());
    CHECK(result.error().code == ErrorCode::DeviceOutOfMemory);
  }
}

TEST_CASE("accesses past the end are counted in resident steps too") {
  const auto backend = make_reference_backend();
  const ResidentHandle y = *backend->allocate_resident(8);
  const std::vector<ResidentHandle> resources{y};
  const ir::Program program =
      valid_program("program p workgroup(1) { readwrite y: u32[]; y[2] = y[3]; }");
  REQUIRE(backend->dispatch_resident(program, resources, on_grid(1)).has_value());
  CHECK(backend->out_of_bounds().loads == 1);
  CHECK(backend->out_of_bounds().stores == 1);
}

TEST_CASE("options of the reference that are none are refused in every form") {
  ReferenceOptions too_wide;
  too_wide.subgroup_width = 65;
  ReferenceOptions no_order;
  no_order.order = static_cast<WorkgroupOrder>(77);
  for (const ReferenceOptions& options : {too_wide, no_order}) {
    const auto backend = make_reference_backend(options);
    const ir::Program program =
        valid_program("program p workgroup(1) { readwrite y: u32[]; y[0] = subgroup_size; }");
    const ResidentHandle y = *backend->allocate_resident(4);
    const ResidentStep step{.program = program, .resources = {y}};
    std::vector<Bytes> outputs;
    CHECK(!backend->dispatch(program, {Bytes(4)}).has_value());
    CHECK(!backend->compile(program).has_value());
    CHECK(!backend->dispatch_async(program, {Bytes(4)}).has_value());
    CHECK(!backend->record_resident({.prefix = {&step, 1}}).has_value());
    const auto submitted = backend->submit_resident({.prefix = {&step, 1}}, outputs);
    REQUIRE(!submitted.has_value());
    CHECK(submitted.error().code == ErrorCode::BadInputs);
    CHECK_FALSE(submitted.error().fix.empty());
  }
}

TEST_CASE("a submission that does not end is stopped by its timeout, and names the step") {
  const auto backend = make_reference_backend();
  const ResidentHandle y = *backend->allocate_resident(4);
  REQUIRE(backend->fill_resident(y, std::byte{0}).has_value());
  const std::vector<ResidentStep> steps{
      {.program = valid_program("program quick workgroup(1) { readwrite y: u32[]; y[0] = 1; }"),
       .resources = {y}},
      {.program = valid_program("program slow workgroup(64) { readwrite y: u32[]; loop i in "
                                "0..4294967295 { loop j in 0..4294967295 { y[0] = i; } } }"),
       .resources = {y}}};
  std::vector<Bytes> outputs;
  const auto result = backend->submit_resident({.prefix = steps}, outputs,
                                               {.timeout = std::chrono::milliseconds(50)});
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::Timeout);
  CHECK(result.error().context.step == 1);
  CHECK(result.error().context.program == "slow");
  // Many short iterations end as well.
  const auto iterations =
      backend->submit_resident({.repeated = {&steps[0], 1}, .count = UINT32_MAX}, outputs,
                               {.timeout = std::chrono::milliseconds(50)});
  REQUIRE(!iterations.has_value());
  CHECK(iterations.error().code == ErrorCode::Timeout);
}
