// The calls that need no backend: each allocation of theirs fails once, and all that follow it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <exception>

#include "allocations/allocation_faults.h"
#include "faults/fault_walk.h"
#include "faults/scenario_support.h"
#include "felsite/builder.h"
#include "felsite/explain.h"
#include "felsite/grid_sync.h"
#include "felsite/kernel.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "felsite/vulkan.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::string_view kText = R"(// keeps what it reads
program keep workgroup(4) {
  readonly rounds: u32[1];
  readwrite x: u32[];
  let i = invocation.x;
  loop round in 0..rounds[0] {
    let next = x[(i + 1) % len(x)];
    gridsync;
    x[i] = x[i] + next;
    gridsync;
  }
}
)";
constexpr std::string_view kWrong =
    "program wrong workgroup(4) { readonly x: u32[]; readwrite y: f32[]; y[0] = x[0]; z[1] = 2; }";

struct Answer {
  bool good = false;
  bool short_of_memory = false;  // and says so
};

Answer answer(const ir::Findings& findings, bool good) {
  const bool is_short =
      findings.size() == 1 && findings.front().code == ir::FindingCode::OutOfMemory;
  return {good, is_short && !findings.front().fix.empty()};
}
template <class T>
Answer answer(const std::expected<T, ir::Findings>& result) {
  return result ? Answer{.good = true} : answer(result.error(), false);
}
template <class T>
Answer answer(const Result<T>& result) {
  if (result) return {.good = true};
  const Error& error = result.error();
  return {false, error.code == ErrorCode::DeviceOutOfMemory && !error.fix.empty()};
}

const ir::ValidProgram& keep() {
  static const ir::ValidProgram program = valid(program_of(kText));
  return program;
}
const ir::Program& wrong() {
  static const ir::Program program = program_of(kWrong);
  return program;
}
const ir::ValidProgram& plain() {
  static const ir::ValidProgram program = valid_program(
      "program plain workgroup(4) { readonly x: f32[]; readwrite y: f32[]; let i = invocation.x;"
      " if i < len(y) { y[i] = x[i] / 3.0 + y[i]; } }");
  return program;
}

struct Call {
  std::string_view name;
  Answer (*make)();
};

const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {"parse", [] { return answer(ir::parse(kText)); }},
      {"format", [] { return answer(ir::format(kText)); }},
      {"validate",
       [] {
         const ir::Findings findings = ir::validate(keep());
         return answer(findings, findings.empty());
       }},
      {"validate what is wrong",
       [] {
         const ir::Findings findings = ir::validate(wrong());
         return answer(findings, findings.size() > 1);
       }},
      {"plan_grid_sync", [] { return answer(plan_grid_sync(keep())); }},
      {"lower",
       [] {
         return answer(codegen::lower(codegen::Segment(plain()), codegen::all_capabilities()));
       }},
      {"apply_mask",
       [] {
         const auto mask = codegen::apply_mask(codegen::all_capabilities(), "no-such-feature-here");
         return mask.error().code == ErrorCode::DeviceOutOfMemory ? answer(mask)
                                                                  : Answer{.good = true};
       }},
      {"explain",
       [] {
         return answer(explain(keep(), {.grid_override = {{2, 1, 1}}}, {}, DeviceProfile{}));
       }},
      {"check_vulkan_mask",
       [] { return answer(check_vulkan_mask("none,int64,storage8,storage16,transfer_queue")); }},
      {"list_vulkan_devices", [] { return answer(list_vulkan_devices()); }},
      {"vulkan_capabilities", [] { return answer(vulkan_capabilities()); }},
      {"make_backend", [] { return answer(make_backend("reference")); }},
  };
  return all;
}

Answer make_short(const Call& call, const host_memory::Faults& faults) {
  host_memory::begin(faults);
  try {
    const Answer given = call.make();
    host_memory::pause();
    return given;
  } catch (const std::exception& error) {
    host_memory::pause();
    FAIL_CHECK(fmt::format("An exception left the library: {}.", error.what()));
    return {.good = true};
  }
}

}  // namespace

TEST_CASE("every allocation of the calls that need no backend fails once") {
  long total = 0;
  for (const Call& call : calls()) {
    CAPTURE(call.name);
    static_cast<void>(make_short(call, {}));  // what is made once for the process
    REQUIRE(make_short(call, {}).good);
    const long count = host_memory::end();
    total += count;
    CHECK(count > 0);
    // A sanitizer needs not see each of thousands in one call, and takes half an hour for them.
    const long step = is_sparing() && count > 1000 ? 11 : 1;
    for (long i = 0; i < count; i += step) {
      for (const bool stays : {false, true}) {
        CAPTURE(i);
        CAPTURE(stays);
        const Answer given = make_short(call, {.fail_at = i, .stays = stays});
        // What a call can do without, such as a name or a warning, it does without.
        CHECK((given.good || given.short_of_memory));
      }
    }
    CHECK(make_short(call, {}).good);
    MESSAGE(fmt::format("{}: each {} of {} allocations failed", call.name,
                        step == 1 ? "one" : fmt::format("{}th", step), count));
  }
  MESSAGE(fmt::format("calls without a backend: {} allocations failed", total));
}
