// Sizes of what is kept across grid barriers: both sides of every limit, and nothing that wraps.
#include "dispatch/cut/spill_slots.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/schedule/byte_sum.h"
#include "felsite/explain.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::size_kept;

namespace {

// One word of each invocation.
const char* const kOneWord = R"(program one workgroup(1) {
  readwrite x: u32[4];
  let v = x[invocation.x];
  x[invocation.x] = v + 1;
  gridsync;
  x[invocation.x] = v + 2;
})";

// Workgroup memory of three bytes, and nothing else.
const char* const kThreeBytes = R"(program three workgroup(1) {
  readwrite x: u32[4];
  workgroup w: u8[3];
  w[0] = u8(x[0]);
  gridsync;
  x[0] = u32(w[0]);
})";

GridSyncPlan plan_of(const char* text, const GridSyncOptions& options = {}) {
  auto plan = plan_grid_sync(valid_program(text), options);
  REQUIRE(plan.has_value());
  return std::move(*plan);
}

Error error_for(const GridSyncPlan& plan, const Extent3& grid, const dispatch::KeptLimits& limits) {
  const auto sizes = size_kept(plan, grid, limits);
  REQUIRE(!sizes.has_value());
  CHECK(!sizes.error().fix.empty());
  CHECK(sizes.error().context.program == plan.program.name());
  return sizes.error();
}

}  // namespace

TEST_CASE("what is kept is counted by lanes, groups and words") {
  const GridSyncPlan plan = plan_of(kOneWord);
  CHECK(kept_bytes(plan, {5, 3, 2}) == 120);
  const auto sizes = size_kept(plan, {5, 3, 2}, {});
  REQUIRE(sizes.has_value());
  CHECK(sizes->total == 120);
  CHECK(sizes->spills == std::vector<std::uint64_t>{120});
  CHECK(kept_bytes(plan, {0, 3, 2}) == 0);
  const GridSyncPlan bytes = plan_of(kThreeBytes);
  const auto rounded = size_kept(bytes, {3, 1, 1}, {});
  REQUIRE(rounded.has_value());
  CHECK(rounded->kept == std::vector<std::vector<std::uint64_t>>{{12}});
  // Ten workgroups, of which a binding holds two bytes each: of three bytes one is left.
  const GridSyncPlan spread = plan_of(kThreeBytes, {.spread = {.group_bytes = 2}});
  CHECK(spread.spread == SpillSpread{.group_bytes = 2});
  CHECK(kept_bytes(spread, {10, 1, 1}) == 32);
  const auto parts = size_kept(spread, {10, 1, 1}, {.binding = 20});
  REQUIRE(parts.has_value());
  CHECK(parts->kept == std::vector<std::vector<std::uint64_t>>{{20, 12}});
  CHECK(plan_of(kThreeBytes, {.spread = {.lane_words = 9, .group_bytes = 3}}).spread ==
        SpillSpread{});
}

TEST_CASE("what 64 bits do not count is absent, and an error where it is needed") {
  const GridSyncPlan plan = plan_of(kOneWord);
  CHECK(kept_bytes(plan, {1u << 31, 1u << 30, 1}) == std::uint64_t{1} << 63);
  for (const Extent3 grid : {Extent3{1u << 31, 1u << 31, 1}, Extent3{1u << 30, 1u << 31, 2},
                             Extent3{UINT32_MAX, UINT32_MAX, UINT32_MAX}}) {
    CHECK(!kept_bytes(plan, grid).has_value());
    const Error error = error_for(plan, grid, {});
    CHECK(error.code == ErrorCode::DeviceOutOfMemory);
    CHECK(error.context.requested == UINT64_MAX);
  }
  // A program that keeps nothing may have any grid.
  const GridSyncPlan nothing =
      plan_of("program n workgroup(1) { readwrite x: u32[1]; x[0] = 1; gridsync; x[0] = 2; }");
  CHECK(kept_bytes(nothing, {UINT32_MAX, UINT32_MAX, UINT32_MAX}) == 0);
  CHECK(size_kept(nothing, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {0, 0}).has_value());
}

TEST_CASE("memory, binding and index each have a limit with two sides") {
  const GridSyncPlan plan = plan_of(kOneWord);
  CHECK(size_kept(plan, {10, 1, 1}, {.memory = 40}).has_value());
  const Error memory = error_for(plan, {10, 1, 1}, {.memory = 39});
  CHECK(memory.code == ErrorCode::DeviceOutOfMemory);
  CHECK(memory.context.requested == 40);
  CHECK(memory.context.available == 39);
  CHECK(memory.message.find("1 word of each invocation") != std::string::npos);

  CHECK(size_kept(plan, {10, 1, 1}, {.binding = 40}).has_value());
  const Error binding = error_for(plan, {10, 1, 1}, {.binding = 39});
  CHECK(binding.code == ErrorCode::UnsupportedFeature);
  CHECK(binding.context.requested == 40);
  CHECK(binding.context.available == 39);

  // The number of the last word is the largest of 32 bits.
  CHECK(size_kept(plan, {UINT32_MAX, 1, 1}, {}).has_value());
  const Error index = error_for(plan, {65536, 65536, 1}, {});
  CHECK(index.code == ErrorCode::UnsupportedFeature);
  CHECK(index.message.find("32 bits") != std::string::npos);
}

