// Fixpoints on the reference backend: iterations over the whole program until nothing changes.
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Counts down to zero, one step an iteration.
const char* const kCountdown = R"(program p workgroup(4) {
  readwrite x: u32[];
  let i = invocation.x;
  if x[i] > 0 { x[i] = x[i] - 1; }
})";

struct Ran {
  std::vector<Bytes> outputs;
  std::uint32_t iterations;
  bool converged;
};

Ran fixpoint(const std::string& text, const std::vector<Bytes>& inputs, std::uint32_t bound,
             Convergence convergence = {}, const DispatchConfig& base = {}) {
  DispatchConfig config = base;
  config.fixpoint_iterations = bound;
  config.convergence = std::move(convergence);
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  const auto result =
      make_reference_backend()->dispatch_borrowed_timed(valid_program(text), spans, config);
  REQUIRE_MESSAGE(result.has_value(), to_string(result.error()));
  return {result->outputs, result->timing.iterations_run, result->timing.converged};
}

}  // namespace

TEST_CASE("absent means one iteration") {
  const std::vector<Bytes> in{bytes_of(Words{5, 0, 2, 9})};
  CHECK(run_words(kCountdown, in, inferred_grid()) == Words{4, 0, 1, 8});
}

TEST_CASE("zero iterations are an error") {
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  CHECK(run_error(kCountdown, {bytes_of(Words{1})}, config).code == ErrorCode::BadInputs);
}

TEST_CASE("a run that changes nothing converges in its first iteration") {
  const Ran ran = fixpoint(kCountdown, {bytes_of(Words{0, 0, 0})}, 100);
  CHECK(ran.iterations == 1);
  CHECK(ran.converged);
  CHECK(words_of(ran.outputs[0]) == Words{0, 0, 0});
}

TEST_CASE("a run that needs n iterations runs n and the one that shows it") {
  for (const std::uint32_t n : {1u, 2u, 7u, 50u}) {
    const Ran ran = fixpoint(kCountdown, {bytes_of(Words{n, 0, n / 2})}, 100);
    CHECK(ran.iterations == n + 1);
    CHECK(ran.converged);
    CHECK(words_of(ran.outputs[0]) == Words{0, 0, 0});
  }
}

TEST_CASE("a run that still changes uses the whole bound") {
  const Ran ran = fixpoint(kCountdown, {bytes_of(Words{50, 3})}, 20);
  CHECK(ran.iterations == 20);
  CHECK(!ran.converged);
  CHECK(words_of(ran.outputs[0]) == Words{30, 0});
}

TEST_CASE("a bound that ends exactly when nothing is left to change") {
  const Ran ran = fixpoint(kCountdown, {bytes_of(Words{5})}, 5);
  CHECK(ran.iterations == 5);
  CHECK(words_of(ran.outputs[0]) == Words{0});
}

TEST_CASE("an oscillating run never converges") {
  const char* const text = "program p workgroup(1) { readwrite x: u32[1]; x[0] = 1 - x[0]; }";
  const Ran even = fixpoint(text, {bytes_of(Words{0})}, 10);
  CHECK(even.iterations == 10);
  CHECK(!even.converged);
  CHECK(words_of(even.outputs[0]) == Words{0});
  CHECK(words_of(fixpoint(text, {bytes_of(Words{0})}, 11).outputs[0]) == Words{1});
}

TEST_CASE("outputs are state as well: they start as zeros once, not in every iteration") {
  const char* const text =
      "program p workgroup(1) { output o: u32[1]; if o[0] < 6 { o[0] = o[0] + 1; } }";
  const Ran ran = fixpoint(text, {}, 100);
  CHECK(words_of(ran.outputs[0]) == Words{6});
  CHECK(ran.iterations == 7);
  CHECK(ran.converged);
}

TEST_CASE("none always runs the bound") {
  const Ran ran = fixpoint(kCountdown, {bytes_of(Words{2})}, 30, {Convergence::Kind::None, ""});
  CHECK(ran.iterations == 30);
  CHECK(!ran.converged);
  CHECK(words_of(ran.outputs[0]) == Words{0});
}

