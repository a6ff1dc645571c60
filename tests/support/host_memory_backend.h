// A third kind of backend, as its author would write it: a device with host memory and without grid
// barriers, on which the interpreter executes schedules. All else comes with the facade.
#pragma once

#include "felsite/backend.h"

namespace felsite::test {

inline constexpr const char* kHostMemoryBackend = "host_memory";
Result<std::unique_ptr<Backend>> make_host_memory_backend(bool allows_split = true);

}  // namespace felsite::test
