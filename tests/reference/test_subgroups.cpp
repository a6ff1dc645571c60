// Subgroups are consecutive invocations of the workgroup, in linear local order.
#include <fmt/format.h>

#include <bit>
#include <limits>

#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::uint32_t kWidths[] = {1, 4, 7, 8, 32, 48, 64};

ReferenceOptions of_width(std::uint32_t width) {
  ReferenceOptions options;
  options.subgroup_width = width;
  return options;
}

// The words of `o` after a workgroup of 80 ran the statements, which are for invocation `i`.
Words lanes(const std::string& statements, std::uint32_t width, const std::string& type = "u32") {
  return run_words(
      fmt::format("program p workgroup(80) {{ output o: {}[80]; let i = local.x; {} }}", type,
                  statements),
      {}, {}, of_width(width));
}

}  // namespace

TEST_CASE("subgroup_lane and subgroup_size") {
  for (const std::uint32_t width : kWidths) {
    const Words out = lanes("o[i] = subgroup_lane * 100 + subgroup_size;", width);
    for (std::uint32_t i = 0; i < 80; ++i) CHECK(out[i] == i % width * 100 + width);
  }
}

TEST_CASE("lanes run over the linear local order of a three-dimensional workgroup") {
  const Words out = run_words(R"(program p workgroup(3, 2, 4) {
    output o: u32[24];
    o[local.x + 3 * local.y + 6 * local.z] = subgroup_lane;
  })",
                              {}, on_grid(1), of_width(8));
  for (std::uint32_t i = 0; i < 24; ++i) CHECK(out[i] == i % 8);
}

TEST_CASE("ballot sets a bit for each active lane whose condition holds") {
  for (const std::uint32_t width : kWidths) {
    const auto out = run(R"(program p workgroup(80) {
      output o: u64[80];
      o[local.x] = subgroup_ballot(local.x * local.x % 7 < 3);
    })",
                         {}, {}, of_width(width));
    const auto ballots = values_of<std::uint64_t>(out[0]);
    for (std::uint32_t i = 0; i < 80; ++i) {
      std::uint64_t expected = 0;
      for (std::uint32_t lane = 0; lane < width; ++lane) {
        const std::uint32_t other = i / width * width + lane;
        if (other < 80 && other * other % 7 < 3) expected |= std::uint64_t{1} << lane;
      }
      CAPTURE(width);
      CHECK(ballots[i] == expected);
    }
  }
}

TEST_CASE("ballot ignores lanes that are masked off or have returned") {
  for (const std::uint32_t width : kWidths) {
    const auto out = run(R"(program p workgroup(80) {
      output o: u64[80];
      if local.x % 5 == 1 { return; }
      if local.x % 2 == 0 { o[local.x] = subgroup_ballot(true); }
    })",
                         {}, {}, of_width(width));
    const auto ballots = values_of<std::uint64_t>(out[0]);
    for (std::uint32_t i = 0; i < 80; ++i) {
      std::uint64_t expected = 0;
      const auto active = [](std::uint32_t x) { return x < 80 && x % 5 != 1 && x % 2 == 0; };
      for (std::uint32_t lane = 0; lane < width; ++lane) {
        if (active(i / width * width + lane)) expected |= std::uint64_t{1} << lane;
      }
      CHECK(ballots[i] == (active(i) ? expected : 0));
    }
  }
}

TEST_CASE("shuffle reads the value of another lane of the own subgroup") {
  for (const std::uint32_t width : kWidths) {
    const Words out =
        lanes("o[i] = subgroup_shuffle(i + 1000, subgroup_size - 1 - subgroup_lane);", width);
    for (std::uint32_t i = 0; i < 80; ++i) {
      const std::uint32_t from = i / width * width + (width - 1 - i % width);
      CHECK(out[i] == (from < 80 ? from + 1000 : 0));
    }
  }
}

