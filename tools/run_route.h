// Where `felsite run` runs a program: on a Vulkan device, unless options ask for the reference.
#pragma once

#include <string>

#include "felsite/backend.h"
#include "run_arguments.h"

namespace felsite::tool {

struct Route {
  bool on_device = true;
  // Where the backend `auto` means the reference: what runs there and why, one line. Never empty
  // then, so that nobody takes the reference's speed for a device's.
  std::string note;
};

Route choose_route(const CLI::App& command, const CommonOptions& common,
                   const ir::Program& program);

// Says at once when the backend or, on the reference, the device does not exist.
Result<void> check_backend(const CommonOptions& common);

}  // namespace felsite::tool
