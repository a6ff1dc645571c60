// Structured control flow, early returns, barriers behind them, and the loop budget.
#include "support/on_device.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("returns from nested loops and branches") {
  check_on_device(R"(program nested workgroup(16) {
  readonly x: u32[];
  output o: u32[64];
  let i = invocation.x;
  let sum = 0;
  loop a in 0..5 {
    loop b in a..6 {
      if (x[i] + a * b) % 11 == 7 {
        o[i] = sum + 1000;
        return;
      }
      if (a ^ b) == x[i] % 4 {
        sum = sum + b;
      } else if a == 3 {
        if sum > 12 {
          o[i] = sum + 2000;
          return;
        }
      } else {
        sum = sum + 1;
      }
    }
  }
  o[i] = sum;
}
)",
                  {bytes_of(counting(64, 3))}, {4, 1, 1});
}

TEST_CASE("code behind arms that both return is not reached") {
  check_on_device(R"(program ends workgroup(8) {
  output o: u32[16];
  let i = invocation.x;
  o[i] = 1;
  loop k in 0..3 {
    if i > 4 {
      o[i] = 2;
      return;
    } else {
      o[i] = 3 + k;
      return;
    }
    o[i] = 4;
  }
  o[i] = 5;
}
)",
                  {}, {2, 1, 1});
}

TEST_CASE("loop bounds are evaluated once, and empty loops run no trip") {
  check_on_device(R"(program bounds workgroup(4) {
  output o: u32[16];
  let i = invocation.x;
  let end = i;
  let trips = 0;
  loop k in 0..end {
    end = end + 1;
    trips = trips + 1;
  }
  loop k in 5..i {
    trips = trips + 100;
  }
  loop k in 4294967290..4294967295 {
    trips = trips + k % 7;
  }
  o[i] = trips;
}
)",
                  {}, {4, 1, 1});
}

TEST_CASE("barriers behind divergent returns") {
  // Some invocations leave before, between and in a loop with barriers; the rest go on together.
  constexpr std::string_view kText = R"(program leavers workgroup(16) {
  readonly rounds: u32[];
  readwrite x: u32[];
  workgroup tile: u32[16];
  let i = invocation.x;
  let lane = local.x;
  if i >= len(x) {
    return;
  }
  let mine = x[i];
  tile[lane] = mine;
  barrier;
  mine = mine + tile[15 - lane];
  let count = rounds[0];
  if mine % 5 == 0 {
    x[i] = mine;
    return;
  }
  barrier;
  loop round in 1..count + 1 {
    tile[lane] = mine * round;
    barrier;
    mine = mine + tile[(lane + round) % 16];
    if mine % 7 == round {
      x[i] = mine + 100000;
      return;
    }
    barrier;
  }
  if count > 2 {
    tile[lane] = mine;
    barrier;
    mine = tile[lane ^ 1];
  } else {
    barrier;
    mine = mine + 1;
  }
  x[i] = mine;
}
)";
  for (const std::uint32_t rounds : {0u, 1u, 4u}) {
    for (const std::uint32_t count : {1u, 13u, 30u, 48u}) {
      CAPTURE(rounds);
      CAPTURE(count);
      check_on_device(kText, {bytes_of(Words{rounds}), bytes_of(counting(count, 17))}, {3, 1, 1});
    }
  }
}

TEST_CASE("a workgroup that has left altogether runs no barrier loop") {
  check_on_device(R"(program gone workgroup(8) {
  readonly n: u32[];
  readwrite x: u32[];
  let i = invocation.x;
  if i >= 8 {
    return;
  }
  let trips = n[0];
  barrier;
  loop k in 0..trips {
    x[i + 8] = x[i + 8] + k;
    barrier;
  }
}
)",
                  {bytes_of(Words{5}), bytes_of(counting(16))}, {2, 1, 1});
}

TEST_CASE("user-defined operations, with loops, branches and calls, at all types") {
  check_on_device(R"(program calls workgroup(8) {
  readonly x: f32[];
  output o: f32[16];
  output w: u64[16];
  op power(base: u64, times: u32) -> u64 {
    let result = 1u64;
    loop i in 0..times {
      result = result * base;
      if result > 1000000000000u64 {
        result = result % 97u64;
      }
    }
    yield result;
  }
  op mix(a: f16, b: bf16, c: bool, d: i16) -> f32 {
    yield select(c, f32(a), f32(b)) * f32(d);
  }
  op twice(a: u64) -> u64 {
    yield power(a, 2) + power(a, 1);
  }
  let i = invocation.x;
  o[i] = mix(f16(x[i]), bf16(x[i]), x[i] > 3.0, i16(i));
  w[i] = twice(u64(i) + 4294967296u64) ^ power(3u64, i * 5);
}
)",
                  {bytes_of(std::vector<float>{1.1f, 2.7f, -3.3f, 4.9f, 5.05f, 60000.f, 1e9f, 0.1f,
                                               7.f, 8.f, 9.f, 1e-9f, 2.f, -1.f, 0.f, 3.5f})},
                  {2, 1, 1});
}

