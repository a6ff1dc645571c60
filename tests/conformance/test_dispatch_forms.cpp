// Plain dispatches: all forms of them, slots, grids, and what can go wrong.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

std::vector<Bytes> saxpy_inputs() {
  return {bytes_of(Words{3}), bytes_of(counting(11)), bytes_of(counting(11, 100))};
}

Words saxpy_result() {
  Words result(11);
  for (std::uint32_t i = 0; i < 11; ++i) result[i] = 3 * i + 100 + i;
  return result;
}

const char* const kSeven = "program seven workgroup(1) { output o: u32[1]; o[0] = 7; }";
const char* const kTrap = "program broken workgroup(1) { output o: u32[1]; trap(9, here); }";

}  // namespace

TEST_CASE("all forms of a dispatch give the same bytes") {
  const ir::Program program = valid_program(kSaxpy);
  const std::vector<Bytes> inputs = saxpy_inputs();
  const std::vector<ByteSpan> spans = spans_of(inputs);
  const std::vector<Bytes> expected{bytes_of(saxpy_result())};
  CHECK(must(tested().dispatch(program, inputs)) == expected);
  CHECK(must(tested().dispatch_borrowed(program, spans)) == expected);
  std::vector<Bytes> slots;
  must(tested().dispatch_borrowed_into(program, spans, slots));
  CHECK(slots == expected);
  const TimedOutputs timed = must(tested().dispatch_borrowed_timed(program, spans));
  CHECK(timed.outputs == expected);
  REQUIRE(timed.timing.wall_ns.has_value());
  CHECK(*timed.timing.wall_ns > 0);
  CHECK(timed.timing.iterations_run == 1);
  if (!has_device_clock()) CHECK(!timed.timing.device_ns.has_value());
  CHECK(inputs == saxpy_inputs());
}

TEST_CASE("slots are used again where they are, whatever they held") {
  const ir::Program program = valid_program(kSaxpy);
  const std::vector<Bytes> inputs = saxpy_inputs();
  std::vector<Bytes> slots{Bytes(500, std::byte{0xFF})};
  const std::byte* const memory = slots[0].data();
  for (int round = 0; round < 3; ++round) {
    must(tested().dispatch_borrowed_into(program, spans_of(inputs), slots));
    REQUIRE(slots.size() == 1);
    CHECK(slots[0].data() == memory);
    CHECK(slots[0].capacity() >= 500);
    CHECK(words_of(slots[0]) == saxpy_result());
  }
}

TEST_CASE("slots that are missing, too small or too many are brought in order") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { output a: u32[4]; output b: u32[2]; output c: u32[3];"
      " a[local.x] = local.x; b[local.x] = 10 + local.x; c[local.x] = 20 + local.x; }");
  for (const std::size_t count : {0u, 1u, 3u, 9u}) {
    std::vector<Bytes> slots(count, Bytes(1, std::byte{1}));
    must(tested().dispatch_borrowed_into(program, {}, slots, on_grid(1)));
    REQUIRE(slots.size() == 3);
    CHECK(words_of(slots[0]) == counting(4));
    CHECK(words_of(slots[1]) == counting(2, 10));
    CHECK(words_of(slots[2]) == counting(3, 20));
  }
}

TEST_CASE("outputs start as zeros, in used slots too") {
  const ir::Program program = valid_program(
      "program p workgroup(1) { output o: u32[4]; o[1] = o[1] + 1; o[3] = o[0] + 5; }");
  std::vector<Bytes> slots{Bytes(16, std::byte{0xFF})};
  for (int round = 0; round < 3; ++round) {
    must(tested().dispatch_borrowed_into(program, {}, slots, on_grid(1)));
    CHECK(words_of(slots[0]) == Words{0, 1, 0, 5});
  }
}

TEST_CASE("the caller's slots are counted by what happened to them") {
  const ir::Program program = valid_program(
      "program p workgroup(1) { output a: u32[4]; output b: u32[4]; output c: u32[4]; a[0] = 1; }");
  std::vector<Bytes> slots{Bytes(16), Bytes(2)};
  slots[1].shrink_to_fit();
  const Telemetry first =
      counted([&] { must(tested().dispatch_borrowed_into(program, {}, slots, on_grid(1))); });
  CHECK(first[Counter::SlotsReused] == 1);
  CHECK(first[Counter::SlotsMoved] == 1);
  CHECK(first[Counter::SlotsAppended] == 1);
  const Telemetry second =
      counted([&] { must(tested().dispatch_borrowed_into(program, {}, slots, on_grid(1))); });
  CHECK(second[Counter::SlotsReused] == 3);
  CHECK(second[Counter::SlotsMoved] == 0);
  CHECK(second[Counter::SlotsAppended] == 0);
}

