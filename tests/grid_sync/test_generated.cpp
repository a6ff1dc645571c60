// Generated programs with grid barriers: the naive evaluator, the reference in three orders, and
// every form and every path on the tested backend agree on all bytes, iterations and outcomes.
// FELSITE_SEED=n runs the one program of that seed.
#include <algorithm>
#include <cstdlib>

#include "grid_sync/forms.h"
#include "support/difference.h"
#include "support/dispatch_paths.h"
#include "support/naive_evaluator.h"
#include "support/program_generator.h"
#include "support/program_reducer.h"
#include "support/run_counts.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

// Each is run in every form and on every path. A call costs a device more than the reference.
constexpr std::uint64_t kPrograms = 1000;
constexpr std::uint64_t kProgramsOnDevice = 350;

struct Seeds {
  std::uint64_t first;
  std::uint64_t last;
};

Seeds seeds() {
  if (const char* one = std::getenv("FELSITE_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 0);
    return {seed, seed + 1};
  }
  const char* const some = std::getenv("FELSITE_GRID_SYNC_PROGRAMS");
  const std::uint64_t count = on_vulkan() ? kProgramsOnDevice : kPrograms;
  return {1, 1 + (some != nullptr ? std::strtoull(some, nullptr, 0) : count)};
}

ProgramGenerator generator_of(std::uint64_t seed) {
  ProgramGenerator generator(seed, ProgramGenerator::Kind::GridSync);
  generator.with_features(tested_has(Feature::Float64), tested_has(Feature::Atomics64),
                          tested_has(Feature::SharedAtomics64));
  return generator;
}

// Iteration by iteration, with the end as the contract has it.
Expected naive_truth(const ir::Program& program, const std::vector<Bytes>& inputs,
                     const DispatchConfig& config) {
  NaiveEvaluator evaluator(program, inputs, *config.grid_override);
  const std::uint32_t bound = config.fixpoint_iterations.value_or(1);
  const Convergence& convergence = config.convergence;
  std::uint32_t iterations = 0;
  bool converged = false;
  while (iterations < bound && !converged) {
    if (convergence.kind == Convergence::Kind::Flag) {
      Bytes& flag = evaluator.storage(convergence.flag);
      std::ranges::fill(flag, std::byte{0});
    }
    const std::vector<Bytes> before = evaluator.results();
    evaluator.run();
    ++iterations;
    if (convergence.kind == Convergence::Kind::Flag) {
      const Bytes& flag = evaluator.storage(convergence.flag);
      converged = std::ranges::all_of(flag, [](std::byte b) { return b == std::byte{0}; });
    } else if (convergence.kind == Convergence::Kind::Automatic && bound > 1) {
      converged = evaluator.results() == before;
    }
  }
  return {evaluator.results(), iterations, converged};
}

// How a run differs from what is expected; empty where it does not.
std::string run_difference(Backend& backend, const ir::Program& program,
                           const std::vector<Bytes>& inputs, const DispatchConfig& config,
                           const Expected& expected, Error* error = nullptr,
                           Path path = Path::Plain) {
  const auto run = run_path(path, backend, program, spans_of(inputs), config);
  if (!run) {
    if (error != nullptr) *error = run.error();
    return to_string(run.error());
  }
  const std::string bytes = difference(program, expected.outputs, run->outputs);
  if (!bytes.empty() || path == Path::Batched) return bytes;
  if (run->timing.iterations_run != expected.iterations) {
    return fmt::format("{} iterations instead of {}", run->timing.iterations_run,
                       *expected.iterations);
  }
  if (run->timing.converged != expected.converged) return "converged or not";
  return "";
}

RunCounts& counts() {
  static RunCounts all;
  return all;
}

// What the contract refuses on a path, as its message has it: a block whose steps leave its flag
// alone would converge at once.
constexpr const char* kRefusedOfBlocks = "No step of the block writes its flag";

// On every path. A step has no iterations, and nobody chooses the form of what is submitted.
std::string any_path_difference(const ir::Program& program, const std::vector<Bytes>& inputs,
                                const DispatchConfig& config, const Expected& expected) {
  DispatchConfig in_segments = config;
  if (on_vulkan()) in_segments.grid_sync = GridSync::Resident;
  DispatchConfig once = config;
  once.fixpoint_iterations.reset();
  once.convergence = {};
  const Expected expected_once =
      config.fixpoint_iterations ? naive_truth(program, inputs, once) : expected;
  for (const PathName& path : kPaths) {
    const bool is_step = path.takes == Takes::Step;
    const std::string name = fmt::format("path {}", path.name);
    Error error;
    const std::string found =
        run_difference(tested(), program, inputs, is_step ? once : in_segments,
                       is_step ? expected_once : expected, &error, path.path);
    if (path.takes == Takes::Block && error.message.starts_with(kRefusedOfBlocks)) {
      counts().refused(name, kRefusedOfBlocks);
      continue;
    }
    counts().ran(name);
    if (!found.empty()) return name + ": " + found;
  }
  return "";
}

// `sparing`: only the forms that cut. Left to itself the backend takes one of the others, and a
// device takes long to compile the kernels of each.
std::string any_form_difference(const ir::Program& program, const std::vector<Bytes>& inputs,
                                const DispatchConfig& config, const Expected& expected,
                                bool sparing) {
  for (const Form& form : forms()) {
    const bool cuts = form.sync == GridSync::HostSplit || form.sync == GridSync::Resident;
    if (sparing && !cuts) continue;
    Error error;
    if (may_refuse(form, config)) ++refusals().asked;
    const std::string found =
        run_difference(*form.backend, program, inputs, in_form(config, form), expected, &error);
    const std::string name = fmt::format("form {}", form.name);
    const std::string_view refusal = fair_refusal(form, error, config);
    if (!refusal.empty()) {
      counts().refused(name, refusal);
      continue;
    }
    counts().ran(name);
    if (!found.empty()) return name + ": " + found;
  }
  return "";
}

// What is left of a program when statements go may depend on the order in which it is run: then it
// shows nothing.
std::string reduced_difference(const ir::Program& program, const std::vector<Bytes>& inputs,
                               const DispatchConfig& config) {
  const Expected truth = naive_truth(program, inputs, config);
  static const auto forward = make_reference_backend();
  static const auto backward = make_reference_backend({.order = WorkgroupOrder::Reversed});
  if (!run_difference(*forward, program, inputs, config, truth).empty()) return "";
  if (!run_difference(*backward, program, inputs, config, truth).empty()) return "";
  const std::string found = any_form_difference(program, inputs, config, truth, /*sparing=*/false);
  return found.empty() ? any_path_difference(program, inputs, config, truth) : found;
}

std::string tool_options(const DispatchConfig& config) {
  if (!config.fixpoint_iterations) return "";
  const Convergence& convergence = config.convergence;
  const std::string how = convergence.kind == Convergence::Kind::Flag   ? "flag:" + convergence.flag
                          : convergence.kind == Convergence::Kind::None ? "none"
                                                                        : "auto";
  return fmt::format(" --fixpoint {} --convergence {}", *config.fixpoint_iterations, how);
}

}  // namespace

