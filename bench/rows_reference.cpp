// Rows about the reference interpreter.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "felsite/reference.h"
#include "felsite/text.h"
#include "harness.h"
#include "reference/functions.h"

namespace felsite::bench {
namespace {

ir::Program parsed(std::string_view text) {
  auto program = ir::parse(text);
  if (!program) std::abort();
  return *program;
}

// Runs a program over and over on one backend, its buffers ready.
class Runner {
 public:
  Runner(std::string_view text, std::vector<Bytes> inputs, unsigned threads)
      : program_(parsed(text)), inputs_(std::move(inputs)) {
    ReferenceOptions options;
    options.threads = threads;
    backend_ = make_reference_backend(options);
  }
  double run() {
    const std::vector<ByteSpan> spans(inputs_.begin(), inputs_.end());
    return time_ns([&] {
      if (!backend_->dispatch_borrowed_into(program_, spans, outputs_)) std::abort();
    });
  }

 private:
  ir::Program program_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> outputs_;
  std::unique_ptr<Backend> backend_;
};

std::function<double()> runs(std::string_view text, std::vector<Bytes> inputs, unsigned threads) {
  auto runner = std::make_shared<Runner>(text, std::move(inputs), threads);
  return [runner] { return runner->run(); };
}

// Eight integer operations a trip (the loop's own are not counted), each depending on the last.
constexpr std::string_view kIntegerOps = R"(
program integer_ops workgroup(64) {
  output out: u32[4096];
  let x = invocation.x;
  loop k in 0..256 {
    x = (((x + k) * 5 ^ 77) - 3 & 16777215 | 1) << 1 >> 2;
  }
  out[invocation.x] = x;
})";
constexpr double kIntegerOpCount = 4096.0 * 256 * 8;

constexpr std::string_view kFloatOps = R"(
program float_ops workgroup(64) {
  output out: f32[4096];
  let x = f32(invocation.x);
  loop k in 0..256 {
    x = ((x * 0.5 + 1.0) * 0.25 - 2.0) * 0.125 + 3.0;
  }
  out[invocation.x] = x;
})";
constexpr double kFloatOpCount = 4096.0 * 256 * 6;

constexpr std::string_view kSaxpy = R"(
program saxpy workgroup(64) {
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) { y[i] = x[i] * 2.0 + y[i]; }
})";

std::vector<Bytes> zero_floats(std::size_t count) {
  return {Bytes(count * 4, std::byte{0}), Bytes(count * 4, std::byte{0})};
}

std::vector<Case> reference_control_cases(bool) {
  const std::size_t count = 1 << 18;
  return {{.size = "saxpy, 256 Ki elements",
           .felsite = runs(kSaxpy, zero_floats(count), 1),
           .peer = "the same program",
           .peer_cost = runs(kSaxpy, zero_floats(count), 1)}};
}

std::vector<Case> speed_cases(bool) {
  const auto per_second = [](double operations) { return budget(operations / 50e6 * 1e9); };
  return {{.size = "u32, 8.4 M operations",
           .felsite = runs(kIntegerOps, {}, 1),
           .peer = "budget: 50 M operations/s",
           .peer_cost = per_second(kIntegerOpCount)},
          {.size = "f32 exact, 6.3 M operations",
           .felsite = runs(kFloatOps, {}, 1),
           .peer = "budget: 50 M operations/s",
           .peer_cost = per_second(kFloatOpCount)}};
}

std::vector<Case> thread_cases(bool) {
  const std::size_t count = 1 << 20;
  return {{.size = "integer_ops",
           .felsite = runs(kIntegerOps, {}, 0),
           .peer = "one core",
           .peer_cost = runs(kIntegerOps, {}, 1)},
          {.size = "saxpy, 1 Mi elements",
           .felsite = runs(kSaxpy, zero_floats(count), 0),
           .peer = "one core",
           .peer_cost = runs(kSaxpy, zero_floats(count), 1)}};
}

std::vector<Case> function_cases(bool) {
  using Lanes = void (*)(std::span<const float>, std::span<float>);
  using Scalar = float (*)(float);
  struct Pair {
    const char* name;
    Lanes exact;
    Scalar host;
  };
  const Pair pairs[] = {
      {"exp", &reference::exact_exp, &std::exp},    {"log", &reference::exact_log, &std::log},
      {"sin", &reference::exact_sin, &std::sin},    {"tan", &reference::exact_tan, &std::tan},
      {"atan", &reference::exact_atan, &std::atan},
  };
  constexpr std::size_t kCount = 200'000;
  const auto values = std::make_shared<std::vector<float>>(kCount);
  for (std::size_t i = 0; i < kCount; ++i) (*values)[i] = static_cast<float>(i) * 0.00037F + 0.1F;
  const auto results = std::make_shared<std::vector<float>>(kCount);
  std::vector<Case> cases;
  for (const Pair& pair : pairs) {
    const auto exact = [values, results, function = pair.exact] {
      return time_ns([&] { function(*values, *results); });
    };
    const auto host = [values, results, function = pair.host] {
      return time_ns([&] {
        for (std::size_t i = 0; i < kCount; ++i) (*results)[i] = function((*values)[i]);
      });
    };
    cases.push_back({.size = fmt::format("{}, 200 000 values", pair.name),
                     .felsite = exact,
                     .peer = "the C library's",
                     .peer_cost = host});
  }
  return cases;
}

}  // namespace

std::vector<Row> reference_rows() {
  return {
      {"control", "The same work on both sides: the noise of the machine", 0,
       reference_control_cases},
      {"reference_speed", "Simple operations on one core", 1.0, speed_cases},
      {"reference_threads", "All cores, where workgroups are independent", 0, thread_cases},
      {"exact_functions", "The fixed algorithms over lanes", 0, function_cases},
  };
}

}  // namespace felsite::bench