TEST_CASE("as much goes into one spill as fits its binding, and at least one word or byte") {
  const ir::Program one = valid_program(kOneWord);
  const auto fit = [&](const Extent3& grid, std::uint64_t binding) {
    return dispatch::spread_that_fits(one, grid, binding);
  };
  CHECK(fit({10, 1, 1}, 400) == SpillSpread{10, 40});
  CHECK(fit({10, 1, 1}, 399) == SpillSpread{9, 39});
  CHECK(fit({10, 1, 1}, 40) == SpillSpread{1, 4});
  CHECK(fit({10, 1, 1}, 39) == SpillSpread{1, 3});
  CHECK(fit({10, 1, 1}, 3) == SpillSpread{1, 1});
  CHECK(fit({1u << 31, 1u << 31, 4}, UINT64_MAX) == SpillSpread{1, 1});
  CHECK(fit({0, 1, 1}, 40) == SpillSpread{});
  const ir::Program many =
      valid_program("program p workgroup(8) { readwrite x: u32[]; x[0] = 1; }");
  CHECK(dispatch::spread_that_fits(many, {10, 1, 1}, 640) == SpillSpread{2, 64});
}

TEST_CASE("a workgroup buffer is kept in parts, but in no more than a kernel could bind") {
  const auto parts_of = [](std::uint32_t count, ir::Type element, std::uint32_t group_bytes) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;
    ir::BufferDecl buffer;
    buffer.element = element;
    buffer.count = count;
    for (const auto& part : dispatch::kept_parts(buffer, {.group_bytes = group_bytes})) {
      parts.emplace_back(part.first, part.count);
    }
    return parts;
  };
  using Parts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  CHECK(parts_of(7, ir::Type::U32, 0) == Parts{{0, 7}});
  CHECK(parts_of(7, ir::Type::U32, 28) == Parts{{0, 7}});
  CHECK(parts_of(7, ir::Type::U32, 27) == Parts{{0, 6}, {6, 1}});
  CHECK(parts_of(7, ir::Type::U64, 16) == Parts{{0, 2}, {2, 2}, {4, 2}, {6, 1}});
  CHECK(parts_of(2, ir::Type::U64, 7) == Parts{{0, 1}, {1, 1}});
  CHECK(parts_of(64, ir::Type::U8, 1).size() == 64);
  CHECK(parts_of(65, ir::Type::U8, 1).size() == 33);
  const Parts most = parts_of(UINT32_MAX, ir::Type::U8, 1);
  CHECK(most.size() == 64);
  CHECK(most.back() == std::pair{63 * (1u << 26), (1u << 26) - 1});
}

TEST_CASE("a sum of bytes that 64 bits do not count has no number") {
  using dispatch::ByteSum;
  const std::uint64_t half = std::uint64_t{1} << 63;
  ByteSum sum(half);
  CHECK(sum.value().bytes == half);
  CHECK(sum.times(1).value().bytes == half);
  CHECK(!sum.times(2).value().bytes.has_value());
  sum += ByteSum(half - 1);
  CHECK(sum.value().bytes == UINT64_MAX);
  sum += ByteSum(1);
  CHECK(!sum.value().bytes.has_value());
  CHECK(!sum.value().formula.empty());
  const ByteSum lanes(8, "invocations", half / 4);
  CHECK(lanes.value().bytes == std::nullopt);
  CHECK(lanes.value().formula == "8·invocations");
  CHECK(ByteSum(8, "invocations", half / 4 - 1).value().bytes == UINT64_MAX - 7);
}

TEST_CASE("explain lists the parts of what is spread, and counts all of it") {
  DeviceProfile device;
  device.max_workgroup_size = {128, 128, 64};
  device.max_workgroup_invocations = 128;
  DispatchConfig config;
  config.grid_override = Extent3{10, 1, 1};
  for (const std::uint64_t binding : {32, 20}) {  // three bytes of ten workgroups, or two
    device.max_storage_buffer_bytes = binding;
    const auto said = explain(valid_program(kThreeBytes), config, {}, device);
    REQUIRE(said.has_value());
    CHECK(said->kept.bytes == 30);
    std::vector<std::pair<std::string, std::uint64_t>> listed;
    for (const ExplainedBuffer& buffer : said->buffers) {
      if (buffer.kind != ExplainedBuffer::Kind::Kept) continue;
      listed.emplace_back(buffer.name, buffer.size.bytes.value_or(0));
    }
    using Listed = std::vector<std::pair<std::string, std::uint64_t>>;
    CHECK((listed ==
           (binding == 32 ? Listed{{"kept w", 30}} : Listed{{"kept w", 20}, {"kept w 2", 10}})));
  }
}

TEST_CASE("an absurd grid is explained by the error that a run gives") {
  DeviceProfile device;
  device.name = "made up";
  device.max_workgroup_size = {128, 128, 64};
  device.max_workgroup_invocations = 128;
  device.max_storage_buffer_bytes = std::uint64_t{1} << 27;
  device.allows_host_grid_sync_split = true;
  const ir::Program program = valid_program(kOneWord);
  for (const Extent3 grid : {Extent3{65536, 65536, 65536}, Extent3{1u << 24, 1u << 24, 1},
                             Extent3{65536, 65536, 1}, Extent3{(1u << 25) + 1, 1, 1}}) {
    for (const GridSync form : {GridSync::Automatic, GridSync::HostSplit, GridSync::Resident}) {
      DispatchConfig config;
      config.grid_override = grid;
      config.grid_sync = form;
      const auto explanation = explain(program, config, {}, device);
      REQUIRE(!explanation.has_value());
      CHECK(explanation.error().message.find("Felsite needs") != std::string::npos);
    }
  }
  DispatchConfig config;
  config.grid_override = Extent3{1u << 25, 1, 1};
  CHECK(explain(program, config, {}, device).has_value());
}
