// Timeouts: how long a call may take, and why running work has to end.
#pragma once

#include <chrono>
#include <optional>

#include "base/stop_flag.h"
#include "felsite/error.h"

namespace felsite::base {

class Deadline {
 public:
  Deadline() = default;  // never
  // Begins now. A timeout that reaches past the end of the clock never expires.
  explicit Deadline(const std::optional<std::chrono::nanoseconds>& timeout);

  bool has_expired() const { return end_ && std::chrono::steady_clock::now() >= *end_; }
  // nanoseconds::max() if it never expires.
  std::chrono::nanoseconds remaining() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

Error timeout_error();
// A timeout of zero or less fails with Timeout even if there is no work to do.
Result<void> check_timeout(const std::optional<std::chrono::nanoseconds>& timeout);
// The reason to end the work now, if there is one. `stop` may be null.
std::optional<Error> reason_to_end(const Deadline& deadline, const StopFlag* stop);

}  // namespace felsite::base
