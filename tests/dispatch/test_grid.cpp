// The rule for the grid of a dispatch that gives none.
#include <doctest/doctest.h>

#include <random>

#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/grid.h"
#include "felsite/explain.h"
#include "felsite/reference.h"
#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::infer_grid;

namespace {

struct Row {
  std::uint64_t elements;
  Extent3 workgroup;
  Extent3 expected;
};

const Row kRows[] = {
    {0, {64, 1, 1}, {0, 1, 1}},
    {1, {64, 1, 1}, {1, 1, 1}},
    {63, {64, 1, 1}, {1, 1, 1}},
    {64, {64, 1, 1}, {1, 1, 1}},
    {65, {64, 1, 1}, {2, 1, 1}},
    {1000000, {64, 1, 1}, {15625, 1, 1}},
    // The axis that extends takes all, whichever it is.
    {100, {1, 8, 1}, {1, 13, 1}},
    {100, {1, 1, 8}, {1, 1, 13}},
    {0, {1, 8, 1}, {1, 0, 1}},
    // None larger than 1: the first.
    {1, {1, 1, 1}, {1, 1, 1}},
    {7, {1, 1, 1}, {7, 1, 1}},
    {4294967295, {1, 1, 1}, {4294967295, 1, 1}},
    {4294967295, {2, 1, 1}, {2147483648, 1, 1}},
};

// The grid of a program whose inputs have these sizes, or the error.
Result<Extent3> grid_of(const char* text, const std::vector<std::uint64_t>& sizes,
                        const DispatchConfig& config = {}) {
  const ir::Program program = dispatch::configured(valid_program(text), config);
  const auto plan = dispatch::plan_bindings(program, sizes, config);
  REQUIRE(plan.has_value());
  return dispatch::plan_grid(program, *plan, config, std::nullopt);
}

}  // namespace

TEST_CASE("the table of inferred grids") {
  for (const Row& row : kRows) {
    CAPTURE(row.elements);
    const auto grid = infer_grid(row.elements, row.workgroup);
    REQUIRE(grid.has_value());
    CHECK(*grid == row.expected);
  }
}

TEST_CASE("there is no grid to infer where several axes of the workgroup extend") {
  for (const Extent3 workgroup : {Extent3{8, 8, 1}, {4, 1, 4}, {1, 4, 4}, {2, 2, 2}}) {
    for (const std::uint64_t elements : {0u, 1u, 64u, 1000u}) {
      CHECK_FALSE(infer_grid(elements, workgroup).has_value());
    }
  }
}

TEST_CASE("every element has an invocation, and no workgroup is without one") {
  constexpr std::uint64_t kSeed = 0x5EED'0005;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t elements = 1 + (random() >> 32 >> (random() % 32));
    const std::size_t axis = random() % 3;
    Extent3 size{1, 1, 1};
    size[axis] = 2 + static_cast<std::uint32_t>(random() % 1023);
    const auto grid = infer_grid(elements, size);
    CAPTURE(kSeed);
    CAPTURE(i);
    REQUIRE(grid.has_value());
    for (std::size_t other = 0; other < 3; ++other) {
      if (other != axis) CHECK((*grid)[other] == 1);
    }
    const std::uint64_t invocations = std::uint64_t{(*grid)[axis]} * size[axis];
    CHECK(invocations >= elements);
    CHECK(invocations - elements < size[axis]);
  }
}

TEST_CASE("the largest storage buffer of all decides the grid, inputs and outputs alike") {
  // 1000 elements to add up into one: one workgroup would miss most of them.
  const char* const sum =
      "program p workgroup(64) { readonly x: u32[]; output sum: u32[1];"
      " atomic_add(sum[0], x[invocation.x]); }";
  CHECK(must(grid_of(sum, {4000})) == Extent3{16, 1, 1});
  CHECK(must(grid_of(sum, {4})) == Extent3{1, 1, 1});
  CHECK(must(grid_of(sum, {0})) == Extent3{1, 1, 1});
  const char* const grow =
      "program p workgroup(64) { readwrite x: u8[]; output y: u32[200]; readonly z: u64[];"
      " y[invocation.x] = u32(x[invocation.x]) + u32(z[invocation.x]); }";
  CHECK(must(grid_of(grow, {199, 8})) == Extent3{4, 1, 1});
  CHECK(must(grid_of(grow, {640, 8})) == Extent3{10, 1, 1});
  CHECK(must(grid_of(grow, {640, 8 * 641})) == Extent3{11, 1, 1});
}

