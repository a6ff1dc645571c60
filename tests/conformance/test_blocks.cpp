// Blocks of steps that repeat inside a submission: fixed counts, flags, automatic convergence;
// programs of which only the device knows how long they take; what cannot be run.
#include "conformance/conformance.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// One hop along the words: a word takes the bits of its left neighbour, out of another buffer.
const char* const kHop = R"(program hop workgroup(8) {
  readonly from: u32[]; readwrite to: u32[];
  let i = invocation.x;
  if i < len(to) { to[i] = from[i] | select(i == 0, 0, from[max(i, 1) - 1]); }
})";
// Copies back, and says whether something changed.
const char* const kCommit = R"(program commit workgroup(8) {
  readonly from: u32[]; readwrite to: u32[]; readwrite flag: u32[1];
  let i = invocation.x;
  if i < len(to) { if from[i] != to[i] { to[i] = from[i]; flag[0] = 1; } }
})";
const char* const kCount = R"(program count workgroup(1) {
  readwrite n: u32[1];
  n[0] = n[0] + 1;
})";
// A grid barrier in a loop whose bound is in memory.
const char* const kLoop = R"(program loops workgroup(4) {
  readonly trips: u32[1]; readwrite x: u32[];
  let end = trips[0];
  loop k in 0..end {
    let left = x[max(invocation.x, 1) - 1];
    gridsync;
    x[invocation.x] = x[invocation.x] | left;
    gridsync;
  }
})";

// The words after so many hops from the first one.
Words reached(std::size_t count, std::size_t hops, std::uint32_t bits = 5) {
  Words words(count);
  for (std::size_t i = 0; i < std::min(count, hops + 1); ++i) words[i] = bits;
  return words;
}

// What iterations of both steps do, each of which changes something but the last.
BlockTiming iterated(std::size_t count, std::uint32_t bound) {
  struct State {
    Words x, next;
    std::uint32_t flag;
    bool operator==(const State&) const = default;
  };
  State state{reached(count, 0), Words(count), 9};
  BlockTiming timing;
  while (timing.iterations_run < bound && !timing.converged) {
    const State before = state;
    for (std::size_t i = 0; i < count; ++i) {
      state.next[i] = before.x[i] | (i == 0 ? 0 : before.x[i - 1]);
    }
    if (state.x != state.next) state.flag = 1;
    state.x = state.next;
    ++timing.iterations_run;
    timing.converged = state == before;
  }
  return timing;
}

struct Spread {
  explicit Spread(std::uint32_t count)
      : words(count),
        x(reached(count, 0)),
        next(Words(count)),
        flag(Words{9}),
        steps{step(kHop, {x.handle(), next.handle()}),
              step(kCommit, {next.handle(), x.handle(), flag.handle()})} {}

  DispatchTiming run(Repeat repeat) {
    const ResidentBlock block{.steps = steps, .repeat = std::move(repeat)};
    std::vector<Bytes> nothing;
    return must(tested().submit_resident({.blocks = {&block, 1}}, nothing));
  }

  const std::uint32_t words;
  const OnDevice x;
  const OnDevice next;
  const OnDevice flag;
  const std::vector<ResidentStep> steps;
};

ErrorCode code_of_block(std::span<const ResidentStep> steps, const Repeat& repeat) {
  // Bytes that are lent to an earlier step would need memory.
  const Bytes lent(16);
  const OnDevice y(Words(4));
  const ResidentStep lending = step(kAdd, {ResidentResource::of(lent), y.handle()});
  const std::vector<ResidentBlock> blocks{{.steps = {&lending, 1}},
                                          {.steps = steps, .repeat = repeat}};
  const ResidentSubmission submission{.prefix = {&lending, 1}, .blocks = blocks};
  std::vector<Bytes> nothing;
  const ErrorCode code =
      refused([&] { return tested().submit_resident(submission, nothing); }).code;
  CHECK(refused([&] { return tested().record_resident(submission); }).code == code);
  CHECK(refused([&] { return tested().submit_resident_async(submission); }).code == code);
  return code;
}

}  // namespace

