// The one rule for the grid that nobody named.
#include <doctest/doctest.h>

#include <random>

#include "dispatch/grid.h"

using felsite::dispatch::infer_grid;
using Grid = std::array<std::uint32_t, 3>;

namespace {

struct Row {
  std::uint64_t elements;
  Grid workgroup;
  Grid expected;
};

const Row kRows[] = {
    // One axis: it takes all.
    {0, {64, 1, 1}, {0, 1, 1}},
    {1, {64, 1, 1}, {1, 1, 1}},
    {64, {64, 1, 1}, {1, 1, 1}},
    {65, {64, 1, 1}, {2, 1, 1}},
    {1000000, {64, 1, 1}, {15625, 1, 1}},
    {100, {1, 8, 1}, {1, 13, 1}},
    {100, {1, 1, 8}, {1, 1, 13}},
    // None larger than 1: the first.
    {1, {1, 1, 1}, {1, 1, 1}},
    {7, {1, 1, 1}, {7, 1, 1}},
    {4294967295, {1, 1, 1}, {4294967295, 1, 1}},
    // Two axes: the first gets the root, rounded up, the second the rest.
    {64, {8, 8, 1}, {1, 1, 1}},
    {65, {8, 8, 1}, {2, 1, 1}},
    {256, {8, 8, 1}, {2, 2, 1}},
    {64 * 5, {8, 8, 1}, {3, 2, 1}},
    {64 * 10, {8, 8, 1}, {4, 3, 1}},
    {64 * 100, {8, 8, 1}, {10, 10, 1}},
    {16 * 9, {4, 1, 4}, {3, 1, 3}},
    {16 * 9, {1, 4, 4}, {1, 3, 3}},
    // Three axes.
    {64 * 8, {4, 4, 4}, {2, 2, 2}},
    {64 * 9, {4, 4, 4}, {3, 2, 2}},
    {64 * 27, {4, 4, 4}, {3, 3, 3}},
    {64 * 1000, {4, 4, 4}, {10, 10, 10}},
};

}  // namespace

TEST_CASE("the table of inferred grids") {
  for (const Row& row : kRows) {
    if (row.elements == 0) continue;
    CAPTURE(row.elements);
    const Grid grid = infer_grid(row.elements, row.workgroup);
    CHECK(grid[0] == row.expected[0]);
    CHECK(grid[1] == row.expected[1]);
    CHECK(grid[2] == row.expected[2]);
  }
}

TEST_CASE("every element has an invocation, and only axes that extend are used") {
  constexpr std::uint64_t kSeed = 0x5EED'0005;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t elements = 1 + (random() >> 32 >> (random() % 32));
    Grid size{};
    for (std::uint32_t& extent : size)
      extent = random() % 3 == 0 ? 1 : 1 + static_cast<std::uint32_t>(random() % 16);
    const Grid grid = infer_grid(elements, size);
    CAPTURE(kSeed);
    CAPTURE(i);
    const std::uint64_t each = std::uint64_t{size[0]} * size[1] * size[2];
    const std::uint64_t needed = (elements + each - 1) / each;
    const std::uint64_t groups = std::uint64_t{grid[0]} * grid[1] * grid[2];
    CHECK(groups >= needed);
    const bool none = each == 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CHECK(grid[axis] >= 1);
      if (size[axis] == 1 && !(none && axis == 0)) CHECK(grid[axis] == 1);
    }
    // No axis could do with one less.
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (grid[axis] > 1 && axis == 2) CHECK(groups / grid[axis] * (grid[axis] - 1) < needed);
    }
  }
}

TEST_CASE("perfect squares and cubes are hit exactly, and one more than them is not missed") {
  for (std::uint64_t side = 1; side < 1500; ++side) {
    const auto root = static_cast<std::uint32_t>(side);
    CHECK(infer_grid(side * side * 4, {2, 2, 1}) == Grid{root, root, 1});
    CHECK(infer_grid(side * side * 4 + 1, {2, 2, 1})[0] == root + 1);
    CHECK(infer_grid(side * side * side * 8, {2, 2, 2}) == Grid{root, root, root});
    CHECK(infer_grid(side * side * side * 8 + 1, {2, 2, 2})[0] == root + 1);
  }
}
