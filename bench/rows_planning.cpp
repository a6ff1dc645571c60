// Rows about cutting programs at their grid barriers: host work only, before anything is compiled.
#include <fmt/format.h>

#include <cstdlib>

#include "felsite/grid_sync.h"
#include "harness.h"
#include "kernels.h"

namespace felsite::bench {
namespace {

// One statement a segment, each on two of the buffers.
ir::Program rules(std::uint32_t segments, std::uint32_t buffers) {
  std::string text = "program rules workgroup(64) {\n";
  for (std::uint32_t b = 0; b < buffers; ++b) text += fmt::format("  readwrite b{}: u32[];\n", b);
  text += "  let i = invocation.x;\n";
  for (std::uint32_t s = 0; s < segments; ++s) {
    if (s != 0) text += "  gridsync;\n";
    text += fmt::format("  b{}[i] = b{}[i] + {};\n", s % buffers, (s + 7) % buffers, s);
  }
  return parsed_program(text + "}\n");
}

std::function<double()> plans(ir::Program program, std::uint32_t segments) {
  return [program = std::move(program), segments] {
    return time_ns([&] {
      const auto plan = plan_grid_sync(program);
      if (!plan || plan->segments.size() != segments) std::abort();
    });
  };
}

std::vector<Case> planning_cases(bool) {
  constexpr std::uint32_t kSegments = 10'000;
  constexpr std::uint32_t kBuffers = 1000;
  constexpr double kScale = 10;
  const auto tenth = plans(rules(kSegments / 10, kBuffers / 10), kSegments / 10);
  const auto whole = plans(rules(kSegments, kBuffers), kSegments);
  return {{.size = "10000 segments, 1000 buffers",
           .felsite = whole,
           .peer = "budget: 0.5 s",
           .peer_cost = budget(0.5e9)},
          // Room for memory that is not in the caches; what is not linear would show as 10.
          {.size = "the same, its growth",
           .felsite = whole,
           .peer = "a tenth of both, times 10",
           .peer_cost = [tenth] { return tenth() * kScale; },
           .bound = 2.0}};
}

}  // namespace

std::vector<Row> planning_rows() {
  return {{"plan_segments", "Cutting a program at its grid barriers", 1.0, planning_cases}};
}

}  // namespace felsite::bench
