// How many runs of a watched block go into one submission. Each may be the last that is needed, so
// it begins with one; but each submission is a wait of the host, so there are more and more, as
// long as a display or a watchdog survives it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace felsite::vk {

class RunPace {
 public:
  static constexpr std::chrono::milliseconds kLongest{100};
  // What a submission costs is long forgotten then.
  static constexpr std::uint32_t kMost = 1024;

  // `took`: from the last submission to its end. Never more than are left.
  std::uint32_t next(std::chrono::nanoseconds took, std::uint32_t left) {
    if (last_ == 0) {
      last_ = 1;
    } else if (took <= kLongest / 2) {
      last_ = std::min(2 * last_, kMost);
    } else if (took > kLongest) {
      last_ = std::max(last_ / 2, 1u);
    }
    return std::min(last_, left);
  }

 private:
  std::uint32_t last_ = 0;
};

}  // namespace felsite::vk
