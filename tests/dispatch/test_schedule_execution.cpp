// Every form of a program, executed step by step on the interpreter, gives the bytes, iterations
// and traps of the program itself.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <map>

#include "base/checked.h"
#include "dispatch/reference/schedule_execution.h"
#include "felsite/grid_sync.h"
#include "felsite/text.h"
#include "support/parse.h"
#include "support/program_generator.h"
#include "support/results.h"
#include "support/run_program.h"
#include "support/schedule_of.h"

using namespace felsite;
using namespace felsite::test;

namespace {

std::string trap_of(const Error& error) {
  const auto& trap = error.context.trap;
  if (!trap) return "no trap";
  return fmt::format("{} {} at {}", trap->tag, trap->address, fmt::join(trap->invocation, " "));
}

struct Case {
  const ir::ValidProgram& program;
  const std::vector<Bytes>& inputs;
  DispatchConfig config;
};

class Comparison {
 public:
  // All forms on devices with and without conditional steps, with large and small dispatches, that
  // are looked at after each run or after several.
  void check(const Case& c) {
    const auto native = backend_->dispatch_borrowed_timed(c.program, spans_of(c.inputs), c.config);
    for (const GridSync form : {GridSync::Automatic, GridSync::Resident, GridSync::OneWorkgroup}) {
      for (const bool has_conditions : {true, false}) {
        for (const std::uint32_t workgroups : {65535u, 2u}) {
          CAPTURE(static_cast<int>(form));
          CAPTURE(has_conditions);
          CAPTURE(workgroups);
          DeviceProfile device = profile_for_schedules();
          device.conditional_steps = has_conditions;
          device.workgroups_per_dispatch.fill(workgroups);
          DispatchConfig config = c.config;
          config.grid_sync = form;
          check_form(c, config, device, native);
        }
      }
    }
  }

  // The resident form on one device. `look` is given the schedule.
  void check_resident(const Case& c, const DeviceProfile& device, const auto& look) {
    const auto native = backend_->dispatch_borrowed_timed(c.program, spans_of(c.inputs), c.config);
    DispatchConfig config = c.config;
    config.grid_sync = GridSync::Resident;
    const auto planned = schedule_of(c.program, spans_of(c.inputs), config, device);
    if (planned) look(planned->schedule);
    check_form(c, config, device, native);
  }

  std::map<std::string, int> compared;  // by route

 private:
  void check_form(const Case& c, const DispatchConfig& config, const DeviceProfile& device,
                  const Result<TimedOutputs>& native) {
    auto planned = schedule_of(c.program, spans_of(c.inputs), config, device);
    if (!planned) {
      CHECK(planned.error().code == ErrorCode::UnsupportedFeature);
      ++compared["refused"];
      return;
    }
    const dispatch::Route route = planned->schedule.route.route;
    if (route == dispatch::Route::HostSplit) return;
    const dispatch::ExecutionOptions options{.runs_between_looks =
                                                 device.conditional_steps ? 1u : 3u};
    const auto executed = execute(*planned, programs_, options);
    INFO(ir::print(c.program));
    if (!native) {
      REQUIRE_FALSE(executed.has_value());
      CHECK(executed.error().code == native.error().code);
      CHECK(trap_of(executed.error()) == trap_of(native.error()));
      ++compared["traps"];
      return;
    }
    if (!executed) FAIL(to_string(executed.error()));
    ++compared[std::string(to_string(route))];
    for (ir::BufferId id = 0; id < planned->memory.size(); ++id) {
      const std::uint32_t output = planned->bindings.buffers[id].output;
      if (output == ir::kNone) continue;
      CAPTURE(c.program.buffer(id).name);
      CHECK(planned->memory[id] == native->outputs[output]);
    }
    CHECK(executed->iterations == native->timing.iterations_run);
    if (config.fixpoint_iterations.value_or(1) > 1) {
      CHECK(executed->converged == native->timing.converged);
    }
  }

  const std::unique_ptr<Backend> backend_ = must(make_backend("reference"));
  dispatch::PreparedPrograms programs_{4096};
};

}  // namespace