TEST_CASE(
    "a flag ends the run in the iteration that leaves it zero, and is zero before each iteration") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output changed: u32[1];
    output seen: u32[1];
    let i = invocation.x;
    atomic_or(seen[0], changed[0]);
    barrier;
    if x[i] > 0 { x[i] = x[i] - 1; changed[0] = 1; }
  })";
  const Ran ran = fixpoint(text, {bytes_of(Words{3, 1, 0, 2})}, 100,
                           {Convergence::Kind::Flag, "changed"}, on_grid(1));
  CHECK(ran.iterations == 4);
  CHECK(ran.converged);
  CHECK(words_of(ran.outputs[0]) == Words{0, 0, 0, 0});
  CHECK(words_of(ran.outputs[1]) == Words{0});
  CHECK(words_of(ran.outputs[2]) == Words{0});
}

TEST_CASE("a flag that is set though nothing changes uses the bound") {
  const char* const text =
      "program p workgroup(1) { readwrite x: u32[1]; output f: u32[1]; f[0] = x[0] | 1; }";
  const Ran ran = fixpoint(text, {bytes_of(Words{3})}, 9, {Convergence::Kind::Flag, "f"});
  CHECK(ran.iterations == 9);
  CHECK(!ran.converged);
}

TEST_CASE("a flag given by the caller is cleared before the first iteration") {
  const char* const text =
      R"(program p workgroup(1) { readwrite f: u32[1]; output o: u32[1]; o[0] = f[0] + 1; })";
  const Ran ran = fixpoint(text, {bytes_of(Words{7})}, 9, {Convergence::Kind::Flag, "f"});
  CHECK(words_of(ran.outputs[1]) == Words{1});
  CHECK(ran.iterations == 1);
}

TEST_CASE("the early exit changes no byte of any result") {
  const char* const text = R"(program p workgroup(4) {
    readwrite d: u32[];
    let i = invocation.x;
    let best = d[i];
    if i > 0 { best = min(best, saturating_add(d[i - 1], 1)); }
    if i + 1 < len(d) { best = min(best, saturating_add(d[i + 1], 1)); }
    gridsync;
    d[i] = best;
  })";
  Words distance(40, 0xFFFF'FFFF);
  distance[17] = 0;
  const std::vector<Bytes> in{bytes_of(distance)};
  const Ran early = fixpoint(text, in, 1000);
  const Ran whole = fixpoint(text, in, 200, {Convergence::Kind::None, ""});
  CHECK(early.outputs == whole.outputs);
  CHECK(early.iterations == 23);
  for (std::uint32_t i = 0; i < 40; ++i)
    CHECK(words_of(early.outputs[0])[i] == (i < 17 ? 17 - i : i - 17));
}

TEST_CASE("the whole of every buffer decides, also past what 32 bits of hash would see") {
  // One byte far into a large buffer keeps changing.
  const char* const text =
      "program p workgroup(1) { readwrite x: u8[]; if x[99999] < 5 { x[99999] = x[99999] + 1; } }";
  const Ran ran = fixpoint(text, {Bytes(100000)}, 50, {}, on_grid(1));
  CHECK(ran.iterations == 6);
  CHECK(ran.converged);
}

TEST_CASE("the timeout covers all iterations together") {
  DispatchConfig config = on_grid(1);
  config.timeout = std::chrono::milliseconds(100);
  config.fixpoint_iterations = 0xFFFF'FFFF;
  const Error error = run_error("program p workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }",
                                {bytes_of(Words{0})}, config);
  CHECK(error.code == ErrorCode::Timeout);
}

TEST_CASE("a trap in a later iteration stops the run") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 100;
  const Error error = run_error(
      "program p workgroup(1) { readwrite x: u32[1]; if x[0] == 5 { trap(x[0], five); } "
      "x[0] = x[0] + 1; }",
      {bytes_of(Words{0})}, config);
  CHECK(error.code == ErrorCode::Trapped);
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->address == 5);
}
