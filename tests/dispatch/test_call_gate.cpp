#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "dispatch/state/call_gate.h"
#include "support/run_program.h"

using namespace felsite;
using dispatch::CallGate;

TEST_CASE("a call is inside until its ticket is gone") {
  CallGate gate;
  {
    auto ticket = gate.enter();
    REQUIRE(ticket.has_value());
    CHECK(gate.inside() == 1);
    const CallGate::Ticket moved = std::move(*ticket);
    CHECK(gate.inside() == 1);
  }
  CHECK(gate.inside() == 0);
}

TEST_CASE("a closed gate lets nobody in") {
  CallGate gate;
  CHECK(!gate.closed());
  gate.close();
  CHECK(gate.closed());
  const auto ticket = gate.enter();
  REQUIRE(!ticket.has_value());
  CHECK(ticket.error().code == ErrorCode::DispatchFailed);
  CHECK(!ticket.error().fix.empty());
  gate.close();
  gate.wait_for_earlier();
}

TEST_CASE("closing waits for all that are inside, and for them alone") {
  CallGate gate;
  std::atomic<bool> left = false;
  auto ticket = gate.enter();
  REQUIRE(ticket.has_value());
  std::jthread other([&, held = std::move(*ticket)]() mutable {
    while (!gate.closed()) std::this_thread::yield();
    left = true;
    const CallGate::Ticket gone = std::move(held);
  });
  gate.close();
  CHECK(left);
  CHECK(gate.inside() == 0);
}

TEST_CASE("waiting for earlier calls does not wait for later ones") {
  CallGate gate;
  std::optional<CallGate::Ticket> early = *gate.enter();
  std::atomic<bool> waited = false;
  std::jthread waiter([&] {
    gate.wait_for_earlier();
    waited = true;
  });
  // Calls come and go all the time; the waiter still ends once the early one has left.
  std::jthread busy([&](const std::stop_token& stop) {
    std::optional<CallGate::Ticket> last;
    while (!stop.stop_requested()) {
      auto next = gate.enter();
      last.reset();
      last.emplace(std::move(*next));
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(!waited);
  early.reset();
  waiter.join();
  CHECK(waited);
}

TEST_CASE("calls leave in any order, and tickets move while others stay") {
  for (std::size_t first = 0; first < 5; ++first) {
    CallGate gate;
    std::vector<CallGate::Ticket> tickets;  // which moves them as it grows
    for (int i = 0; i < 5; ++i) {
      auto ticket = gate.enter();
      REQUIRE(ticket.has_value());
      tickets.push_back(std::move(*ticket));
    }
    std::vector<std::optional<CallGate::Ticket>> held(5);
    for (std::size_t i = 0; i < 5; ++i) held[i].emplace(std::move(tickets[i]));
    tickets.clear();
    CHECK(gate.inside() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
      held[(first + 3 * i) % 5].reset();
      CHECK(gate.inside() == 4 - i);
    }
    gate.wait_for_earlier();
    gate.close();
  }
}
