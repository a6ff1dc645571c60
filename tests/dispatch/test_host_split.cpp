// The host split against the reference's own grid barriers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "felsite/grid_sync.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/program_generator.h"
#include "support/results.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("host split: generated programs give the bytes of native grid barriers") {
  const auto backend = must(make_backend("reference"));
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    CAPTURE(seed);
    ProgramGenerator generator(seed);
    const std::string text = generator.text();
    const auto parsed = ir::parse(text);
    REQUIRE(parsed.has_value());
    if (!parsed->facts().has_grid_sync) continue;
    const auto plan = plan_grid_sync(*parsed);
    if (!plan) continue;
    for (const GridSegment& segment : plan->segments) {
      const ir::Findings findings = ir::validate(segment.program);
      if (!findings.empty()) {
        FAIL(text << "\n"
                  << ir::print(segment.program) << "\n"
                  << to_string(ir::to_error(findings, "s")));
      }
    }
    DispatchConfig config;
    config.grid_override = generator.grid();
    if (seed % 3 == 0) config.fixpoint_iterations = 1 + seed % 4;
    const auto native = backend->dispatch(*parsed, generator.inputs(), config);
    config.grid_sync = GridSync::HostSplit;
    const auto split = backend->dispatch(*parsed, generator.inputs(), config);
    REQUIRE_MESSAGE(native.has_value() == split.has_value(),
                    text << (split ? "" : to_string(split.error())));
    if (!native) continue;
    if (*native != *split) {
      std::string all = text;
      for (const GridSegment& segment : plan->segments) all += "\n" + ir::print(segment.program);
      FAIL(all);
    }
  }
}