TEST_CASE("uniform buffers, workgroup memory and the convergence flag do not count") {
  const char* const text =
      "program p workgroup(4) { uniform u: u32[100]; readwrite flag: u32[]; output y: u32[8];"
      " workgroup w: u32[64]; w[0] = 0; y[invocation.x] = u[0]; flag[0] = 1; }";
  CHECK(must(grid_of(text, {400, 200})) == Extent3{13, 1, 1});
  DispatchConfig config;
  config.convergence = {Convergence::Kind::Flag, "flag"};
  CHECK(must(grid_of(text, {400, 200}, config)) == Extent3{2, 1, 1});
}

TEST_CASE("without a storage buffer that counts there is one workgroup") {
  CHECK(must(grid_of("program p workgroup(4) { uniform u: u32[100]; let x = u[0]; }", {400})) ==
        Extent3{1, 1, 1});
  CHECK(must(grid_of("program p workgroup(4) { let x = 1; }", {})) == Extent3{1, 1, 1});
}

TEST_CASE("an empty largest buffer gives an empty grid") {
  CHECK(must(grid_of("program p workgroup(4) { readwrite x: u32[]; x[0] = 1; }", {0})) ==
        Extent3{0, 1, 1});
}

TEST_CASE("a workgroup of several axes asks for a grid, and takes any that is given") {
  const char* const image =
      "program image workgroup(8, 8) { output o: u32[851];"
      " o[invocation.y * 37 + invocation.x] = 1; }";
  const auto none = grid_of(image, {});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == ErrorCode::BadInputs);
  CHECK(none.error().context.program == "image");
  CHECK(none.error().message.find("8, 8, 1") != std::string::npos);
  CHECK(none.error().fix.find("pass a grid") != std::string::npos);
  CHECK(must(grid_of(image, {}, on_grid(5, 3))) == Extent3{5, 3, 1});
}

TEST_CASE(
    "a workgroup size that cannot be is the error that dispatch gives, with or without a grid") {
  const ir::Program program =
      valid_program("program p workgroup(4) { readwrite x: u32[]; x[invocation.x] = 1; }");
  const Bytes bytes(64);
  const std::vector<ByteSpan> inputs{bytes};
  for (const Extent3 size : {Extent3{0, 1, 1}, {1, 0, 1}, {4, 1, 0}, {0, 0, 0}, {~0u, ~0u, ~0u}}) {
    for (DispatchConfig config : {DispatchConfig{}, on_grid(2)}) {
      CAPTURE(size[0]);
      config.workgroup_override = size;
      const auto choice = choose_grid(program, config, {64});
      REQUIRE_FALSE(choice.has_value());
      CHECK(choice.error().code == ErrorCode::InvalidProgram);
      CHECK(choice.error().message.find("F024") != std::string::npos);
      const auto ran = make_reference_backend({})->dispatch_borrowed_timed(program, inputs, config);
      REQUIRE_FALSE(ran.has_value());
      CHECK(choice.error().code == ran.error().code);
      CHECK(choice.error().message == ran.error().message);
    }
  }
}

TEST_CASE(
    "no grid is inferred along an axis that a given workgroup size has and the program ignores") {
  const char* const along_x =
      "program p workgroup(64) { readwrite x: u32[]; x[invocation.x] = 1; }";
  const char* const along_y =
      "program p workgroup(1, 64) { readwrite x: u32[]; x[workgroup_id.y * 64 + local.y] = 1; }";
  const char* const counts = "program p workgroup(64) { readwrite x: u32[]; atomic_add(x[0], 1); }";
  const auto sized = [](Extent3 size) {
    DispatchConfig config;
    config.workgroup_override = size;
    return config;
  };
  CHECK(must(grid_of(along_x, {400}, sized({8, 1, 1}))) == Extent3{13, 1, 1});
  CHECK(must(grid_of(along_x, {400}, sized({1, 1, 1}))) == Extent3{100, 1, 1});
  CHECK(must(grid_of(along_y, {400}, sized({1, 8, 1}))) == Extent3{1, 13, 1});
  CHECK(must(grid_of(counts, {400}, sized({1, 1, 8}))) == Extent3{1, 1, 13});
  for (const Extent3 size : {Extent3{1, 8, 1}, {1, 1, 8}}) {
    const Error error = error_of(grid_of(along_x, {400}, sized(size)));
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.message.find("the program only reads ids along other axes") != std::string::npos);
    CHECK(error.fix == "give a workgroup size along x, or pass a grid.");
    DispatchConfig with_grid = sized(size);
    with_grid.grid_override = {1, 2, 3};
    CHECK(must(grid_of(along_x, {400}, with_grid)) == Extent3{1, 2, 3});
  }
  CHECK(error_of(grid_of(along_y, {400}, sized({8, 1, 1}))).fix ==
        "give a workgroup size along y, or pass a grid.");
}
