// A benchmark whose work fails, or gives other results than its peer, measures nothing: the process
// says why and ends.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "felsite/error.h"

namespace felsite::bench {

[[noreturn]] void give_up(const std::string& why);

template <class T>
T must(Result<T> result) {
  if (!result) give_up(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace felsite::bench
