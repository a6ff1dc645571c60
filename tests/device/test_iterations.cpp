// Many iterations over a program in one dispatch of one workgroup.
#include "device/one_workgroup.h"
#include "support/program_generator.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

// Under the device's own mask, and as a device with the older memory model. The dispatches taken.
std::uint32_t check_iterations(std::string_view text, const std::vector<Bytes>& inputs,
                               Extent3 grid, std::uint32_t bound, bool has_flag = true) {
  check_iterations_under(device_mask().without(Feature::MemoryModel), text, inputs, grid, bound,
                         has_flag);
  if (grid != Extent3{1, 1, 1}) {
    const ir::Program program = valid_program(text);
    for (const std::uint32_t turns : {2U, 5U}) {
      check_iterations_under(with_turns(device_mask(), program, grid, turns), text, inputs, grid,
                             bound, has_flag);
    }
  }
  return check_iterations_under(device_mask(), text, inputs, grid, bound, has_flag);
}

// A value travels one place further with each iteration.
constexpr std::string_view kChain = R"(program chain workgroup({}) {{
  readwrite control: u32[3];
  readwrite x: u32[];
  {} changed: u32[{}];
  output steps: u32[64];
  let i = invocation.x;
  if i >= len(x) {{
    return;
  }}
  let mine = x[i];
  let before = select(i == 0, 0, x[i - 1]);
  gridsync;
  if before > mine {{
    x[i] = before;
    changed[i % len(changed)] = 1;
    steps[i] = steps[i] + 1;
  }}
}}
)";

std::string chain(std::uint32_t size, std::string_view flag = "output",
                  std::string_view count = "1") {
  return fmt::format(fmt::runtime(kChain), size, flag, count);
}

Words starting_with(std::uint32_t first, std::size_t count) {
  Words words(count);
  words[0] = first;
  return words;
}

}  // namespace

TEST_CASE("iterations end when nothing changes") {
  check_iterations(chain(16), {zero_words(16)}, {1, 1, 1}, 50);                 // after the first
  check_iterations(chain(16), {bytes_of(starting_with(9, 2))}, {1, 1, 1}, 50);  // after one change
  check_iterations(chain(16), {bytes_of(starting_with(9, 16))}, {1, 1, 1}, 50);
  check_iterations(chain(16), {bytes_of(starting_with(9, 60))}, {4, 1, 1}, 500);
  CHECK(check_iterations(chain(16), {bytes_of(starting_with(9, 16))}, {1, 1, 1}, 50) == 1);
}

TEST_CASE("iterations end at their bound, and leave what the last one changed") {
  for (const std::uint32_t bound : {1U, 2U, 7U, 14U, 15U, 16U, 17U}) {
    check_iterations(chain(16), {bytes_of(starting_with(9, 16))}, {1, 1, 1}, bound);
  }
}

TEST_CASE("a flag of several elements, more than there are lanes, or sized at run time") {
  for (const char* count : {"2", "16", "17", "100"}) {
    check_iterations(chain(16, "output", count), {bytes_of(starting_with(9, 16))}, {1, 1, 1}, 50);
  }
  for (const std::uint32_t count : {1U, 40U}) {
    check_iterations(chain(8, "readwrite", ""),
                     {bytes_of(starting_with(9, 24)), bytes_of(Words(count, 5))}, {3, 1, 1}, 50);
  }
}

TEST_CASE("without a flag all iterations run") {
  check_iterations(chain(16), {bytes_of(starting_with(9, 16))}, {1, 1, 1}, 30, false);
  check_iterations(chain(4), {bytes_of(starting_with(9, 16))}, {4, 1, 1}, 9, false);
}

TEST_CASE("a dispatch with no iteration to run does nothing") {
  const ir::Program program = valid_program(chain(8, "readwrite", "1"));
  const codegen::IterationLoop iterations{.control = 0, .changed = 2};
  const auto kernel =
      lower_as_one(program, {.grid = {1, 1, 1}, .iterations = iterations}, device_mask());
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  const Bytes x = bytes_of(starting_with(9, 8));
  const Bytes changed = bytes_of(Words{77});
  for (const Words& control : {Words{0, 3, 0}, Words{5, 3, 1}}) {
    const Bytes given = bytes_of(control);
    const std::vector<ByteSpan> spans{given, x, changed};
    const auto outputs = vk::run_kernel(test_device(), *kernel, program, spans, {});
    REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
    CHECK((*outputs)[0] == given);
    CHECK((*outputs)[1] == x);
    CHECK((*outputs)[2] == changed);
  }
}

