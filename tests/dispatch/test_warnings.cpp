// The handler of warnings: it may be replaced at any time, also by itself, and one that was
// replaced is not called any more.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/telemetry/warnings.h"
#include "felsite/warnings.h"

using namespace felsite;
using namespace std::chrono_literals;

namespace {

struct DefaultAtEnd {
  DefaultAtEnd() = default;
  DefaultAtEnd(const DefaultAtEnd&) = delete;
  DefaultAtEnd& operator=(const DefaultAtEnd&) = delete;
  ~DefaultAtEnd() { set_warning_handler(nullptr); }
};

}  // namespace

TEST_CASE("a handler may replace itself, and what it holds lives until it returns") {
  const DefaultAtEnd end;
  const auto log = std::make_shared<std::string>();
  set_warning_handler([log, own = std::string("the first handler")](std::string_view text) {
    set_warning_handler([log](std::string_view later) { *log += " second:" + std::string(later); });
    *log += own + ":" + std::string(text);
  });
  dispatch::warn("a");
  dispatch::warn("b");
  CHECK(*log == "the first handler:a second:b");
}

TEST_CASE("a handler may warn itself, and may throw") {
  const DefaultAtEnd end;
  int calls = 0;
  set_warning_handler([&](std::string_view) {
    if (++calls < 3) dispatch::warn("again");
    throw std::runtime_error("no");
  });
  dispatch::warn("once");
  CHECK(calls == 3);
  set_warning_handler([&](std::string_view) { calls = 77; });
  dispatch::warn("a handler that threw does not count as running");
  CHECK(calls == 77);
}

TEST_CASE("replacing a handler waits until no other thread is in it") {
  const DefaultAtEnd end;
  std::atomic<bool> is_in{false};
  std::atomic<bool> may_leave{false};
  std::atomic<bool> has_left{false};
  set_warning_handler([&](std::string_view) {
    is_in = true;
    while (!may_leave) std::this_thread::yield();
    has_left = true;
  });
  std::jthread warner([] { dispatch::warn("slow"); });
  while (!is_in) std::this_thread::yield();
  std::jthread helper([&] {
    std::this_thread::sleep_for(50ms);
    may_leave = true;
  });
  set_warning_handler([](std::string_view) {});
  CHECK(has_left);
}

TEST_CASE("other threads warn while one is in the handler") {
  const DefaultAtEnd end;
  std::atomic<int> inside{0};
  set_warning_handler([&](std::string_view) {
    ++inside;
    const auto begin = std::chrono::steady_clock::now();
    while (inside < 2 && std::chrono::steady_clock::now() - begin < 10s) std::this_thread::yield();
  });
  {
    std::jthread one([] { dispatch::warn("one"); });
    std::jthread two([] { dispatch::warn("two"); });
  }
  CHECK(inside == 2);
}

TEST_CASE("what a replaced handler refers to may be gone, while other threads warn on and on") {
  const DefaultAtEnd end;
  std::atomic<bool> done{false};
  std::vector<std::jthread> warners;
  for (int i = 0; i < 3; ++i) {
    warners.emplace_back([&] {
      while (!done) dispatch::warn("and on");
    });
  }
  std::atomic<int> late{0};
  for (int round = 0; round < 2000; ++round) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    set_warning_handler([&late, &alive = *alive](std::string_view) {
      if (!alive) ++late;
    });
    if (round % 16 == 0) std::this_thread::yield();
    set_warning_handler([](std::string_view) {});
    *alive = false;
  }
  done = true;
  warners.clear();
  CHECK(late == 0);
}
