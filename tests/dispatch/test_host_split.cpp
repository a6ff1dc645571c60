// The host split against the reference's own grid barriers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "dispatch/facade/host_split.h"
#include "felsite/backend.h"
#include "felsite/grid_sync.h"
#include "felsite/telemetry.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/program_generator.h"
#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Runs segments on the reference, and notes where the bytes of each lie.
class Watched {
 public:
  using Places = std::map<std::string, const std::byte*>;
  struct Segment {
    Places given;  // by buffer
    Places left;
  };
  std::vector<Segment> segments;
  std::uint64_t most_bytes = 0;  // of one buffer

  dispatch::SegmentRunner runner(std::uint64_t binding_limit = UINT32_MAX,
                                 std::uint64_t memory_limit = UINT32_MAX) {
    device_.max_storage_buffer_bytes = binding_limit;
    device_.allows_host_grid_sync_split = true;
    return {.run =
                [this](const ir::Program& program, std::span<const ByteSpan> inputs,
                       std::vector<Bytes>& outputs, const DispatchConfig& config) {
                  return run(program, inputs, outputs, config);
                },
            .device = device_,
            .memory_limit = memory_limit};
  }

 private:
  Result<DispatchTiming> run(const ir::Program& program, std::span<const ByteSpan> inputs,
                             std::vector<Bytes>& outputs, const DispatchConfig& config) {
    auto timing = backend_->dispatch_borrowed_into(program, inputs, outputs, config);
    Segment segment;
    for (const ByteSpan input : inputs) most_bytes = std::max(most_bytes, input.size());
    std::size_t input = 0;
    std::size_t output = 0;
    for (const ir::BufferDecl& buffer : program.buffers()) {
      const ir::Role role = ir::role_of(buffer);
      if (ir::takes_caller_bytes(role)) segment.given[buffer.name] = inputs[input++].data();
      if (ir::gives_result(role)) segment.left[buffer.name] = outputs[output++].data();
    }
    segments.push_back(std::move(segment));
    return timing;
  }

  DeviceProfile device_;
  std::unique_ptr<Backend> backend_ = must(make_backend("reference"));
};

// Three segments: `a` is only read, `x` evolves, `o` is an accumulator.
const char* const kThreeSegments = R"(program three workgroup(4) {
  readonly a: u32[];
  readwrite x: u32[];
  output o: u32[8];
  let i = invocation.x;
  x[i] = x[i] + a[i];
  gridsync;
  o[i] = o[i] + x[len(x) - 1 - i] + a[0];
  gridsync;
  x[i] = x[i] ^ 1;
})";
constexpr std::uint32_t kIterations = 5;

DispatchConfig three_config() {
  DispatchConfig config = on_grid(2);
  config.fixpoint_iterations = kIterations;
  config.convergence.kind = Convergence::Kind::None;
  config.grid_sync = GridSync::HostSplit;
  return config;
}

std::vector<Bytes> three_results() {
  Words x = counting(8, 100);
  Words o(8);
  for (std::uint32_t iteration = 0; iteration < kIterations; ++iteration) {
    for (std::uint32_t i = 0; i < 8; ++i) x[i] += i + 1;
    for (std::uint32_t i = 0; i < 8; ++i) o[i] += x[7 - i] + 1;
    for (std::uint32_t& word : x) word ^= 1;
  }
  return {bytes_of(x), bytes_of(o)};
}

}  // namespace

TEST_CASE("host split: inputs stay where the caller has them, what evolves is handed on") {
  Watched backend;
  const Bytes a = bytes_of(counting(8, 1));
  const Bytes x = bytes_of(counting(8, 100));
  const std::vector<ByteSpan> inputs{a, x};
  std::vector<Bytes> slots;
  must(dispatch::dispatch_host_split(backend.runner(), valid_program(kThreeSegments), inputs, slots,
                                     three_config()));
  CHECK(slots == three_results());
  REQUIRE(backend.segments.size() == 3 * kIterations);
  Watched::Places live{{"a", a.data()}, {"x", x.data()}};
  std::set<const std::byte*> early;
  std::set<const std::byte*> late;
  for (std::size_t i = 0; i < backend.segments.size(); ++i) {
    CAPTURE(i);
    const Watched::Segment& segment = backend.segments[i];
    for (const auto& [name, place] : segment.given) {
      CAPTURE(name);
      if (live.contains(name)) CHECK(live[name] == place);
    }
    for (const auto& [name, place] : segment.left) {
      live[name] = place;
      (i < 6 ? early : late).insert(place);
    }
    CHECK_FALSE(segment.left.contains("a"));
  }
  // Two iterations have made all the memory that there is; later ones use it in turn.
  CHECK(std::ranges::includes(early, late));
}