TEST_CASE("blocks: a flag ends them, at every bound around those that a recording holds") {
  // 20 words are reached after 19 hops, and the twentieth iteration changes nothing.
  for (const std::uint32_t bound : {1u, 2u, 18u, 19u, 20u, 21u, 63u, 64u, 65u, 66u, 128u, 129u,
                                    200u, 1000u, 1u << 20, UINT32_MAX}) {
    CAPTURE(bound);
    Spread spread(20);
    const DispatchTiming timing = spread.run(Repeat::until_zero(spread.flag.handle(), bound));
    REQUIRE(timing.blocks.size() == 1);
    CHECK(timing.blocks[0].iterations_run == std::min(bound, 20u));
    CHECK(timing.blocks[0].converged == (bound >= 20));
    CHECK(spread.x.words() == reached(20, std::min(bound, 19u)));
    CHECK(spread.flag.words() == Words{bound >= 20 ? 0u : 1u});
  }
}

TEST_CASE("blocks: they end where nothing changes, after many iterations too") {
  for (const std::uint32_t count : {1u, 2u, 30u, 64u, 65u, 150u, 300u}) {
    for (const std::uint32_t bound : {1u, 64u, 65u, 1000u}) {
      CAPTURE(count);
      CAPTURE(bound);
      Spread spread(count);
      const DispatchTiming timing = spread.run(Repeat::until_unchanged(bound));
      REQUIRE(timing.blocks.size() == 1);
      CHECK(spread.x.words() == reached(count, std::min(bound, count - 1)));
      CHECK(timing.blocks[0] == iterated(count, bound));
    }
  }
}

TEST_CASE("blocks: a single step that can report its changes ends where it changes nothing") {
  // Of the second buffer it cannot say so.
  const char* const halves =
      "program halves workgroup(8) { readwrite x: u32[]; readwrite y: u32[];"
      " let i = invocation.x; if i < len(x) { x[i] = x[i] / 2; }"
      " if i < len(y) { y[i] = y[i] / 2; y[i] = y[i] / 2; } }";
  for (const std::uint32_t count : {1u, 20u}) {
    for (const auto& [largest_x, largest_y] : {std::pair(1u << 9, 1u), {3u, 1u << 30}, {0u, 0u}}) {
      for (const std::uint32_t bound : {1u, 2u, 10u, 11u, 200u}) {
        CAPTURE(count);
        CAPTURE(largest_x);
        CAPTURE(bound);
        Words expected_x(count), expected_y(count + 1);
        expected_x.back() = largest_x;
        expected_y.front() = largest_y;
        const OnDevice x(expected_x);
        const OnDevice y(expected_y);
        const OnDevice n(Words{0});
        BlockTiming expected;
        while (expected.iterations_run < bound && !expected.converged) {
          expected.converged = expected_x.back() == 0 && expected_y.front() == 0;
          expected_x.back() /= 2;
          expected_y.front() /= 4;
          ++expected.iterations_run;
        }
        const ResidentStep one = step(halves, {x.handle(), y.handle()});
        const ResidentStep counting = step(kCount, {n.handle()});
        const std::vector<ResidentBlock> blocks{
            {.steps = {&one, 1}, .repeat = Repeat::until_unchanged(bound)},
            {.steps = {&counting, 1}, .repeat = Repeat::times(3)}};
        std::vector<Bytes> nothing;
        DispatchTiming timing;
        const Telemetry counts =
            counted([&] { timing = must(tested().submit_resident({.blocks = blocks}, nothing)); });
        CHECK(timing.blocks == std::vector<BlockTiming>{expected, {3, false}});
        CHECK(x.words() == expected_x);
        CHECK(y.words() == expected_y);
        CHECK(n.words() == Words{3});
        CHECK(counts[Counter::Launches] == expected.iterations_run + 3);
        CHECK(counts[Counter::IterationsRun] == expected.iterations_run);
      }
    }
  }
}