TEST_CASE(
    "every iteration starts afresh: variables, workgroup memory, copies, and who has returned") {
  check_iterations(R"(program anew workgroup(16) {
  readwrite control: u32[3];
  readwrite x: u32[];
  output changed: u32[1];
  output log: u32[16];
  workgroup sums: u32[3];
  workgroup wide: u64[40];
  workgroup copied: u32[64];
  let l = local.x;
  let count = 0;
  async_load(copied[l * 4], x[l], 4, fetch);
  if x[l] % 3 == 2 {
    x[l] = x[l] + 1;
    changed[0] = 1;
    return;
  }
  count = count + 1;
  atomic_add(sums[l % 3], x[l]);
  wide[l + 20] = wide[l + 20] + 1u64;
  async_wait(fetch);
  barrier;
  loop k in 0..2 {
    if copied[(l * 4 + k) % 64] == 7 {
      return;
    }
    gridsync;
    count = count + u32(wide[(l + k) % 40]);
  }
  log[l] = log[l] * 3 + sums[l % 3] + count;
  if x[l] < 20 {
    x[l] = x[l] + 1 + l % 2;
    changed[0] = changed[0] | 1;
  }
}
)",
                   {bytes_of(counting(16))}, {1, 1, 1}, 100);
}

TEST_CASE("iterations without barriers, and with returns inside loops") {
  check_iterations(R"(program loops workgroup(8) {
  readwrite control: u32[3];
  readonly n: u32[];
  readwrite x: u32[];
  output changed: u32[2];
  let i = invocation.x;
  loop k in 0..n[i] {
    loop j in 1..k + 2 {
      if x[i] > k * 10 + j {
        return;
      }
      x[i] = x[i] + 1;
      changed[i % 2] = k + 1;
    }
  }
}
)",
                   {bytes_of(counting(24)), zero_words(24)}, {3, 1, 1}, 400);
}

TEST_CASE("subgroup operations in iterations") {
  check_iterations(R"(program lanes workgroup(16) {
  readwrite control: u32[3];
  readwrite x: f32[];
  output changed: u32[1];
  let i = local.x;
  let most = subgroup_max(x[i]);
  if x[i] < most && x[i] < 10.0 {
    x[i] = x[i] + 1.0;
    changed[0] = 1;
  }
}
)",
                   {bytes_of(std::vector<float>(16, 1.5f))}, {1, 1, 1}, 100);
}

TEST_CASE("a trap ends the iterations") {
  const ir::Program program = valid_program(R"(program traps workgroup(8) {
  readwrite control: u32[3];
  readwrite x: u32[];
  let i = local.x;
  x[i] = x[i] + 1;
  if x[i] == 5 {
    trap(i, too_far);
  }
  gridsync;
  if x[(i + 1) % 8] == 9 {
    trap(i, too_far);
  }
}
)");
  const auto run =
      run_iterations(program, {bytes_of(counting(8))}, {1, 1, 1}, UINT32_MAX, false, device_mask());
  REQUIRE(!run.has_value());
  CHECK(run.error().code == ErrorCode::Trapped);
}

namespace {

// Each invocation takes as many steps as its input says, in loops with unknown trip counts.
constexpr std::string_view kWalk = R"(program walk workgroup({}) {{
  readwrite control: u32[3];
  readonly trips: u32[];
  readwrite x: u32[];
  output changed: u32[1];
  let i = invocation.x;
  let sum = x[i];
  loop k in 0..trips[i] {{
    sum = sum * 5 + k;
  }}
  gridsync;
  loop k in 0..trips[i + 1] % 13 {{
    loop j in 0..trips[k] % 7 {{
      sum = sum ^ (j + x[(i + k) % len(x)]);
    }}
  }}
  gridsync;
  {}
  x[i] = sum;
  if sum % 1009 != 0 {{
    changed[0] = 1;
  }}
}}
)";

}  // namespace

TEST_CASE("more loop trips than a driver's budget are spread over dispatches") {
  const bool limited = device_mask().loop_budget != 0;
  for (const char* before : {"", "if i % 4 == 1 { return; } gridsync;"}) {
    Words trips(33);
    for (std::uint32_t i = 0; i < trips.size(); ++i) trips[i] = i * i % 301;
    const std::string text = fmt::format(fmt::runtime(kWalk), 8, before);
    const std::vector<Bytes> inputs{bytes_of(trips), bytes_of(counting(32))};
    // 300 trips and more in each of 1 000 iterations.
    const std::uint32_t dispatches = check_iterations(text, inputs, {4, 1, 1}, 1000, true);
    if (limited) CHECK(dispatches >= 5);
    if (limited) CHECK(dispatches <= 40);
    if (!limited) CHECK(dispatches == 1);
  }
}

