// Programs on resident buffers: single steps, sequences, repeated sequences.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

Words plus(Words words, std::uint32_t more) {
  for (std::uint32_t& word : words) word += more;
  return words;
}

// What kGrow makes of a value in so many runs.
std::uint32_t grown(std::uint32_t value, int runs) {
  for (int i = 0; i < runs; ++i) value = value * 2 + 1;
  return value;
}

ErrorCode refused(const char* text, std::vector<ResidentHandle> resources,
                  const DispatchConfig& config = {}) {
  const ir::Program program = valid_program(text);
  const Error error = error_of(tested().dispatch_resident(program, resources, config));
  CHECK(error.context.program == program.name());
  return error.code;
}

}  // namespace

TEST_CASE("a step changes its buffers in place") {
  const OnDevice x(counting(19));
  const OnDevice y(counting(19, 100));
  const std::vector<ResidentHandle> resources{x.handle(), y.handle()};
  must(tested().dispatch_resident(valid_program(kAdd), resources));
  Words expected(19);
  for (std::uint32_t i = 0; i < 19; ++i) expected[i] = 100 + 2 * i;
  CHECK(y.words() == expected);
  CHECK(x.words() == counting(19));
  const DispatchTiming timing =
      must(tested().dispatch_resident_timed(valid_program(kAdd), resources));
  CHECK(timing.wall_ns.has_value());
  if (!has_device_clock()) CHECK(!timing.device_ns.has_value());
  for (std::uint32_t i = 0; i < 19; ++i) expected[i] += i;
  CHECK(y.words() == expected);
}

TEST_CASE("resources are in the order of the bindings, and nothing is cleared") {
  const OnDevice a(Words{4});
  const OnDevice b(Words{3});
  const OnDevice out(Words{10, 20, 30});
  must(tested().dispatch_resident(
      valid_program("program p workgroup(1) { readonly a: u32[1] binding(7);"
                    " output o: u32[3] binding(5); readonly b: u32[1] binding(2);"
                    " o[1] = o[0] + a[0] * 100 + b[0]; }"),
      std::vector{b.handle(), out.handle(), a.handle()}, on_grid(1)));
  CHECK(out.words() == Words{10, 413, 30});
}

TEST_CASE("one resource may stand for several buffers that are only read") {
  const OnDevice x(counting(6, 1));
  const OnDevice y(Words(6, 0));
  must(tested().dispatch_resident(
      valid_program("program p workgroup(8) { readonly a: u32[]; readonly b: u32[];"
                    " readwrite y: u32[]; let i = invocation.x;"
                    " if i < len(y) { y[i] = a[i] * 10 + b[len(b) - 1 - i]; } }"),
      std::vector{x.handle(), x.handle(), y.handle()}));
  CHECK(y.words() == Words{16, 25, 34, 43, 52, 61});
  CHECK(refused(kAdd, {x.handle(), x.handle()}) == ErrorCode::BadInputs);
  CHECK(refused("program two workgroup(1) { readwrite a: u32[]; readwrite b: u32[]; a[0] = b[0]; }",
                {x.handle(), x.handle()}) == ErrorCode::BadInputs);
}

TEST_CASE("wrong numbers and sizes of resources are refused before anything runs") {
  const OnDevice words(counting(4));
  const OnDevice odd(Bytes(6));
  const OnDevice none(Bytes{});
  CHECK(refused(kAdd, {}) == ErrorCode::BadInputs);
  CHECK(refused(kAdd, {words.handle()}) == ErrorCode::BadInputs);
  CHECK(refused(kGrow, {words.handle(), odd.handle()}) == ErrorCode::BadInputs);
  CHECK(refused(kGrow, {odd.handle()}) == ErrorCode::BadInputs);
  const char* const sized = "program sized workgroup(1) { readwrite y: u32[5]; y[0] = 1; }";
  CHECK(refused(sized, {words.handle()}) == ErrorCode::BadInputs);
  const char* const output = "program out workgroup(1) { output o: u32[3]; o[0] = 1; }";
  CHECK(refused(output, {none.handle()}) == ErrorCode::BadInputs);
  CHECK(words.words() == counting(4));
}

