// What make_schedule refuses, before anything is allocated, and on which profiles it does not.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "dispatch/explain/schedule_text.h"
#include "support/parse.h"
#include "support/schedule_of.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Attempt {
  explicit Attempt(std::string text, DispatchConfig how = {})
      : program(std::move(text)), config(std::move(how)) {}
  Attempt&& on(std::optional<Extent3> groups) && {
    grid = groups;
    return std::move(*this);
  }
  Attempt&& with_elements(std::uint64_t count) && {
    elements = count;
    return std::move(*this);
  }
  Attempt&& on_device(DeviceProfile profile) && {
    device = std::move(profile);
    return std::move(*this);
  }

  std::string program;
  DispatchConfig config;
  std::optional<Extent3> grid = Extent3{4, 1, 1};
  std::uint64_t elements = 8;  // of each buffer without a count
  DeviceProfile device = profile_for_schedules();
};

Result<dispatch::Schedule> attempt(const Attempt& with) {
  const ir::ValidProgram program = valid_program(with.program);
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    counts.push_back(buffer.count != 0 ? buffer.count : with.elements);
    const bool is_shared = buffer.access == ir::Access::Workgroup;
    bytes.push_back(is_shared ? 0 : counts.back() * ir::info(buffer.element).bytes);
  }
  return dispatch::make_schedule({.program = program,
                                  .config = with.config,
                                  .counts = counts,
                                  .bytes = bytes,
                                  .grid = with.grid,
                                  .name = "p"},
                                 with.device);
}

Error refused(const Attempt& with, ErrorCode code, std::string_view reason) {
  CAPTURE(with.program);
  const auto made = attempt(with);
  REQUIRE_FALSE(made.has_value());
  const std::string text = to_string(made.error());
  CAPTURE(text);
  CHECK(made.error().code == code);
  CHECK(text.find(reason) != std::string::npos);
  CHECK(text.find(" Fix: ") != std::string::npos);
  CHECK(made.error().context.program == "p");
  return made.error();
}

std::string program_with(std::string_view body, std::string_view more = "") {
  return fmt::format("program p workgroup(2) {{ readwrite x: u32[]; {} let i = invocation.x; {} }}",
                     more, body);
}

const std::string kBarrier = program_with("x[i] = i; gridsync; x[i] = x[0];");
const std::string kSpill = program_with("let old = atomic_add(x[0], 1); gridsync; x[i] = old;");

DispatchConfig form(GridSync sync, std::optional<std::uint32_t> bound = {}) {
  DispatchConfig config;
  config.grid_sync = sync;
  config.fixpoint_iterations = bound;
  return config;
}

// The first step of the program itself, and its kernel.
dispatch::ScheduledStep& step_of(dispatch::Schedule& schedule) {
  const auto found = std::ranges::find(schedule.prefix, true, &dispatch::ScheduledStep::is_callers);
  REQUIRE(found != schedule.prefix.end());
  return *found;
}
dispatch::ScheduledKernel& kernel_of(dispatch::Schedule& schedule) {
  return schedule.kernels[step_of(schedule).kernel];
}

}  // namespace

TEST_CASE("a schedule refuses the form one workgroup where the grid cannot be one") {
  const DispatchConfig one = form(GridSync::OneWorkgroup);
  const auto code = ErrorCode::UnsupportedFeature;
  refused(Attempt(kBarrier, one).on(Extent3{4097, 1, 1}), code, "8194 invocations are too many");
  refused(Attempt(program_with("s[0] = i; gridsync; x[i] = s[0];", "workgroup s: u32[1];"), one),
          code, "its own memory");
  refused(Attempt(program_with("x[i] = 1; barrier; x[i] = x[0]; gridsync;"), one), code,
          "its own barriers");
  refused(Attempt(program_with("x[i] = subgroup_add(i); gridsync;"), one), code,
          "its own subgroups");
  refused(Attempt(program_with("x[i] = i; all_gather(y, x);", "output y: u32[8];"), one), code,
          "a collective copies");
  CHECK(attempt(Attempt(kBarrier, one).on(Extent3{4096, 1, 1})).has_value());
}

