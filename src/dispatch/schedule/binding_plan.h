// What each buffer of a dispatch is, from the program and the sizes of the caller's bytes: plain
// data, checked.
#pragma once

#include <span>
#include <vector>

#include "felsite/backend.h"

namespace felsite::dispatch {

struct BoundBuffer {
  ir::Role role;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;           // elements
  std::uint32_t input = ir::kNone;   // position among the caller's inputs
  std::uint32_t output = ir::kNone;  // position among the results
};

struct BindingPlan {
  std::vector<BoundBuffer> buffers;  // by BufferId; workgroup buffers have no bytes
  std::uint32_t input_count = 0;
  std::uint32_t output_count = 0;
  std::uint64_t output_bytes = 0;
};

// Counts, sizes and limits. `input_sizes` in declaration order of the roles that take bytes.
Result<BindingPlan> plan_bindings(const ir::Program& program,
                                  std::span<const std::uint64_t> input_sizes,
                                  const DispatchConfig& config);

// BadInputs where a choice is not a value of its enumeration. Everything else relies on it, so this
// comes first, even before `configured`.
Result<void> check_choices(const ir::Program& program, const DispatchConfig& config);
// The program that runs, with the configured workgroup size and float mode.
ir::Program configured(const ir::Program& program, const DispatchConfig& config);
// Whether the configuration is valid for the program.
Result<void> check_config(const ir::Program& program, const DispatchConfig& config);

// All that is wrong with a dispatch whatever its inputs are: check_config, a grid that is too
// large, and results of declared sizes that exceed max_output_bytes.
Result<void> check_without_inputs(const ir::Program& program, const DispatchConfig& config);

// The storage buffer with the most elements, which decides the grid where none is given; the first
// of equals. The convergence flag does not count. None if there is no other.
std::optional<ir::BufferId> largest_buffer(const ir::Program& program, const BindingPlan& plan,
                                           const DispatchConfig& config);

// UnsupportedFeature for a grid that would take any device years: the same on every backend, before
// anything runs.
Result<void> check_grid_size(const ir::Program& program, const Extent3& grid);

// The grid that runs, or why it cannot. `indirect`: the three words that an IndirectDispatch read.
Result<Extent3> plan_grid(const ir::Program& program, const BindingPlan& plan,
                          const DispatchConfig& config, const std::optional<Extent3>& indirect);

// What decided the grid, as text: "for the 250 elements of `y`".
std::string grid_reason(const ir::Program& program, const BindingPlan& plan,
                        const DispatchConfig& config);

}  // namespace felsite::dispatch