TEST_CASE("the bytes of a plain dispatch are counted exactly") {
  const Telemetry counts =
      counted([&] { must(tested().dispatch(valid_program(kSaxpy), saxpy_inputs())); });
  CHECK(counts[Counter::InputBytes] == 4 + 44 + 44);
  CHECK(counts[Counter::OutputBytes] == 44);
  CHECK(counts[Counter::Launches] == 1);
  CHECK(counts[Counter::Submissions] >= 1);
  CHECK(counts[Counter::IterationsRun] == 1);
  CHECK(counts[Counter::IterationsSkipped] == 0);
}

TEST_CASE("narrow elements in odd numbers") {
  const ir::Program bytes = valid_program(
      "program p workgroup(4) { readonly a: u8[]; readwrite b: u8[]; let i = invocation.x;"
      " if i < len(b) { b[i] = b[i] + a[len(a) - 1 - i]; } }");
  const ir::Program halves = valid_program(
      "program p workgroup(4) { readonly a: u16[]; readwrite b: u16[]; let i = invocation.x;"
      " if i < len(b) { b[i] = b[i] + a[len(a) - 1 - i]; } }");
  for (const std::size_t count : {1u, 2u, 3u, 5u}) {
    INFO(count);
    std::vector<std::uint8_t> a8(count), b8(count), sum8(count);
    std::vector<std::uint16_t> a16(count), b16(count), sum16(count);
    for (std::size_t i = 0; i < count; ++i) {
      a8[i] = static_cast<std::uint8_t>(200 + i);
      b8[i] = static_cast<std::uint8_t>(100 + 7 * i);
      a16[i] = static_cast<std::uint16_t>(60000 + i);
      b16[i] = static_cast<std::uint16_t>(50000 + 7 * i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      sum8[i] = static_cast<std::uint8_t>(b8[i] + a8[count - 1 - i]);
      sum16[i] = static_cast<std::uint16_t>(b16[i] + a16[count - 1 - i]);
    }
    CHECK(must(tested().dispatch(bytes, {bytes_of(a8), bytes_of(b8)}))[0] == bytes_of(sum8));
    CHECK(must(tested().dispatch(halves, {bytes_of(a16), bytes_of(b16)}))[0] == bytes_of(sum16));
  }
}

TEST_CASE("inputs of no bytes") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { readonly x: u32[]; readwrite y: u32[]; output o: u32[3];"
      " let i = invocation.x; y[i] = 1; o[0] = len(x); o[1] = len(y); o[2] = x[0] + 5; }");
  const std::vector<Bytes> outputs = must(tested().dispatch(program, {{}, {}}));
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].empty());
  CHECK(words_of(outputs[1]) == Words{0, 0, 5});
  // Nothing to compute, and so nothing runs.
  CHECK(must(tested().dispatch(valid_program(kGrow), {{}}))[0].empty());
}

TEST_CASE("more workgroups on an axis than one dispatch takes on many devices") {
  constexpr std::uint32_t kGroups = 70'000;
  const ir::Program on_x = valid_program(
      "program p workgroup(1) { output o: u32[70000];"
      " o[workgroup_id.x] = workgroup_id.x * 3 + num_workgroups.x; }");
  Words expected(kGroups);
  for (std::uint32_t i = 0; i < kGroups; ++i) expected[i] = i * 3 + kGroups;
  const Telemetry counts = counted(
      [&] { CHECK(words_of(must(tested().dispatch(on_x, {}, on_grid(kGroups)))[0]) == expected); });
  CHECK(counts[Counter::Launches] == 1);
  const ir::Program on_y = valid_program(
      "program p workgroup(2) { output o: u32[140000];"
      " o[workgroup_id.y * 2 + invocation.x] = workgroup_id.y + num_workgroups.y; }");
  Words columns(2 * kGroups);
  for (std::uint32_t i = 0; i < 2 * kGroups; ++i) columns[i] = i / 2 + kGroups;
  CHECK(words_of(must(tested().dispatch(on_y, {}, on_grid(1, kGroups)))[0]) == columns);
}

