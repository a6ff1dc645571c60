// Whole grids as one workgroup, against the reference, which runs them as they are.
#pragma once

#include "support/on_device.h"

namespace felsite::test {

inline Result<codegen::Kernel> lower_as_one(const ir::Program& program,
                                            const codegen::OneWorkgroup& form,
                                            const codegen::Capabilities& mask) {
  codegen::Segment segment(valid(program));
  segment.one_workgroup = form;
  auto kernel = codegen::lower(segment, mask);
  if (kernel) CHECK(validation_message(kernel->words) == "");
  return kernel;
}

// The mask for a device whose workgroups are so small that each lane has several invocations.
inline codegen::Capabilities with_turns(codegen::Capabilities mask, const ir::Program& program,
                                        Extent3 grid, std::uint32_t turns) {
  std::uint32_t all = grid[0] * grid[1] * grid[2];
  for (const std::uint32_t extent : program.workgroup_size()) all *= extent;
  mask.limits.workgroup_invocations = (all - 1) / turns + 1;
  return mask;
}

// The real one for such a mask.
inline vk::Device& roomy_device(codegen::Capabilities mask) {
  mask.limits = device_mask().limits;
  return test_device(mask);
}

// How one iteration as one workgroup differs from the reference; empty where it does not.
inline std::string difference_as_one(const ir::Program& program, const std::vector<Bytes>& inputs,
                                     Extent3 grid, const codegen::Capabilities& mask) {
  const auto kernel = lower_as_one(program, {.grid = grid, .iterations = {}}, mask);
  if (!kernel) return "refused: " + to_string(kernel.error());
  const auto expected = run_on_reference(program, inputs, grid, mask.subgroup_size);
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  const auto found = vk::run_kernel(roomy_device(mask), *kernel, program, spans,
                                    {.grid = {1, 1, 1}}, std::chrono::seconds(60));
  if (!expected && !found && expected.error().code == found.error().code) return "";
  if (!expected) return "the reference: " + to_string(expected.error());
  if (!found) return "the device: " + to_string(found.error());
  return difference(program, *expected, *found);
}

// Iterations as one workgroup, in as many dispatches as it takes. The program's first buffer is the
// `control` of the iterations, and `inputs` are the others'.
struct IterationsRun {
  std::vector<Bytes> outputs;  // without `control`
  Words control;
  std::uint32_t dispatches = 0;
};

inline Result<IterationsRun> run_iterations(const ir::Program& program,
                                            const std::vector<Bytes>& inputs, Extent3 grid,
                                            std::uint32_t bound, bool has_flag,
                                            const codegen::Capabilities& mask) {
  codegen::IterationLoop iterations{.control = 0, .changed = {}};
  if (has_flag) iterations.changed = program.find_buffer("changed");
  const auto kernel = lower_as_one(program, {.grid = grid, .iterations = iterations}, mask);
  if (!kernel) return std::unexpected(kernel.error());
  const auto prepared = vk::PreparedKernel::prepare(roomy_device(mask), *kernel, program);
  if (!prepared) return std::unexpected(prepared.error());
  const Bytes control = bytes_of(Words{bound, 0, 0});
  std::vector<ByteSpan> spans{control};
  spans.insert(spans.end(), inputs.begin(), inputs.end());
  auto bound_kernel = prepared->bind(spans, {.grid = {1, 1, 1}});
  if (!bound_kernel) return std::unexpected(bound_kernel.error());
  IterationsRun run;
  while (true) {
    const auto timing = bound_kernel->submit_and_wait(1, std::chrono::seconds(60));
    if (!timing) return std::unexpected(timing.error());
    ++run.dispatches;
    auto outputs = bound_kernel->read_outputs();
    if (!outputs) return std::unexpected(outputs.error());
    const Words before = run.control;
    run.control = words_of((*outputs)[0]);
    run.outputs.assign(outputs->begin() + 1, outputs->end());
    if (run.control[0] == 0 || run.control[2] == 1) return run;
    REQUIRE(run.control != before);  // each dispatch runs an iteration at least
  }
}

// The same against the reference: results, iterations and convergence. Gives the dispatches it
// took.
inline std::uint32_t check_iterations_under(const codegen::Capabilities& mask,
                                            std::string_view text, const std::vector<Bytes>& inputs,
                                            Extent3 grid, std::uint32_t bound, bool has_flag) {
  INFO(text);
  CAPTURE(bound);
  const ir::Program program = valid_program(text);
  std::vector<Bytes> all{zero_words(3)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  const std::vector<ByteSpan> spans(all.begin(), all.end());
  DispatchConfig config;
  config.grid_override = grid;
  config.fixpoint_iterations = bound;
  config.convergence.kind = has_flag ? Convergence::Kind::Flag : Convergence::Kind::None;
  if (has_flag) config.convergence.flag = "changed";
  ReferenceOptions options;
  options.subgroup_width = mask.subgroup_size;
  std::vector<Bytes> expected;
  const auto timing =
      make_reference_backend(options)->dispatch_borrowed_into(program, spans, expected, config);
  REQUIRE_MESSAGE(timing.has_value(), to_string(timing.error()));
  auto run = run_iterations(program, inputs, grid, bound, has_flag, mask);
  REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
  // Nothing is left where nothing changes any more.
  CHECK(run->control[0] == (timing->converged ? 0 : bound - timing->iterations_run));
  CHECK(run->control[1] == timing->iterations_run);
  CHECK(run->control[2] == (timing->converged ? 1 : 0));
  run->outputs.insert(run->outputs.begin(), expected[0]);
  CHECK(difference(program, expected, run->outputs) == "");
  return run->dispatches;
}

}  // namespace felsite::test