TEST_CASE("shuffle from a lane out of range or inactive gives zero") {
  for (const std::uint32_t width : kWidths) {
    const Words beyond = lanes("o[i] = subgroup_shuffle(i + 1, subgroup_lane + 64) + 5;", width);
    CHECK(beyond == Words(80, 5));
    const Words huge = lanes("o[i] = subgroup_shuffle(i + 1, 4294967295) + 5;", width);
    CHECK(huge == Words(80, 5));
    const Words inactive =
        lanes("if i % 3 != 0 { o[i] = subgroup_shuffle(i + 1, subgroup_lane ^ 1) + 1; }", width);
    for (std::uint32_t i = 0; i < 80; ++i) {
      const std::uint32_t lane = i % width ^ 1;
      const std::uint32_t from = i / width * width + lane;
      const bool there = lane < width && from < 80 && from % 3 != 0;
      CHECK(inactive[i] == (i % 3 == 0 ? 0 : there ? from + 2 : 1));
    }
  }
}

TEST_CASE("shuffle of every type") {
  const auto out = run(R"(program p workgroup(8) {
    output a: u64[8]; output b: f64[8]; output c: bool[8]; output d: f16[8]; output e: i8[8];
    let i = local.x;
    let from = 7 - subgroup_lane;
    a[i] = subgroup_shuffle(u64(i) << 33u64, from);
    b[i] = subgroup_shuffle(f64(i) / 3.0f64, from);
    c[i] = subgroup_shuffle(i > 4, from);
    d[i] = subgroup_shuffle(f16(i), from);
    e[i] = subgroup_shuffle(i8(-(i32(i))), from);
  })",
                       {}, {}, of_width(8));
  const auto a = values_of<std::uint64_t>(out[0]);
  const auto b = values_of<double>(out[1]);
  const auto c = words_of(out[2]);
  const auto d = values_of<std::uint16_t>(out[3]);
  const auto e = values_of<std::int8_t>(out[4]);
  const std::uint16_t halves[8] = {0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(a[i] == std::uint64_t{7 - i} << 33);
    CHECK(b[i] == (7.0 - i) / 3.0);
    CHECK(c[i] == (7 - i > 4 ? 1u : 0u));
    CHECK(d[i] == halves[7 - i]);
    CHECK(e[i] == -static_cast<int>(7 - i));
  }
}

TEST_CASE("integer reductions over the active lanes") {
  const auto combine = [](const std::string& op, std::uint32_t a, std::uint32_t b) {
    if (op == "add") return a + b;
    if (op == "mul") return a * b;
    if (op == "min") return a < b ? a : b;
    if (op == "max") return a > b ? a : b;
    if (op == "and") return a & b;
    if (op == "or") return a | b;
    return a ^ b;
  };
  for (const std::uint32_t width : kWidths) {
    for (const std::string op : {"add", "mul", "min", "max", "and", "or", "xor"}) {
      const Words out = lanes(
          fmt::format("if i % 3 != 2 {{ o[i] = subgroup_{}(i * 2654435769 | 1); }}", op), width);
      for (std::uint32_t i = 0; i < 80; ++i) {
        std::optional<std::uint32_t> expected;
        for (std::uint32_t other = i / width * width; other < i / width * width + width; ++other) {
          if (other >= 80 || other % 3 == 2) continue;
          const std::uint32_t value = other * 2654435769u | 1;
          expected = expected ? combine(op, *expected, value) : value;
        }
        CAPTURE(width);
        CAPTURE(op);
        CHECK(out[i] == (i % 3 == 2 ? 0 : *expected));
      }
    }
  }
}

TEST_CASE("float reductions combine in lane order") {
  // Large and small summands, so that any other order gives other bits.
  const auto value = [](std::uint32_t i) {
    return i % 4 == 0 ? 16777216.0f : i % 4 == 2 ? -16777215.0f : 0.3f * static_cast<float>(i);
  };
  for (const std::uint32_t width : kWidths) {
    const Words out = lanes(
        "o[i] = subgroup_add(select(i % 4 == 0, 16777216.0, select(i % 4 == 2, -16777215.0, "
        "0.3 * f32(i))));",
        width, "f32");
    for (std::uint32_t i = 0; i < 80; ++i) {
      const std::uint32_t first = i / width * width;
      float sum = value(first);
      for (std::uint32_t other = first + 1; other < std::min(first + width, 80u); ++other)
        sum += value(other);
      CHECK(out[i] == std::bit_cast<std::uint32_t>(sum));
    }
  }
}

