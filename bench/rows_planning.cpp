// Rows about cutting programs at their grid barriers: host work only, before anything is compiled.
#include <fmt/format.h>

#include "felsite/grid_sync.h"
#include "felsite/validate.h"
#include "give_up.h"
#include "harness.h"
#include "kernels.h"

namespace felsite::bench {
namespace {

// Measured, and a quarter more: half as much again would show.
constexpr double kPlanBound = 20;

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
    return processor_ns([&] {
      const auto plan = plan_grid_sync(must(ir::require_valid(program)));
      if (!plan || plan->segments.size() != segments) give_up("a plan has other segments");
    });
  };
}

// Checking a program is one walk over it: a yardstick that has nothing to do with planning.
std::vector<Case> planning_cases(Extent extent) {
  const std::uint32_t segments = by_extent(extent, 100u, 10'000u, 10'000u);
  const std::uint32_t buffers = segments / 10;
  constexpr double kScale = 10;
  const ir::Program program = rules(segments, buffers);
  const auto tenth = plans(rules(segments / 10, buffers / 10), segments / 10);
  const auto whole = plans(program, segments);
  const std::string size = fmt::format("{} segments, {} buffers", segments, buffers);
  return {{.size = size,
           .felsite = whole,
           .peer = "validating the same program",
           .peer_cost =
               [program] {
                 return processor_ns([&] {
                   if (!ir::validate(program).empty()) give_up("a program is not valid");
                 });
               },
           .compared = "nothing: other work",
           .bound = kPlanBound},
          // Room for memory that is not in the caches; what is not linear would show as 10.
          {.size = "the same, its growth",
           .felsite = whole,
           .peer = "a tenth of both, times 10",
           .peer_cost = [tenth] { return tenth() * kScale; },
           .compared = "nothing: two programs",
           .bound = 2.0}};
}

}  // namespace

std::vector<Row> planning_rows() {
  return {{"plan_segments", "Cutting a program at its grid barriers", 0, planning_cases}};
}

}  // namespace felsite::bench
