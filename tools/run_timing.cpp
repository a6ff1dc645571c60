#include "run_timing.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "felsite/printable.h"

namespace felsite::tool {
namespace {

using nlohmann::json;

struct Part {
  const char* title;
  const char* key;
  std::optional<std::uint64_t> DispatchTiming::*nanoseconds;
};
constexpr std::array kParts{
    Part{"wall", "wall_ns", &DispatchTiming::wall_ns},
    Part{"device", "device_ns", &DispatchTiming::device_ns},
    Part{"enqueue", "enqueue_ns", &DispatchTiming::enqueue_ns},
    Part{"wait", "wait_ns", &DispatchTiming::wait_ns},
};

// The counters that say what a run cost.
struct Count {
  const char* title;
  const char* key;
  Counter counter;
  bool is_bytes = false;
};
constexpr std::array kCounts{
    Count{"launches", "launches", Counter::Launches},
    Count{"submissions", "submissions", Counter::Submissions},
    Count{"barriers", "barriers", Counter::Barriers},
    Count{"bytes up", "upload_bytes", Counter::UploadBytes, true},
    Count{"bytes down", "download_bytes", Counter::DownloadBytes, true},
};

std::string line(std::string_view title, std::string_view text) {
  return fmt::format("{:13}{}\n", title, text);
}

std::string duration_text(std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  constexpr std::array kUnits{"µs", "ms", "s"};
  double value = static_cast<double>(nanoseconds) / 1000;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

// Exact, and from one KiB on also rounded.
std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{}", bytes);
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{} ({:.1f} {})", bytes, value, kUnits[unit]);
}

}  // namespace

std::string timing_text(const Ran& ran, bool is_fixpoint) {
  const DispatchTiming& timing = ran.results.timing;
  std::string text =
      line("ran on", fmt::format("{}, backend {}", printable(ran.device), ran.backend));
  for (const Part& part : kParts) {
    const auto& nanoseconds = timing.*part.nanoseconds;
    text += line(part.title, nanoseconds ? duration_text(*nanoseconds) : "not measured");
  }
  std::string iterations = std::to_string(timing.iterations_run);
  if (is_fixpoint) iterations += timing.converged ? ", converged" : ", not converged";
  text += line("iterations", iterations);
  for (const Count& count : kCounts) {
    const std::uint64_t value = ran.counted[count.counter];
    text += line(count.title, count.is_bytes ? size_text(value) : std::to_string(value));
  }
  return text + line("pipelines", fmt::format("{} compiled, {} found ready",
                                              ran.counted[Counter::PipelinesCompiled],
                                              ran.counted[Counter::PipelinesCached]));
}

json timing_json(const Ran& ran) {
  const DispatchTiming& timing = ran.results.timing;
  json body{{"iterations_run", timing.iterations_run},
            {"converged", timing.converged},
            {"pipelines_compiled", ran.counted[Counter::PipelinesCompiled]},
            {"pipelines_cached", ran.counted[Counter::PipelinesCached]}};
  for (const Part& part : kParts) {
    const auto& nanoseconds = timing.*part.nanoseconds;
    body[part.key] = nanoseconds ? json(*nanoseconds) : json();
  }
  for (const Count& count : kCounts) body[count.key] = ran.counted[count.counter];
  return body;
}

}  // namespace felsite::tool
