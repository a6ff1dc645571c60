// The host split against the reference's own grid barriers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "dispatch/reference_backend.h"
#include "felsite/grid_sync.h"
#include "felsite/telemetry.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/program_generator.h"
#include "support/results.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// The reference, which also notes where the bytes of each segment lie.
class Watched final : public dispatch::Reference {
 public:
  Watched() : Reference({}) {}

  using Places = std::map<std::string, const std::byte*>;
  struct Segment {
    Places given;  // by buffer
    Places left;
  };
  std::vector<Segment> segments;

  Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs,
                                                const DispatchConfig& config) override {
    auto timing = Reference::dispatch_borrowed_into(program, inputs, outputs, config);
    if (config.grid_sync == GridSync::HostSplit) return timing;
    Segment segment;
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
constexpr std::uint32_t kPasses = 5;

DispatchConfig three_config() {
  DispatchConfig config = on_grid(2);
  config.fixpoint_iterations = kPasses;
  config.convergence.kind = Convergence::Kind::None;
  config.grid_sync = GridSync::HostSplit;
  return config;
}

std::vector<Bytes> three_results() {
  Words x = counting(8, 100);
  Words o(8);
  for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
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
  must(
      backend.dispatch_borrowed_into(valid_program(kThreeSegments), inputs, slots, three_config()));
  CHECK(slots == three_results());
  REQUIRE(backend.segments.size() == 3 * kPasses);
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
  // Two passes have made all the memory that there is; later ones use it in turn.
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

TEST_CASE("host split: segments, barriers between them and passes are counted") {
  const auto backend = must(make_backend("reference"));
  const std::vector<Bytes> inputs{bytes_of(counting(8, 1)), bytes_of(counting(8, 100))};
  const Telemetry before = telemetry_snapshot();
  must(backend->dispatch(valid_program(kThreeSegments), inputs, three_config()));
  const Telemetry counts = difference(telemetry_snapshot(), before);
  CHECK(counts[Counter::GridSyncSplits] == 1);
  CHECK(counts[Counter::GridSyncSegments] == 3);
  CHECK(counts[Counter::GridSyncPoints] == 2 * kPasses);
  CHECK(counts[Counter::Launches] == 3 * kPasses);
  CHECK(counts[Counter::PassesRun] == kPasses);
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
  const auto passes = backend->dispatch(
      valid_program("program p workgroup(1) { output o: u32[1]; let a = o[0]; gridsync; }"), {},
      config);
  CHECK(code_of(passes) == ErrorCode::Timeout);
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
    const auto plan = plan_grid_sync(*parsed);
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