TEST_CASE("a schedule refuses forms that the device or the program rules out") {
  DispatchConfig cooperative;
  cooperative.cooperative = true;
  refused(Attempt(kBarrier, cooperative), ErrorCode::UnsupportedFeature, "which the device lacks");
  DeviceProfile native = profile_for_schedules();
  native.grid_sync = true;
  for (const GridSync sync : {GridSync::Resident, GridSync::OneWorkgroup}) {
    refused(Attempt(kBarrier, form(sync)).on_device(native), ErrorCode::UnsupportedFeature,
            "has native grid barriers");
  }
  const std::string shrinks =
      "program p workgroup(1) { readwrite w: u32[3]; indirect_dispatch(w[0]); w[0] = w[0] / 2; }";
  refused(Attempt(shrinks, form(GridSync::OneWorkgroup, 3)), ErrorCode::UnsupportedFeature,
          "Each iteration has a grid of its own");
  DeviceProfile whole = profile_for_schedules();
  whole.allows_host_grid_sync_split = false;
  refused(Attempt(kBarrier, form(GridSync::HostSplit)).on_device(whole),
          ErrorCode::UnsupportedFeature, "does not allow the host split");
  refused(Attempt("program p workgroup(2) { readonly x: u32[]; readwrite y: u32[]; workgroup "
                  "s: u32[4]; async_load(s[0], x[0], 4, copy); gridsync; async_wait(copy); "
                  "y[invocation.x] = s[0]; }",
                  form(GridSync::Resident)),
          ErrorCode::UnsupportedFeature, "copy");
}

TEST_CASE("a grid that only the device knows is for programs without grid barriers") {
  const std::string head =
      "program p workgroup(2) { readonly w: u32[3]; readwrite x: u32[]; indirect_dispatch(w[0]); ";
  const auto code = ErrorCode::UnsupportedFeature;
  const std::string barrier = head + "x[invocation.x] = 1; gridsync; x[invocation.x] = 2; }";
  refused(Attempt(barrier).on(std::nullopt), code, "only the device knows its grid");
  const std::string plain = head + "x[invocation.x] = 1; }";
  refused(Attempt(plain, form(GridSync::OneWorkgroup, 3)).on(std::nullopt), code,
          "Only the device knows the grid");
  CHECK(attempt(Attempt(plain).on(std::nullopt)).has_value());
  for (const GridSync sync : {GridSync::Automatic, GridSync::Resident}) {
    const auto iterations = attempt(Attempt(plain, form(sync, 3)).on(std::nullopt));
    REQUIRE(iterations.has_value());
    CHECK(iterations->route.route == dispatch::Route::Resident);
  }
}

TEST_CASE("a schedule counts what it keeps before anything is allocated") {
  const DispatchConfig resident = form(GridSync::Resident);
  DeviceProfile small = profile_for_schedules();
  small.memory_bytes = 1000;
  const Error memory = refused(Attempt(kSpill, resident).on(Extent3{1000, 1, 1}).on_device(small),
                               ErrorCode::DeviceOutOfMemory, "1 word of each invocation");
  CHECK(memory.context.requested == 8000u);
  CHECK(memory.context.available == 1000u);

  DeviceProfile narrow = profile_for_schedules();
  narrow.max_storage_buffer_bytes = 1000;
  const auto code = ErrorCode::UnsupportedFeature;
  refused(Attempt(kSpill, resident).on(Extent3{1000, 1, 1}).on_device(narrow), code,
          "a value of each invocation");
  refused(Attempt(program_with("let head = x[workgroup_id.x]; barrier; gridsync; x[i] = head;"),
                  resident)
              .on(Extent3{1000, 1, 1})
              .on_device(narrow),
          code, "a value of each workgroup");
  refused(Attempt(program_with("s[local.x] = i; gridsync; x[i] = s[0];", "workgroup s: u32[2];"),
                  resident)
              .on(Extent3{1000, 1, 1})
              .on_device(narrow),
          code, "a part of the workgroup memory `s`");
  // Three words of each invocation, one to a binding.
  const std::string three = program_with(
      "let a = atomic_add(x[0], 1); let b = atomic_add(x[1], 1); let c = "
      "atomic_add(x[2], 1); gridsync; x[i] = a + b * c;");
  const auto spread = attempt(Attempt(three, resident).on(Extent3{125, 1, 1}).on_device(narrow));
  REQUIRE(spread.has_value());
  CHECK(spread->buffers.size() == 4);
}