TEST_CASE("host split: the caller's slots keep their memory") {
  const auto backend = must(make_backend("reference"));
  const Bytes a = bytes_of(counting(8, 1));
  const Bytes x = bytes_of(counting(8, 100));
  const std::vector<ByteSpan> inputs{a, x};
  std::vector<Bytes> slots(2, Bytes(500, std::byte{9}));
  const std::array<const std::byte*, 2> places{slots[0].data(), slots[1].data()};
  must(backend->dispatch_borrowed_into(valid_program(kThreeSegments), inputs, slots,
                                       three_config()));
  CHECK(slots == three_results());
  CHECK(slots[0].data() == places[0]);
  CHECK(slots[1].data() == places[1]);
}

TEST_CASE("host split: segments, barriers between them and iterations are counted") {
  const auto backend = must(make_backend("reference"));
  const std::vector<Bytes> inputs{bytes_of(counting(8, 1)), bytes_of(counting(8, 100))};
  const Telemetry before = telemetry_snapshot();
  must(backend->dispatch(valid_program(kThreeSegments), inputs, three_config()));
  const Telemetry counts = difference(telemetry_snapshot(), before);
  CHECK(counts[Counter::GridSyncSplits] == 1);
  CHECK(counts[Counter::GridSyncSegments] == 3);
  CHECK(counts[Counter::GridSyncPoints] == 2 * kIterations);
  CHECK(counts[Counter::Launches] == 3 * kIterations);
  CHECK(counts[Counter::IterationsRun] == kIterations);
}

TEST_CASE("host split: a timeout counts also while nothing is launched") {
  const auto backend = must(make_backend("reference"));
  DispatchConfig config = on_grid(1);
  config.grid_sync = GridSync::HostSplit;
  config.timeout = std::chrono::milliseconds(50);
  const auto empty =
      backend->dispatch(valid_program("program p workgroup(1) { output o: u32[1];"
                                      " loop k in 0..4000000000 { gridsync; } o[0] = 1; }"),
                        {}, config);
  CHECK(code_of(empty) == ErrorCode::Timeout);
  config.fixpoint_iterations = 4'000'000'000;
  config.convergence.kind = Convergence::Kind::None;
  const auto iterations = backend->dispatch(
      valid_program("program p workgroup(1) { output o: u32[1]; let a = o[0]; gridsync; }"), {},
      config);
  CHECK(code_of(iterations) == ErrorCode::Timeout);
}

TEST_CASE("host split: generated programs give the bytes of native grid barriers") {
  const auto backend = must(make_backend("reference"));
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    CAPTURE(seed);
    ProgramGenerator generator(seed);
    const std::string text = generator.text();
    const auto parsed = ir::parse(text);
    REQUIRE(parsed.has_value());
    if (!parsed->facts().has_grid_sync) continue;
    const auto plan = plan_grid_sync(valid(*parsed));
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
    ++compared;
    if (*native != *split) {
      std::string all = text;
      for (const GridSegment& segment : plan->segments) all += "\n" + ir::print(segment.program);
      FAIL(all);
    }
  }
  MESSAGE(compared << " programs compared");
  CHECK(compared > 200);
}

// Five words of each invocation live across the barrier, two of them one value, and bits.
const char* const kManyLocals = R"(program many workgroup(4) {
  readwrite x: u32[];
  readwrite y: u64[];
  let i = invocation.x;
  let a = x[i];
  let b = x[i] * 3;
  let c = y[i];
  let odd = (a & 1) == 1;
  if a == 7 { return; }
  x[i] = 0;
  gridsync;
  x[i] = a + b;
  if odd { y[i] = c + u64(a); }
  gridsync;
  x[i] = x[i] ^ b;
})";

TEST_CASE("host split: spills larger than one binding allows are spread over several") {
  const ir::ValidProgram program = valid_program(kManyLocals);
  const std::uint32_t lanes = 16;
  const Bytes x = bytes_of(counting(lanes, 3));
  Bytes y(lanes * 8);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::byte>(i * 37);
  const std::vector<ByteSpan> inputs{x, y};
  DispatchConfig config = on_grid(lanes / 4);
  const auto native = must(make_backend("reference"))->dispatch_borrowed(program, inputs, config);
  REQUIRE(native.has_value());
  config.grid_sync = GridSync::HostSplit;
  // A word of all invocations is 64 bytes. The caller's own buffers are not the split's concern.
  std::size_t most_spills = 0;
  for (const std::uint64_t binding : {64, 127, 128, 192, 1024}) {
    CAPTURE(binding);
    Watched watched;
    std::vector<Bytes> slots;
    must(dispatch::dispatch_host_split(watched.runner(binding), program, inputs, slots, config));
    CHECK(slots == *native);
    CHECK(watched.most_bytes <= std::max<std::uint64_t>(binding, y.size()));
    std::size_t spills = 0;
    for (const auto& [name, place] : watched.segments.front().left) {
      if (name.starts_with("felsite_spill")) ++spills;
    }
    CHECK(spills == (binding == 1024 ? 1 : binding == 192 ? 2 : binding == 128 ? 3 : 5));
    most_spills = std::max(most_spills, spills);
  }
  CHECK(most_spills > 1);
  Watched watched;
  std::vector<Bytes> slots;
  const auto refused =
      dispatch::dispatch_host_split(watched.runner(63), program, inputs, slots, config);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  CHECK(refused.error().message.find("Felsite needs one of 64 bytes") != std::string::npos);
  CHECK(watched.segments.empty());
}

