// Programs that say `fast`: native instructions, within the bounds that Vulkan sets for them.
#include <cmath>
#include <random>

#include "support/on_device.h"

using namespace felsite;
using namespace felsite::test;

namespace {

std::vector<float> run_fast(const std::string& expression, const std::vector<float>& x,
                            const std::vector<float>& y) {
  const ir::Program program = valid_program(fmt::format(R"(program quick workgroup(64) fast {{
  readonly x: f32[];
  readonly y: f32[];
  output r: f32[{}];
  let i = invocation.x;
  r[i] = {};
}}
)",
                                                        x.size(), expression));
  const auto outputs = run_on(test_device(), program, {bytes_of(x), bytes_of(y)},
                              {static_cast<std::uint32_t>(x.size() / 64), 1, 1});
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  return values_of<float>((*outputs)[0]);
}

double ulp(double truth) {
  const float size = std::max(std::abs(static_cast<float>(truth)), 0x1p-126F);
  return std::nextafter(size, HUGE_VALF) - size;
}

struct Bounded {
  const char* expression;
  double (*truth)(double x, double y);
  double (*bound)(double x, double y, double truth);  // the largest error, in absolute terms
  float low;
  float high;
};

double ulps(double count, double truth) { return count * ulp(truth); }

// The table of docs/codegen.md. The truth is the host's double precision function.
constexpr Bounded kBounds[] = {
    {"x[i] + y[i]", [](double x, double y) { return x + y; },
     [](double, double, double t) { return ulps(0.5, t); }, -1e6f, 1e6f},
    {"x[i] * y[i]", [](double x, double y) { return x * y; },
     [](double, double, double t) { return ulps(0.5, t); }, -1e6f, 1e6f},
    {"x[i] / y[i]", [](double x, double y) { return x / y; },
     [](double, double, double t) { return ulps(2.5, t); }, -1e6f, 1e6f},
    {"fma(x[i], y[i], x[i])", [](double x, double y) { return x * y + x; },
     [](double x, double y, double t) { return ulps(0.5, t) + ulps(0.5, x * y); }, -1e6f, 1e6f},
    {"sqrt(x[i])", [](double x, double) { return std::sqrt(x); },
     [](double, double, double t) { return ulps(6.5, t); }, 1e-6f, 1e6f},
    {"inverse_sqrt(x[i])", [](double x, double) { return 1 / std::sqrt(x); },
     [](double, double, double t) { return ulps(2.5, t); }, 1e-6f, 1e6f},
    {"sin(x[i])", [](double x, double) { return std::sin(x); },
     [](double, double, double) { return 0x1p-11; }, -3.14f, 3.14f},
    {"cos(x[i])", [](double x, double) { return std::cos(x); },
     [](double, double, double) { return 0x1p-11; }, -3.14f, 3.14f},
    {"exp(x[i])", [](double x, double) { return std::exp(x); },
     [](double x, double, double t) { return ulps(3.5 + 2 * std::abs(x), t); }, -50.f, 50.f},
    {"exp2(x[i])", [](double x, double) { return std::exp2(x); },
     [](double x, double, double t) { return ulps(3.5 + 2 * std::abs(x), t); }, -60.f, 60.f},
    {"log(x[i])", [](double x, double) { return std::log(x); },
     [](double, double, double t) { return std::max(ulps(3.5, t), 0x1p-21); }, 1e-6f, 1e6f},
    {"log2(x[i])", [](double x, double) { return std::log2(x); },
     [](double, double, double t) { return std::max(ulps(3.5, t), 0x1p-21); }, 1e-6f, 1e6f},
    {"atan(x[i])", [](double x, double) { return std::atan(x); },
     [](double, double, double t) { return ulps(4096.5, t); }, -1e3f, 1e3f},
};

}  // namespace

TEST_CASE("fast floats keep the bounds that Vulkan sets") {
  constexpr std::uint64_t kSeed = 77;
  for (const Bounded& row : kBounds) {
    CAPTURE(row.expression);
    std::mt19937_64 random(kSeed);
    std::uniform_real_distribution<float> any(row.low, row.high);
    std::vector<float> x(64 * 40);
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = any(random);
      y[i] = any(random);
    }
    const std::vector<float> found = run_fast(row.expression, x, y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double truth = row.truth(x[i], y[i]);
      const double error = std::abs(found[i] - truth);
      CAPTURE(x[i]);
      CAPTURE(y[i]);
      CAPTURE(found[i]);
      CAPTURE(truth);
      REQUIRE(error <= row.bound(x[i], y[i], truth) * 1.0001);
    }
  }
}

TEST_CASE("fast programs keep every rule that is not about rounding") {
  // Integers, bounds, and casts that saturate are as in exact ones.
  check_on_device(
      R"(program rules workgroup(8) fast {
  readonly x: f32[];
  output u: u32[8];
  output s: i32[8];
  output w: i64[8];
  output h: f16[8];
  output n: f32[8];
  let i = invocation.x;
  u[i] = u32(x[i]) / (i % 2);
  s[i] = i32(x[i]);
  w[i] = i64(x[i]);
  h[i] = f16(i) * 0.5f16;
  n[i] = min(x[i + 100], f32(i));
}
)",
      {bytes_of(std::vector<float>{1.5f, -2.5f, 3e9f, -3e9f, 1e20f, HUGE_VALF, -HUGE_VALF, NAN})});
}