TEST_CASE("schedules: every form of a generated program gives the bytes of the program") {
  Comparison comparison;
  const auto check = [&](std::uint64_t seed, ProgramGenerator::Kind kind, DispatchConfig config) {
    CAPTURE(seed);
    ProgramGenerator generator(seed, kind);
    const auto parsed = ir::parse(generator.text());
    REQUIRE(parsed.has_value());
    if (kind == ProgramGenerator::Kind::GridSync) config = generator.config();
    config.grid_override = generator.grid();
    comparison.check({valid(*parsed), generator.inputs(), config});
  };
  for (std::uint64_t seed = 1; seed <= 1200; ++seed) {
    check(seed, ProgramGenerator::Kind::GridSync, {});
  }
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    DispatchConfig config;
    if (seed % 3 != 0) config.fixpoint_iterations = 1 + seed % 40;
    if (seed % 2 == 0) config.convergence.kind = Convergence::Kind::None;
    check(seed, ProgramGenerator::Kind::Plain, config);
  }
  for (const auto& [route, count] : comparison.compared) MESSAGE(route << ": " << count);
  CHECK(comparison.compared["plain"] > 100);
  CHECK(comparison.compared["resident"] > 200);
  CHECK(comparison.compared["one workgroup"] > 100);
}

TEST_CASE("schedules: what is spread over small bindings gives the bytes of the program") {
  Comparison comparison;
  std::map<std::string, int> spread;  // schedules by what is in several buffers
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    ProgramGenerator generator(seed, ProgramGenerator::Kind::GridSync);
    const auto parsed = ir::parse(generator.text());
    REQUIRE(parsed.has_value());
    DispatchConfig config = generator.config();
    config.grid_override = generator.grid();
    const Case one{valid(*parsed), generator.inputs(), config};
    const auto shared = static_cast<int>(
        std::ranges::count(parsed->buffers(), ir::Access::Workgroup, &ir::BufferDecl::access));
    // A word of each invocation in a binding, and eight bytes of each workgroup.
    const std::uint64_t groups = base::volume(generator.grid()).value();
    const auto& size = parsed->workgroup_size();
    for (const std::uint64_t bytes : {groups * size[0] * size[1] * size[2] * 4, groups * 8}) {
      DeviceProfile device = profile_for_schedules();
      device.max_storage_buffer_bytes = bytes;
      comparison.check_resident(one, device, [&](const dispatch::Schedule& schedule) {
        std::map<std::string, int> buffers;
        for (const dispatch::PlannedBuffer& buffer : schedule.buffers) {
          if (buffer.kind == dispatch::PlannedBuffer::Kind::Device) ++buffers[buffer.name];
        }
        for (const auto& [name, count] : buffers) {
          const int alone = name == "kept memory" ? shared : 1;
          spread[name] += count > alone ? 1 : 0;
        }
      });
    }
  }
  for (const std::string name : {"spill", "workgroup spill", "kept memory"}) {
    MESSAGE(name << " in several buffers: " << spread[name]);
    CHECK(spread[name] > 20);
  }
}

TEST_CASE("schedules: the trap of a form is the trap of the program") {
  Comparison comparison;
  const std::vector<Bytes> inputs{bytes_of(Words{0, 1, 2, 3, 4, 5, 6, 7})};
  for (const char* const body :
       {"if i == 5 { trap(i, late); } if i == 3 { trap(i, early); } gridsync; x[i] = 1;",
        "x[i] = x[i] + 1; gridsync; if x[7 - i] == 3 { trap(x[i], behind); } gridsync; x[i] = 0;",
        "loop k in 0..4 { x[i] = x[i] + k; gridsync; if x[i] + k == 9 { trap(k, trip); } }",
        "loop k in 0..x[2] + 2 { gridsync; if k == 2 && i == 6 { trap(i, device); } gridsync; }",
        "gridsync; if x[0] == 0 { if i > 4 { trap(i, inside); } gridsync; }"}) {
    const ir::ValidProgram program =
        valid_program(fmt::format("program p workgroup(2) {{ readwrite x: u32[]; "
                                  "let i = invocation.x; {} }}",
                                  body));
    CAPTURE(body);
    for (const std::uint32_t bound : {1u, 3u}) {
      DispatchConfig config;
      config.grid_override = Extent3{4, 1, 1};
      config.fixpoint_iterations = bound;
      comparison.check({program, inputs, config});
    }
  }
  CHECK(comparison.compared["traps"] > 60);
}
