// The host split as any other dispatch of the backend: inside its gate, with its errors, under way.
#include <fmt/format.h>

#include "conformance/conformance.h"
#include "felsite/grid_sync.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Keeps a word of each invocation.
const char* const kKeep = R"(program keep workgroup(1) {
  readwrite x: u32[4];
  let v = x[invocation.x];
  x[invocation.x] = v + 1;
  gridsync;
  x[invocation.x] = x[invocation.x] + v;
})";
// Has nothing to launch.
const char* const kEmpty = "program empty workgroup(1) { readwrite x: u32[1]; gridsync; }";
const char* const kTrapBehind = R"(program trap_behind workgroup(1) {
  readwrite x: u32[1];
  x[0] = x[0] + 1;
  gridsync;
  if x[0] == 3 { trap(x[0], third); }
})";

DispatchConfig split_on(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
  DispatchConfig config = on_grid(x, y, z);
  config.grid_sync = GridSync::HostSplit;
  return config;
}

// So many iterations that nobody waits for their end.
DispatchConfig endless() {
  DispatchConfig config = split_on(1);
  config.fixpoint_iterations = UINT32_MAX;
  config.convergence.kind = Convergence::Kind::None;
  return config;
}

void check_known(const Error& error, std::string_view program) {
  CHECK(!error.context.device.empty());
  CHECK(error.context.program == program);
  CHECK(!error.fix.empty());
}

}  // namespace

TEST_CASE("a host split is refused after a shutdown, also one that launches nothing") {
  const auto backend = make_tested();
  const ir::Program empty = valid_program(kEmpty);
  CHECK(must(backend->dispatch(empty, {Bytes(4)}, split_on(1)))[0] == Bytes(4));
  must(backend->shutdown());
  const Error error = error_of(backend->dispatch(empty, {Bytes(4)}, split_on(1)));
  CHECK(error.code == ErrorCode::DispatchFailed);
  CHECK(!error.context.device.empty());
  CHECK(code_of(backend->dispatch_async(empty, {Bytes(4)}, split_on(1))) ==
        ErrorCode::DispatchFailed);
}

TEST_CASE("errors of a host split name the device, however early they are found") {
  const ir::Program keep = valid_program(kKeep);
  check_known(error_of(tested().dispatch(keep, {}, split_on(4))), "keep");
  check_known(error_of(tested().dispatch(keep, {Bytes(3)}, split_on(4))), "keep");
  const ir::Program trap = valid_program(kTrapBehind);
  const Error trapped = error_of(tested().dispatch(trap, {bytes_of(Words{2})}, split_on(1)));
  CHECK(trapped.code == ErrorCode::Trapped);
  CHECK(trapped.context.segment == 1);
  check_known(trapped, "trap_behind");
  DispatchConfig late = split_on(4);
  late.timeout = std::chrono::nanoseconds(0);
  const Error timeout = error_of(tested().dispatch(keep, {Bytes(16)}, late));
  CHECK(timeout.code == ErrorCode::Timeout);
  check_known(timeout, "keep");
}

TEST_CASE("an asynchronous host split gives its results and its errors with the wait") {
  const auto done = must(
      tested().dispatch_async(valid_program(kKeep), {bytes_of(Words{1, 2, 3, 4})}, split_on(4)));
  CHECK(words_of(must(done->wait())[0]) == Words{3, 5, 7, 9});
  CHECK(done->is_ready());
  CHECK(code_of(done->wait()) == ErrorCode::DispatchFailed);
  const auto trapped =
      must(tested().dispatch_async(valid_program(kTrapBehind), {bytes_of(Words{2})}, split_on(1)));
  const Error error = error_of(trapped->wait());
  CHECK(error.code == ErrorCode::Trapped);
  check_known(error, "trap_behind");
  DispatchConfig late = split_on(4);
  late.timeout = std::chrono::nanoseconds(0);
  const auto timed = must(tested().dispatch_async(valid_program(kKeep), {Bytes(16)}, late));
  CHECK(code_of(timed->wait()) == ErrorCode::Timeout);
}

TEST_CASE("starting a host split does not wait for its end, and dropping it ends it") {
  const auto backend = make_tested();
  auto pending = must(backend->dispatch_async(valid_program(kKeep), {Bytes(16)}, endless()));
  CHECK(!pending->is_ready());
  pending.reset();
  must(backend->flush());
  pending = must(backend->dispatch_async(valid_program(kKeep), {Bytes(16)}, endless()));
  pending.reset();
  must(backend->shutdown());
}

