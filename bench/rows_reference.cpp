// Rows about the reference interpreter, beside plain C++ on one core.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "arithmetic/functions.h"
#include "felsite/reference.h"
#include "felsite/text.h"
#include "harness.h"
#include "on_device.h"

namespace felsite::bench {
namespace {

// Runs a program over and over on one backend, its buffers ready.
class Interpreted {
 public:
  Interpreted(std::string_view text, std::vector<Bytes> inputs, unsigned threads)
      : program_(parsed_program(text)), inputs_(std::move(inputs)) {
    ReferenceOptions options;
    options.threads = threads;
    backend_ = make_reference_backend(options);
  }
  double run() {
    const std::vector<ByteSpan> spans(inputs_.begin(), inputs_.end());
    return time_ns([&] { must(backend_->dispatch_borrowed_into(program_, spans, outputs_)); });
  }
  const std::vector<Bytes>& outputs() const { return outputs_; }

 private:
  ir::Program program_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> outputs_;
  std::unique_ptr<Backend> backend_;
};

std::function<double()> runs(std::string_view text, std::vector<Bytes> inputs, unsigned threads) {
  auto runner = std::make_shared<Interpreted>(text, std::move(inputs), threads);
  return [runner] { return runner->run(); };
}

// Of an interpreter beside native code, measured, and a quarter more.
constexpr double kIntegerBound = 3.4;
constexpr double kFloatBound = 1.35;

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
constexpr std::uint32_t kInvocations = 4096;
constexpr std::uint32_t kTrips = 256;

constexpr std::string_view kFloatOps = R"(
program float_ops workgroup(64) {
  output out: f32[4096];
  let x = f32(invocation.x);
  loop k in 0..256 {
    x = ((x * 0.5 + 1.0) * 0.25 - 2.0) * 0.125 + 3.0;
  }
  out[invocation.x] = x;
})";

constexpr std::string_view kSaxpyText = R"(
program saxpy workgroup(64) {
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) { y[i] = x[i] * 2.0 + y[i]; }
})";

std::vector<Bytes> zero_floats(std::size_t count) {
  return {Bytes(count * 4, std::byte{0}), Bytes(count * 4, std::byte{0})};
}

std::vector<Case> reference_control_cases(Extent) {
  const std::size_t count = 1 << 18;
  return {{.size = "saxpy, 256 Ki elements",
           .felsite = runs(kSaxpyText, zero_floats(count), 1),
           .peer = "the same program",
           .peer_cost = runs(kSaxpyText, zero_floats(count), 1),
           .compared = "nothing: one program"}};
}

// The same operations in the same order. What the compiler makes of many invocations at once is its
// own affair, as in any C++ program.
void integer_ops(std::span<std::uint32_t> out) {
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    std::uint32_t x = i;
    for (std::uint32_t k = 0; k < kTrips; ++k) {
      x = ((((((x + k) * 5) ^ 77) - 3) & 16777215) | 1) << 1 >> 2;
    }
    out[i] = x;
  }
}
void float_ops(std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    float x = static_cast<float>(i);
    for (std::uint32_t k = 0; k < kTrips; ++k) {
      x = ((x * 0.5F + 1.0F) * 0.25F - 2.0F) * 0.125F + 3.0F;
    }
    out[i] = x;
  }
}

template <class T>
Case speed_case(std::string size, std::string_view text, void (*plain)(std::span<T>),
                double bound) {
  const auto interpreted = std::make_shared<Interpreted>(text, std::vector<Bytes>{}, 1);
  const auto values = std::make_shared<std::vector<T>>(kInvocations);
  interpreted->run();
  plain(*values);
  if (std::memcmp(interpreted->outputs()[0].data(), values->data(), kInvocations * 4) != 0) {
    give_up("the reference gives other results than plain C++");
  }
  return {.size = std::move(size),
          .felsite = [interpreted] { return processor_ns([&] { interpreted->run(); }); },
          .peer = "a plain C++ loop",
          .peer_cost =
              [values, plain] {
                return processor_ns([&] {
                  plain(*values);
                  keep(values->data());
                });
              },
          .compared = std::string(kSameBytes),
          .bound = bound};
}

std::vector<Case> speed_cases(Extent) {
  return {speed_case("u32, 8.4 M operations", kIntegerOps, integer_ops, kIntegerBound),
          speed_case("f32 exact, 6.3 M operations", kFloatOps, float_ops, kFloatBound)};
}

// Nearly as many times faster as there are cores.
std::vector<Case> thread_cases(Extent) {
  const double cores = std::max(std::thread::hardware_concurrency(), 1u);
  const std::size_t count = 1 << 20;
  std::vector<Case> cases{{.size = "integer_ops",
                           .felsite = runs(kIntegerOps, {}, 0),
                           .peer = "one core",
                           .peer_cost = runs(kIntegerOps, {}, 1)},
                          {.size = "saxpy, 1 Mi elements",
                           .felsite = runs(kSaxpyText, zero_floats(count), 0),
                           .peer = "one core",
                           .peer_cost = runs(kSaxpyText, zero_floats(count), 1)}};
  for (Case& one : cases) {
    one.bound = cores == 1 ? 0 : std::min(1.25 / cores, 1.0);
    one.compared = "nothing: the tests of the reference do";
  }
  return cases;
}

std::vector<Case> function_cases(Extent) {
  using Lanes = void (*)(std::span<const float>, std::span<float>);
  using Scalar = float (*)(float);
  struct Pair {
    const char* name;
    Lanes exact;
    Scalar host;
  };
  const Pair pairs[] = {
      {"exp", &arithmetic::exact_exp, &std::exp},    {"log", &arithmetic::exact_log, &std::log},
      {"sin", &arithmetic::exact_sin, &std::sin},    {"tan", &arithmetic::exact_tan, &std::tan},
      {"atan", &arithmetic::exact_atan, &std::atan},
  };
  constexpr std::size_t kCount = 200'000;
  const auto values = std::make_shared<std::vector<float>>(kCount);
  for (std::size_t i = 0; i < kCount; ++i) (*values)[i] = static_cast<float>(i) * 0.00037F + 0.1F;
  const auto results = std::make_shared<std::vector<float>>(kCount);
  std::vector<Case> cases;
  for (const Pair& pair : pairs) {
    const auto exact = [values, results, function = pair.exact] {
      return processor_ns([&] { function(*values, *results); });
    };
    const auto host = [values, results, function = pair.host] {
      return processor_ns([&] {
        for (std::size_t i = 0; i < kCount; ++i) (*results)[i] = function((*values)[i]);
      });
    };
    exact();
    const std::vector<float> of_felsite = *results;
    host();
    for (std::size_t i = 0; i < kCount; ++i) {
      const float library = (*results)[i];
      if (std::fabs(of_felsite[i] - library) <= 1e-6F * std::max(1.0F, std::fabs(library)))
        continue;
      give_up(fmt::format("{} differs from the C library's", pair.name));
    }
    cases.push_back({.size = fmt::format("{}, 200000 values", pair.name),
                     .felsite = exact,
                     .peer = "the C library's",
                     .peer_cost = host,
                     .compared = "floats to 1e-6"});
  }
  return cases;
}

}  // namespace

std::vector<Row> reference_rows() {
  return {
      {"control", "The same work on both sides: the noise of the machine", 0,
       reference_control_cases},
      {"reference_speed", "Simple operations on one core, beside plain C++", 0, speed_cases},
      {"reference_threads", "All cores, where workgroups are independent", 0, thread_cases},
      {"exact_functions", "The fixed algorithms over lanes, beside the C library", 1.25,
       function_cases},
  };
}

}  // namespace felsite::bench
