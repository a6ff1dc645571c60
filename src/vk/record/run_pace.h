// How many runs of a watched block go into one submission. Each run may be the last that is needed,
// so the first submission has one. But the host waits for each submission, so their size grows, as
// far as displays and watchdogs allow.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace felsite::vk {

class RunPace {
 public:
  static constexpr std::chrono::milliseconds kLongest{100};
  // Beyond this the cost of a submission no longer matters.
  static constexpr std::uint32_t kMax = 1024;

  // `took`: the time from the last submission to its end. Never gives more than `left`.
  std::uint32_t next(std::chrono::nanoseconds took, std::uint32_t left) {
    if (last_ == 0) {
      last_ = 1;
    } else if (took <= kLongest / 2) {
      last_ = std::min(2 * last_, kMax);
    } else if (took > kLongest) {
      last_ = std::max(last_ / 2, 1u);
    }
    return std::min(last_, left);
  }

 private:
  std::uint32_t last_ = 0;
};

}  // namespace felsite::vk