TEST_CASE("a schedule spreads what workgroups keep over several bindings") {
  const std::string two = program_with(
      "let a = x[workgroup_id.x]; let b = x[workgroup_id.x + 1]; barrier; s[local.x] = i; "
      "gridsync; "
      "x[i] = a * s[1] + b * s[0];",
      "workgroup s: u32[2];");
  const DispatchConfig resident = form(GridSync::Resident);
  // Two words of 125 workgroups, of the values and of the memory.
  DeviceProfile device = profile_for_schedules();
  const struct {
    std::uint64_t binding;
    std::size_t buffers;
  } rows[] = {{1000, 2}, {999, 4}, {500, 4}};
  for (const auto& row : rows) {
    CAPTURE(row.binding);
    device.max_storage_buffer_bytes = row.binding;
    const auto made = attempt(Attempt(two, resident).on(Extent3{125, 1, 1}).on_device(device));
    REQUIRE(made.has_value());
    std::size_t kept = 0;
    for (const dispatch::PlannedBuffer& buffer : made->buffers) {
      if (buffer.kind != dispatch::PlannedBuffer::Kind::Device) continue;
      ++kept;
      CHECK(buffer.bytes == 2000 / row.buffers);
    }
    CHECK(kept == row.buffers);
  }
  device.max_storage_buffer_bytes = 499;
  refused(Attempt(two, resident).on(Extent3{125, 1, 1}).on_device(device),
          ErrorCode::UnsupportedFeature, "a value of each workgroup");
}

TEST_CASE("a segment that has too many bindings because of what is spread says so") {
  const std::string two = program_with(
      "let a = x[workgroup_id.x]; let b = x[workgroup_id.x + 1]; barrier; s[local.x] = i; "
      "gridsync; x[i] = a * s[1] + b * s[0];",
      "workgroup s: u32[2];");
  DeviceProfile device = profile_for_schedules();
  const auto lowered = [&](std::uint64_t binding, std::uint32_t storage_buffers) {
    device.max_storage_buffer_bytes = binding;
    const auto made =
        attempt(Attempt(two, form(GridSync::Resident)).on(Extent3{100, 1, 1}).on_device(device));
    REQUIRE(made.has_value());
    codegen::Capabilities mask = codegen::all_capabilities();
    mask.limits.storage_buffers = storage_buffers;
    const dispatch::ScheduledKernel& kernel = made->kernels.at(0);
    return codegen::lower(kernel.as_segment(valid(kernel.program)), mask);
  };
  // `x`, the values and the memory; then each of these in two parts.
  CHECK(lowered(800, 3).has_value());
  const auto narrow = lowered(799, 4);
  REQUIRE_FALSE(narrow.has_value());
  CHECK(narrow.error().code == ErrorCode::UnsupportedFeature);
  CHECK(narrow.error().message.find("5 storage buffers (1 of its own, and Felsite adds 4 for what "
                                    "lives across grid barriers)") != std::string::npos);
  CHECK(narrow.error().fix.find("keep less across grid barriers") != std::string::npos);
  CHECK(lowered(799, 5).has_value());
}

TEST_CASE("a schedule counts the copies that changes are found with") {
  DeviceProfile small = profile_for_schedules();
  small.memory_bytes = 4096;
  const std::string shared =
      program_with("x[i] = x[i] + 1; gridsync; x[7 - i] = x[i];");  // written in two segments
  refused(Attempt(shared, form(GridSync::Resident, 3)).with_elements(2000).on_device(small),
          ErrorCode::DeviceOutOfMemory, "to run it in the form `resident`");
}

