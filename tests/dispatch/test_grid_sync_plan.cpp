// How programs are cut at grid barriers: segments, control flow, buffer tables, live values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "dispatch/schedule/grid_walk.h"
#include "felsite/grid_sync.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using Kind = SegmentBuffer::Kind;

namespace {

GridSyncPlan plan_of(std::string_view text, const GridSyncOptions& options = {}) {
  GridSyncPlan plan = must(plan_grid_sync(valid_program(text), options));
  for (const GridSegment& segment : plan.segments) {
    INFO(ir::print(segment.program));
    CHECK(ir::validate(segment.program).empty());
  }
  return plan;
}

std::string body(std::string_view statements) {
  return fmt::format(
      "program p workgroup(4) {{ readwrite x: u32[]; readonly y: u32[]; output o: u32[8]; {} }}",
      statements);
}

std::optional<ir::Access> access_of(const GridSegment& segment, std::string_view name) {
  const auto id = segment.program.find_buffer(name);
  if (!id) return std::nullopt;
  return segment.program.buffer(*id).access;
}

bool has(const GridSegment& segment, Kind kind) {
  return std::ranges::find(segment.buffers, kind, &SegmentBuffer::kind) != segment.buffers.end();
}

}  // namespace

TEST_CASE("grid sync plan: one segment more than there are barriers in a row") {
  const std::string step = "x[invocation.x] = x[invocation.x] + 1;";
  std::string text = step;
  for (std::size_t barriers = 0; barriers < 4; ++barriers) {
    const GridSyncPlan plan = plan_of(body(text));
    CHECK(plan.segments.size() == barriers + 1);
    CHECK(plan.grid_syncs == barriers);
    CHECK(plan.host_resolvable);
    for (std::uint32_t s = 0; s < plan.segments.size(); ++s) {
      const NextSegment& next = plan.segments[s].next;
      const bool is_last = s + 1 == plan.segments.size();
      CHECK(next.kind == (is_last ? NextSegment::Kind::End : NextSegment::Kind::Jump));
      if (!is_last) CHECK(next.target == s + 1);
      CHECK_FALSE(plan.segments[s].empty);
    }
    text += " gridsync; " + step;
  }
}

TEST_CASE("grid sync plan: barriers of a workgroup do not cut") {
  CHECK(plan_of(body("barrier; x[0] = 1; barrier; x[1] = 2;")).segments.size() == 1);
}

TEST_CASE("grid sync plan: blocks and regions stay around both halves, with their names") {
  const GridSyncPlan plan =
      plan_of(body(R"(region "outer" { x[0] = 1; { x[1] = 2; gridsync; x[2] = 3; } x[3] = 4; })"));
  REQUIRE(plan.segments.size() == 2);
  for (const GridSegment& segment : plan.segments) {
    const std::string text = ir::print(segment.program);
    CAPTURE(text);
    CHECK(text.find("region \"outer\" {") != std::string::npos);
    CHECK(text.find("  {") != std::string::npos);
  }
}

TEST_CASE("grid sync plan: an empty segment is there, and need not be launched") {
  const GridSyncPlan plan = plan_of(body("gridsync; x[0] = 1; gridsync; gridsync;"));
  REQUIRE(plan.segments.size() == 4);
  CHECK(plan.segments[0].empty);
  CHECK_FALSE(plan.segments[1].empty);
  CHECK(plan.segments[2].empty);
  CHECK(plan.segments[3].empty);
}

TEST_CASE("grid sync plan: workgroup size, name and buffers reach each segment") {
  const GridSyncPlan plan = plan_of(
      "program named workgroup(3, 2) { readonly a: u32[7] binding(4); readwrite b: u32[];"
      " b[0] = a[0]; gridsync; b[1] = a[1]; }");
  REQUIRE(plan.segments.size() == 2);
  for (const GridSegment& segment : plan.segments) {
    CHECK(segment.program.workgroup_size() == Extent3{3, 2, 1});
    CHECK(segment.program.name().starts_with("named"));
    const auto a = segment.program.find_buffer("a");
    REQUIRE(a.has_value());
    CHECK(segment.program.buffer(*a).binding == 4);
    CHECK(segment.program.buffer(*a).count == 7);
  }
}

