#include "dispatch/grid.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace felsite::dispatch {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t result = 1;
  for (std::size_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// The smallest whole number whose `degree`-th power is at least `value`.
std::uint64_t root_up(std::uint64_t value, std::size_t degree) {
  if (degree == 1) return value;
  auto root =
      static_cast<std::uint64_t>(std::pow(static_cast<double>(value), 1.0 / double(degree)));
  while (root > 0 && power(root - 1, degree) >= value) --root;
  while (power(root, degree) < value) ++root;
  return root;
}

}  // namespace

std::array<std::uint32_t, 3> infer_grid(std::uint64_t elements,
                                        std::array<std::uint32_t, 3> workgroup_size) {
  std::vector<std::size_t> axes;
  std::uint64_t invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (workgroup_size[axis] > 1) axes.push_back(axis);
    invocations *= workgroup_size[axis];
  }
  if (axes.empty()) axes.push_back(0);
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::uint64_t left = divide_up(elements, invocations);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::uint64_t extent = root_up(left, axes.size() - i);
    // More than that have ids of more than 32 bits, which plan_grid refuses.
    grid[axes[i]] = static_cast<std::uint32_t>(std::min<std::uint64_t>(extent, UINT32_MAX));
    left = extent == 0 ? 0 : divide_up(left, extent);
  }
  return grid;
}

}  // namespace felsite::dispatch