TEST_CASE("configurations that resident buffers do not take are refused") {
  const OnDevice y(counting(4));
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  CHECK(refused(kGrow, {y.handle()}, config) == ErrorCode::BadInputs);
  config = {};
  config.workgroup_override = {0, 1, 1};
  CHECK(refused(kGrow, {y.handle()}, config) == ErrorCode::InvalidProgram);
  CHECK(refused(kGrow, {y.handle()}, on_grid(0xFFFF'FFFF)) == ErrorCode::BadInputs);
  config = {};
  config.timeout = 0ns;
  CHECK(code_of(tested().dispatch_resident(valid_program(kGrow), std::vector{y.handle()},
                                           config)) == ErrorCode::Timeout);
  const std::vector<ResidentHandle> none;
  CHECK(code_of(tested().dispatch_resident(ir::Program(), none)) == ErrorCode::InvalidProgram);
}

TEST_CASE("grid and workgroup size of a step") {
  const OnDevice y(Words(12, 0));
  const ir::Program program = valid_program(
      "program p workgroup(4) { readwrite y: u32[];"
      " y[invocation.x] = y[invocation.x] + workgroup_size.x * 10 + num_workgroups.x; }");
  const std::vector<ResidentStep> steps{
      {.program = program, .resources = {y.handle()}},
      {.program = program, .resources = {y.handle()}, .grid_override = {{1, 1, 1}}},
      {.program = program,
       .resources = {y.handle()},
       .grid_override = {{2, 1, 1}},
       .workgroup_override = {{2, 1, 1}},
       .label = "two by two"},
      {.program = program, .resources = {y.handle()}, .grid_override = {{5, 0, 1}}}};
  std::vector<Bytes> slots;
  const ResidentRange all{.buffer = y.handle()};
  must(tested().dispatch_resident_sequence_read_ranges_into(steps, {&all, 1}, slots));
  Words expected(12, 43);
  for (std::size_t i = 0; i < 4; ++i) expected[i] += 41 + 22;
  CHECK(words_of(slots[0]) == expected);
}

TEST_CASE("narrow elements in buffers of odd sizes, and nothing beside them") {
  const ir::Program program = valid_program(
      "program p workgroup(4) { readonly a: u8[]; readwrite b: u8[]; let i = invocation.x;"
      " if i < len(b) { b[i] = b[i] * 2 + a[i]; } }");
  for (const std::size_t count : {1u, 2u, 3u, 5u}) {
    INFO(count);
    const OnDevice before(Bytes(count, std::byte{0x77}));
    const OnDevice a(Bytes(count, std::byte{3}));
    const OnDevice b(Bytes(count, std::byte{200}));
    const OnDevice after(Bytes(count, std::byte{0x88}));
    must(tested().dispatch_resident(program, std::vector{a.handle(), b.handle()}));
    CHECK(b.bytes() == Bytes(count, static_cast<std::byte>((200 * 2 + 3) % 256)));
    CHECK(before.bytes() == Bytes(count, std::byte{0x77}));
    CHECK(after.bytes() == Bytes(count, std::byte{0x88}));
  }
  const OnDevice none(Bytes{});
  const OnDevice one(Bytes(1, std::byte{5}));
  must(tested().dispatch_resident(program, std::vector{none.handle(), one.handle()}));
  CHECK(one.bytes() == Bytes(1, std::byte{10}));
  must(tested().dispatch_resident(program, std::vector{one.handle(), none.handle()}));
}

TEST_CASE("more workgroups than one dispatch takes, on resident buffers") {
  const OnDevice y(Words(70'000, 1));
  must(tested().dispatch_resident(
      valid_program("program p workgroup(1) { readwrite y: u32[];"
                    " y[workgroup_id.x] = y[workgroup_id.x] + workgroup_id.x; }"),
      std::vector{y.handle()}));
  CHECK(y.words() == plus(counting(70'000), 1));
}

TEST_CASE("a sequence runs its steps in order, each seeing what those before it wrote") {
  const OnDevice x(counting(9, 1));
  const OnDevice y(Words(9, 0));
  const OnDevice z(Words(9, 5));
  const std::vector<ResidentStep> steps{
      step(kAdd, {x.handle(), y.handle()}), step(kGrow, {y.handle()}),
      step(kAdd, {y.handle(), z.handle()}), step(kGrow, {x.handle()}),
      step(kAdd, {x.handle(), z.handle()})};
  const std::vector<ResidentRange> reads{{z.handle()}, {y.handle(), 4, 8}, {x.handle(), 32, 4}};
  std::vector<Bytes> slots{Bytes(64)};
  const std::byte* const memory = slots[0].data();
  must(tested().dispatch_resident_sequence_read_ranges_into(steps, reads, slots));
  Words expected(9);
  for (std::uint32_t i = 0; i < 9; ++i) expected[i] = 5 + grown(1 + i, 1) + grown(1 + i, 1);
  REQUIRE(slots.size() == 3);
  CHECK(words_of(slots[0]) == expected);
  CHECK(slots[0].data() == memory);
  CHECK(words_of(slots[1]) == Words{5, 7});
  CHECK(words_of(slots[2]) == Words{19});

  const DispatchTiming timing =
      must(tested().dispatch_resident_sequence_read_ranges_timed_into(steps, reads, slots));
  CHECK(timing.wall_ns.has_value());
  if (timing.device_ns) CHECK(timing.step_device_ns.size() == steps.size());
}

TEST_CASE("a repeated sequence runs its steps as often as said") {
  for (const std::uint32_t count : {0u, 1u, 7u}) {
    INFO(count);
    const OnDevice x(Words(5, 1));
    const OnDevice y(Words(5, 2));
    const std::vector<ResidentStep> prefix{step(kGrow, {x.handle()})};
    const std::vector<ResidentStep> repeated{step(kAdd, {x.handle(), y.handle()}),
                                             step(kAdd, {y.handle(), x.handle()})};
    std::uint32_t a = 3;
    std::uint32_t b = 2;
    for (std::uint32_t i = 0; i < count; ++i) {
      b += a;
      a += b;
    }
    const std::vector<ResidentRange> reads{{y.handle()}, {x.handle()}};
    std::vector<Bytes> slots;
    must(tested().dispatch_resident_repeated_sequence_read_ranges_into(prefix, repeated, count,
                                                                       reads, slots));
    CHECK(words_of(slots[0]) == Words(5, b));
    CHECK(words_of(slots[1]) == Words(5, a));
    const DispatchTiming timing =
        must(tested().dispatch_resident_repeated_sequence_read_ranges_timed_into(
            {}, repeated, count, reads, slots));
    CHECK(timing.wall_ns.has_value());
    if (timing.device_ns) CHECK(timing.step_device_ns.size() == repeated.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      b += a;
      a += b;
    }
    CHECK(words_of(slots[0]) == Words(5, b));
    CHECK(words_of(slots[1]) == Words(5, a));
  }
}

TEST_CASE("a program may be in a sequence often, on other buffers each time") {
  std::vector<std::unique_ptr<OnDevice>> buffers;
  std::vector<ResidentStep> steps;
  std::vector<ResidentRange> reads;
  const OnDevice one(Words(3, 1));
  for (std::uint32_t i = 0; i < 30; ++i) {
    buffers.push_back(std::make_unique<OnDevice>(Words(3, i)));
    steps.push_back(step(kAdd, {one.handle(), buffers.back()->handle()}));
    reads.push_back({buffers.back()->handle()});
  }
  std::vector<Bytes> slots;
  must(tested().dispatch_resident_repeated_sequence_read_ranges_into({}, steps, 4, reads, slots));
  REQUIRE(slots.size() == 30);
  for (std::uint32_t i = 0; i < 30; ++i) CHECK(words_of(slots[i]) == Words(3, i + 4));
}

TEST_CASE("a step that is wrong is named by its position, and nothing runs") {
  const OnDevice x(counting(4));
  const OnDevice y(counting(4, 10));
  const std::vector<ResidentStep> good{step(kGrow, {y.handle()}), step(kGrow, {x.handle()})};
  const std::vector<ResidentStep> bad{step(kAdd, {x.handle(), y.handle()}),
                                      step(kAdd, {x.handle()})};
  std::vector<Bytes> slots;
  const Error first = error_of(
      tested().dispatch_resident_repeated_sequence_read_ranges_into(good, bad, 0, {}, slots));
  CHECK(first.code == ErrorCode::BadInputs);
  CHECK(first.context.step == 3);
  CHECK(first.context.program == "add");
  const Error second =
      error_of(tested().dispatch_resident_sequence_read_ranges_into(bad, {}, slots));
  CHECK(second.context.step == 1);
  const ResidentRange outside{.buffer = x.handle(), .offset = 9, .length = 8};
  CHECK(code_of(tested().dispatch_resident_sequence_read_ranges_into(good, {&outside, 1}, slots)) ==
        ErrorCode::BadInputs);
  CHECK(x.words() == counting(4));
  CHECK(y.words() == counting(4, 10));
}

TEST_CASE("a trap in a step names the step, in whichever iteration it happens") {
  const OnDevice other(Words(3, 1));
  const OnDevice limit(Words{6});
  const std::vector<ResidentStep> prefix{step(kGrow, {other.handle()}),
                                         step(kGrow, {other.handle()})};
  const auto trap = [&](std::uint32_t start, std::uint32_t count) {
    const OnDevice y(Words{start});
    const std::vector<ResidentStep> repeated{step(kGrow, {other.handle()}),
                                             step(kTrapAt, {limit.handle(), y.handle()}),
                                             step(kGrow, {other.handle()})};
    std::vector<Bytes> slots;
    return tested().dispatch_resident_repeated_sequence_read_ranges_into(prefix, repeated, count,
                                                                         {}, slots);
  };
  for (const std::uint32_t start : {6u, 4u, 0u}) {
    INFO(start);
    const Error error = error_of(trap(start, 7));
    CHECK(error.code == ErrorCode::Trapped);
    CHECK(error.context.step == 3);
    CHECK(error.context.program == "trap_at");
    REQUIRE(error.context.trap.has_value());
    CHECK(error.context.trap->tag == "reached");
    CHECK(error.context.trap->address == 6);
  }
  must(trap(0, 6));
  const OnDevice y(Words{6});
  const std::vector<ResidentStep> first{step(kTrapAt, {limit.handle(), y.handle()}),
                                        step(kGrow, {other.handle()})};
  std::vector<Bytes> slots;
  CHECK(error_of(tested().dispatch_resident_sequence_read_ranges_into(first, {}, slots))
            .context.step == 0);
  const OnDevice fresh(Words{1});
  must(tested().dispatch_resident(valid_program(kGrow), std::vector{fresh.handle()}));
  CHECK(fresh.words() == Words{3});
}

TEST_CASE("of several runs and steps that trap, the first run counts, and in it the first step") {
  // Both trap where an element has reached 9. Later runs trap in lower invocations, and in the step
  // that comes first.
  const char* const nine =
      "program nine workgroup(4) { readwrite y: u32[]; let i = invocation.x;"
      " if y[i] == 9 { trap(i * 100, nine); } y[i] = y[i] + 1; }";
  const char* const nine_too =
      "program nine_too workgroup(4) { readwrite y: u32[]; let i = invocation.x;"
      " if y[i] == 9 { trap(i * 1000, nine_too); } y[i] = y[i] + 1; }";
  const auto trap = [&](const Words& first, const Words& second, std::uint32_t count) {
    const OnDevice a(first);
    const OnDevice b(second);
    const std::vector<ResidentStep> repeated{step(nine, {a.handle()}),
                                             step(nine_too, {b.handle()})};
    std::vector<Bytes> slots;
    const Error error = error_of(tested().dispatch_resident_repeated_sequence_read_ranges_into(
        {}, repeated, count, {}, slots));
    CHECK(error.code == ErrorCode::Trapped);
    REQUIRE(error.context.trap.has_value());
    return error;
  };
  for (const std::uint32_t count : {9u, 300u, 2000u}) {
    CAPTURE(count);
    Error error = trap({2, 3, 4, 5, 6, 7, 8, 8}, {2, 3, 4, 5, 6, 7, 7, 7}, count);
    CHECK(error.context.trap->tag == "nine");
    CHECK(error.context.trap->address == 600);
    CHECK(error.context.step == 0);
    error = trap({2, 3, 4, 5, 6, 7, 7, 7}, {2, 3, 4, 5, 6, 8, 8, 8}, count);
    CHECK(error.context.trap->tag == "nine_too");
    CHECK(error.context.trap->address == 5000);
    CHECK(error.context.trap->invocation == Extent3{5, 0, 0});
    CHECK(error.context.step == 1);
    error = trap({0, 0, 0, 0, 0, 8, 0, 0}, {0, 0, 8, 0, 0, 0, 0, 0}, count);
    CHECK(error.context.trap->address == 500);
    CHECK(error.context.step == 0);
  }
}