TEST_CASE("a host split that is still held does not keep its backend from closing") {
  for (const bool shut_down : {true, false}) {
    auto backend = make_tested();
    const auto pending =
        must(backend->dispatch_async(valid_program(kKeep), {Bytes(16)}, endless()));
    if (shut_down) must(backend->shutdown());
    backend.reset();
    CHECK(pending->is_ready());
    const Error error = error_of(pending->wait());
    CHECK(error.code == ErrorCode::DispatchFailed);
    CHECK(error.message.ends_with("The backend was shut down before the dispatch had ended."));
    check_known(error, "keep");
  }
}

TEST_CASE("a flush waits for a host split that is under way") {
  const auto pending = must(
      tested().dispatch_async(valid_program(kKeep), {bytes_of(Words{1, 2, 3, 4})}, split_on(4)));
  must(tested().flush());
  CHECK(pending->is_ready());
  must(pending->wait());
}

TEST_CASE("a batch of host splits gives what each of them gives") {
  const auto pipeline = must(tested().compile(valid_program(kKeep), split_on(4)));
  const Bytes one = bytes_of(Words{1, 2, 3, 4});
  const Bytes two = bytes_of(Words{5, 6, 7, 8});
  const std::vector<std::vector<ByteSpan>> sets{{one}, {two}};
  const auto results = must(pipeline->dispatch_batch(sets));
  REQUIRE(results.size() == 2);
  CHECK(words_of(results[0][0]) == Words{3, 5, 7, 9});
  CHECK(words_of(results[1][0]) == Words{11, 13, 15, 17});
}

TEST_CASE("what cannot be kept for an absurd grid is a typed error in every form, at once") {
  const ir::Program keep = valid_program(kKeep);
  std::vector<GridSync> forms{GridSync::Automatic, GridSync::HostSplit};
  if (!has_grid_barriers()) forms.push_back(GridSync::Resident);
  for (const auto& grid : {Extent3{65536, 65536, 1},
                           {65536, 65536, 65536},
                           {1073741824, 2147483648, 1},
                           {2147483648, 2147483648, 1}}) {
    for (const GridSync form : forms) {
      DispatchConfig config;
      config.grid_override = grid;
      config.grid_sync = form;
      for (const bool async : {false, true}) {
        CAPTURE(static_cast<int>(form));
        CAPTURE(grid[0]);
        CAPTURE(async);
        ErrorCode code = ErrorCode::Unknown;
        if (async) {
          const auto pending = tested().dispatch_async(keep, {Bytes(16)}, config);
          code = pending ? code_of((*pending)->wait()) : code_of(pending);
        } else {
          code = code_of(tested().dispatch(keep, {Bytes(16)}, config));
        }
        CHECK((code == ErrorCode::DeviceOutOfMemory || code == ErrorCode::UnsupportedFeature));
      }
    }
  }
}

TEST_CASE("times that nobody measured are absent, not zero") {
  const ir::Program empty = valid_program(kEmpty);
  const std::vector<Bytes> inputs{Bytes(4)};
  const std::vector<ByteSpan> spans = spans_of(inputs);
  std::vector<Bytes> slots;
  const DispatchTiming nothing =
      must(tested().dispatch_borrowed_into(empty, spans, slots, split_on(1)));
  CHECK(nothing.wall_ns.has_value());
  CHECK(!nothing.device_ns.has_value());
  CHECK(!nothing.enqueue_ns.has_value());
  CHECK(!nothing.wait_ns.has_value());
  CHECK(nothing.step_device_ns.empty());
  CHECK(nothing.iterations_run == 1);
}

TEST_CASE("what many invocations keep is spread over several bindings where one is too small") {
  constexpr std::uint32_t kLocals = 20;
  // 160 MiB; lavapipe binds 128. An interpreter would take long.
  const std::uint32_t lanes = has_device_clock() ? 1u << 21 : 1u << 12;
  std::string text = "program wide workgroup(64) { readwrite x: u32[]; let i = invocation.x;";
  std::string all = "0";
  for (std::uint32_t k = 0; k < kLocals; ++k) {
    text += fmt::format(" let v{} = x[i] * {} + {};", k, 2 * k + 1, k);
    all += fmt::format(" ^ v{}", k);
  }
  text += " x[i] = 0; gridsync; x[i] = " + all + "; }";
  const ir::Program program = valid_program(text);
  CHECK(must(plan_grid_sync(valid(program))).spill_words == kLocals);
  const Words x = counting(lanes, 77);
  Words expected(lanes);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    for (std::uint32_t k = 0; k < kLocals; ++k) expected[i] ^= x[i] * (2 * k + 1) + k;
  }
  DispatchConfig config = on_grid(lanes / 64);
  for (const GridSync form : {GridSync::Automatic, GridSync::HostSplit}) {
    config.grid_sync = form;
    const auto results = must(tested().dispatch(program, {bytes_of(x)}, config));
    CHECK(words_of(results[0]) == expected);
  }
}
