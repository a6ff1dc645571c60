// The backends that can be made by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "felsite/backend.h"

namespace felsite::dispatch {

struct BackendFactory {
  std::string_view id;
  std::string_view about;
  Result<std::unique_ptr<Backend>> (*make)();
};

// The table stands in src/backends.cpp, above every part that brings a backend.
std::span<const BackendFactory> built_in_backends();

}  // namespace felsite::dispatch
