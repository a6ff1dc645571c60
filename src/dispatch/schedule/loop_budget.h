// Whether a driver's loop budget holds a program that runs as one workgroup. The budget is for one
// dispatch: each segment starts with a fresh one, one workgroup has the same for everything.
#pragma once

#include "dispatch/schedule/routing.h"

namespace felsite::dispatch {

enum class LoopBudget : std::uint8_t { Suffices, MayNotSuffice, IsTooSmall };

LoopBudget loop_budget(const ir::Program& program, const DispatchConfig& config,
                       const Extent3& grid, const DeviceProfile& device, const RouteFacts& facts);

}  // namespace felsite::dispatch
