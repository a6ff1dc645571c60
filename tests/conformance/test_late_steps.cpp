// Steps with grid barriers whose grid is in a buffer: the host reads it when their turn comes.
#include "conformance/conformance.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// With W invocations: s[0] += W, and then s[1] += W · s[0].
const char* const kSums =
    "program sums workgroup(2) { readonly g: u32[]; readwrite s: u32[2]; indirect_dispatch(g[0]);"
    " atomic_add(s[0], 1); gridsync; atomic_add(s[1], s[0]); }";
// The same with as many barriers as a word says.
const char* const kWalks =
    "program walks workgroup(2) { readonly g: u32[]; readwrite s: u32[2]; indirect_dispatch(g[0]);"
    " atomic_add(s[0], 1); loop k in 0..g[3] { gridsync; } atomic_add(s[1], s[0]); }";
const char* const kOneMore =
    "program one_more workgroup(1) { readwrite g: u32[]; g[0] = g[0] + 1; }";
const char* const kOneLess =
    "program one_less workgroup(1) { readwrite g: u32[]; if g[0] > 0 { g[0] = g[0] - 1; } }";

struct Sums {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  void add(std::uint32_t invocations) {
    first += invocations;
    second += invocations * first;
  }
  Words words() const { return {first, second}; }
};

ResidentStep alone(const char* text, ResidentResources resources) {
  ResidentStep made = step(text, std::move(resources));
  made.grid_override = Extent3{1, 1, 1};
  return made;
}

struct GridAndSums {
  explicit GridAndSums(const Words& grid = {0, 1, 1, 2}) : g(grid), s(Words{0, 0}) {}
  OnDevice g;
  OnDevice s;
  ResidentStep sums(const char* text = kSums) const { return step(text, {g.handle(), s.handle()}); }
  ResidentStep more() const { return alone(kOneMore, {g.handle()}); }
  ResidentStep less() const { return alone(kOneLess, {g.handle()}); }
};

}  // namespace

TEST_CASE("late steps: earlier steps, fills and uploads of the submission make their grid") {
  for (const char* const text : {kSums, kWalks}) {
    CAPTURE(text);
    const GridAndSums on;
    const Bytes two = bytes_of(Words{2, 3});
    const ResidentUpload upload{.buffer = on.g.handle(), .bytes = two};
    const ResidentFill fill{.buffer = on.s.handle()};
    const std::vector<ResidentStep> prefix{on.sums(text), on.more(), on.sums(text), on.sums(text)};
    const std::vector<ResidentStep> repeated{on.more(), on.sums(text)};
    const ResidentRange read{.buffer = on.s.handle()};
    std::vector<Bytes> slots;
    must(tested().submit_resident({.fills = {&fill, 1},
                                   .uploads = {&upload, 1},
                                   .prefix = prefix,
                                   .repeated = repeated,
                                   .count = 3,
                                   .reads = {&read, 1}},
                                  slots));
    Sums expected;
    for (const std::uint32_t x : {2u, 3u, 3u, 4u, 5u, 6u}) expected.add(2 * x * 3);
    CHECK(words_of(slots[0]) == expected.words());
    CHECK(on.g.words() == Words{6, 3, 1, 2});
  }
}

TEST_CASE("late steps: an empty grid, and words that are not there") {
  for (const Words& grid : {Words{0, 1, 1}, Words{5, 5}, Words{}}) {
    const OnDevice g(grid);
    const OnDevice s(Words{7, 7});
    std::vector<Bytes> nothing;
    const ResidentStep sums = step(kSums, {g.handle(), s.handle()});
    must(tested().submit_resident({.prefix = {&sums, 1}}, nothing));
    CHECK(s.words() == Words{7, 7});
  }
}

