// Rows that need surroundings of their own, measured in a child of the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness.h"

namespace felsite::bench {

struct RowInChild {
  std::vector<Measurement> measurements;
  std::vector<std::string> skipped;  // reasons
};

std::string_view extent_name(Extent extent);
std::optional<Extent> extent_named(std::string_view name);

// In the child: measures one row, and writes what there is to say as JSON.
Result<std::string> measure_for_parent(const std::string& row, Extent extent);
// In the parent: what that said. None where it says something else.
std::optional<RowInChild> read_from_child(const std::string& text);

}  // namespace felsite::bench
