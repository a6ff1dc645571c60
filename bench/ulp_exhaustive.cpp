// Measures the error of the transcendental functions over all 2^32 inputs, against double libm.
//
// The ulp of a true value t is the f32 spacing in t's binade, 2^(floor(log2 |t|) - 23), with 2^-126
// as the least and 2^127 as the greatest binade. At the ends of the range:
//  - below 2^-126 a result of zero is right, and it is accepted while t is at most 2 ulp above;
//  - infinity is right where t rounds to it, and it is accepted while t is at most 2 ulp below.
// NaN, infinity and the sign of every result have to be right without tolerance, and every result
// canonical. Operands that are not canonical count as what a load makes of them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "arithmetic/exact_float.h"
#include "arithmetic/function_algorithms.h"
#include "arithmetic/functions.h"
#include "arithmetic/host_value.h"

namespace {

using felsite::arithmetic::canonical;
using felsite::arithmetic::is_canonical;
using felsite::arithmetic::functions::PlainF32;
namespace functions = felsite::arithmetic::functions;

using LaneFunction = void (*)(std::span<const float>, std::span<float>);
using TrueFunction = double (*)(double);

// Which sign of x can reuse the true value of |x|.
enum class Symmetry { kNone, kOdd, kEven };

struct FunctionRow {
  const char* name;
  LaneFunction evaluate;
  LaneFunction evaluate_plain;  // with the machine's bare + - *
  TrueFunction truth;
  Symmetry symmetry;
};

template <class Function>
[[gnu::flatten]] void each_plain(std::span<const float> x, std::span<float> result,
                                 Function function) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    result[i] = canonical(function(PlainF32{x[i]}).value);
  }
}

#define FELSITE_ROW(name, symmetry)                                                            \
  FunctionRow {                                                                                \
#name, felsite::arithmetic::exact_##name,                                                    \
        [](std::span<const float> x, std::span<float> result) {                                 \
          each_plain(x, result, [](PlainF32 lane) { return functions::name(lane); });           \
        },                                                                                      \
        [](double x) { return std::name(x); }, symmetry \
  }

constexpr std::array kFunctions{
    FELSITE_ROW(sin, Symmetry::kOdd),   FELSITE_ROW(cos, Symmetry::kEven),
    FELSITE_ROW(tan, Symmetry::kOdd),   FELSITE_ROW(asin, Symmetry::kOdd),
    FELSITE_ROW(acos, Symmetry::kNone), FELSITE_ROW(atan, Symmetry::kOdd),
    FELSITE_ROW(sinh, Symmetry::kOdd),  FELSITE_ROW(cosh, Symmetry::kEven),
    FELSITE_ROW(tanh, Symmetry::kOdd),  FELSITE_ROW(exp, Symmetry::kNone),
    FELSITE_ROW(exp2, Symmetry::kNone), FELSITE_ROW(log, Symmetry::kNone),
    FELSITE_ROW(log2, Symmetry::kNone),
};

#undef FELSITE_ROW

constexpr double kLimit = 2.0;
constexpr double kWrong = std::numeric_limits<double>::infinity();

// The error in ulp, or kWrong for a wrong special value. The common case is first.
double ulp_error(float result, double truth) {
  const double magnitude = std::fabs(truth);
  const double found = std::fabs(static_cast<double>(result));
  if (std::isnan(truth)) return std::isnan(result) && is_canonical(result) ? 0.0 : kWrong;
  if (std::isnan(result) || !is_canonical(result)) return kWrong;
  if (std::signbit(result) != std::signbit(truth)) return kWrong;
  if (magnitude >= 0x1p-126 && magnitude < 0x1p127 && found > 0.0) {
    // The bits of the exponent alone are the binade; its inverse ulp is 2^(23 - exponent).
    const std::uint64_t binade = std::bit_cast<std::uint64_t>(magnitude) & 0x7FF0'0000'0000'0000U;
    const double inverse_ulp =
        std::bit_cast<double>(((2U * 1023U + 23U) * (std::uint64_t{1} << 52)) - binade);
    return std::fabs(found - magnitude) * inverse_ulp;
  }
  if (std::isinf(truth)) return std::isinf(result) ? 0.0 : kWrong;
  if (magnitude >= 0x1p127) {
    constexpr double kRoundsToInfinity = 0x1p128 - 0x1p103;
    const double nearest = std::isinf(result) ? kRoundsToInfinity : found;
    const bool is_right = std::isinf(result) && magnitude >= kRoundsToInfinity;
    return is_right ? 0.0 : std::fabs(nearest - magnitude) * 0x1p-104;
  }
  if (found == 0.0) return magnitude < 0x1p-126 ? 0.0 : (magnitude - 0x1p-126) * 0x1p149;
  return (found - magnitude) * 0x1p149;
}

struct Worst {
  double error = -1.0;
  float input = 0.0F;
  float result = 0.0F;
  double truth = 0.0;
  std::uint64_t inputs = 0;
  std::uint64_t above_one = 0;
  std::uint64_t plain_differs = 0;

  void merge(const Worst& other) {
    inputs += other.inputs;
    above_one += other.above_one;
    plain_differs += other.plain_differs;
    // Of equals the least input, so that the table does not depend on the threads.
    const bool is_earlier =
        std::bit_cast<std::uint32_t>(other.input) < std::bit_cast<std::uint32_t>(input);
    if (other.error < error || (other.error == error && !is_earlier)) return;
    error = other.error;
    input = other.input;
    result = other.result;
    truth = other.truth;
  }
};

