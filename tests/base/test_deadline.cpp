// Deadlines and stop flags: when work has to end, and what it says then.
#include <doctest/doctest.h>

#include <thread>

#include "base/deadline.h"

using namespace felsite;
using namespace felsite::base;
using namespace std::chrono_literals;

TEST_CASE("a deadline is over when its time is, and never without one") {
  const Deadline never;
  CHECK_FALSE(never.has_expired());
  CHECK(never.remaining() == std::chrono::nanoseconds::max());
  const Deadline later(1h);
  CHECK_FALSE(later.has_expired());
  CHECK(later.remaining() > 59min);
  CHECK(later.remaining() <= 1h);
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    const Deadline over(timeout);
    CHECK(over.has_expired());
    CHECK(over.remaining() == 0ns);
  }
  const Deadline soon(1ms);
  std::this_thread::sleep_for(2ms);
  CHECK(soon.has_expired());
}

TEST_CASE("a timeout past the end of the clock never ends") {
  const auto room = std::chrono::steady_clock::time_point::max() - std::chrono::steady_clock::now();
  for (const std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds::max(), std::chrono::nanoseconds(room)}) {
    CHECK(Deadline(timeout).remaining() == std::chrono::nanoseconds::max());
  }
  CHECK(Deadline(std::chrono::nanoseconds(room) - 1h).remaining() <
        std::chrono::nanoseconds::max());
}

TEST_CASE("no time at all is a timeout") {
  CHECK(check_timeout(std::nullopt).has_value());
  CHECK(check_timeout(1ns).has_value());
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns}) {
    const auto checked = check_timeout(timeout);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code == ErrorCode::Timeout);
  }
}

TEST_CASE("work ends for the first reason there is, and says which") {
  std::atomic<bool> closing = false;
  StopFlag stop(&closing);
  CHECK_FALSE(reason_to_end({}, nullptr));
  CHECK_FALSE(reason_to_end(Deadline(1h), &stop));
  closing = true;
  const auto closed = reason_to_end({}, &stop);
  REQUIRE(closed);
  CHECK(closed->code == ErrorCode::DispatchFailed);
  CHECK(closed->message == "The backend was shut down before the dispatch had ended.");
  CHECK_FALSE(closed->fix.empty());
  stop.drop();
  CHECK(reason_to_end({}, &stop)->message == "The dispatch was dropped before its end.");
  CHECK(reason_to_end(Deadline(0ns), &stop)->code == ErrorCode::Timeout);
  StopFlag alone;
  CHECK(alone.reason() == StopFlag::Reason::None);
  alone.drop();
  CHECK(alone.reason() == StopFlag::Reason::Dropped);
}