TEST_CASE("float min and max reductions ignore NaN") {
  const Words out = lanes(
      "o[i] = subgroup_min(select(i % 2 == 0, nan, f32(i))) + "
      "subgroup_max(select(i % 2 == 0, nan, f32(i)));",
      8, "f32");
  for (std::uint32_t i = 0; i < 80; ++i) {
    const float low = static_cast<float>(i / 8 * 8 + 1);
    CHECK(std::bit_cast<float>(out[i]) == low + low + 6);
  }
}

TEST_CASE("64-bit and narrow float reductions") {
  const auto out = run(R"(program p workgroup(6) {
    output a: u64[6]; output b: i64[6]; output c: f64[6]; output d: f16[6]; output e: bf16[6];
    let i = local.x;
    a[i] = subgroup_add(u64(i) << 40u64);
    b[i] = subgroup_min(-i64(i) * 10000000000i64);
    c[i] = subgroup_add(f64(i) * 0.5f64);
    d[i] = subgroup_add(f16(2048 + i));
    e[i] = subgroup_mul(bf16(i + 1));
  })",
                       {}, {}, of_width(4));
  CHECK(values_of<std::uint64_t>(out[0])[1] == std::uint64_t{6} << 40);
  CHECK(values_of<std::uint64_t>(out[0])[5] == std::uint64_t{9} << 40);
  CHECK(values_of<std::int64_t>(out[1])[0] == -30'000'000'000);
  CHECK(values_of<double>(out[2])[4] == 4.5);
  // 2048 + 2048 (2049 is a tie) + 2050 + 2052 (2051 is a tie): each sum a multiple of 4.
  // 4096 + 2050 = 6146 → 6144 or 6148, a tie: 6144; 6144 + 2052 = 8196 → 8192 (a tie).
  CHECK(values_of<std::uint16_t>(out[3])[0] == 0x7000);
  CHECK(values_of<std::uint16_t>(out[4])[3] == 0x41C0);  // 24
  CHECK(values_of<std::uint16_t>(out[4])[4] == 0x41F0);  // 30
}

TEST_CASE("bool reductions") {
  const Words out = lanes(
      "o[i] = u32(subgroup_and(i != 9)) + 2 * u32(subgroup_or(i == 9)) + "
      "4 * u32(subgroup_xor(i >= 9));",
      8);
  for (std::uint32_t i = 0; i < 80; ++i) {
    // All 8 lanes are at least 9, which is an even number; in the second subgroup only 7 are.
    CHECK(out[i] == (i / 8 == 1 ? 0u + 2u + 4u : 1u));
  }
}

TEST_CASE("subgroup operations in a divergent loop see the lanes still looping") {
  const Words out = lanes("loop k in 0..i % 4 { o[i] = o[i] * 10 + subgroup_add(1); }", 4);
  const Words four{0, 3, 32, 321};
  for (std::uint32_t i = 0; i < 80; ++i) CHECK(out[i] == four[i % 4]);
}

TEST_CASE("a width outside 1 to 64 is an error of every dispatch") {
  for (const std::uint32_t width : {0u, 65u, 0xFFFF'FFFFu}) {
    const Error error = run_error("program p workgroup(1) { output o: u32[1]; o[0] = 1; }", {}, {},
                                  of_width(width));
    CHECK(error.code == ErrorCode::BadInputs);
  }
}

TEST_CASE("a program may give another result with another width, and the reference takes each") {
  // The sum of the first subgroup gives its width.
  for (std::uint32_t width = 1; width <= 64; ++width) {
    CHECK(words_of(run("program p workgroup(64) { output o: u32[1]; let all = subgroup_add(1); "
                       "if local.x == 0 { o[0] = all; } }",
                       {}, {}, of_width(width))[0]) == Words{width});
  }
  for (const std::uint32_t width : {0u, 65u}) {
    CAPTURE(width);
    CHECK(run_error("program p workgroup(64) { output o: u32[1]; o[0] = subgroup_size; }", {}, {},
                    of_width(width))
              .code == ErrorCode::BadInputs);
  }
}
