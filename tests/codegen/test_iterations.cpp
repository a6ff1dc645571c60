// Many iterations in one dispatch: the modules under many masks, and what is refused.
#include <fmt/format.h>

#include <random>

#include "felsite/kernel.h"
#include "support/program_generator.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Capabilities;
using codegen::Feature;

namespace {

constexpr std::string_view kText = R"(program iterations workgroup(8) {{
  readwrite control: u32[3];
  readonly n: u32[];
  readwrite x: u32[];
  readwrite changed: u32[{}];
  let i = invocation.x;
  let sum = 0;
  {}
  loop k in 0..n[i] {{
    loop j in 0..3 {{
      if x[k] == j {{
        return;
      }}
      sum = sum + x[j];
    }}
  }}
  gridsync;
  if n[0] == 7 {{
    x[i] = sum;
    gridsync;
  }}
  changed[0] = sum;
}}
)";

Result<codegen::Kernel> lower_iterations(const ir::Program& program,
                                         const codegen::IterationLoop& iterations, Extent3 grid,
                                         const Capabilities& mask) {
  codegen::Segment segment(valid(program));
  segment.one_workgroup = codegen::OneWorkgroup{.grid = grid, .iterations = iterations};
  return codegen::lower(segment, mask);
}

}  // namespace

TEST_CASE("iterations under many masks") {
  std::vector<Capabilities> masks;
  for (const Capabilities& base : {codegen::all_capabilities(), codegen::no_capabilities()}) {
    for (const std::uint32_t version : {0x0001'0300U, 0x0001'0400U, 0x0001'0500U, 0x0001'0600U}) {
      for (const std::uint32_t budget : {0U, 50U, 65535U, 1'000'000U}) {
        masks.push_back(base);
        masks.back().spirv_version = version;
        masks.back().loop_budget = budget;
      }
    }
  }
  for (const char* count : {"1", "20", ""}) {
    for (const char* before :
         {"", "if x[i] == 5 { trap(i, found); } barrier;", "if x[i] == 5 { return; } gridsync;"}) {
      const ir::Program program = valid_program(fmt::format(fmt::runtime(kText), count, before));
      const bool folds = std::string_view(before).find(" barrier") == std::string_view::npos;
      for (const Capabilities& mask : masks) {
        CAPTURE(mask.spirv_version);
        CAPTURE(mask.loop_budget);
        for (const auto& changed :
             {std::optional<ir::BufferId>(3), std::optional<ir::BufferId>()}) {
          const auto kernel = lower_iterations(program, {.control = 0, .changed = changed},
                                               {folds ? 3U : 1U, 1, 1}, mask);
          REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
          CHECK(validation_message(kernel->words) == "");
          CHECK(kernel->buffers[0] == codegen::BufferBinding{0, 0, true});
          // A checked loop, or a trap, can report.
          CHECK(kernel->status_binding.has_value() ==
                (mask.loop_budget != 0 || program.facts().has_trap));
          if (!folds) continue;
          Capabilities narrow = mask;
          narrow.limits.workgroup_invocations = 7;
          const auto in_turns =
              lower_iterations(program, {.control = 0, .changed = changed}, {3, 1, 1}, narrow);
          REQUIRE_MESSAGE(in_turns.has_value(), to_string(in_turns.error()));
          CHECK(validation_message(in_turns->words) == "");
        }
      }
    }
  }
}

TEST_CASE("many loops of unknown length take no more workgroup memory") {
  std::string text = "program loops workgroup(8) { readwrite control: u32[3]; readwrite x: u32[]; ";
  for (int i = 0; i < 1000; ++i) text += fmt::format("loop k{} in 0..x[{}] {{ x[0] = 1; }} ", i, i);
  Capabilities mask = codegen::all_capabilities();
  mask.loop_budget = 65535;
  const auto kernel =
      lower_iterations(valid_program(text + "}"), {.control = 0, .changed = {}}, {1, 1, 1}, mask);
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  CHECK(validation_message(kernel->words) == "");
  CHECK(kernel->shared_bytes <= 1024);
}

TEST_CASE("generated programs in iterations under random masks") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    Capabilities mask = codegen::no_capabilities();
    mask.features = std::bitset<codegen::kFeatureCount>(random());
    mask.spirv_version = 0x0001'0000u | static_cast<std::uint32_t>(3 + random() % 4) << 8;
    mask.loop_budget = random() % 2 == 0 ? 0 : 1000;
    ProgramGenerator generator(
        seed, seed % 4 == 0 ? ProgramGenerator::Kind::Subgroups : ProgramGenerator::Kind::Plain);
    std::string text = generator.text();
    text.insert(text.find('{') + 1, "\n  readwrite control: u32[3];");
    INFO("seed " << seed << ", features " << mask.features.to_string() << "\n" << text);
    const auto kernel =
        lower_iterations(valid_program(text), {.control = 0, .changed = {}}, {1, 1, 1}, mask);
    if (kernel) {
      CHECK(validation_message(kernel->words) == "");
    } else {
      CHECK(kernel.error().code == ErrorCode::UnsupportedFeature);
    }
  }
}

TEST_CASE("buffers that cannot serve iterations are refused") {
  const auto refusal = [](std::string_view declarations, std::string_view body,
                          const codegen::IterationLoop& iterations) -> std::string {
    const ir::Program program = valid_program(fmt::format(
        "program p workgroup(1) {{ {} readwrite x: u32[]; {} x[0] = 1; }}", declarations, body));
    const auto kernel =
        lower_iterations(program, iterations, {1, 1, 1}, codegen::all_capabilities());
    if (kernel) return "";
    CHECK(kernel.error().code == ErrorCode::InvalidProgram);
    CHECK(!kernel.error().fix.empty());
    return kernel.error().message;
  };
  constexpr const char* kControl = "readwrite c: u32[3];";
  CHECK(refusal(kControl, "", {.control = 0, .changed = 1}) == "");
  CHECK(refusal(kControl, "", {.control = 0, .changed = {}}) == "");
  CHECK(refusal(kControl, "", {.control = 2, .changed = {}}).find("no buffer") !=
        std::string::npos);
  CHECK(refusal(kControl, "", {.control = 0, .changed = 9}).find("no buffer") != std::string::npos);
  CHECK(refusal(kControl, "", {.control = 0, .changed = 0}).find("`c`") != std::string::npos);
  CHECK(refusal(kControl, "c[0] = 1;", {.control = 0, .changed = {}}).find("`c`") !=
        std::string::npos);
  CHECK(refusal(kControl, "x[1] = c[0];", {.control = 0, .changed = {}}).find("`c`") !=
        std::string::npos);
  for (const char* control : {"readonly c: u32[3];", "readwrite c: i32[3];", "readwrite c: u32[4];",
                              "readwrite c: u32[];", "workgroup c: u32[3];"}) {
    CAPTURE(control);
    CHECK(refusal(control, "", {.control = 0, .changed = {}}).find("`c`") != std::string::npos);
  }
  for (const char* changed :
       {"readonly f: u32[1];", "workgroup f: u32[1];", "readwrite f: f32[1];"}) {
    CAPTURE(changed);
    CHECK(refusal(std::string(kControl) + changed, "", {.control = 0, .changed = 1}).find("`f`") !=
          std::string::npos);
  }
}
