// Programs compiled once: the same bits as a dispatch, one at a time, in batches, on resident
// buffers.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<CompiledPipeline> compiled(const char* text, const DispatchConfig& config = {}) {
  return must(tested().compile(valid_program(text), config));
}

}  // namespace

TEST_CASE("a compiled program runs again and again, with other sizes each time") {
  const auto pipeline = compiled(kSaxpy);
  CHECK(pipeline->program().name() == "saxpy");
  std::vector<Bytes> slots{Bytes(256)};
  const std::byte* const memory = slots[0].data();
  for (const std::uint32_t count : {1u, 5u, 8u, 20u, 0u}) {
    const std::vector<Bytes> inputs{bytes_of(Words{count}), bytes_of(counting(count)),
                                    bytes_of(counting(count, 7))};
    Words expected(count);
    for (std::uint32_t i = 0; i < count; ++i) expected[i] = count * i + 7 + i;
    const DispatchTiming timing = must(pipeline->dispatch_borrowed_into(spans_of(inputs), slots));
    CHECK(timing.iterations_run == 1);
    CHECK(timing.wall_ns.has_value());
    CHECK(words_of(slots[0]) == expected);
    CHECK(slots[0].data() == memory);
    CHECK(words_of(must(pipeline->dispatch(inputs))[0]) == expected);
  }
}

TEST_CASE("a compiled program has its configuration") {
  DispatchConfig config = on_grid(2);
  config.workgroup_override = {3, 1, 1};
  const auto pipeline = compiled(
      "program p workgroup(4) { output o: u32[8];"
      " o[invocation.x] = workgroup_size.x * 10 + num_workgroups.x; }",
      config);
  CHECK(words_of(must(pipeline->dispatch({}))[0]) == Words{32, 32, 32, 32, 32, 32, 0, 0});
  DispatchConfig hurried;
  hurried.timeout = 0ns;
  const auto late = tested().compile(valid_program(kGrow), hurried);
  if (late.has_value()) CHECK(code_of((*late)->dispatch({Bytes(4)})) == ErrorCode::Timeout);
}

TEST_CASE("a batch is as many dispatches, each with its own bytes") {
  const auto pipeline = compiled(kAdd);
  std::vector<std::vector<Bytes>> storage;
  std::vector<std::vector<ByteSpan>> inputs;
  for (std::uint32_t i = 0; i < 5; ++i) {
    storage.push_back({bytes_of(counting(3 + i, i)), bytes_of(Words(3 + i, 100 * i))});
  }
  for (const auto& set : storage) inputs.push_back(spans_of(set));
  const auto outputs = must(pipeline->dispatch_batch(inputs));
  REQUIRE(outputs.size() == 5);
  for (std::uint32_t i = 0; i < 5; ++i) {
    REQUIRE(outputs[i].size() == 1);
    CHECK(words_of(outputs[i][0]) == counting(3 + i, 101 * i));
  }
  CHECK(must(pipeline->dispatch_batch({})).empty());
  inputs[3].pop_back();
  CHECK(code_of(pipeline->dispatch_batch(inputs)) == ErrorCode::BadInputs);
}

TEST_CASE("a trap in a batch is the error of the batch") {
  const auto pipeline = compiled(kTrapAt);
  const Bytes limit = bytes_of(Words{5});
  const Bytes below = bytes_of(Words{4});
  const std::vector<std::vector<ByteSpan>> fine{{limit, below}, {below, limit}};
  const auto outputs = must(pipeline->dispatch_batch(fine));
  CHECK(words_of(outputs[0][0]) == Words{5});
  CHECK(words_of(outputs[1][0]) == Words{6});
  const std::vector<std::vector<ByteSpan>> broken{{limit, below}, {limit, limit}, {below, limit}};
  const Error error = error_of(pipeline->dispatch_batch(broken));
  CHECK(error.code == ErrorCode::Trapped);
  CHECK(error.context.program == "trap_at");
  CHECK(words_of(must(pipeline->dispatch({limit, below}))[0]) == Words{5});
}

TEST_CASE("a compiled program on resident buffers") {
  const OnDevice x(counting(10));
  const OnDevice y(Words(10, 1));
  const auto pipeline = compiled(kAdd);
  const std::vector<ResidentHandle> resources{x.handle(), y.handle()};
  for (int round = 0; round < 3; ++round) must(pipeline->dispatch_resident(resources));
  Words expected(10);
  for (std::uint32_t i = 0; i < 10; ++i) expected[i] = 1 + 3 * i;
  CHECK(y.words() == expected);
  CHECK(x.words() == counting(10));
  CHECK(code_of(pipeline->dispatch_resident({&resources[0], 1})) == ErrorCode::BadInputs);
  const std::vector<ResidentHandle> forged{x.handle(), {1, 2, 3}};
  CHECK(code_of(pipeline->dispatch_resident(forged)) == ErrorCode::InvalidHandle);
}