constexpr std::size_t kBlock = 1024;

struct Block {
  std::array<float, kBlock> input;
  std::array<float, kBlock> result;
  std::array<float, kBlock> plain;
  std::array<double, kBlock> truth;
};

void judge(const Block& block, std::size_t count, bool compare_plain, Worst& worst) {
  for (std::size_t i = 0; i < count; ++i) {
    const double error = ulp_error(block.result[i], block.truth[i]);
    worst.above_one += error > 1.0 ? 1 : 0;
    if (error < worst.error) continue;
    worst.merge({error, block.input[i], block.result[i], block.truth[i], 0, 0, 0});
  }
  worst.inputs += count;
  if (!compare_plain) return;
  for (std::size_t i = 0; i < count; ++i) {
    const auto exact_bits = std::bit_cast<std::uint32_t>(block.result[i]);
    const auto plain_bits = std::bit_cast<std::uint32_t>(block.plain[i]);
    worst.plain_differs += exact_bits != plain_bits ? 1 : 0;
  }
}

// `count` magnitudes from `begin` on, and their negatives.
void check_block(const FunctionRow& function, std::uint64_t begin, std::uint64_t stride,
                 std::size_t count, bool compare_plain, Block& block, Worst& worst) {
  for (const bool negative : {false, true}) {
    const std::uint32_t sign = negative ? 0x8000'0000U : 0U;
    for (std::size_t i = 0; i < count; ++i) {
      const auto magnitude = static_cast<std::uint32_t>(begin + i * stride);
      block.input[i] = canonical(std::bit_cast<float>(magnitude | sign));
    }
    function.evaluate(std::span(block.input).first(count), std::span(block.result).first(count));
    if (compare_plain) {
      function.evaluate_plain(std::span(block.input).first(count),
                              std::span(block.plain).first(count));
    }
    if (!negative || function.symmetry == Symmetry::kNone) {
      for (std::size_t i = 0; i < count; ++i) {
        block.truth[i] = function.truth(static_cast<double>(block.input[i]));
      }
    } else if (function.symmetry == Symmetry::kOdd) {
      for (std::size_t i = 0; i < count; ++i) block.truth[i] = -block.truth[i];
    }
    judge(block, count, compare_plain, worst);
  }
}

class Progress {
 public:
  Progress(const char* name, std::uint64_t total)
      : name_(name), total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r{:40}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t done) {
    if (!shown_) return;
    const std::scoped_lock lock(mutex_);
    fmt::print(stderr, "\r{:5} {:5.1f} %", name_,
               100.0 * static_cast<double>(done) / static_cast<double>(total_));
    std::fflush(stderr);
  }

 private:
  const char* name_;
  std::uint64_t total_;
  bool shown_;
  std::mutex mutex_;
};

Worst check_function(const FunctionRow& function, std::uint64_t stride, unsigned thread_count,
                     bool compare_plain) {
  const std::uint64_t total = ((std::uint64_t{1} << 31) + stride - 1) / stride;  // magnitudes
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  Worst worst;
  Progress progress(function.name, total);
  const auto work = [&] {
    Block block{};
    Worst local;
    for (;;) {
      const std::uint64_t begin = next.fetch_add(kChunk);
      if (begin >= total) break;
      const std::uint64_t end = std::min(begin + kChunk, total);
      for (std::uint64_t at = begin; at < end; at += kBlock) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - at));
        check_block(function, at * stride, stride, count, compare_plain, block, local);
      }
      progress.advance(end);
    }
    const std::scoped_lock lock(mutex);
    worst.merge(local);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < thread_count; ++i) threads.emplace_back(work);
  threads.clear();  // joins
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Worst error of the transcendental functions over all f32 inputs");
  std::vector<std::string> names;
  unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  std::uint64_t stride = 1;
  bool compare_plain = false;
  std::vector<std::string> known;
  for (const auto& function : kFunctions) known.emplace_back(function.name);
  app.add_option("--functions", names, "only these, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  app.add_option("--threads", thread_count, "worker threads")->check(CLI::Range(1U, 1024U));
  app.add_option("--stride", stride, "check every n-th input")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 31));
  app.add_flag("--compare-plain", compare_plain,
               "also count the inputs for which bare machine arithmetic gives other bits");
  CLI11_PARSE(app, argc, argv);

  bool failed = false;
  fmt::print("{:6} {:>11} {:>9} {:>11}  {:10} {:>16} {:>16} {:>24} {:>6} {:>8}\n", "name", "inputs",
             "worst ulp", "above 1 ulp", "input bits", "input", "result", "true value", "plain",
             "s");
  for (const auto& function : kFunctions) {
    const bool wanted = names.empty() || std::ranges::find(names, function.name) != names.end();
    if (!wanted) continue;
    const auto start = std::chrono::steady_clock::now();
    const Worst worst = check_function(function, stride, thread_count, compare_plain);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    const bool plain_wrong = worst.plain_differs != 0;
    failed = failed || !(worst.error <= kLimit) || plain_wrong;
    fmt::print("{:6} {:11} {:9.4f} {:11}  0x{:08X} {:16.9g} {:16.9g} {:24.17g} {:>6} {:8.1f}\n",
               function.name, worst.inputs, worst.error, worst.above_one,
               std::bit_cast<std::uint32_t>(worst.input), worst.input, worst.result, worst.truth,
               compare_plain ? fmt::format("{}", worst.plain_differs) : "-", elapsed.count());
    std::fflush(stdout);  // a row takes minutes: show it when it is there
  }
  return failed ? 1 : 0;
}
