// Timeouts: when a call has to end, and why work in progress has to.
#pragma once

#include <chrono>
#include <optional>

#include "base/stop_flag.h"
#include "felsite/error.h"

namespace felsite::base {

class Deadline {
 public:
  Deadline() = default;  // never
  // Begins now. Timeouts that reach past the end of the clock never end.
  explicit Deadline(const std::optional<std::chrono::nanoseconds>& timeout);

  bool is_over() const { return end_ && std::chrono::steady_clock::now() >= *end_; }
  // nanoseconds::max() where it never ends.
  std::chrono::nanoseconds left() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

Error timeout_error();
// A timeout of zero or less is a Timeout even for work that takes no time.
Result<void> check_timeout(const std::optional<std::chrono::nanoseconds>& timeout);
// Why the work has to end now, if it has to. `stop` may be null.
std::optional<Error> reason_to_end(const Deadline& deadline, const StopFlag* stop);

}  // namespace felsite::base
