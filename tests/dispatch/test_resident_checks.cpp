#include "dispatch/contract/resident_checks.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::dispatch;
using namespace felsite::test;

namespace {

template <class T>
Error bad(const Result<T>& result) {
  REQUIRE(!result.has_value());
  CHECK(!result.error().message.empty());
  CHECK(result.error().fix.ends_with("."));
  return result.error();
}

void check_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size,
                 std::uint64_t expected) {
  const auto range = resolve_range(offset, length, size);
  REQUIRE(range.has_value());
  CHECK(range->offset == offset);
  CHECK(range->length == expected);
}

const char* const kProgram =
    "program p workgroup(1) { readonly a: u32[] binding(3); output o: u32[2] binding(1);"
    " workgroup t: u32[4]; readwrite b: u16[] binding(0); uniform u: u32[1] binding(2);"
    " t[0] = 1; o[0] = a[0] + u[0]; b[0] = 1u16; }";

}  // namespace

TEST_CASE("ranges inside a buffer are resolved") {
  check_range(0, 10, 10, 10);
  check_range(3, 4, 10, 4);
  check_range(10, 0, 10, 0);
  check_range(0, 0, 0, 0);
  check_range(0, kWholeSize, 10, 10);
  check_range(7, kWholeSize, 10, 3);
  check_range(10, kWholeSize, 10, 0);
  check_range(0, kWholeSize, 0, 0);
  check_range(UINT64_MAX - 1, 1, UINT64_MAX, 1);
}

TEST_CASE("ranges that leave a buffer are refused, also where their end wraps around") {
  for (const auto& [offset, length, size] :
       std::vector<std::array<std::uint64_t, 3>>{{0, 11, 10},
                                                 {10, 1, 10},
                                                 {11, 0, 10},
                                                 {11, kWholeSize, 10},
                                                 {1, UINT64_MAX - 1, 10},
                                                 {UINT64_MAX, 1, 10},
                                                 {UINT64_MAX, kWholeSize, 10},
                                                 {UINT64_MAX - 4, 8, 10},
                                                 {1, 0, 0},
                                                 {2, UINT64_MAX - 1, UINT64_MAX - 1}}) {
    const Error error = bad(resolve_range(offset, length, size));
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.context.requested == length);
    CHECK(error.context.available == (offset <= size ? size - offset : 0));
  }
}

TEST_CASE("fills begin at a word and end at one, or at the end of the buffer") {
  const auto fill = [](std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return resolve_fill({.offset = offset, .length = length}, size);
  };
  CHECK(fill(0, kWholeSize, 7)->length == 7);
  CHECK(fill(4, 3, 7)->length == 3);
  CHECK(fill(4, kWholeSize, 7)->length == 3);
  CHECK(fill(4, 4, 12)->length == 4);
  CHECK(fill(0, 0, 12)->length == 0);
  CHECK(fill(0, kWholeSize, 0)->length == 0);
  CHECK(bad(fill(1, kWholeSize, 7)).code == ErrorCode::BadInputs);
  CHECK(bad(fill(0, 3, 7)).code == ErrorCode::BadInputs);
  CHECK(bad(fill(4, 2, 7)).code == ErrorCode::BadInputs);
  CHECK(bad(fill(2, 4, 12)).code == ErrorCode::BadInputs);
  CHECK(bad(fill(8, kWholeSize, 7)).code == ErrorCode::BadInputs);
  CHECK(bad(fill(UINT64_MAX - 3, 4, 12)).code == ErrorCode::BadInputs);
}

TEST_CASE("resources are in the order of the bindings, without workgroup memory") {
  const ir::Program program = valid_program(kProgram);
  std::vector<std::string> names;
  for (const ir::BufferId id : resource_order(program)) names.push_back(program.buffer(id).name);
  CHECK(names == std::vector<std::string>{"b", "o", "u", "a"});
  CHECK(resource_order(valid_program("program q workgroup(1) { let x = 1; }")).empty());
}