TEST_CASE("late steps: in blocks, each iteration reads the grid that is there") {
  struct Expectation {
    Repeat repeat;
    std::uint32_t ran;
    bool converged;
  };
  for (const char* const text : {kSums, kWalks}) {
    CAPTURE(text);
    const GridAndSums on;
    const OnDevice flag(Words{9});
    const ResidentStep mark = alone(
        "program mark workgroup(1) { readonly g: u32[]; readwrite flag: u32[1]; flag[0] = g[0]; }",
        {on.g.handle(), flag.handle()});
    // Grids of 5, 4, 3, 2, 1 and 0.
    for (const Expectation& c :
         {Expectation{Repeat::times(3), 3, false}, Expectation{Repeat::times(9), 9, false},
          Expectation{Repeat::until_unchanged(3), 3, false},
          Expectation{Repeat::until_unchanged(6), 6, true},
          Expectation{Repeat::until_unchanged(500), 6, true},
          Expectation{Repeat::until_zero(flag.handle(), 4), 4, false},
          Expectation{Repeat::until_zero(flag.handle(), 5), 5, true},
          Expectation{Repeat::until_zero(flag.handle(), 500), 5, true}}) {
      CAPTURE(static_cast<int>(c.repeat.kind));
      CAPTURE(c.repeat.bound);
      must(tested().upload_resident(on.g.handle(), bytes_of(Words{5, 1, 1, 2})));
      must(tested().upload_resident(on.s.handle(), bytes_of(Words{0, 0})));
      const std::vector<ResidentStep> steps{on.sums(text), on.less(), mark};
      const ResidentStep after = on.more();
      const std::vector<ResidentBlock> blocks{{.steps = steps, .repeat = c.repeat},
                                              {.steps = {&after, 1}}};
      std::vector<Bytes> nothing;
      const DispatchTiming timing = must(tested().submit_resident({.blocks = blocks}, nothing));
      CHECK(timing.blocks == std::vector<BlockTiming>{{c.ran, c.converged}, {1, false}});
      Sums expected;
      for (std::uint32_t i = 0; i < std::min(c.ran, 5u); ++i) expected.add(2 * (5 - i));
      CHECK(on.s.words() == expected.words());
      CHECK(on.g.words()[0] == 5 - std::min(c.ran, 5u) + 1);
    }
  }
}

TEST_CASE("late steps: recorded, with fresh bytes that are uploaded or lent, at once and started") {
  const OnDevice g(Words{0, 1, 1, 2});
  const OnDevice s(Words{0, 0});
  const Bytes first = bytes_of(Words{1});
  const Bytes lent = bytes_of(Words{2, 1, 1, 2});
  for (const bool lends : {false, true}) {
    CAPTURE(lends);
    const ResidentUpload upload{.buffer = g.handle(), .bytes = first};
    const ResidentFill fill{.buffer = s.handle()};
    const ResidentRange read{.buffer = s.handle()};
    const ResidentStep sums =
        step(kSums, {lends ? ResidentResource::of(lent) : g.handle(), s.handle()});
    const auto recorded = must(tested().record_resident(
        {.fills = {&fill, 1}, .uploads = {&upload, 1}, .prefix = {&sums, 1}, .reads = {&read, 1}}));
    for (const std::uint32_t x : {1u, 4u, 4u, 0u, 3u}) {
      const Bytes words = bytes_of(Words{x});
      const Bytes all = bytes_of(Words{x, 1, 1, 2});
      const std::vector<ByteSpan> uploads{words};
      std::vector<ByteSpan> fresh;
      if (lends) fresh = {all};
      Sums expected;
      expected.add(2 * x);
      std::vector<Bytes> slots;
      must(recorded->run_into(slots, uploads, fresh));
      CHECK(words_of(slots[0]) == expected.words());
      const auto pending = must(recorded->start(uploads, fresh));
      must(pending->wait_into(slots));
      CHECK(words_of(slots[0]) == expected.words());
    }
  }
}

TEST_CASE("late steps: submitted without waiting, polled to the end, and dropped") {
  const GridAndSums on({3, 1, 1, 2});
  const std::vector<ResidentStep> steps{on.sums(), on.more(), on.sums(kWalks)};
  const ResidentRange read{.buffer = on.s.handle()};
  const auto pending = must(tested().submit_resident_async({.prefix = steps, .reads = {&read, 1}}));
  while (!pending->is_ready()) {
  }
  std::vector<Bytes> slots;
  must(pending->wait_into(slots));
  Sums expected;
  expected.add(6);
  expected.add(8);
  CHECK(words_of(slots[0]) == expected.words());
  for (int i = 0; i < 5; ++i) must(tested().submit_resident_async({.prefix = steps}));
  must(tested().flush());
}

TEST_CASE("late steps: one more wait each, and the same grid records nothing again") {
  FELSITE_SKIP_IF(has_grid_barriers(), "it needs no segments");
  const GridAndSums on({3, 1, 1, 2});
  std::vector<Bytes> nothing;
  const auto counts_of = [&](std::span<const ResidentStep> steps) {
    must(tested().submit_resident({.prefix = steps}, nothing));
    return counted([&] { must(tested().submit_resident({.prefix = steps}, nothing)); });
  };
  const std::vector<ResidentStep> none{on.more(), on.less()};
  const std::vector<ResidentStep> one{on.more(), on.sums(), on.less()};
  const std::vector<ResidentStep> two{on.more(), on.sums(), on.sums(), on.less()};
  CHECK(counts_of(none)[Counter::Waits] == 1);
  const Telemetry once = counts_of(one);
  const Telemetry twice = counts_of(two);
  // Where memory is not read in place, the words are copied, and that is waited for too.
  const std::string& mask = tested_choice().mask;
  if (mask.find("in_place") == std::string::npos && mask != "none") {
    CHECK(once[Counter::Waits] == 2);
    CHECK(twice[Counter::Waits] == 3);
  } else {
    CHECK(once[Counter::Waits] >= 3);
    CHECK(twice[Counter::Waits] >= 5);
  }
  CHECK(once[Counter::UploadBytes] == 0);
  CHECK(once[Counter::DownloadBytes] == 12);
  CHECK(once[Counter::Launches] >= 3);
  if (tested_choice().backend == "vulkan") CHECK(once[Counter::Recordings] == 0);
}

