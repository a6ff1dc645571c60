// Rows about code generation: Felsite's lowering against a GLSL compiler, and its growth.
#include <fmt/format.h>

#include "felsite/kernel.h"
#include "give_up.h"
#include "glsl.h"
#include "harness.h"
#include "kernels.h"

namespace felsite::bench {
namespace {

// Small programs lower in microseconds: each round does many, and gives the cost of one.
std::function<double()> lowers(ir::Program program, int times) {
  return [program = std::move(program), times] {
    const codegen::Capabilities mask = codegen::all_capabilities();
    return processor_ns([&] {
             for (int i = 0; i < times; ++i) {
               // Its validation is part of the cost; a valid program would not be validated again.
               const bool is_valid = ir::validate(program).empty();
               if (!is_valid || !codegen::lower(must(ir::require_valid(program)), mask))
                 give_up("a program of the benchmarks is refused");
             }
           }) /
           times;
  };
}

std::function<double()> compiles(std::string source, int times) {
  return [source = std::move(source), times] {
    return processor_ns([&] {
             for (int i = 0; i < times; ++i) {
               if (compile_glsl(source).empty()) give_up("a program of the benchmarks is refused");
             }
           }) /
           times;
  };
}

// Of the whole way each side has before its driver: from a built program, with its validation, and
// from a text.
std::vector<Case> glslang_lowering_cases(Extent extent) {
  const std::uint32_t statements = by_extent(extent, 20u, 2000u, 2000u);
  std::vector<Case> cases;
  const auto add = [&](std::string size, ir::Program program, std::string source, int times) {
    cases.push_back({.size = std::move(size),
                     .felsite = lowers(std::move(program), 10 * times),
                     .peer = glslang_name() + ", from GLSL text",
                     .peer_cost = compiles(std::move(source), times),
                     .compared = "kernels_vs_glslang runs them"});
  };
  for (const BenchKernel* kernel : kernels_with_peers()) {
    const std::string peer(kernel->peer);
    const ir::Program exact = program_of(*kernel, ir::FloatMode::Exact);
    if (exact.buffer(0).element == ir::Type::F32) {
      add(fmt::format("{}, fast", kernel->name), program_of(*kernel, ir::FloatMode::Fast), peer, 5);
      add(fmt::format("{}, exact", kernel->name), exact, peer, 5);
    } else {
      add(std::string(kernel->name), exact, peer, 5);
    }
  }
  add(fmt::format("{} statements", statements), parsed_program(straight_line_text(statements)),
      straight_line_glsl(statements), 1);
  return cases;
}

// Room for memory that is neither in the caches nor mapped; a step that is not linear would show
// as 10 and more.
constexpr double kLinearBound = 1.5;

std::vector<Case> linear_cases(Extent extent) {
  constexpr std::uint32_t kBase = 1000;
  std::vector<Case> cases;
  for (const std::uint32_t nodes : {10 * kBase, 100 * kBase}) {
    if (extent == Extent::Check && nodes != 10 * kBase) continue;
    const double scale = static_cast<double>(nodes) / kBase;
    const int times = static_cast<int>(100 * kBase / nodes);
    cases.push_back({.size = fmt::format("{} nodes", nodes),
                     .felsite = lowers(parsed_program(mixed_text(nodes)), times),
                     .peer = "1000 nodes, scaled by size",
                     .peer_cost = [base = lowers(parsed_program(mixed_text(kBase)), 100),
                                   scale] { return base() * scale; },
                     .compared = "nothing: two programs"});
  }
  return cases;
}

}  // namespace

std::vector<Row> codegen_rows() {
  return {
      {"codegen_vs_glslang", "Making SPIR-V, beside a GLSL compiler", 0.05, glslang_lowering_cases},
      {"codegen_linear", "The cost of making SPIR-V grows as the program does", kLinearBound,
       linear_cases},
  };
}

}  // namespace felsite::bench