TEST_CASE("generated programs with grid barriers give the same in every form") {
  const Seeds range = seeds();
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator = generator_of(seed);
    const std::string text = generator.text();
    INFO("FELSITE_SEED=" << seed);
    const ir::Program program = valid_program(text);
    const DispatchConfig& config = generator.config();
    const Expected truth = naive_truth(program, generator.inputs(), config);
    const bool sparing = on_vulkan() && seed % 4 != 0;
    std::string found = any_form_difference(program, generator.inputs(), config, truth, sparing);
    if (found.empty()) {
      found = any_path_difference(program, generator.inputs(), config, truth);
    }
    if (found.empty()) continue;
    INFO(found);
    const auto differs = [&](const ir::Program& candidate, const std::vector<Bytes>& inputs) {
      return reduced_difference(candidate, inputs, config);
    };
    if (!on_vulkan()) {
      FAIL_CHECK(text);
      continue;
    }
    FAIL_CHECK("reduced to " << write_reduced(seed, text, generator.inputs(), generator.grid(),
                                              differs, tool_options(config)));
  }
  counts().print("Generated programs with grid barriers");
  for (const PathName& path : kPaths) {
    CHECK(counts().of(fmt::format("path {}", path.name)) >= range.last - range.first);
  }
}

TEST_CASE("generated programs with grid barriers have what they are for") {
  struct Counts {
    int barriers = 0;
    int loops = 0;     // with a grid barrier inside
    int nested = 0;    // such a loop in another loop
    int branches = 0;  // an if with one inside
    int returns = 0;   // before the last barrier
    int kept = 0;      // workgroup memory
    int one_group = 0;
    int flags = 0;
    int iterations = 0;
    int blind = 0;
    int empty = 0;  // an input without elements
  } seen;
  constexpr int kLooked = 400;
  for (std::uint64_t seed = 1; seed <= kLooked; ++seed) {
    ProgramGenerator generator(seed, ProgramGenerator::Kind::GridSync);
    const ir::Program program = valid_program(generator.text());
    bool loop = false;
    bool nested = false;
    bool branch = false;
    bool returned = false;
    bool returned_before = false;
    for (ir::NodeId id = 0; id < program.nodes().size(); ++id) {
      const ir::Node& node = program.node(id);
      returned = returned || node.kind == ir::NodeKind::Return;
      if (node.kind != ir::NodeKind::Barrier || node.ordering() != ir::Ordering::GridSync) continue;
      returned_before = returned;
      int loops = 0;
      for (ir::NodeId outer = 0; outer < id; ++outer) {
        if (program.node(outer).end <= id) continue;
        loops += program.node(outer).kind == ir::NodeKind::Loop ? 1 : 0;
        branch = branch || program.node(outer).kind == ir::NodeKind::If;
      }
      loop = loop || loops > 0;
      nested = nested || loops > 1;
    }
    seen.barriers += program.facts().has_grid_sync ? 1 : 0;
    seen.loops += loop ? 1 : 0;
    seen.nested += nested ? 1 : 0;
    seen.branches += branch ? 1 : 0;
    seen.returns += returned_before ? 1 : 0;
    bool kept = false;
    bool blind = false;
    for (const ir::BufferDecl& buffer : program.buffers()) {
      kept = kept || buffer.access == ir::Access::Workgroup;
      blind = blind || buffer.access == ir::Access::WriteOnly;
    }
    seen.kept += kept ? 1 : 0;
    seen.blind += blind ? 1 : 0;
    seen.one_group += generator.grid() == Extent3{1, 1, 1} ? 1 : 0;
    seen.iterations += generator.config().fixpoint_iterations ? 1 : 0;
    seen.flags += generator.config().convergence.kind == Convergence::Kind::Flag ? 1 : 0;
    for (const Bytes& input : generator.inputs()) seen.empty += input.empty() ? 1 : 0;
  }
  CHECK(seen.barriers == kLooked);
  for (const int count : {seen.loops, seen.branches, seen.returns, seen.kept, seen.one_group,
                          seen.iterations, seen.blind}) {
    CHECK(count >= kLooked / 5);
    CHECK(count <= kLooked * 9 / 10);
  }
  CHECK(seen.nested >= kLooked / 10);
  CHECK(seen.flags >= kLooked / 20);
  CHECK(seen.empty >= kLooked / 20);
}