namespace {

// What a device with the loop limit gives, and one without.
void check_budget(std::string_view text, const std::vector<Bytes>& inputs, bool fits) {
  const bool limited = device_mask().loop_budget != 0;
  const ir::Program program = valid_program(text);
  INFO(text);
  if (fits || !limited) {
    CHECK(device_difference(test_device(), program, inputs, {1, 1, 1}) == "");
    return;
  }
  const auto outputs = run_on(test_device(), program, inputs, {1, 1, 1});
  REQUIRE(!outputs.has_value());
  CHECK(outputs.error().code == ErrorCode::LoopBudgetExceeded);
}

constexpr std::string_view kCounted = R"(program counted workgroup(4) {{
  output o: u32[4];
  let sum = 0;
  loop k in 0..{0} {{
    sum = sum + (k ^ local.x);
  }}
  o[local.x] = sum;
}}
)";
constexpr std::string_view kGiven = R"(program given workgroup(4) {
  readonly n: u32[];
  output o: u32[4];
  let sum = 0;
  loop j in 0..n[0] {
    loop k in 0..n[1] {
      sum = sum + (k ^ j);
    }
  }
  loop k in 0..3 {
    sum = sum * 3 + k;
  }
  o[local.x] = sum;
}
)";

}  // namespace

TEST_CASE("loops of known length fit the loop budget") {
  for (const std::uint32_t trips : {1000u, 65534u, 65535u, 65536u, 100'000u, 1'000'003u}) {
    check_budget(fmt::format(kCounted, trips), {}, true);
  }
}

TEST_CASE("nested and successive loops of known length fit the loop budget together") {
  check_budget(R"(program nested workgroup(4) {
  output o: u32[4];
  let sum = local.x;
  loop a in 0..700 {
    loop b in 0..300 {
      sum = sum * 5 + b;
    }
    loop b in 0..50 {
      sum = sum ^ (a + b);
    }
  }
  loop a in 0..60000 {
    sum = sum + a;
  }
  o[local.x] = sum;
}
)",
               {}, true);
}

// 65 000 trips of the bodies, and 1 000 more in which the inner loop only looks at its bound.
TEST_CASE("a loop takes a trip more than its body of the loop budget") {
  check_budget(R"(program often workgroup(4) {
  readonly n: u32[1];
  output o: u32[4];
  let c = 0;
  loop a in 0..1000 {
    loop b in 0..64 {
      c = c + ((a ^ b) + (c >> 3) | n[0]);
    }
  }
  o[local.x] = c;
}
)",
               {bytes_of(Words{0})}, true);
}

TEST_CASE("loops of unknown length that exceed the budget are an error, never a wrong result") {
  check_budget(kGiven, {bytes_of(Words{10, 1000})}, true);
  check_budget(kGiven, {bytes_of(Words{1, 65530})}, true);
  check_budget(kGiven, {bytes_of(Words{100, 1000})}, false);
  check_budget(kGiven, {bytes_of(Words{1, 200'000})}, false);
  check_budget(kGiven, {bytes_of(Words{70'000, 0})}, false);
}

TEST_CASE("a loop that is cut at its barriers is not unrolled, and exceeds the budget") {
  constexpr std::string_view kBarriers = R"(program barriers workgroup(8) {{
  readwrite x: u32[8];
  if x[local.x] == 3 {{
    return;
  }}
  loop k in 0..{} {{
    x[local.x] = x[local.x] * 3 + k;
    barrier;
  }}
}}
)";
  check_budget(fmt::format(kBarriers, 60'000), {bytes_of(counting(8))}, true);
  check_budget(fmt::format(kBarriers, 100'000), {bytes_of(counting(8))}, false);
}

TEST_CASE("loops too long to unroll are an error on a device with a budget") {
  check_budget(fmt::format(kCounted, 300'000'000), {}, false);
}
