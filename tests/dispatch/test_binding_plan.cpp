#include "dispatch/schedule/binding_plan.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::plan_bindings;
using ir::Role;

namespace {

const char* const kText = R"(program p workgroup(4) {
  output first: u64[3];
  readonly a: u16[];
  workgroup t: u32[4];
  readwrite b: f32[];
  writeonly c: i8[7];
  uniform d: u32[2];
  live_out e: u32[5];
  first[0] = u64(a[0]); b[0] = f32(d[0]); c[0] = 1i32; e[0] = t[0];
})";

Result<dispatch::BindingPlan> planned(std::string_view text, std::vector<std::uint64_t> sizes,
                                      const DispatchConfig& config = {}) {
  return plan_bindings(valid_program(text), sizes, config);
}

}  // namespace

TEST_CASE("roles, sizes and positions of every buffer") {
  const auto plan = planned(kText, {6, 16, 8});
  REQUIRE(plan.has_value());
  REQUIRE(plan->buffers.size() == 7);
  CHECK(plan->input_count == 3);
  CHECK(plan->output_count == 4);
  CHECK(plan->output_bytes == 24 + 16 + 7 + 20);
  const Role roles[] = {Role::Output, Role::Input,   Role::Shared, Role::InputOutput,
                        Role::Output, Role::Uniform, Role::Output};
  const std::uint64_t bytes[] = {24, 6, 0, 16, 7, 8, 20};
  const std::uint64_t counts[] = {3, 3, 0, 4, 7, 2, 5};
  const std::uint32_t inputs[] = {ir::kNone, 0, ir::kNone, 1, ir::kNone, 2, ir::kNone};
  const std::uint32_t outputs[] = {0, ir::kNone, ir::kNone, 1, 2, ir::kNone, 3};
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(i);
    CHECK(plan->buffers[i].role == roles[i]);
    if (roles[i] != Role::Shared) {
      CHECK(plan->buffers[i].bytes == bytes[i]);
      CHECK(plan->buffers[i].count == counts[i]);
    }
    CHECK(plan->buffers[i].input == inputs[i]);
    CHECK(plan->buffers[i].output == outputs[i]);
  }
}

TEST_CASE("too few or too many inputs are BadInputs") {
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{}, {6, 16}, {6, 16, 8, 4}, {6, 16, 8, 0}}) {
    const auto plan = planned(kText, sizes);
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::BadInputs);
    CHECK(to_string(plan.error()).find("Fix: ") != std::string::npos);
  }
}

TEST_CASE("a size that is no multiple of the element is BadInputs and names the buffer") {
  const auto plan = planned(kText, {7, 16, 8});
  REQUIRE(!plan.has_value());
  CHECK(plan.error().code == ErrorCode::BadInputs);
  CHECK(plan.error().message.find("`a`") != std::string::npos);
  CHECK(plan.error().message.find("7 bytes") != std::string::npos);
  for (const std::uint64_t size : {17u, 18u, 19u}) {
    const auto other = planned(kText, {6, size, 8});
    REQUIRE(!other.has_value());
    CHECK(other.error().code == ErrorCode::BadInputs);
    CHECK(other.error().message.find("`b`") != std::string::npos);
  }
}

TEST_CASE("a fixed count takes exactly its bytes") {
  CHECK(planned(kText, {6, 16, 8}).has_value());
  for (const std::uint64_t size : {0u, 4u, 12u, 16u}) {
    const auto plan = planned(kText, {6, 16, size});
    REQUIRE(!plan.has_value());
    CHECK(plan.error().code == ErrorCode::BadInputs);
    CHECK(plan.error().message.find("`d`") != std::string::npos);
  }
}

TEST_CASE("runtime-sized buffers may be empty") {
  const auto plan = planned(kText, {0, 0, 8});
  REQUIRE(plan.has_value());
  CHECK(plan->buffers[1].count == 0);
  CHECK(plan->buffers[3].count == 0);
}

TEST_CASE("a buffer of more elements than an index can name is refused") {
  const std::uint64_t many = (std::uint64_t{1} << 32) + 1;
  const auto plan = planned(
      "program p workgroup(1) { readonly x: u8[]; output o: u32[1]; o[0] = x[0]; }", {many});
  REQUIRE(!plan.has_value());
  CHECK(plan.error().code == ErrorCode::BadInputs);
}

TEST_CASE("max_output_bytes bounds the sum of all results") {
  DispatchConfig config;
  config.max_output_bytes = 67;
  CHECK(planned(kText, {6, 16, 8}, config).has_value());
  config.max_output_bytes = 66;
  const auto plan = planned(kText, {6, 16, 8}, config);
  REQUIRE(!plan.has_value());
  CHECK(to_string(plan.error()).find("Fix: ") != std::string::npos);
}

TEST_CASE("the planned grid: explicit, inferred, indirect") {
  const ir::Program program =
      valid_program("program p workgroup(4) { output o: u32[10]; o[0] = 1; }");
  const auto plan = plan_bindings(program, {}, {});
  REQUIRE(plan.has_value());
  const auto inferred = dispatch::plan_grid(program, *plan, {}, std::nullopt);
  REQUIRE(inferred.has_value());
  CHECK(*inferred == Extent3{3, 1, 1});
  const auto explicit_grid = dispatch::plan_grid(program, *plan, on_grid(5, 6, 7), std::nullopt);
  REQUIRE(explicit_grid.has_value());
  CHECK(*explicit_grid == Extent3{5, 6, 7});
}

TEST_CASE("a grid whose invocations do not fit 32 bits on an axis is refused") {
  const ir::Program program =
      valid_program("program p workgroup(64) { output o: u32[10]; o[0] = 1; }");
  const auto plan = plan_bindings(program, {}, {});
  REQUIRE(plan.has_value());
  const auto grid = dispatch::plan_grid(program, *plan, on_grid(0x0400'0001), std::nullopt);
  REQUIRE(!grid.has_value());
  CHECK(to_string(grid.error()).find("Fix: ") != std::string::npos);
}

TEST_CASE("configured changes the workgroup size and nothing else") {
  const ir::Program program =
      valid_program("program p workgroup(4) { output o: u32[10]; o[0] = 1; }");
  DispatchConfig config;
  CHECK(dispatch::configured(program, config).fingerprint() == program.fingerprint());
  config.workgroup_override = {2, 3, 4};
  const ir::Program changed = dispatch::configured(program, config);
  CHECK(changed.workgroup_size() == Extent3{2, 3, 4});
  CHECK(changed.name() == "p");
  CHECK(changed.nodes().size() == program.nodes().size());
}

TEST_CASE("configurations that make no sense are refused") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { readwrite f: u32[1]; readwrite g: f32[1]; output o: u32[10]; o[0] "
      "= f[0]; g[0] = 1.0; }");
  CHECK(dispatch::check_config(program, {}).has_value());
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  CHECK(!dispatch::check_config(program, config).has_value());
  for (const char* flag : {"", "nosuch", "g"}) {
    DispatchConfig flagged;
    flagged.fixpoint_iterations = 3;
    flagged.convergence = {Convergence::Kind::Flag, flag};
    CAPTURE(flag);
    CHECK(!dispatch::check_config(program, flagged).has_value());
  }
  DispatchConfig good;
  good.fixpoint_iterations = 3;
  good.convergence = {Convergence::Kind::Flag, "f"};
  CHECK(dispatch::check_config(program, good).has_value());
}
