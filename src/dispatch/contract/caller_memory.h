// What every backend checks and reads in the caller's memory before it runs anything.
#pragma once

#include <functional>

#include "dispatch/schedule/binding_plan.h"

namespace felsite::dispatch {

// plan_bindings for inputs whose bytes are at hand.
Result<BindingPlan> plan_inputs(const ir::Program& program, std::span<const ByteSpan> inputs,
                                const DispatchConfig& config);

// DeviceOutOfMemory where the results exceed `limit` bytes.
Result<void> check_result_memory(const BindingPlan& plan, std::uint64_t limit);

// No input may lie in an output slot: resizing the slot would free the input.
Result<void> check_slots(std::span<const ByteSpan> inputs, std::span<const Bytes> slots);

// What a convergence flag holds when nothing changed.
bool is_all_zero(ByteSpan bytes);

// The three words that the program's IndirectDispatch reads, if it has one. `contents` gives the
// bytes that a buffer holds.
std::optional<Extent3> indirect_grid(const ir::Program& program,
                                     const std::function<ByteSpan(ir::BufferId)>& contents);

}  // namespace felsite::dispatch
