// What `felsite run --timing` says: how long a run took, and what it made the device do.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "run_program.h"

namespace felsite::tool {

// Lines for people. `is_fixpoint`: whether convergence was asked for.
std::string timing_text(const Ran& ran, bool is_fixpoint);
// What was not measured is null.
nlohmann::json timing_json(const Ran& ran);

}  // namespace felsite::tool
