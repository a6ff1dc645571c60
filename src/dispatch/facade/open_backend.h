// A backend on a service.
#pragma once

#include "dispatch/contract/service.h"
#include "felsite/backend.h"

namespace felsite::dispatch {

Result<std::unique_ptr<Backend>> open_backend(BackendSettings settings);

}  // namespace felsite::dispatch
