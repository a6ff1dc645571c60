#include "base/deadline.h"

#include <algorithm>

#include "base/errors.h"

namespace felsite::base {

using Clock = std::chrono::steady_clock;

Deadline::Deadline(const std::optional<std::chrono::nanoseconds>& timeout) {
  if (!timeout) return;
  const Clock::time_point now = Clock::now();
  if (*timeout >= Clock::time_point::max() - now) return;
  // A start in the past could lie too far back for the clock to represent.
  end_ = now + std::max(*timeout, std::chrono::nanoseconds::zero());
}

std::chrono::nanoseconds Deadline::remaining() const {
  if (!end_) return std::chrono::nanoseconds::max();
  return std::max<std::chrono::nanoseconds>(*end_ - Clock::now(), {});
}

Error timeout_error() {
  return base::make_error(ErrorCode::Timeout, "The program did not finish within the timeout.",
                          "allow more time, or run a smaller grid.");
}

Result<void> check_timeout(const std::optional<std::chrono::nanoseconds>& timeout) {
  if (timeout && timeout->count() <= 0) return std::unexpected(timeout_error());
  return {};
}

std::optional<Error> reason_to_end(const Deadline& deadline, const StopFlag* stop) {
  if (deadline.has_expired()) return timeout_error();
  using Reason = StopFlag::Reason;
  const Reason reason = stop == nullptr ? Reason::None : stop->reason();
  if (reason == Reason::None) return std::nullopt;
  const bool closing = reason == Reason::Closing;
  return base::dispatch_failed(closing ? "The backend was shut down before the dispatch had ended."
                                       : "The dispatch was dropped before its end.",
                               closing
                                   ? "wait for a dispatch before shutting its backend down."
                                   : "keep a dispatch whose results are wanted, and wait for it.");
}

}  // namespace felsite::base