TEST_CASE("grid sync plan: tables say what each segment does with a buffer, and carry no flags") {
  const GridSyncPlan plan = plan_of(body(
      "o[0] = y[0]; gridsync; o[1] = x[1]; gridsync; x[2] = 5; gridsync; x[3] = o[3] + len(y);"));
  REQUIRE(plan.segments.size() == 4);
  // Nothing has written the output yet: it is zeros. Then its slots must survive.
  CHECK(access_of(plan.segments[0], "o") == ir::Access::WriteOnly);
  CHECK(access_of(plan.segments[0], "y") == ir::Access::ReadOnly);
  CHECK_FALSE(access_of(plan.segments[0], "x").has_value());
  CHECK(access_of(plan.segments[1], "o") == ir::Access::ReadWrite);
  CHECK(access_of(plan.segments[1], "x") == ir::Access::ReadOnly);
  // The caller's bytes beside x[2] must not be lost.
  CHECK(access_of(plan.segments[2], "x") == ir::Access::ReadWrite);
  CHECK(access_of(plan.segments[3], "o") == ir::Access::ReadOnly);
  CHECK(access_of(plan.segments[3], "y") == ir::Access::ReadOnly);
  for (const GridSegment& segment : plan.segments) {
    for (const ir::BufferDecl& buffer : segment.program.buffers()) {
      CHECK_FALSE(buffer.output);
      CHECK_FALSE(buffer.pipeline_live_out);
    }
  }
  // In a second iteration the output is what the first one left.
  const GridSyncPlan iterations =
      plan_of(body("o[0] = y[0]; gridsync; x[0] = 1;"), {.many_iterations = true});
  CHECK(access_of(iterations.segments[0], "o") == ir::Access::ReadWrite);
}

TEST_CASE("grid sync plan: what depends on ids, lengths and constant memory is computed again") {
  const GridSyncPlan plan =
      plan_of(body("let i = invocation.x; let n = len(x) * 2; let v = y[i] + n; x[i] = 1; gridsync;"
                   " x[i] = v;"));
  CHECK(plan.spill_words == 0);
  CHECK(plan.spilled.empty());
  CHECK_FALSE(has(plan.segments[1], Kind::Spill));
  CHECK(plan.segments[1].recomputed.size() == 3);
}

TEST_CASE("grid sync plan: what changes in between is spilled, in as few words as it takes") {
  // A load of memory that the first segment writes; an atomic; an assigned variable.
  const GridSyncPlan loads =
      plan_of(body("let i = invocation.x; let v = x[i]; x[i + 1] = 1; gridsync; x[i] = v;"));
  CHECK(loads.spill_words == 1);
  CHECK(loads.segments[0].stored.size() == 1);
  CHECK(loads.segments[1].loaded.size() == 1);
  CHECK(plan_of(body("let v = atomic_add(x[0], 1); gridsync; o[invocation.x] = v;")).spill_words ==
        1);
  CHECK(plan_of(body("let v = 1; if y[0] == 3 { v = 2; } gridsync; o[0] = v;")).spill_words == 1);
  // Not live: assigned again before it is read, or never read.
  CHECK(plan_of(body("let v = x[0]; x[0] = v; gridsync; v = 7; o[0] = v;")).spill_words == 0);
  CHECK(plan_of(body("let v = x[0]; x[0] = v; gridsync; o[0] = 1;")).spill_words == 0);
  // Wide values take two words, and 33 bools as well.
  CHECK(plan_of(body("let v = u64(x[0]); x[0] = 1; gridsync; o[0] = u32(v);")).spill_words == 2);
  std::string bools = "x[0] = 9;";
  std::string uses;
  for (int i = 0; i < 33; ++i) {
    bools += fmt::format(" let b{0} = x[{0}] == 1;", i);
    uses += fmt::format(" if b{0} {{ o[0] = {0}; }}", i);
  }
  CHECK(plan_of(body(bools + " gridsync;" + uses)).spill_words == 2);
}

TEST_CASE("grid sync plan: values that are never alive together share their place") {
  std::string text = "x[0] = 1;";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format(" let v{0} = x[{0}]; gridsync; o[0] = v{0};", i);
  }
  const GridSyncPlan plan = plan_of(body(text));
  CHECK(plan.spilled.size() == 20);
  CHECK(plan.spill_words == 1);
}

TEST_CASE(
    "grid sync plan: the condition of a return is evaluated again where possible, else "
    "remembered") {
  const GridSyncPlan guard = plan_of(
      body("let i = invocation.x; if i >= len(x) { return; } x[i] = 1; gridsync; x[i] = 2;"));
  CHECK(guard.spill_words == 0);
  CHECK(ir::print(guard.segments[1].program).find("return;") != std::string::npos);
  const GridSyncPlan remembered =
      plan_of(body("if x[invocation.x] == 1 { return; } x[0] = 1; gridsync; x[1] = 2;"));
  REQUIRE(remembered.spilled.size() == 1);
  CHECK(remembered.spilled[0].variable == SpilledValue::kRunning);
  CHECK(remembered.spill_words == 1);
}

