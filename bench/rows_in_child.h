// Rows that need surroundings of their own, measured in a child of the tool.
#pragma once

#include <string>
#include <vector>

#include "harness.h"

namespace felsite::bench {

struct RowInChild {
  std::vector<Measurement> measurements;
  std::vector<std::string> skipped;  // reasons
};

// In the child: measures one row, and writes what there is to say as JSON.
std::string measure_for_parent(const std::string& row, bool quick);
// In the parent: what that said. None where it says something else.
std::optional<RowInChild> read_from_child(const std::string& text);

}  // namespace felsite::bench
