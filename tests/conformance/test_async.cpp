// Dispatches under way: many at once, waited for in any order, or not at all.
#include <algorithm>
#include <thread>

#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

std::vector<Bytes> inputs_of(std::uint32_t value) {
  return {bytes_of(Words(9, value)), bytes_of(counting(9))};
}

// Errors that the call can see may come from it or from the wait.
ErrorCode code_of_async(const ir::Program& program, const std::vector<Bytes>& inputs,
                        const DispatchConfig& config = {}) {
  const auto pending = tested().dispatch_async(program, inputs, config);
  return pending.has_value() ? code_of((*pending)->wait()) : code_of(pending);
}

bool becomes_ready(const PendingDispatch& pending) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!pending.is_ready()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace

TEST_CASE("a dispatch under way gives what a dispatch gives") {
  const ir::Program program = valid_program(kAdd);
  const auto pending = must(tested().dispatch_async(program, inputs_of(5)));
  CHECK(words_of(must(pending->wait())[0]) == counting(9, 5));
}

TEST_CASE("the inputs may change as soon as the call is back") {
  const ir::Program program = valid_program(kAdd);
  std::vector<Bytes> inputs = inputs_of(5);
  const std::vector<ByteSpan> spans = spans_of(inputs);
  const auto pending = must(tested().dispatch_borrowed_async(program, spans));
  for (Bytes& input : inputs) std::ranges::fill(input, std::byte{0xFF});
  inputs.clear();
  CHECK(words_of(must(pending->wait())[0]) == counting(9, 5));
}

TEST_CASE("waiting uses the caller's slots") {
  const ir::Program program = valid_program(kAdd);
  std::vector<Bytes> slots{Bytes(100, std::byte{1}), Bytes(100)};
  const std::byte* const memory = slots[0].data();
  const auto pending = must(tested().dispatch_async(program, inputs_of(3)));
  const Telemetry counts = [&] {
    const Telemetry before = telemetry_snapshot();
    const DispatchTiming timing = must(pending->wait_into(slots));
    CHECK(timing.wall_ns.has_value());
    CHECK(timing.iterations_run == 1);
    return difference(telemetry_snapshot(), before);
  }();
  CHECK(counts[Counter::SlotsReused] == 1);
  CHECK(counts[Counter::SlotsAppended] == 0);
  REQUIRE(slots.size() == 1);
  CHECK(slots[0].data() == memory);
  CHECK(words_of(slots[0]) == counting(9, 3));
}

TEST_CASE("many in flight, waited for backwards") {
  const ir::Program program = valid_program(kAdd);
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (std::uint32_t i = 0; i < 24; ++i) {
    pending.push_back(must(tested().dispatch_async(program, inputs_of(i))));
  }
  for (std::uint32_t i = 24; i-- > 0;) {
    CHECK(words_of(must(pending[i]->wait())[0]) == counting(9, i));
  }
  CHECK(tested().metric_snapshot().in_flight == 0);
}

TEST_CASE("it gets ready by itself, and a flush waits for it") {
  const ir::Program program = valid_program(kAdd);
  const auto pending = must(tested().dispatch_async(program, inputs_of(1)));
  CHECK(becomes_ready(*pending));
  CHECK(pending->is_ready());
  const auto flushed = must(tested().dispatch_async(program, inputs_of(2)));
  must(tested().flush());
  CHECK(flushed->is_ready());
  CHECK(words_of(must(flushed->wait())[0]) == counting(9, 2));
  CHECK(words_of(must(pending->wait())[0]) == counting(9, 1));
  CHECK(pending->is_ready());
}

TEST_CASE("dropped at any time, it ends by itself and leaves nothing") {
  const ir::Program program = valid_program(kAdd);
  must(tested().flush());
  const MetricSnapshot before = tested().metric_snapshot();
  for (std::uint32_t i = 0; i < 20; ++i) {
    auto pending = must(tested().dispatch_async(program, inputs_of(i)));
    if (i % 3 == 0) pending.reset();
    if (i % 3 == 1) becomes_ready(*pending);
  }
  must(tested().flush());
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.in_flight == 0);
  CHECK(after.resident_buffers == before.resident_buffers);
  CHECK(after.resident_bytes == before.resident_bytes);
}

TEST_CASE("a second wait is an error, after a result and after an error") {
  const ir::Program program = valid_program(kAdd);
  const auto pending = must(tested().dispatch_async(program, inputs_of(1)));
  must(pending->wait());
  CHECK(code_of(pending->wait()) == ErrorCode::DispatchFailed);
  std::vector<Bytes> slots;
  CHECK(code_of(pending->wait_into(slots)) == ErrorCode::DispatchFailed);
  const auto trapped = must(tested().dispatch_async(valid_program(kTrapAt), {Bytes(4), Bytes(4)}));
  CHECK(code_of(trapped->wait()) == ErrorCode::Trapped);
  CHECK(code_of(trapped->wait()) == ErrorCode::DispatchFailed);
}

TEST_CASE("what goes wrong under way comes with the wait, and for that dispatch alone") {
  const ir::Program program = valid_program(kTrapAt);
  std::vector<std::unique_ptr<PendingDispatch>> pending;
  for (std::uint32_t i = 0; i < 6; ++i) {
    pending.push_back(
        must(tested().dispatch_async(program, {bytes_of(Words{3}), bytes_of(Words{i})})));
  }
  for (std::uint32_t i = 0; i < 6; ++i) {
    const auto result = pending[i]->wait();
    if (i == 3) {
      const Error error = error_of(result);
      CHECK(error.code == ErrorCode::Trapped);
      CHECK(error.context.program == "trap_at");
      REQUIRE(error.context.trap.has_value());
      CHECK(error.context.trap->tag == "reached");
      CHECK(error.context.trap->address == 3);
    } else {
      REQUIRE(result.has_value());
      CHECK(words_of((*result)[0]) == Words{i + 1});
    }
  }
}

TEST_CASE("what the caller does wrong is an error of the call or of the wait") {
  const ir::Program program = valid_program(kAdd);
  CHECK(code_of_async(program, {}) == ErrorCode::BadInputs);
  CHECK(code_of_async(program, {Bytes(3), Bytes(4)}) == ErrorCode::BadInputs);
  CHECK(code_of_async(ir::Program(), {}) == ErrorCode::InvalidProgram);
  DispatchConfig config;
  config.timeout = 0ns;
  CHECK(code_of_async(program, inputs_of(1), config) == ErrorCode::Timeout);
  config = {};
  config.max_output_bytes = 1;
  CHECK(code_of_async(program, inputs_of(1), config) == ErrorCode::BadInputs);
}

TEST_CASE("a timeout of no time is an error of the wait, in every form") {
  const ir::Program program = valid_program(kAdd);
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    DispatchConfig config;
    config.timeout = timeout;
    for (const std::uint32_t iterations : {1u, 3u}) {
      for (const GridSync form : {GridSync::Automatic, GridSync::HostSplit}) {
        config.fixpoint_iterations = iterations;
        config.grid_sync = form;
        const auto pending = must(tested().dispatch_async(program, inputs_of(1), config));
        const Error error = error_of(pending->wait());
        CHECK(error.code == ErrorCode::Timeout);
        CHECK(error.context.program == "add");
        CHECK(code_of(pending->wait()) == ErrorCode::DispatchFailed);
      }
    }
  }
}