TEST_CASE("a loop that returns leave early takes as much of the budget as a whole one") {
  constexpr std::string_view kSearch = R"(program search workgroup(8) {{
  readwrite control: u32[3];
  readonly trips: u32[1];
  readwrite x: u32[];
  loop k in {}..trips[0] {{
    if k == 3 {{
      return;
    }}
    x[local.x] = x[local.x] * 3 + k;
  }}
}}
)";
  const auto dispatches = [&](std::string_view from, std::uint32_t to) {
    return check_iterations(fmt::format(fmt::runtime(kSearch), from),
                            {bytes_of(Words{to}), bytes_of(counting(8))}, {1, 1, 1}, 12, false);
  };
  const bool limited = device_mask().loop_budget != 0;
  // Iterations run as long as those before took at most half of 65 535 trips.
  CHECK(dispatches("0", 2) == 1);
  CHECK(dispatches("0", 10'000) == (limited ? 3 : 1));
  CHECK(dispatches("0", 20'000) == (limited ? 6 : 1));
  CHECK(dispatches("0", 60'000) == (limited ? 12 : 1));
  // Loops without trips.
  CHECK(dispatches("70000", 60'000) == 1);
  CHECK(dispatches("local.x + 60000", 60'000) == 1);
}

TEST_CASE("iterations whose trips grow are spread over dispatches too") {
  // Divergent: in each iteration another lane has most to do, and ever more of it.
  const std::uint32_t dispatches =
      check_iterations(R"(program grows workgroup(16) {
  readwrite control: u32[3];
  readwrite iteration: u32[1];
  readwrite x: u32[];
  output changed: u32[1];
  let i = invocation.x;
  let p = iteration[0];
  gridsync;
  loop a in 0..4 {
    loop k in 0..select((p + a) % 16 == i, p * 2, 1) {
      x[i] = x[i] * 3 + k;
    }
  }
  gridsync;
  if i == 0 {
    iteration[0] = p + 1;
  }
  if p < 700 {
    changed[0] = 1;
  }
}
)",
                       {zero_words(1), bytes_of(counting(16))}, {1, 1, 1}, 5000);
  CHECK((dispatches > 1) == (device_mask().loop_budget != 0));
}

TEST_CASE("iterations of known length are spread over dispatches") {
  const std::string_view text = R"(program known workgroup(8) {
  readwrite control: u32[3];
  readwrite x: u32[];
  let i = local.x;
  loop a in 0..60 {
    loop b in 0..5 {
      x[i] = x[i] * 3 + a + b;
    }
  }
}
)";
  const std::uint32_t dispatches =
      check_iterations(text, {bytes_of(counting(8))}, {1, 1, 1}, 1000, false);
  // 60 times 7 trips, and a few.
  CHECK(dispatches == (device_mask().loop_budget != 0 ? 7 : 1));
}

TEST_CASE("iterations without loops have most of the budget for themselves") {
  const std::uint32_t dispatches =
      check_iterations(chain(8), {bytes_of(starting_with(9, 8))}, {1, 1, 1}, 100'000, false);
  CHECK(dispatches == (device_mask().loop_budget != 0 ? 4 : 1));
}

TEST_CASE("loops with unknown trip counts limit a dispatch to one iteration") {
  const std::uint32_t dispatches = check_iterations(R"(program ops workgroup(8) {
  readwrite control: u32[3];
  readwrite x: u32[];
  op power(base: u32, times: u32) -> u32 {
    let result = 1;
    loop i in 0..times {
      result = result * base;
    }
    yield result;
  }
  x[local.x] = power(x[local.x], x[local.x] % 10) + 3;
}
)",
                                                    {bytes_of(counting(8))}, {1, 1, 1}, 20, false);
  CHECK(dispatches == (device_mask().loop_budget != 0 ? 20 : 1));
}

TEST_CASE("a single iteration over the budget is an error") {
  FELSITE_SKIP_IF(device_mask().loop_budget == 0, "the driver has no loop budget");
  const ir::Program program = valid_program(R"(program much workgroup(8) {
  readwrite control: u32[3];
  readonly trips: u32[1];
  readwrite x: u32[];
  loop k in 0..trips[0] {
    x[local.x] = x[local.x] * 3 + k;
  }
}
)");
  const auto run = [&](std::uint32_t trips) {
    return run_iterations(program, {bytes_of(Words{trips}), bytes_of(counting(8))}, {1, 1, 1}, 3,
                          false, device_mask());
  };
  const auto fits = run(60'000);
  REQUIRE_MESSAGE(fits.has_value(), to_string(fits.error()));
  CHECK(fits->dispatches == 3);
  const auto exceeds = run(70'000);
  REQUIRE(!exceeds.has_value());
  CHECK(exceeds.error().code == ErrorCode::LoopBudgetExceeded);
}

TEST_CASE("generated programs in iterations") {
  std::size_t ran = 0;
  for (std::uint64_t seed = 1000; seed < 1060; ++seed) {
    ProgramGenerator generator(seed);
    if (seed % 2 == 0) {
      generator.for_device(device_mask().has(Feature::Float64),
                           device_mask().has(Feature::Atomics64),
                           device_mask().has(Feature::SharedAtomics64));
    }
    std::string text = generator.text();
    text.insert(text.find('{') + 1, "\n  readwrite control: u32[3];");
    const codegen::OneWorkgroup form{
        .grid = {1, 1, 1}, .iterations = codegen::IterationLoop{.control = 0, .changed = {}}};
    if (!lower_as_one(valid_program(text), form, device_mask())) continue;
    INFO("seed " << seed);
    check_iterations_under(device_mask(), text, generator.inputs(), {1, 1, 1}, 3, false);
    ++ran;
  }
  CHECK(ran >= 10);
}
