// The edge of the library: nothing throws across it. Every call that returns a Result does its work
// in `guarded`, and what is thrown inside, by the standard library mostly, comes out as an Error.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "felsite/error.h"

namespace felsite::base {

// DeviceOutOfMemory. Where there is no memory for its sentences either, it has shorter ones.
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

// For what a caller would not miss: entries of caches, names, warnings. False if it was thrown out.
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