TEST_CASE("sizes of resources become counts of elements") {
  const ir::Program program = valid_program(kProgram);
  const auto plan = plan_resources(program, std::vector<std::uint64_t>{6, 8, 4, 20});
  REQUIRE(plan.has_value());
  CHECK(plan->buffers[*program.find_buffer("a")].count == 5);
  CHECK(plan->buffers[*program.find_buffer("b")].count == 3);
  CHECK(plan->buffers[*program.find_buffer("o")].count == 2);
  CHECK(plan->buffers[*program.find_buffer("t")].bytes == 0);
}

TEST_CASE("wrong numbers and sizes of resources are refused, with the program's name") {
  const ir::Program program = valid_program(kProgram);
  for (const std::vector<std::uint64_t>& sizes : {std::vector<std::uint64_t>{},
                                                  {6, 8, 4},
                                                  {6, 8, 4, 20, 4},
                                                  {5, 8, 4, 20},
                                                  {6, 4, 4, 20},
                                                  {6, 12, 4, 20},
                                                  {6, 8, 8, 20},
                                                  {6, 8, 4, 21},
                                                  {6, 8, 4, std::uint64_t{1} << 60}}) {
    const Error error = bad(plan_resources(program, sizes));
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.context.program == "p");
  }
  CHECK(bad(plan_resources(program, {})).fix == "give these, in this order: b, o, u, a.");
}

TEST_CASE("no byte that a program may change lies in two of its resources") {
  // Bindings 0 and 1 are written, 2 and 3 read; they take 2, 8, 4 and 4 bytes.
  const ir::Program program = valid_program(kProgram);
  const ResidentHandle x{1, 0, 1};
  const ResidentHandle y{1, 1, 1};
  const ResidentHandle z{1, 2, 1};
  const auto check = [&](const std::vector<ResidentResource>& resources) {
    const std::vector<std::uint64_t> sizes(resources.size(), 16);
    const auto ranges = resolve_resources(program, resources, sizes);
    REQUIRE(ranges.has_value());
    return check_aliasing(program, resources, *ranges);
  };
  CHECK(check({{x}, {y}, {z}, {z}}).has_value());
  CHECK(bad(check({{x}, {x}, {y}, {z}})).code == ErrorCode::BadInputs);
  CHECK(bad(check({{x}, {y}, {z}, {x}})).code == ErrorCode::BadInputs);
  CHECK(bad(check({{x}, {y}, {y}, {z}})).code == ErrorCode::BadInputs);
  const ResidentHandle reborn{1, 0, 2};
  CHECK(check({{x}, {reborn}, {z}, {z}}).has_value());

  // Side by side in one buffer, and one byte closer.
  CHECK(check({{x, 0, 4}, {x, 4, 8}, {x, 12, 4}, {x, 12, 4}}).has_value());
  CHECK(bad(check({{x, 0, 6}, {x, 4, 8}, {x, 12, 4}, {x, 12, 4}})).code == ErrorCode::BadInputs);
  CHECK(check({{x, 2, 2}, {x, 4, 8}, {x, 12, 4}, {z}}).has_value());
  CHECK(bad(check({{x, 4, 2}, {x, 4, 8}, {x, 12, 4}, {z}})).code == ErrorCode::BadInputs);
  // What is read alone may overlap.
  CHECK(check({{y}, {x, 0, 8}, {x, 12}, {x, 8}}).has_value());
  // A range that is larger than the declared count ends where the count does.
  CHECK(check({{y}, {x, 0, 16}, {x, 8, 4}, {x, 12}}).has_value());
  // No bytes overlap with nothing.
  CHECK(check({{x, 4, 0}, {x, 0, 8}, {y}, {z}}).has_value());
}

