// The boundary of the library: nothing throws across it. Every call that returns a Result does its
// work in `guarded`, which turns exceptions, mostly the standard library's, into an Error.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "felsite/error.h"

namespace felsite::base {

// DeviceOutOfMemory. If there is not even memory for its sentences, it has shorter ones.
Error host_out_of_memory() noexcept;
// In a catch block: converts the caught exception to an error.
Error caught_error() noexcept;

template <class Work>
auto guarded(Work&& work) noexcept -> std::invoke_result_t<Work> {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return std::unexpected(caught_error());
  }
}

// For optional work: entries of caches, names, warnings. Returns false if it threw.
template <class Work>
bool best_effort(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
    return true;
  } catch (...) {
    return false;
  }
}

// For the context of errors: an error without a name is better than a different error.
void set_if_possible(std::string& text, std::string_view value) noexcept;

}  // namespace felsite::base