TEST_CASE(
    "grid sync plan: loops and conditions around barriers are ways, decided where they can be") {
  const GridSyncPlan plan =
      plan_of(body("x[0] = 1; loop k in 2..5 { x[k] = k; gridsync; if k == 3 { x[7] = k; gridsync; "
                   "} } x[1] = 2;"));
  CHECK(plan.host_resolvable);
  CHECK(plan.trip_count == 1);
  REQUIRE(plan.forks.size() == 2);
  CHECK(plan.forks[0].is_loop);
  CHECK_FALSE(plan.forks[1].is_loop);
  const auto flat = dispatch::flatten(plan, {8, 8, 8}, {1, 1, 1}, 100);
  REQUIRE(flat.has_value());
  // Before, three trips of which the second goes into the condition, and behind.
  std::vector<std::uint32_t> trips;
  for (const dispatch::FlatStep& step : *flat) {
    if (!plan.segments[step.segment].repeats.empty()) trips.push_back(step.trips[0]);
  }
  CHECK(trips == std::vector<std::uint32_t>{2, 3, 3, 4});
  CHECK(flat->size() == 6);
  CHECK_FALSE(dispatch::flatten(plan, {8, 8, 8}, {1, 1, 1}, 5).has_value());

  CHECK_FALSE(plan_of(body("loop k in 0..y[0] { x[k] = 1; gridsync; }")).host_resolvable);
  CHECK(
      plan_of(body("let n = len(y) / 2; loop k in 0..n { x[k] = 1; gridsync; }")).host_resolvable);
  const GridSyncPlan on_device =
      plan_of(body("loop k in 0..y[0] { x[k] = 1; gridsync; }"), {.store_choices = true});
  CHECK(has(on_device.segments[0], Kind::Choices));
}

TEST_CASE("grid sync plan: workgroup memory is kept where it is read again, and only there") {
  const auto with = [](std::string_view statements) {
    return plan_of(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[]; workgroup t: u32[4];"
                    " {} }}",
                    statements));
  };
  CHECK(with("t[local.x] = 1; gridsync; x[invocation.x] = t[3 - local.x];").kept.size() == 1);
  // Filled again before anything reads it.
  CHECK(
      with("t[local.x] = 1; barrier; x[0] = t[1]; gridsync; t[local.x] = 2; barrier; x[1] = t[2];")
          .kept.empty());
  CHECK(with("x[0] = 1; gridsync; t[local.x] = 1; barrier; x[1] = t[2];").kept.empty());
}

TEST_CASE("grid sync plan: changes are reported by stores that each invocation makes once") {
  const GridSyncOptions options{
      .many_iterations = true, .report_changes = true, .one_dimensional = true};
  const GridSyncPlan plan =
      plan_of(body("let i = invocation.x; x[i] = y[i]; gridsync; o[0] = x[0];"), options);
  CHECK(plan.evolving.size() == 2);
  REQUIRE(plan.reported.size() == 1);
  CHECK(plan.program.buffer(plan.reported[0]).name == "x");
  CHECK(plan_of(body("x[invocation.x] = 1; x[invocation.x] = 2;"), options).reported.empty());
  CHECK(plan_of(body("loop k in 0..2 { x[invocation.x] = k; }"), options).reported.empty());
  CHECK(plan_of(body("atomic_add(x[invocation.x], 1);"), options).reported.empty());
}

TEST_CASE("grid sync plan: 10 000 segments over 1 000 buffers share what they can") {
  std::string text = "program many workgroup(8) {";
  for (int i = 0; i < 1000; ++i) text += fmt::format(" readwrite b{}: u32[];", i);
  for (int i = 0; i < 10'000; ++i) {
    if (i != 0) text += " gridsync;";
    text +=
        fmt::format(" b{0}[invocation.x] = b{1}[invocation.x] + {0};", i % 1000, (i + 7) % 1000);
  }
  const ir::Program program = valid_program(text + " }");
  const GridSyncPlan plan = must(plan_grid_sync(valid(program)));
  CHECK(plan.segments.size() == 10'000);
  std::size_t bytes = 0;
  for (const GridSegment& segment : plan.segments) {
    CHECK(segment.program.buffers().size() == 2);
    bytes += segment.program.storage_bytes();
  }
  // Each segment has its own rows and the two buffers it names, and no copy of the whole.
  CHECK(bytes < 10'000 * 4096);
}

TEST_CASE("grid sync plan: only validation makes what it takes") {
  static_assert(!std::is_invocable_v<decltype(plan_grid_sync), ir::Program, GridSyncOptions>);
  const auto divergent = ir::parse(
      "program p workgroup(4) { readwrite x: u32[]; if invocation.x == 0 { gridsync; } x[0] = 1; "
      "}");
  REQUIRE(divergent.has_value());
  const auto valid = ir::require_valid(*divergent);
  REQUIRE_FALSE(valid.has_value());
  CHECK(valid.error().code == ErrorCode::InvalidProgram);
  CHECK(valid.error().message.find("invocation.x") != std::string::npos);
}
