// Like base/guarded.h, for calls that return findings.
#pragma once

#include <expected>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "felsite/finding.h"

namespace felsite::ir {

// Returns one finding, OutOfMemory. Throws only if the reserve is used up too; every call that
// finds memory refills it.
Findings out_of_memory_findings();
void fill_findings_reserve() noexcept;

// `Outcome` is Findings, or a std::expected with Findings as its error.
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