TEST_CASE("a schedule refuses grids that nothing can run") {
  const auto code = ErrorCode::UnsupportedFeature;
  const Extent3 huge{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (const GridSync sync : {GridSync::Automatic, GridSync::Resident, GridSync::OneWorkgroup}) {
    for (const std::string& program : {kBarrier, kSpill, program_with("x[i] = 1;")}) {
      refused(Attempt(program, form(sync)).on(huge), code, "is too large");
    }
  }
  // It can be counted, and what it would keep is too much.
  refused(Attempt(kSpill, form(GridSync::Resident)).on(Extent3{1u << 16, 1u << 16, 1u << 15}),
          ErrorCode::DeviceOutOfMemory, "1 word of each invocation");
}

TEST_CASE("a schedule refuses a configuration that means nothing") {
  refused(Attempt(kBarrier, form(GridSync::Automatic, 0)), ErrorCode::BadInputs, "0 iterations");
  DispatchConfig config = form(GridSync::Automatic, 3);
  for (const char* const flag : {"nosuch", "c"}) {
    config.convergence = {Convergence::Kind::Flag, flag};
    refused(Attempt(program_with("x[i] = c[0];", "readonly c: u32[1];"), config),
            ErrorCode::BadInputs, "is not a u32 buffer that the program can set");
  }
  config = {};
  config.grid_sync = static_cast<GridSync>(77);
  refused(Attempt(kBarrier, config), ErrorCode::BadInputs, "");
}

TEST_CASE("limits that a profile does not state are none") {
  DeviceProfile silent = profile_for_schedules();
  silent.memory_bytes = 0;
  silent.max_storage_buffer_bytes = 0;
  const auto made = attempt(Attempt(kSpill, form(GridSync::Resident)).on_device(silent));
  REQUIRE(made.has_value());
  CHECK(made->buffers.size() == 2);
  CHECK(made->buffers[1].bytes == 32);
}

TEST_CASE("the text of a schedule hides nothing") {
  using dispatch::BufferRef;
  using dispatch::Schedule;
  DeviceProfile device = profile_for_schedules();
  device.workgroups_per_dispatch.fill(3);
  const auto made = attempt(Attempt(program_with("loop k in 0..2 { x[i] = x[i] + k; gridsync; }"),
                                    form(GridSync::Resident, 3))
                                .on_device(device));
  REQUIRE(made.has_value());
  const BufferRef word{1, 4, 4};
  const std::vector<std::function<void(Schedule&)>> changes{
      [](Schedule& s) { s.route.route = dispatch::Route::Plain; },
      [](Schedule& s) { s.route.reason += "!"; },
      [](Schedule& s) { s.buffers[0].kind = dispatch::PlannedBuffer::Kind::Device; },
      [](Schedule& s) { ++s.buffers[1].bytes; },
      [](Schedule& s) { s.buffers[1].name = "other"; },
      [](Schedule& s) {
        s.buffers[1].constants = {1, 2, 3, 4};
      },
      [](Schedule& s) { kernel_of(s).parameters.reset(); },
      [](Schedule& s) { kernel_of(s).grid_in_parts = false; },
      [](Schedule& s) { kernel_of(s).one_workgroup.emplace(); },
      [](Schedule& s) { step_of(s).kernel = 0; },
      [](Schedule& s) { step_of(s).buffers[0].offset = 4; },
      [](Schedule& s) { step_of(s).buffers[0] = {}; },
      [](Schedule& s) { ++step_of(s).counts[0]; },
      [](Schedule& s) { step_of(s).supplied[0] = 9; },
      [](Schedule& s) {
        step_of(s).grid = {9, 1, 1};
      },
      [](Schedule& s) {
        step_of(s).workgroups = {1, 1, 1};
      },
      [](Schedule& s) {
        step_of(s).base = {1, 0, 0};
      },
      [=](Schedule& s) { step_of(s).indirect = word; },
      [=](Schedule& s) { step_of(s).condition = word; },
      [](Schedule& s) { step_of(s).name = "other"; },
      [](Schedule& s) { step_of(s).is_callers = false; },
      [](Schedule& s) { step_of(s).segment.reset(); },
      [](Schedule& s) { step_of(s).counts_as_launch = true; },
      [](Schedule& s) { step_of(s).is_further_part = true; },
      [](Schedule& s) { step_of(s).caller_step = 3; },
      [](Schedule& s) { step_of(s).reads_own_grid = true; },
      [](Schedule& s) { s.prefix.pop_back(); },
      [](Schedule& s) { s.repeated.push_back(step_of(s)); },
      [](Schedule& s) { s.count = 7; },
      [=](Schedule& s) { s.watch = word; },
      [](Schedule& s) { ++s.initial_words[0].words.back(); },
      [=](Schedule& s) { s.initial_words[0].target = word; },
      [=](Schedule& s) { s.indirect_gates.push_back({word}); },
      [](Schedule& s) { s.outcome.reset(); },
      [](Schedule& s) { ++s.outcome->bound; },
      [](Schedule& s) { ++s.outcome->always; },
      [=](Schedule& s) { s.outcome->ran.push_back(word); },
      [=](Schedule& s) { s.outcome->counted = word; },
      [](Schedule& s) { s.outcome->left.reset(); },
      [=](Schedule& s) { s.outcome->converged = word; },
      [=](Schedule& s) { s.outcome->flag = word; },
      [](Schedule& s) { s.outcome->always_converges = true; },
      [](Schedule& s) { ++s.outcome->launches_in_iteration; },
      [=](Schedule& s) { s.outcome->launches = word; },
      [](Schedule& s) { ++s.outcome->segments; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    CAPTURE(i);
    Schedule changed = *made;
    changes[i](changed);
    CHECK(to_string(changed) != to_string(*made));
  }
}
