// A program on resident memory that has grid barriers, iterations, or a flag to clear and to read.
#pragma once

#include "felsite/backend.h"

namespace felsite::dispatch {

Result<DispatchTiming> run_iterations(Backend& backend, const ir::Program& program,
                                      std::span<const ResidentResource> resources,
                                      const DispatchConfig& config);

}  // namespace felsite::dispatch