TEST_CASE("blocks: several in one submission run in order, and each says what it did") {
  Spread spread(33);
  const OnDevice n(Words{0});
  const OnDevice late(Words{0});
  const std::vector<ResidentStep> counting{step(kCount, {n.handle()})};
  const std::vector<ResidentStep> after{step(kAdd, {n.handle(), late.handle()})};
  const std::vector<ResidentBlock> blocks{
      {.steps = counting, .repeat = Repeat::times(3)},
      {.steps = spread.steps, .repeat = Repeat::until_zero(spread.flag.handle(), 20)},
      {.steps = after, .repeat = Repeat::once()},
      {.steps = counting, .repeat = Repeat::times(500)},
      {.steps = spread.steps, .repeat = Repeat::until_zero(spread.flag.handle(), 1000)},
      {.steps = {}, .repeat = Repeat::until_unchanged(5)},
      {.steps = after, .repeat = Repeat::times(2)}};
  const std::vector<ResidentRange> reads{{spread.x.handle()}, {n.handle()}, {late.handle()}};
  const ResidentSubmission submission{
      .prefix = counting, .repeated = counting, .count = 4, .reads = reads, .blocks = blocks};
  std::vector<Bytes> slots;
  const auto check = [&](const DispatchTiming& timing, std::uint32_t before, std::uint32_t added) {
    CHECK(timing.iterations_run == 4);
    REQUIRE(timing.blocks.size() == blocks.size());
    CHECK(timing.blocks[0] == BlockTiming{3, false});
    CHECK(timing.blocks[2] == BlockTiming{1, false});
    CHECK(timing.blocks[3] == BlockTiming{500, false});
    CHECK(timing.blocks[5] == BlockTiming{1, true});
    CHECK(timing.blocks[6] == BlockTiming{2, false});
    CHECK(words_of(slots[0]) == reached(33, 33));
    CHECK(words_of(slots[1]) == Words{before + 508});
    CHECK(words_of(slots[2]) == Words{added + before + 8 + 2 * (before + 508)});
  };
  DispatchTiming timing;
  const Telemetry counts =
      counted([&] { timing = must(tested().submit_resident(submission, slots)); });
  // One of them runs up to 1000 times: the host looks once whether it goes on. Up to there all are
  // in one submission, and so is what comes after.
  CHECK(counts[Counter::Submissions] <= 2);
  CHECK(counts[Counter::Waits] == counts[Counter::Submissions]);
  check(timing, 0, 0);
  CHECK(timing.blocks[1] == BlockTiming{20, false});
  CHECK(timing.blocks[4] == BlockTiming{13, true});
  // The recording of the same is used again.
  const std::uint32_t first = words_of(slots[2])[0];
  const DispatchTiming again = must(tested().submit_resident(submission, slots));
  check(again, 508, first);
  CHECK(again.blocks[1] == BlockTiming{1, true});
  CHECK(again.blocks[4] == BlockTiming{1, true});
}

TEST_CASE("blocks: what converges within one recording takes one submission") {
  Spread spread(20);
  const ResidentBlock block{.steps = spread.steps,
                            .repeat = Repeat::until_zero(spread.flag.handle(), 30)};
  const std::vector<ResidentBlock> blocks{block, block};
  const ResidentRange read{spread.x.handle()};
  std::vector<Bytes> slots;
  const Telemetry counts = counted([&] {
    must(tested().submit_resident({.reads = {&read, 1}, .blocks = blocks}, slots));
  });
  CHECK(counts[Counter::Submissions] == 1);
  CHECK(counts[Counter::Waits] == 1);
  CHECK(counts[Counter::IterationsRun] == 21);
  CHECK(counts[Counter::IterationsSkipped] == 39);
  CHECK(counts[Counter::Launches] == 42);
}

TEST_CASE("blocks: those whose numbers of runs are known take one submission, and one wait") {
  Spread spread(20);
  const OnDevice n(Words{0});
  const std::vector<ResidentStep> counting{step(kCount, {n.handle()})};
  const std::vector<ResidentBlock> blocks{
      {.steps = counting, .repeat = Repeat::times(3)},
      {.steps = spread.steps, .repeat = Repeat::until_zero(spread.flag.handle(), 30)},
      {.steps = counting, .repeat = Repeat::times(500)},
      {.steps = counting, .repeat = Repeat::once()},
      {.steps = spread.steps, .repeat = Repeat::times(2)}};
  const ResidentFill fill{.buffer = n.handle()};
  const Bytes five = bytes_of(Words{5});
  const ResidentUpload upload{.buffer = n.handle(), .bytes = five};
  const std::vector<ResidentRange> reads{{spread.x.handle()}, {n.handle()}};
  const ResidentSubmission submission{.fills = {&fill, 1},
                                      .uploads = {&upload, 1},
                                      .prefix = counting,
                                      .repeated = counting,
                                      .count = 7,
                                      .reads = reads,
                                      .blocks = blocks};
  std::vector<Bytes> slots;
  DispatchTiming timing;
  const auto recorded = must(tested().record_resident(submission));
  for (int run = 0; run < 2; ++run) {
    const Telemetry counts = counted([&] { timing = must(recorded->run_into(slots)); });
    CHECK(counts[Counter::Submissions] == 1);
    CHECK(counts[Counter::Waits] == 1);
    CHECK(counts[Counter::UploadBytes] == 4);
    CHECK(counts[Counter::Launches] == 512 + 4 + (run == 0 ? 40 : 2));
    CHECK(words_of(slots[0]) == reached(20, 20));
    CHECK(words_of(slots[1]) == Words{5 + 1 + 7 + 3 + 500 + 1});
    CHECK(timing.blocks[2] == BlockTiming{500, false});
  }
}

