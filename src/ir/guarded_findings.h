// As base/guarded.h, for calls that answer with findings.
#pragma once

#include <expected>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "felsite/finding.h"

namespace felsite::ir {

// One finding, OutOfMemory. Throws only where the reserve is used up too, which is filled again by
// every call that finds memory.
Findings out_of_memory_findings();
void fill_findings_reserve() noexcept;

// `Outcome`: findings, or something that is expected in their place.
template <class Outcome, class Work>
Outcome guarded_findings(Work&& work) {
  fill_findings_reserve();
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  if constexpr (std::is_same_v<Outcome, Findings>) {
    return out_of_memory_findings();
  } else {
    return std::unexpected(out_of_memory_findings());
  }
}

}  // namespace felsite::ir