TEST_CASE("grid and workgroup size as configured") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { output o: u32[12];"
      " o[invocation.x] = workgroup_size.x * 100 + num_workgroups.x; }");
  DispatchConfig config;
  config.workgroup_override = {3, 1, 1};
  CHECK(words_of(must(tested().dispatch(program, {}, config))[0]) == Words(12, 304));
  config = on_grid(0);
  CHECK(words_of(must(tested().dispatch(program, {}, config))[0]) == Words(12, 0));
  config = on_grid(2);
  config.label = "named";
  Words two = Words(12, 0);
  for (std::size_t i = 0; i < 8; ++i) two[i] = 402;
  CHECK(words_of(must(tested().dispatch(program, {}, config))[0]) == two);
}

TEST_CASE("an indirect grid is read from the input") {
  const ir::Program program = valid_program(
      "program p workgroup(1) { readonly g: u32[]; output o: u32[4]; indirect_dispatch(g[1]);"
      " atomic_add(o[0], 1); o[1] = num_workgroups.x; o[2] = num_workgroups.y;"
      " o[3] = num_workgroups.z; }");
  const auto run = [&](const Words& grid) {
    return words_of(must(tested().dispatch(program, {bytes_of(grid)}))[0]);
  };
  CHECK(run({9, 2, 3, 2}) == Words{12, 2, 3, 2});
  CHECK(run({9, 1, 1, 1}) == Words{1, 1, 1, 1});
  CHECK(run({9, 2, 0, 2}) == Words{0, 0, 0, 0});
  // What is missing reads as zero, and no workgroups run.
  CHECK(run({9, 2, 3}) == Words{0, 0, 0, 0});
  CHECK(run({}) == Words{0, 0, 0, 0});
  CHECK(code_of(tested().dispatch(program, {bytes_of(Words{9, 2, 3, 2})}, on_grid(1))) ==
        ErrorCode::BadInputs);
}

TEST_CASE("wrong inputs and configurations are refused, with the program's name") {
  const ir::Program program = valid_program(kSaxpy);
  const auto refused = [&](std::vector<Bytes> inputs, const DispatchConfig& config = {}) {
    const Error error = error_of(tested().dispatch(program, inputs, config));
    CHECK(error.context.program == "saxpy");
    return error.code;
  };
  CHECK(refused({}) == ErrorCode::BadInputs);
  CHECK(refused({Bytes(4), Bytes(4)}) == ErrorCode::BadInputs);
  CHECK(refused({Bytes(4), Bytes(4), Bytes(4), Bytes(4)}) == ErrorCode::BadInputs);
  CHECK(refused({Bytes(8), Bytes(4), Bytes(4)}) == ErrorCode::BadInputs);
  CHECK(refused({Bytes(4), Bytes(3), Bytes(4)}) == ErrorCode::BadInputs);
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  CHECK(refused(saxpy_inputs(), config) == ErrorCode::BadInputs);
  config = {};
  config.max_output_bytes = 43;
  CHECK(refused(saxpy_inputs(), config) == ErrorCode::BadInputs);
  config = {};
  config.workgroup_override = {0, 1, 1};
  CHECK(refused(saxpy_inputs(), config) == ErrorCode::InvalidProgram);
  CHECK(refused(saxpy_inputs(), on_grid(0xFFFF'FFFF)) == ErrorCode::BadInputs);
  CHECK(code_of(tested().dispatch(ir::Program(), {})) == ErrorCode::InvalidProgram);
}

TEST_CASE("an input that lies in an output slot is refused") {
  std::vector<Bytes> slots{Bytes(64)};
  const Bytes factor(4);
  const std::vector<ByteSpan> inputs{factor, ByteSpan(slots[0]).first(8), factor};
  CHECK(code_of(tested().dispatch_borrowed_into(valid_program(kSaxpy), inputs, slots)) ==
        ErrorCode::BadInputs);
}

TEST_CASE("traps and timeouts are errors that leave the backend usable") {
  for (int round = 0; round < 2; ++round) {
    const Error trap = error_of(tested().dispatch(valid_program(kTrap), {}));
    CHECK(trap.code == ErrorCode::Trapped);
    CHECK(trap.context.program == "broken");
    REQUIRE(trap.context.trap.has_value());
    CHECK(trap.context.trap->tag == "here");
    CHECK(trap.context.trap->address == 9);
    for (const std::chrono::nanoseconds timeout : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
      DispatchConfig config;
      config.timeout = timeout;
      CHECK(code_of(tested().dispatch(valid_program(kSeven), {}, config)) == ErrorCode::Timeout);
    }
    DispatchConfig config;
    config.timeout = std::chrono::nanoseconds::max();
    CHECK(words_of(must(tested().dispatch(valid_program(kSeven), {}, config))[0]) == Words{7});
  }
}