TEST_CASE("late steps: their errors name them") {
  const GridAndSums on({3, 1, 1, 2});
  const OnDevice n(Words{0});
  const ResidentStep counts =
      alone("program count workgroup(1) { readwrite n: u32[1]; n[0] = n[0] + 1; }", {n.handle()});
  const auto run = [&](const char* text) {
    const std::vector<ResidentStep> steps{counts, on.sums(text), counts};
    std::vector<Bytes> nothing;
    return error_of(tested().submit_resident({.prefix = steps}, nothing));
  };
  const Error trapped =
      run("program traps workgroup(1) { readonly g: u32[]; readwrite s: u32[2]; "
          "indirect_dispatch(g[0]);"
          " s[0] = 1; gridsync; trap(s[0], reached); }");
  CHECK(trapped.code == ErrorCode::Trapped);
  CHECK(trapped.context.step == 1);
  CHECK(trapped.context.program == "traps");
  const std::uint32_t before = n.words()[0];
  must(tested().upload_resident(on.g.handle(), bytes_of(Words{1u << 30, 1u << 30, 9, 2})));
  const Error large = run(kSums);
  CHECK(large.code == ErrorCode::UnsupportedFeature);
  CHECK(large.message.find("workgroups is too large") != std::string::npos);
  CHECK(large.context.step == 1);
  CHECK(large.context.program == "sums");
  CHECK(n.words() == Words{before + 1});
  // Each invocation keeps a word, and all of them more than there is.
  must(tested().upload_resident(on.g.handle(), bytes_of(Words{1u << 30, 1u << 14, 1, 2})));
  const Error kept =
      run("program keeps workgroup(2) { readonly g: u32[]; readwrite s: u32[2]; "
          "indirect_dispatch(g[0]);"
          " let old = atomic_add(s[0], 1); gridsync; s[1] = old; }");
  CHECK((kept.code == ErrorCode::DeviceOutOfMemory || kept.code == ErrorCode::UnsupportedFeature));
  CHECK(kept.context.step == 1);
  // What no grid makes possible is found before anything runs.
  if (!has_grid_barriers()) {
    const Words counted_before = n.words();
    const Error cut = run(
        "program copies workgroup(2) { readonly g: u32[]; readwrite s: u32[2]; workgroup t: u32[4];"
        " indirect_dispatch(g[0]); async_load(t[0], g[0], 4, copy); gridsync; async_wait(copy);"
        " s[0] = t[0]; }");
    CHECK(cut.code == ErrorCode::UnsupportedFeature);
    CHECK(cut.context.step == 1);
    CHECK(n.words() == counted_before);
  }
  // All of it runs again.
  must(tested().upload_resident(on.g.handle(), bytes_of(Words{3, 1, 1, 2})));
  must(tested().upload_resident(on.s.handle(), bytes_of(Words{0, 0})));
  std::vector<Bytes> nothing;
  const std::vector<ResidentStep> steps{counts, on.sums()};
  must(tested().submit_resident({.prefix = steps}, nothing));
  CHECK(on.s.words() == Words{6, 36});
}

TEST_CASE("late steps: a recording ends with a buffer that only they use") {
  const OnDevice g(Words{3, 1, 1});
  const ResidentHandle s = must(tested().allocate_resident(8));
  must(tested().fill_resident(s, std::byte{0}));
  const ResidentStep sums = step(kSums, {g.handle(), s});
  const auto recorded = must(tested().record_resident({.prefix = {&sums, 1}}));
  std::vector<Bytes> nothing;
  const std::uint64_t bytes = tested().metric_snapshot().device_bytes;
  must(recorded->run_into(nothing));
  CHECK(words_of(must(tested().download_resident(s))) == Words{6, 36});
  must(tested().free_resident(s));
  CHECK(code_of(recorded->run_into(nothing)) == ErrorCode::InvalidHandle);
  CHECK(tested().metric_snapshot().device_bytes < bytes);
}
