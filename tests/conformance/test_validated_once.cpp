// A program is validated once, whatever is done with it afterwards.
#include <fmt/format.h>

#include "conformance/conformance.h"
#include "felsite/builder.h"
#include "felsite/explain.h"
#include "felsite/grid_sync.h"
#include "ir/check/validation.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// How many validations the work takes.
template <class Work>
std::uint64_t validations(Work work) {
  must(tested().flush());
  const std::uint64_t before = ir::validation_count();
  work();
  return ir::validation_count() - before;
}

// Not validated yet, and unknown to the backend: every name makes another fingerprint.
ir::Program fresh_program() {
  static int made = 0;
  return parsed(
      fmt::format("program once{} workgroup(8) {{ readwrite y: u32[]; let i = invocation.x;"
                  " if i < len(y) {{ y[i] = y[i] / 2; }} }}",
                  ++made));
}

// The same with three segments, no two of which are the same program.
constexpr std::uint64_t kSegments = 3;
ir::Program fresh_cut_program() {
  static int made = 0;
  return parsed(
      fmt::format("program cut{} workgroup(8) {{ readwrite y: u32[]; let i = invocation.x;"
                  " y[i] = y[i] / 2; gridsync; y[i] = y[i] / 3; gridsync; y[i] = y[i] / 5; }}",
                  ++made));
}

const std::vector<Bytes>& inputs() {
  static const std::vector<Bytes> given{bytes_of(counting(8, 100))};
  return given;
}

DispatchConfig split(std::uint32_t iterations) {
  DispatchConfig config = on_grid(1);
  config.grid_sync = GridSync::HostSplit;
  config.fixpoint_iterations = iterations;
  return config;
}

}  // namespace

TEST_CASE("validated once: a plain dispatch, and the next ones") {
  const ir::Program program = fresh_program();
  CHECK(validations([&] { must(tested().dispatch(program, inputs())); }) == 1);
  CHECK(validations([&] { must(tested().dispatch(program, inputs())); }) == 0);
  // Another backend does not validate it again either.
  const auto other = make_tested();
  CHECK(validations([&] { must(other->dispatch(program, inputs())); }) == 0);
}

TEST_CASE("validated once: what was valid before it came to the backend") {
  const ir::ValidProgram valid = must(ir::require_valid(fresh_program()));
  CHECK(validations([&] { must(tested().dispatch(valid, inputs())); }) == 0);
  ir::Program built;
  CHECK(validations([&] {
          ir::Builder k("built", {8, 1, 1});
          auto y = k.readwrite("y", ir::Type::U32);
          y[k.invocation(0)] = 1u;
          built = *k.build();
        }) == 1);
  CHECK(validations([&] { must(tested().dispatch(built, inputs())); }) == 0);
}

TEST_CASE("validated once: a program with another workgroup size is another program") {
  const ir::Program program = fresh_program();
  DispatchConfig config;
  config.workgroup_override = {4, 1, 1};
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), config)); }) == 1);
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), config)); }) == 0);
}

TEST_CASE("validated once: compiled, batched, asynchronous") {
  const ir::Program program = fresh_program();
  CHECK(validations([&] {
          const auto pipeline = must(tested().compile(program, {}));
          must(pipeline->dispatch(inputs()));
          const std::vector<std::vector<ByteSpan>> batch(3, spans_of(inputs()));
          must(pipeline->dispatch_batch(batch));
          const OnDevice y(inputs()[0]);
          const std::vector<ResidentHandle> resources{y.handle()};
          must(pipeline->dispatch_resident(resources));
        }) == 1);
  const ir::Program late = fresh_program();
  CHECK(validations([&] {
          std::vector<Bytes> slots;
          must(must(tested().dispatch_async(late, inputs()))->wait_into(slots));
        }) == 1);
}

TEST_CASE("validated once: resident dispatches, sequences and recordings") {
  const OnDevice y(inputs()[0]);
  const std::vector<ResidentHandle> resources{y.handle()};
  const ir::Program program = fresh_program();
  CHECK(validations([&] { must(tested().dispatch_resident(program, resources)); }) == 1);
  const ResidentStep step{.program = fresh_program(), .resources = resources};
  const std::vector<ResidentStep> steps(3, step);
  std::vector<Bytes> slots;
  CHECK(validations([&] {
          must(tested().submit_resident({.prefix = steps, .repeated = steps, .count = 2}, slots));
          must(tested().record_resident({.prefix = steps}))->run_into(slots).value();
        }) == 1);
}

TEST_CASE("validated once: a fixpoint, on the caller's bytes and on resident buffers") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 20;
  must(tested().dispatch(fresh_program(), inputs(), config));  // the runtime's own kernels
  const ir::Program program = fresh_program();
  const OnDevice y(inputs()[0]);
  const std::vector<ResidentHandle> resources{y.handle()};
  must(tested().dispatch_resident(fresh_program(), resources, config));
  // A device runs it as one segment, which is another program.
  const std::uint64_t most = has_grid_barriers() ? 1 : 2;
  const auto first = validations([&] { must(tested().dispatch(program, inputs(), config)); });
  CHECK(first >= 1);
  CHECK(first <= most);
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), config)); }) == 0);
  const auto resident =
      validations([&] { must(tested().dispatch_resident(program, resources, config)); });
  CHECK(resident <= most - 1);
}

TEST_CASE("validated once: a host split and each of its segments, in all iterations") {
  const ir::Program program = fresh_cut_program();
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), split(5))); }) ==
        1 + kSegments);
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), split(5))); }) == 0);
  DispatchConfig smaller = split(5);
  smaller.workgroup_override = {4, 1, 1};
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), smaller)); }) == 1 + kSegments);
  CHECK(validations([&] { must(tested().dispatch(program, inputs(), smaller)); }) == 0);
  const ir::Program late = fresh_cut_program();
  CHECK(validations([&] {
          std::vector<Bytes> slots;
          must(must(tested().dispatch_async(late, inputs(), split(2)))->wait_into(slots));
        }) == 1 + kSegments);
}

TEST_CASE("validated once: explained and then run") {
  const ir::Program program = fresh_cut_program();
  const DispatchConfig config = on_grid(1);
  CHECK(validations([&] {
          must(explain(program, config, {}, tested().device_profile()));
          must(choose_grid(program, config, {32}));
        }) == 1);
  const auto cut = validations([&] { must(tested().dispatch(program, inputs(), config)); });
  CHECK(cut <= (has_grid_barriers() ? 0 : kSegments));
}

TEST_CASE("validated once: a program with findings is refused each time") {
  const ir::Program wrong = parsed("program p workgroup(8) { readonly y: u32[]; y[0] = 1; }");
  for (int i = 0; i < 2; ++i) {
    CHECK(validations([&] {
            CHECK(code_of(tested().dispatch(wrong, inputs())) == ErrorCode::InvalidProgram);
          }) == 1);
  }
}