TEST_CASE(
    "a compiled program on two sets of resident buffers in turn allocates and records nothing "
    "again") {
  const OnDevice x(Words(10, 1));
  const OnDevice y(Words(10, 2));
  const auto pipeline = compiled(kAdd);
  const std::vector<ResidentHandle> there{x.handle(), y.handle()};
  const std::vector<ResidentHandle> back{y.handle(), x.handle()};
  must(pipeline->dispatch_resident(there));
  must(pipeline->dispatch_resident(back));
  const MetricSnapshot before = tested().metric_snapshot();
  for (int round = 0; round < 3; ++round) {
    must(pipeline->dispatch_resident(there));
    must(pipeline->dispatch_resident(back));
  }
  CHECK(tested().metric_snapshot().recordings == before.recordings);
  CHECK(tested().metric_snapshot().allocations == before.allocations);
  // Each takes the sum of both in turn: 3, 4, 7, 11, 18, 29, 47, 76.
  CHECK(y.words() == Words(10, 47));
  CHECK(x.words() == Words(10, 76));
}

TEST_CASE("what a recording or a pipeline used is released when it is freed") {
  constexpr std::size_t kCount = std::size_t{1} << 18;
  const auto backend = make_tested();
  const ir::Program add = valid_program(kAdd);
  const auto pipeline = must(backend->compile(add));
  must(backend->flush());
  const std::uint64_t bytes = backend->metric_snapshot().device_bytes;
  std::unique_ptr<RecordedSequence> recorded;
  {
    const OnDevice x(Words(kCount, 1), *backend);
    const OnDevice y(Words(kCount, 2), *backend);
    const std::vector<ResidentHandle> resources{x.handle(), y.handle()};
    const ResidentStep step{.program = add, .resources = resources};
    recorded = must(backend->record_resident({.prefix = {&step, 1}}));
    std::vector<Bytes> nothing;
    must(recorded->run_into(nothing));
    must(pipeline->dispatch_resident(resources));
    CHECK(y.words() == Words(kCount, 4));
    CHECK(backend->metric_snapshot().resident_bytes == 2 * kCount * 4);
  }
  must(backend->flush());
  CHECK(backend->metric_snapshot().resident_bytes == 0);
  CHECK(backend->metric_snapshot().device_bytes < bytes + kCount * 4);
  std::vector<Bytes> nothing;
  CHECK(code_of(recorded->run_into(nothing)) == ErrorCode::InvalidHandle);
}

TEST_CASE("floats as the configuration asks for, whatever the program says") {
  // Below what an exact float can be: flushed to zero.
  const Bytes x = bytes_of(Words{0x0080'0000});  // 2^-126
  const ir::Program fast = valid_program(
      "program p workgroup(1) fast { readonly x: f32[1]; output o: f32[1]; o[0] = x[0] / 4.0; }");
  DispatchConfig config;
  config.float_mode = ir::FloatMode::Exact;
  CHECK(words_of(must(tested().dispatch(fast, {x}, config))[0]) == Words{0});
  CHECK(words_of(must(must(tested().compile(fast, config))->dispatch({x}))[0]) == Words{0});
  // Fast ones are near the true value.
  const ir::Program exact = valid_program(
      "program p workgroup(1) { readonly x: f32[1]; output o: f32[1]; o[0] = x[0] / 3.0; }");
  config.float_mode = ir::FloatMode::Fast;
  const Bytes one = bytes_of(Words{0x3F80'0000});
  const std::uint32_t third = words_of(must(tested().dispatch(exact, {one}, config))[0])[0];
  CHECK(third >= 0x3EAA'AAA8);
  CHECK(third <= 0x3EAA'AAAE);
}

TEST_CASE("what cannot run is not compiled") {
  CHECK(code_of(tested().compile(ir::Program())) == ErrorCode::InvalidProgram);
  CHECK(code_of(tested().prepare(ir::Program())) == ErrorCode::InvalidProgram);
  DispatchConfig config;
  config.fixpoint_iterations = 0;
  CHECK(code_of(tested().compile(valid_program(kGrow), config)) == ErrorCode::BadInputs);
  config = {};
  config.workgroup_override = {0, 1, 1};
  CHECK(code_of(tested().compile(valid_program(kGrow), config)) == ErrorCode::InvalidProgram);
  const auto pipeline = compiled(kSaxpy);
  CHECK(code_of(pipeline->dispatch({})) == ErrorCode::BadInputs);
  CHECK(code_of(pipeline->dispatch({Bytes(4), Bytes(3), Bytes(4)})) == ErrorCode::BadInputs);
}

TEST_CASE("what no inputs can mend is refused by compile and by prepare alike") {
  struct Row {
    const char* what;
    DispatchConfig config;
    ErrorCode code;
  };
  DispatchConfig long_ids;
  long_ids.grid_override = {UINT32_MAX, 1, 1};
  DispatchConfig huge;
  huge.grid_override = {1 << 17, UINT32_MAX, 1};
  DispatchConfig no_results;
  no_results.max_output_bytes = 0;
  const char* const kOne =
      "program one workgroup(4) { output o: u32[4]; o[invocation.x % 4] = 1; }";
  for (const Row& row : {Row{"ids of more than 32 bits", long_ids, ErrorCode::BadInputs},
                         Row{"too many workgroups", huge, ErrorCode::UnsupportedFeature},
                         Row{"no room for results", no_results, ErrorCode::BadInputs}}) {
    CAPTURE(row.what);
    CHECK(code_of(tested().compile(valid_program(kOne), row.config)) == row.code);
    CHECK(code_of(tested().prepare(valid_program(kOne), row.config)) == row.code);
  }
}
