// The edge of the library: no exception crosses it. Every call that returns a Result does its work
// in `guarded`, which turns exceptions, mostly of the standard library, into an Error.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "felsite/error.h"

namespace felsite::base {

// DeviceOutOfMemory. Where there is no memory for its sentences either, they are shorter.
Error host_out_of_memory() noexcept;
// In a catch block: the exception that was caught, as an error.
Error caught_error() noexcept;

template <class Work>
auto guarded(Work&& work) noexcept -> std::invoke_result_t<Work> {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    return std::unexpected(caught_error());
  }
}

// For work that a caller would not miss: cache entries, names, warnings. False if it threw.
template <class Work>
bool best_effort(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
    return true;
  } catch (...) {
    return false;
  }
}

// For the context of errors: one that lacks a name is better than another error in its place.
void set_if_possible(std::string& text, std::string_view value) noexcept;

}  // namespace felsite::base
