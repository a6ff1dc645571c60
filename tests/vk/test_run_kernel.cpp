#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "support/run_kernel.h"
#include "support/skip.h"
#include "vk/hand_made_kernels.h"
#include "vk/kernel/kernel_status.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using namespace std::chrono_literals;
using Words = std::vector<std::uint32_t>;

namespace {

const Words kFactor10{10};

// The inputs of add_scaled.
struct AddScaledInputs {
  Words x;
  Bytes unused = Bytes(5, std::byte{7});
  Words y;
  Bytes kept = Bytes(6, std::byte{9});
  std::vector<ByteSpan> spans() const { return {span_of(x), unused, span_of(y), kept}; }
};

void check_ok(const auto& result) {
  if (!result) FAIL(to_string(result.error()));
}

}  // namespace

TEST_CASE("a kernel gets its buffers and parameters, and gives its results in declaration order") {
  const auto device = open_test_device();
  for (const bool parameters_in_buffer : {false, true}) {
    CAPTURE(parameters_in_buffer);
    const HandMade made = add_scaled(parameters_in_buffer);
    const AddScaledInputs inputs{.x = {1, 2, 3, 4, 5}, .y = {100, 200, 300, 400, 500}};
    const auto outputs = run_kernel(*device, made.kernel, made.program, inputs.spans(),
                                    {.grid = {2, 1, 1}, .parameters = kFactor10});
    check_ok(outputs);
    REQUIRE(outputs->size() == 4);
    CHECK(words_of((*outputs)[0]) == Words{112, 222, 332, 442, 552});
    CHECK(words_of((*outputs)[1]) == Words{5, 5, 2, 10});
    CHECK((*outputs)[2] == inputs.kept);
    CHECK((*outputs)[3] == Bytes(3, std::byte{0}));
  }
  check_silent_layers();
}

TEST_CASE("empty and tiny buffers can be bound") {
  const auto device = open_test_device();
  const HandMade made = add_scaled();
  for (const std::uint32_t count : {0u, 1u}) {
    const AddScaledInputs inputs{
        .x = Words(count, 3), .unused = {}, .y = Words(count, 1), .kept = {}};
    const auto outputs = run_kernel(*device, made.kernel, made.program, inputs.spans(),
                                    {.grid = {1, 1, 1}, .parameters = kFactor10});
    check_ok(outputs);
    CHECK(words_of((*outputs)[0]) == Words(count, 32));
    // An empty buffer has room for one element of any type.
    const std::uint32_t bound = count == 0 ? 2 : count;
    CHECK(words_of((*outputs)[1]) == Words{bound, count, 1, 10});
  }
  check_silent_layers();
}

TEST_CASE("a grid of nothing runs nothing") {
  const auto device = open_test_device();
  const HandMade made = add_scaled();
  const AddScaledInputs inputs{.x = {1}, .y = {5}};
  const auto outputs = run_kernel(*device, made.kernel, made.program, inputs.spans(),
                                  {.grid = {0, 1, 1}, .parameters = kFactor10});
  check_ok(outputs);
  CHECK(words_of((*outputs)[0]) == Words{5});
  check_silent_layers();
}

TEST_CASE("a bound kernel goes on where its last submission ended, until it is written again") {
  const auto device = open_test_device();
  const HandMade made = add_scaled();
  const auto prepared = PreparedKernel::prepare(*device, made.kernel, made.program);
  check_ok(prepared);
  const AddScaledInputs inputs{.x = {1, 2}, .y = {0, 0}};
  auto bound =
      prepared->bind(inputs.spans(), {.parameters = kFactor10, .measure_device_time = true});
  check_ok(bound);
  const auto timing = bound->submit_and_wait(5);
  check_ok(timing);
  CHECK(timing->wall > 0ns);
  CHECK(timing->device_time.has_value() == (device->timestamp_bits() != 0));
  CHECK(words_of(bound->read_outputs().value()[0]) == Words{55, 105});

  CHECK(bound->write_inputs(inputs.spans()));
  CHECK(words_of(bound->read_outputs().value()[1]) == Words{0, 0, 0, 0});
  CHECK(bound->submit_and_wait());
  CHECK(words_of(bound->read_outputs().value()[0]) == Words{11, 21});

  const AddScaledInputs longer{.x = {1, 2, 3}, .y = {0, 0}};
  const auto refused = bound->write_inputs(longer.spans());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::BadInputs);
  check_silent_layers();
}

