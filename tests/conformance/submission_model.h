// Resident submissions on the host, in plain C++: what the contract says they do, step by step.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "felsite/dispatch.h"

namespace felsite::test {

// A step program and what it does. The first resources are only read, the last `changed` ones are
// changed; `elements` is what sizes must be a multiple of.
struct ModelProgram {
  const char* text;
  std::size_t resources;
  std::size_t changed;
  std::size_t elements;
  enum class Grid : std::uint8_t { Inferred, One, OverFirst, Indirect } grid;
  std::function<void(std::span<Bytes* const>)> run;
};

// Index of the program that sets the grid buffer, and of those that read it, without and with grid
// barriers.
inline constexpr std::size_t kSetsGrid = 0;
inline constexpr std::size_t kReadsGrid = 1;
inline constexpr std::size_t kSumsOverGrid = 2;
const std::vector<ModelProgram>& model_programs();

}  // namespace felsite::test