// A workgroup keeps 24, 24 and 5 bytes of memory and three words of values.
const char* const kManyOfGroups = R"(program groups workgroup(4) {
  readwrite x: u32[]; readonly z: u64[];
  workgroup s: u32[6]; workgroup t: u64[3]; workgroup b: u8[5];
  let i = invocation.x;
  let head = x[workgroup_id.x];
  let wide = z[workgroup_id.x] + u64(x[workgroup_id.x + 1]);
  barrier;
  s[local.x] = x[i] * 3;
  b[local.x] = u8(i + 200);
  if local.x == 2 { s[4] = i; s[5] = head + 1; b[4] = u8(head); t[2] = wide; }
  if local.x < 2 { t[local.x] = wide * u64(i); }
  gridsync;
  x[i] = x[i] + head + u32(wide >> u64(32)) + u32(t[local.x % 3] >> u64(7));
  gridsync;
  x[i] = x[i] + s[5 - local.x] * 7 + s[local.x] + u32(b[4 - local.x]) + u32(wide);
})";

TEST_CASE("host split: what workgroups keep is spread over several bindings too") {
  const ir::ValidProgram program = valid_program(kManyOfGroups);
  const std::uint32_t groups = 4;
  const Bytes x = bytes_of(counting(4 * groups, 3));
  Bytes z(groups * 8);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<std::byte>(i * 37);
  const std::vector<ByteSpan> inputs{x, z};
  DispatchConfig config = on_grid(groups);
  const auto native = must(make_backend("reference"))->dispatch_borrowed(program, inputs, config);
  REQUIRE(native.has_value());
  config.grid_sync = GridSync::HostSplit;
  // By the bytes of a workgroup that fit into a binding: 256, 24, 23 and 8.
  const struct {
    std::uint64_t binding;
    std::array<std::size_t, 4> buffers;  // of s, t, b and the values
  } rows[] = {{1024, {1, 1, 1, 1}}, {96, {1, 1, 1, 1}}, {95, {2, 2, 1, 1}}, {32, {3, 3, 1, 2}}};
  for (const auto& row : rows) {
    CAPTURE(row.binding);
    Watched watched;
    std::vector<Bytes> slots;
    must(
        dispatch::dispatch_host_split(watched.runner(row.binding), program, inputs, slots, config));
    CHECK(slots == *native);
    CHECK(watched.most_bytes <= std::max<std::uint64_t>(row.binding, x.size()));
    std::array<std::size_t, 4> buffers{};
    for (const auto& [name, place] : watched.segments.front().left) {
      const bool is_kept = name.starts_with("felsite_kept_");
      for (std::size_t i = 0; i < 3; ++i) {
        if (is_kept && name.ends_with(std::string("_") + "stb"[i])) ++buffers[i];
      }
      if (name.starts_with("felsite_workgroup_spill")) ++buffers[3];
    }
    CHECK(buffers == row.buffers);
  }
  // One element of each workgroup is the least that a binding holds.
  Watched watched;
  std::vector<Bytes> slots;
  const auto refused =
      dispatch::dispatch_host_split(watched.runner(31), program, inputs, slots, config);
  REQUIRE(!refused.has_value());
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  CHECK(refused.error().message.find("Felsite needs one of 32 bytes") != std::string::npos);
  CHECK(refused.error().message.find("a part of the workgroup memory `t`") != std::string::npos);
  CHECK(watched.segments.empty());
}

TEST_CASE("host split: what it takes of the host's memory is known before anything runs") {
  const ir::ValidProgram program = valid_program(kManyLocals);
  const Bytes x = bytes_of(counting(16, 3));
  const Bytes y(128);
  const std::vector<ByteSpan> inputs{x, y};
  DispatchConfig config = on_grid(4);
  config.grid_sync = GridSync::HostSplit;
  // Five words of sixteen invocations twice, and the results.
  const std::uint64_t needed = 2 * (5 * 16 * 4) + 16 * 4 + 16 * 8;
  for (const std::uint64_t limit : {needed - 1, needed}) {
    CAPTURE(limit);
    Watched watched;
    std::vector<Bytes> slots;
    const auto runner = watched.runner(UINT32_MAX, limit);
    const auto checked = dispatch::check_host_split(runner, program, inputs, config);
    CHECK(checked.has_value() == (limit == needed));
    const auto timing = dispatch::dispatch_host_split(runner, program, inputs, slots, config);
    REQUIRE(timing.has_value() == (limit == needed));
    if (timing) continue;
    CHECK(timing.error().code == ErrorCode::DeviceOutOfMemory);
    CHECK(timing.error().context.requested == needed);
    CHECK(timing.error().context.available == limit);
    CHECK(watched.segments.empty());
  }
}