TEST_CASE("what a kernel reports becomes an error, and the next run starts clean") {
  constexpr std::uint32_t kTrapped = 1;
  constexpr std::uint32_t kLoopBudget = 2;
  const auto device = open_test_device();
  const HandMade made = report_status();
  const auto prepared = PreparedKernel::prepare(*device, made.kernel, made.program);
  check_ok(prepared);
  const auto run = [&](const Words& states) {
    const ByteSpan input = span_of(states);
    return prepared->run({&input, 1}, {.grid = {4, 1, 1}});
  };
  CHECK(run({0, 0, 0, 0}));

  auto failed = run({0, 0, kTrapped, kTrapped});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::Trapped);
  CHECK(failed.error().message == "Trap `bad_state` at address 102 in invocation (2, 0, 0).");
  REQUIRE(failed.error().context.trap);
  CHECK(failed.error().context.trap->tag == "bad_state");
  CHECK(failed.error().context.trap->address == 102);
  CHECK(failed.error().context.trap->invocation == Extent3{2, 0, 0});
  CHECK(failed.error().context.program == "report_status");
  CHECK(failed.error().context.device == device->snapshot().name);

  failed = run({0, kLoopBudget, kTrapped, 0});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::LoopBudgetExceeded);

  for (const std::uint32_t senseless : {3U, 4U}) {
    failed = run({senseless, 0, 0, 0});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == ErrorCode::DispatchFailed);
  }

  const Words trapping{0, 0, 0, 1};
  const ByteSpan input = span_of(trapping);
  auto bound = prepared->bind({&input, 1}, {.grid = {4, 1, 1}});
  check_ok(bound);
  CHECK_FALSE(bound->submit_and_wait(3));
  const Words fine(4, 0);
  const ByteSpan fine_input = span_of(fine);
  CHECK(bound->write_inputs({&fine_input, 1}));
  CHECK(bound->submit_and_wait(3));
  check_silent_layers();
}