TEST_CASE("ranges of resources become the bytes that the program sees") {
  const ir::Program program = valid_program(kProgram);
  const ResidentHandle x{1, 0, 1};
  const auto resolved = [&](const ResidentResource& b, const ResidentResource& o,
                            const ResidentResource& a) {
    return resolve_resources(program, std::vector<ResidentResource>{b, o, {x, 0, 4}, a},
                             std::vector<std::uint64_t>(4, 32));
  };
  const auto ranges = resolved({x, 30}, {x, 4, 24}, {x, 12, 16});
  REQUIRE(ranges.has_value());
  CHECK((*ranges)[0].offset == 30);
  CHECK((*ranges)[0].length == 2);
  CHECK((*ranges)[1].offset == 4);
  CHECK((*ranges)[1].length == 8);  // as declared
  CHECK((*ranges)[3].length == 16);

  const struct {
    std::string what;
    ResidentResource b, o, a;
  } refused[] = {
      {"past the end", {x, 34, 2}, x, x},
      {"longer than the buffer", {x, 4, 30}, x, x},
      {"the end overflows", {x, 2, UINT64_MAX - 2}, x, x},
      {"the offset overflows", {x, UINT64_MAX - 1}, x, x},
      {"inside an element of two bytes", {x, 1, 2}, x, x},
      {"inside an element of four bytes", x, {x, 2, 8}, x},
      {"not whole elements", {x, 0, 3}, x, x},
      {"one byte too small", x, {x, 0, 7}, x},
      {"too small at the end", x, {x, 28}, x},
  };
  for (const auto& row : refused) {
    CAPTURE(row.what);
    const auto given = resolved(row.b, row.o, row.a);
    std::vector<std::uint64_t> lengths;
    for (const ByteRange& range : given.value_or(std::vector<ByteRange>{})) {
      lengths.push_back(range.length);
    }
    const Error error = given ? bad(plan_resources(program, lengths)) : given.error();
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.context.program == "p");
  }
  CHECK(resolve_resources(program, {}, {}).error().fix == "give these, in this order: b, o, u, a.");
}

TEST_CASE(
    "resident dispatches run at least one iteration, and a cooperative grid where there is one") {
  const ir::Program program = valid_program(kProgram);
  for (const bool grid_sync : {false, true}) {
    DeviceProfile device;
    device.grid_sync = grid_sync;
    DispatchConfig config;
    CHECK(check_resident_config(program, config, device).has_value());
    config.fixpoint_iterations = 1;
    CHECK(check_resident_config(program, config, device).has_value());
    config.fixpoint_iterations = 2;
    CHECK(check_resident_config(program, config, device).has_value());
    config.fixpoint_iterations = 0;
    CHECK(bad(check_resident_config(program, config, device)).code == ErrorCode::BadInputs);
    config = {};
    config.cooperative = true;
    const auto cooperative = check_resident_config(program, config, device);
    CHECK(cooperative.has_value() == grid_sync);
    if (!grid_sync) CHECK(bad(cooperative).code == ErrorCode::UnsupportedFeature);
  }
}

TEST_CASE("a step and a configuration say the same") {
  DispatchConfig config;
  config.grid_override = {1, 2, 3};
  config.workgroup_override = {4, 5, 6};
  config.float_mode = ir::FloatMode::Fast;
  config.max_output_bytes = 7;
  config.label = "label";
  const DispatchConfig back = dispatch::config_of(dispatch::step_of({}, {}, config));
  CHECK(back.grid_override == config.grid_override);
  CHECK(back.workgroup_override == config.workgroup_override);
  CHECK(back.float_mode == config.float_mode);
  CHECK(back.max_output_bytes == config.max_output_bytes);
  CHECK(back.label == config.label);
}

TEST_CASE("fresh bytes for recorded uploads have their number and sizes") {
  const Bytes four(4);
  const Bytes three(3);
  const std::vector<ResidentUpload> recorded{{.bytes = four}, {.bytes = three}};
  CHECK(check_fresh_uploads(recorded, std::vector<ByteSpan>{four, three}).has_value());
  CHECK(check_fresh_uploads({}, {}).has_value());
  for (const std::vector<ByteSpan>& fresh :
       {std::vector<ByteSpan>{}, {four}, {three, four}, {four, three, three}}) {
    CHECK(bad(check_fresh_uploads(recorded, fresh)).code == ErrorCode::BadInputs);
  }
}

TEST_CASE("a device buffer belongs to one kind of backend") {
  const DeviceBuffer buffer{.backend = "vulkan", .bytes = 4, .label = "weights", .resident = {}};
  CHECK(check_device_buffer(buffer, "vulkan").has_value());
  const Error error = bad(check_device_buffer(buffer, "reference"));
  CHECK(error.code == ErrorCode::InvalidHandle);
  CHECK(error.message.find("weights") != std::string::npos);
}