TEST_CASE("blocks: iterations of those that can end before their bound are counted") {
  const auto counted_run = [](std::span<const ResidentStep> steps, const Repeat& repeat) {
    const ResidentBlock block{.steps = steps, .repeat = repeat};
    std::vector<Bytes> nothing;
    const Telemetry counts = counted([&] {
      must(tested().submit_resident(
          {.prefix = steps, .repeated = steps, .count = 3, .blocks = {&block, 1}}, nothing));
    });
    return std::pair(counts[Counter::IterationsRun], counts[Counter::IterationsSkipped]);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  const OnDevice trips(Words{3});
  const OnDevice n(Words{0});
  const OnDevice flag(Words{0});
  const ResidentStep counting = step(kCount, {n.handle()});
  const ResidentStep flags = step(kCount, {flag.handle()});
  // Recorded, and repeated by the host.
  for (const bool by_host : {false, true}) {
    CAPTURE(by_host);
    const OnDevice x(reached(16, 0));
    const ResidentStep loops = step(kLoop, {trips.handle(), x.handle()});
    const std::vector<ResidentStep> steps{by_host ? loops : counting, flags};
    CHECK(counted_run(steps, Repeat::once()) == Counts{0, 0});
    CHECK(counted_run(steps, Repeat::times(7)) == Counts{0, 0});
    CHECK(counted_run(steps, Repeat::until_unchanged(7)) == Counts{7, 0});
    CHECK(counted_run(steps, Repeat::until_zero(flag.handle(), 7)) == Counts{7, 0});
    // Both end at once.
    const std::vector<ResidentStep> idle{by_host ? loops : step(kGrow, {{n.handle(), 4, 0}})};
    CHECK(counted_run(idle, Repeat::until_unchanged(7)) == Counts{1, 6});
  }
  CHECK(counted_run({}, Repeat::until_unchanged(7)) == Counts{0, 0});
}

TEST_CASE("blocks: programs of which only the device knows how long they take") {
  const OnDevice trips(Words{3});
  const OnDevice x(reached(16, 0));
  const OnDevice n(Words{0});
  const OnDevice flag(Words{0});
  const ResidentStep loops = step(kLoop, {trips.handle(), x.handle()});
  const ResidentStep counting = step(kCount, {n.handle()});
  std::vector<Bytes> nothing;
  SUBCASE("in the prefix and among the repeated steps") {
    const std::vector<ResidentStep> steps{counting, loops, counting};
    must(tested().submit_resident({.prefix = steps, .repeated = steps, .count = 2}, nothing));
    CHECK(x.words() == reached(16, 9));
    CHECK(n.words() == Words{6});
  }
  SUBCASE("again and again") {
    const std::vector<ResidentStep> steps{counting, loops};
    const std::vector<ResidentBlock> blocks{{.steps = steps, .repeat = Repeat::times(4)},
                                            {.steps = {&counting, 1}, .repeat = Repeat::times(5)}};
    const DispatchTiming timing = must(tested().submit_resident({.blocks = blocks}, nothing));
    CHECK(timing.blocks == std::vector<BlockTiming>{{4, false}, {5, false}});
    CHECK(x.words() == reached(16, 12));
    CHECK(n.words() == Words{9});
  }
  SUBCASE("until nothing changes") {
    const ResidentBlock block{.steps = {&loops, 1}, .repeat = Repeat::until_unchanged(100)};
    const auto recorded = must(tested().record_resident({.blocks = {&block, 1}}));
    // 15 words, 3 at a time, and once more.
    CHECK(must(recorded->run_into(nothing)).blocks == std::vector<BlockTiming>{{6, true}});
    CHECK(x.words() == reached(16, 15));
    CHECK(must(recorded->run_into(nothing)).blocks == std::vector<BlockTiming>{{1, true}});
    must(tested().upload_resident(x.handle(), bytes_of(reached(16, 0))));
    CHECK(must(must(recorded->start())->wait_into(nothing)).blocks ==
          std::vector<BlockTiming>{{6, true}});
  }
  SUBCASE("until a flag is zero, or the bound is reached") {
    const OnDevice next(Words(16));
    const std::vector<ResidentStep> steps{step(kHop, {x.handle(), next.handle()}),
                                          step(kCommit, {next.handle(), x.handle(), flag.handle()}),
                                          loops};
    for (const std::uint32_t bound : {1u, 2u, 4u, 5u, 50u}) {
      CAPTURE(bound);
      must(tested().upload_resident(x.handle(), bytes_of(reached(16, 0))));
      const ResidentBlock block{.steps = steps, .repeat = Repeat::until_zero(flag.handle(), bound)};
      const DispatchTiming timing =
          must(tested().submit_resident({.blocks = {&block, 1}}, nothing));
      CHECK(timing.blocks == std::vector<BlockTiming>{{std::min(bound, 5u), bound >= 5}});
      CHECK(x.words() == reached(16, std::min(15u, bound * 4)));
    }
  }
}

TEST_CASE("blocks: a grid that an earlier step makes, in iterations that are skipped too") {
  // Each iteration runs as many workgroups as words are left, and then one less.
  const ir::Program less = valid_program(
      "program less workgroup(1) { readwrite g: u32[3]; if g[0] > 0 { g[0] = g[0] - 1; } }");
  const ir::Program visit = valid_program(
      "program visit workgroup(1) { readonly g: u32[3]; readwrite n: u32[]; readwrite all: u32[1];"
      " indirect_dispatch(g[0]); atomic_add(n[workgroup_id.x], 1);"
      " atomic_add(all[0], num_workgroups.x); }");
  for (const std::uint32_t words : {1u, 5u, 90u}) {
    for (const std::uint32_t bound : {3u, 200u}) {
      CAPTURE(words);
      CAPTURE(bound);
      const OnDevice g(Words{words, 1, 1});
      const OnDevice n((Words(words)));
      const OnDevice all(Words{0});
      const std::vector<ResidentStep> steps{
          {.program = visit, .resources = {g.handle(), n.handle(), all.handle()}},
          {.program = less, .resources = {g.handle()}, .grid_override = {{1, 1, 1}}}};
      const ResidentBlock block{.steps = steps, .repeat = Repeat::until_unchanged(bound)};
      std::vector<Bytes> nothing;
      const DispatchTiming timing =
          must(tested().submit_resident({.blocks = {&block, 1}}, nothing));
      const std::uint32_t ran = std::min(bound, words + 1);
      CHECK(timing.blocks == std::vector<BlockTiming>{{ran, bound > words}});
      Words expected(words);
      std::uint32_t squares = 0;
      for (std::uint32_t i = 0; i < std::min(bound, words); ++i) {
        for (std::uint32_t w = 0; w < words - i; ++w) ++expected[w];
        squares += (words - i) * (words - i);
      }
      CHECK(n.words() == expected);
      CHECK(all.words() == Words{squares});
    }
  }
}

TEST_CASE("blocks: a trap names its step among all steps of the submission") {
  const OnDevice limit(Words{4});
  const OnDevice y(Words{0});
  const ResidentStep traps = step(kTrapAt, {limit.handle(), y.handle()});
  const OnDevice n(Words{0});
  const ResidentStep counting = step(kCount, {n.handle()});
  const std::vector<ResidentStep> steps{counting, traps};
  for (const Repeat& repeat : {Repeat::times(20), Repeat::until_unchanged(20),
                               Repeat::until_unchanged(500), Repeat::until_zero(y.handle(), 20)}) {
    must(tested().upload_resident(y.handle(), bytes_of(Words{0})));
    must(tested().upload_resident(
        limit.handle(), bytes_of(Words{repeat.kind == Repeat::Kind::UntilFlagIsZero ? 0u : 4u})));
    const ResidentBlock block{.steps = steps, .repeat = repeat};
    std::vector<Bytes> nothing;
    const Error error = error_of(
        tested().submit_resident({.prefix = {&counting, 1}, .blocks = {&block, 1}}, nothing));
    CHECK(error.code == ErrorCode::Trapped);
    CHECK(error.context.step == 2);
    CHECK(error.context.program == "trap_at");
  }
}

TEST_CASE("blocks: what cannot be run is BadInputs, and nothing has run") {
  Spread spread(8);
  const ResidentHandle flag = spread.flag.handle();
  CHECK(code_of_block(spread.steps, Repeat::times(0)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_unchanged(0)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_zero(flag, 0)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, {.kind = static_cast<Repeat::Kind>(9)}) ==
        ErrorCode::BadInputs);
  // A flag that no step writes: of another buffer, a part that is only read, one beside it.
  const OnDevice other(Words{0, 0});
  CHECK(code_of_block(spread.steps, Repeat::until_zero(other.handle(), 5)) == ErrorCode::BadInputs);
  CHECK(code_of_block({spread.steps.data(), 1}, Repeat::until_zero(spread.x.handle(), 5)) ==
        ErrorCode::BadInputs);
  const ResidentStep half = step(kGrow, {ResidentResource(other.handle(), 0, 4)});
  CHECK(code_of_block({&half, 1}, Repeat::until_zero({other.handle(), 4, 4}, 5)) ==
        ErrorCode::BadInputs);
  // Not words, nothing, outside, not there.
  const ResidentHandle x = spread.x.handle();
  CHECK(code_of_block(spread.steps, Repeat::until_zero({x, 2, 4}, 5)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_zero({x, 4, 3}, 5)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_zero({x, 4, 0}, 5)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_zero({x, 32, 4}, 5)) == ErrorCode::BadInputs);
  CHECK(code_of_block(spread.steps, Repeat::until_zero({x, 28, 8}, 5)) == ErrorCode::BadInputs);
  const Bytes four(4);
  CHECK(code_of_block(spread.steps, Repeat::until_zero(ResidentResource::of(four), 5)) ==
        ErrorCode::BadInputs);
  const ResidentHandle freed = must(tested().allocate_resident(4));
  must(tested().free_resident(freed));
  CHECK(code_of_block(spread.steps, Repeat::until_zero(freed, 5)) == ErrorCode::InvalidHandle);
  CHECK(code_of_block(std::vector{step(kCount, {freed})}, Repeat::times(2)) ==
        ErrorCode::InvalidHandle);
  CHECK(spread.x.words() == reached(8, 0));
}

TEST_CASE("blocks: flags anywhere in a buffer, of any number of words") {
  const ir::Program down = valid_program(
      "program down workgroup(4) { readwrite y: u32[]; readwrite flag: u32[];"
      " let i = invocation.x; if i < len(y) { if y[i] > 0 { y[i] = y[i] - 1;"
      " flag[i % len(flag)] = 7; } } }");
  for (const std::uint64_t offset : {0u, 4u, 60u, 64u, 68u, 256u}) {
    for (const std::uint64_t words : {1u, 2u, 9u}) {
      for (const std::uint32_t bound : {4u, 10u, 600u}) {
        CAPTURE(offset);
        CAPTURE(words);
        CAPTURE(bound);
        const OnDevice buffer(Words(100, 0xABCD));
        const OnDevice y(Words{1, 6, 2});
        const ResidentResource flag(buffer.handle(), offset, words * 4);
        const ResidentStep one{.program = down, .resources = {y.handle(), flag}};
        const ResidentBlock block{.steps = {&one, 1}, .repeat = Repeat::until_zero(flag, bound)};
        std::vector<Bytes> nothing;
        const DispatchTiming timing =
            must(tested().submit_resident({.blocks = {&block, 1}}, nothing));
        CHECK(timing.blocks == std::vector<BlockTiming>{{std::min(bound, 7u), bound >= 7}});
        Words expected(100, 0xABCD);
        for (std::uint64_t w = 0; w < words; ++w) {
          expected[offset / 4 + w] = bound < 7 && w == 1 % words ? 7 : 0;
        }
        CHECK(buffer.words() == expected);
      }
    }
  }
}

TEST_CASE(
    "blocks: a grid that is too large in one iteration is an error, also where later ones fit") {
  FELSITE_SKIP_IF(has_grid_barriers(), "the host runs grids of any size");
  const ir::Program visit = valid_program(
      "program visit workgroup(1) { readonly g: u32[3]; readwrite n: u32[1];"
      " indirect_dispatch(g[0]); atomic_add(n[0], 1); }");
  const ir::Program small = valid_program(
      "program small workgroup(1) { readwrite g: u32[3]; g[0] = 2; g[1] = 1; g[2] = 1; }");
  const OnDevice g(Words{UINT32_MAX, 1, 1});
  const OnDevice n(Words{0});
  const std::vector<ResidentStep> steps{
      {.program = visit, .resources = {g.handle(), n.handle()}},
      {.program = small, .resources = {g.handle()}, .grid_override = {{1, 1, 1}}}};
  std::vector<Bytes> nothing;
  for (const Repeat& repeat : {Repeat::times(3), Repeat::until_unchanged(3)}) {
    must(tested().upload_resident(g.handle(), bytes_of(Words{UINT32_MAX, 1, 1})));
    const ResidentBlock block{.steps = steps, .repeat = repeat};
    const Error error = error_of(tested().submit_resident({.blocks = {&block, 1}}, nothing));
    CHECK(error.code == ErrorCode::UnsupportedFeature);
    CHECK(error.context.step == 0);
    // The same buffers again, which fit now: nothing is left of the error.
    must(tested().submit_resident({.blocks = {&block, 1}}, nothing));
  }
}

TEST_CASE("blocks: fills and uploads come once, also before steps that the host repeats") {
  const OnDevice trips(Words{2});
  const OnDevice x(Words(16, 77));
  const OnDevice n(Words{0});
  const Bytes zero = bytes_of(Words{0});
  const Bytes first = bytes_of(Words{5});
  const ResidentStep loops = step(kLoop, {trips.handle(), x.handle()});
  const std::vector<ResidentStep> steps{loops, step(kCount, {n.handle()})};
  const ResidentFill fill{.buffer = x.handle()};
  const std::vector<ResidentUpload> uploads{{.buffer = n.handle(), .bytes = zero},
                                            {.buffer = x.handle(), .bytes = first}};
  const std::vector<ResidentRange> reads{{x.handle()}, {n.handle()}};
  for (const bool converges : {false, true}) {
    CAPTURE(converges);
    const ResidentBlock block{
        .steps = steps, .repeat = converges ? Repeat::until_zero(n.handle(), 3) : Repeat::times(3)};
    std::vector<Bytes> slots;
    const ResidentSubmission submission{
        .fills = {&fill, 1}, .uploads = uploads, .reads = reads, .blocks = {&block, 1}};
    const auto check = [&] {
      CHECK(words_of(slots[0]) == reached(16, 6));
      CHECK(words_of(slots[1]) == Words{converges ? 1u : 3u});
    };
    must(tested().submit_resident(submission, slots));
    check();
    must(must(tested().submit_resident_async(submission))->wait_into(slots));
    check();
    const auto recorded = must(tested().record_resident(submission));
    for (int run = 0; run < 2; ++run) {
      must(recorded->run_into(slots));
      check();
    }
  }
}

TEST_CASE("blocks: a trap in a program with grid barriers names the program of the caller") {
  const OnDevice y(Words{7, 0});
  const ResidentStep traps = step(
      "program sum_or_trap workgroup(1) { readwrite y: u32[2]; let v = y[0]; gridsync;"
      " if v == 7 { trap(v, seven); } y[1] = v; }",
      {y.handle()});
  std::vector<Bytes> nothing;
  const ResidentBlock block{.steps = {&traps, 1}, .repeat = Repeat::until_unchanged(3)};
  for (const ResidentSubmission& submission :
       {ResidentSubmission{.prefix = {&traps, 1}}, ResidentSubmission{.blocks = {&block, 1}}}) {
    const auto recorded = must(tested().record_resident(submission));
    for (const Error& error :
         {error_of(tested().submit_resident(submission, nothing)),
          error_of(must(tested().submit_resident_async(submission))->wait_into(nothing)),
          error_of(recorded->run_into(nothing)),
          error_of(must(recorded->start())->wait_into(nothing))}) {
      CHECK(error.code == ErrorCode::Trapped);
      CHECK(error.context.program == "sum_or_trap");
      CHECK(error.context.step == 0);
    }
  }
}