TEST_CASE("the last invocation that a report can name, and those past it") {
  using Status = codegen::StatusWords;
  codegen::Kernel kernel;
  kernel.trap_tags = {"far"};
  const auto error_of_index = [&](std::uint32_t index) {
    Words words(kernel.status_words());
    const std::uint32_t key = ~index;
    words[Status::kKey] = key;
    words[Status::kWidth] = 65'536;
    words[Status::kHeight] = 65'536;
    words[Status::kTags] = key;
    for (std::uint32_t digit = 0; digit < Status::kDigits; ++digit) {
      words[Status::kAddress + digit * Status::kDigitValues + digit] = key;
    }
    return vk::error_of(words, kernel);
  };
  const Error last = error_of_index(0xFFFF'FFFD);
  CHECK(last.code == ErrorCode::Trapped);
  REQUIRE(last.context.trap);
  CHECK(last.context.trap->invocation == Extent3{65'533, 65'535, 0});
  CHECK(last.context.trap->address == 0x7654'3210);
  const Error past = error_of_index(0xFFFF'FFFE);
  CHECK(past.code == ErrorCode::UnsupportedFeature);
  CHECK_FALSE(past.fix.empty());
}

TEST_CASE("what the device cannot run is refused with limit and request") {
  const auto device = open_test_device();
  const HandMade made = add_scaled();
  const AddScaledInputs inputs{.x = {1}, .y = {2}};
  const auto& limits = device->capabilities().limits;
  const auto run = [&](const codegen::Kernel& kernel, const Launch& launch) {
    const auto result = run_kernel(*device, kernel, made.program, inputs.spans(), launch);
    REQUIRE_FALSE(result);
    return result.error();
  };
  SUBCASE("a grid too large") {
    FELSITE_SKIP_IF(limits.workgroup_count[1] == UINT32_MAX, "no grid is too large for it");
    const std::uint32_t count = limits.workgroup_count[1] + 1;
    const Error error = run(made.kernel, {.grid = {1, count, 1}, .parameters = kFactor10});
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(error.context.requested == count);
    CHECK(error.context.available == limits.workgroup_count[1]);
    CHECK(error.context.program == "add_scaled");
  }
  SUBCASE("a workgroup too large") {
    codegen::Kernel kernel = made.kernel;
    kernel.workgroup_size = {limits.workgroup_size[0], limits.workgroup_size[1], 1};
    const Error error = run(kernel, {.parameters = kFactor10});
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(error.context.available == limits.workgroup_invocations);
  }
  SUBCASE("too many push constants") {
    codegen::Kernel kernel = made.kernel;
    kernel.parameters.resize(limits.push_constant_bytes / 4 + 1, kernel.parameters[0]);
    const Error error = run(kernel, {.parameters = kFactor10});
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(error.context.available == limits.push_constant_bytes);
  }
  SUBCASE("a parameter without a value") {
    const Error error = run(made.kernel, {});
    CHECK(error.code == ErrorCode::BadInputs);
    CHECK(error.message == "The segment's parameter 0 was given no value.");
  }
  SUBCASE("inputs that do not fit the program") {
    const auto result = run_kernel(*device, made.kernel, made.program, {}, {});
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::BadInputs);
  }
  SUBCASE("robust access that the mask leaves out") {
    codegen::Capabilities mask = device->capabilities();
    mask.features.reset(static_cast<std::size_t>(codegen::Feature::RobustAccess2));
    const auto plain = open_test_device({.capabilities = mask});
    codegen::Kernel kernel = made.kernel;
    kernel.needs_robust_access2 = true;
    const auto refused = PreparedKernel::prepare(*plain, kernel, made.program);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  }
  check_silent_layers();
}

TEST_CASE("a driver without a known loop budget does all trips, one with a budget stops there") {
  const auto device = open_test_device();
  const HandMade made = count_trips();
  const Words asked{100'000};
  const Words trips{0};
  const std::vector<ByteSpan> inputs{span_of(asked), span_of(trips)};
  const auto outputs = run_kernel(*device, made.kernel, made.program, inputs, {});
  check_ok(outputs);
  const std::uint32_t budget = device->capabilities().loop_budget;
  // Releases of lavapipe between those measured count as limited and may not be.
  if (budget == 0 || words_of((*outputs)[0])[0] != budget) {
    CHECK(words_of((*outputs)[0]) == asked);
  }
}

// In one row, and in rows of whole subgroups: the shapes that lowering counts on.
TEST_CASE("subgroups are in linear order where the driver is known for it") {
  const auto device = open_test_device();
  FELSITE_SKIP_IF(!device->capabilities().has(codegen::Feature::LinearSubgroups),
                  "the driver is not known for linear subgroups");
  for (const bool in_rows : {false, true}) {
    CAPTURE(in_rows);
    const HandMade made = subgroup_order(in_rows);
    const auto& [x, y, z] = made.kernel.workgroup_size;
    const Words zeros(std::size_t{4} * x * y * z, 0);
    const ByteSpan input = span_of(zeros);
    const auto outputs =
        run_kernel(*device, made.kernel, made.program, {&input, 1}, {.grid = {4, 1, 1}});
    check_ok(outputs);
    Words linear(zeros.size());
    std::iota(linear.begin(), linear.end(), 0u);
    CHECK(words_of((*outputs)[0]) == linear);
  }
}

// Each workgroup waits for all the others, as long as a short loop lasts.
TEST_CASE("workgroups are not there together where the driver is known for it") {
  const auto device = open_test_device();
  const bool known = std::ranges::any_of(device->plan().quirks, [](const std::string& quirk) {
    return quirk.ends_with("-not-co-resident");
  });
  FELSITE_SKIP_IF(!known, "the driver is not known to run workgroups apart");
  const auto program = valid_program(R"(program meet workgroup(1) {
    readwrite arrived: u32[1];
    readwrite met: u32[1];
    atomic_add(arrived[0], 1);
    let all = 0;
    loop k in 0..1000 { if all == 0 && atomic_or(arrived[0], 0) == 1024 { all = 1; } }
    atomic_add(met[0], all);
  })");
  const auto kernel = codegen::lower(codegen::Segment(valid(program)), device->capabilities());
  check_ok(kernel);
  const Words zero{0};
  const std::vector<ByteSpan> inputs{span_of(zero), span_of(zero)};
  const auto outputs = run_kernel(*device, *kernel, program, inputs, {.grid = {1024, 1, 1}});
  check_ok(outputs);
  CHECK(words_of((*outputs)[0]) == Words{1024});
  CHECK(words_of((*outputs)[1])[0] < 512);  // the last of them see all
}

TEST_CASE("a timeout is an error of its own, and the device cleans up behind it") {
  const auto device = open_test_device();
  const HandMade made = count_trips();
  const auto prepared = PreparedKernel::prepare(*device, made.kernel, made.program);
  check_ok(prepared);
  constexpr std::uint32_t kWorkgroups = 1024;  // some tenths of a second of work
  const Words asked{60'000};
  const Words trips(kWorkgroups, 0);
  const std::vector<ByteSpan> inputs{span_of(asked), span_of(trips)};
  {
    auto bound = prepared->bind(inputs, {.grid = {kWorkgroups, 1, 1}});
    check_ok(bound);
    const auto late = bound->submit_and_wait(1, 0ns);
    FELSITE_SKIP_IF(late.has_value(), "the driver does all work when it is submitted");
    CHECK(late.error().code == ErrorCode::Timeout);
    CHECK(late.error().context.vk_result == VK_TIMEOUT);
    const auto again = bound->submit_and_wait(1);
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::DispatchFailed);
  }
  const Words one_trip{1};
  const std::vector<ByteSpan> short_inputs{span_of(one_trip), span_of(trips)};
  const auto outputs = prepared->run(short_inputs, {.grid = {kWorkgroups, 1, 1}});
  check_ok(outputs);
  CHECK(words_of((*outputs)[0]) == Words(kWorkgroups, 1));
  check_silent_layers();
}

TEST_CASE("several threads run one prepared kernel on one device") {
  const auto device = open_test_device();
  const HandMade made = add_scaled();
  const auto prepared = PreparedKernel::prepare(*device, made.kernel, made.program);
  check_ok(prepared);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (std::uint32_t round = 0; round < 20; ++round) {
        const AddScaledInputs inputs{.x = {seed, round}, .y = {0, 0}};
        const auto outputs = prepared->run(inputs.spans(), {.parameters = kFactor10});
        if (outputs && words_of((*outputs)[0]) == Words{10 * seed + 1, 10 * round + 1}) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 80);
  check_silent_layers();
}
