// Whether and how a program runs on a backend that has no barrier of the whole grid.
#pragma once

#include "felsite/backend.h"

namespace felsite::dispatch {

// UnsupportedFeature, with the reason and a way out, for what takes more than one kernel.
Result<void> check_route(const ir::Program& program, const DispatchConfig& config);

}  // namespace felsite::dispatch
