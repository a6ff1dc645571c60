// How many iterations a fixpoint runs and whether it converged, exactly, in every form: an
// iteration that leaves every changing buffer as it was ends the run and counts as run.
#include <algorithm>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Each element counts down to zero, one step an iteration. `changed` is a flag for those who look
// at it.
const char* const kCountdown = R"(program countdown workgroup(4) {
  readwrite x: u32[];
  output changed: u32[1];
  let i = invocation.x;
  let mine = x[i];
  gridsync;
  if mine > 0 { x[i] = mine - 1; changed[0] = 1; }
})";

// The same in one segment.
const char* const kPlainCountdown = R"(program countdown workgroup(4) {
  readwrite x: u32[];
  output changed: u32[1];
  let i = invocation.x;
  if x[i] > 0 { x[i] = x[i] - 1; changed[0] = 1; }
})";

// The same in a loop of zero, one or two trips, so that iterations differ in length.
const char* const kLoopedCountdown = R"(program countdown workgroup(2, 2) {
  readwrite x: u32[];
  output changed: u32[1];
  let i = invocation.x + invocation.y * 2 * num_workgroups.x;
  loop trip in x[0] % 3..2 {
    gridsync;
    if trip == 1 && x[i] > 0 { x[i] = x[i] - 1; changed[0] = 1; }
    gridsync;
  }
  gridsync;
  if i < 1 && x[0] % 3 == 2 { x[0] = x[0] - 1; changed[0] = 1; }
})";

const std::vector<std::uint32_t> kNeeded{0, 1, 2, 7, 8, 9, 63, 64, 65};

std::vector<std::uint32_t> bounds_around(std::uint32_t needed) {
  std::vector<std::uint32_t> bounds{1, needed, needed + 1, needed + 2, 150};
  std::erase(bounds, 0u);
  std::ranges::sort(bounds);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

struct Ended {
  std::uint32_t iterations;
  bool converged;
  std::uint32_t left;  // of what there was to count down
};

Ended countdown_ends(std::uint32_t needed, std::uint32_t bound) {
  if (bound <= needed) return {bound, false, needed - bound};
  return {needed + 1, true, 0};
}

// One element needs all the iterations, and others fewer.
Words counters(std::uint32_t needed, std::size_t count) {
  Words words(count, needed / 2);
  words[0] = std::min(needed, 1u);
  words[count / 2] = needed;
  return words;
}

Words counted_down(Words words, std::uint32_t iterations) {
  for (std::uint32_t& word : words) word -= std::min(word, iterations);
  return words;
}

void check_countdown(const char* text, std::size_t count) {
  for (const std::uint32_t needed : kNeeded) {
    for (const std::uint32_t bound : bounds_around(needed)) {
      CAPTURE(needed);
      CAPTURE(bound);
      const Words start = counters(needed, count);
      const Ended ended = countdown_ends(needed, bound);
      const Words rest = counted_down(start, ended.iterations);
      const DispatchConfig grid = on_grid(static_cast<std::uint32_t>((count + 3) / 4));
      // With one iteration there is nothing to stop early, so nobody has to compare.
      std::optional<bool> converged = ended.converged;
      if (bound == 1) converged = std::nullopt;
      const Words set{needed == 0 ? 0u : 1u};
      check_all_forms(text, {bytes_of(start)}, fixpoint(grid, bound),
                      {{bytes_of(rest), bytes_of(set)}, ended.iterations, converged});
      // The flag is zero before each iteration, so it ends as the last iteration left it.
      check_all_forms(text, {bytes_of(start)}, fixpoint(grid, bound, by_flag("changed")),
                      {{bytes_of(rest), bytes_of(Words{ended.converged ? 0u : 1u})},
                       ended.iterations,
                       ended.converged});
      check_all_forms(text, {bytes_of(start)}, fixpoint(grid, bound, never()),
                      {{bytes_of(counted_down(start, bound)), bytes_of(set)}, bound, false});
    }
  }
}

}  // namespace

TEST_CASE("iterations until nothing changes: none, one, blocks of them, and one more or less") {
  check_countdown(kCountdown, 12);
}

TEST_CASE("iterations of a program of one segment") { check_countdown(kPlainCountdown, 12); }

TEST_CASE("iterations of a grid of one workgroup, and of one with idle lanes") {
  check_countdown(kCountdown, 4);
  check_countdown(kPlainCountdown, 1);
}

TEST_CASE("iterations of a grid that is too large for one workgroup") {
  const Words start = counters(9, 12'000);
  const DispatchConfig grid = on_grid(3'000);
  check_all_forms(kCountdown, {bytes_of(start)}, fixpoint(grid, 100),
                  {{zero_words(12'000), bytes_of(Words{1})}, 10, true});
  check_all_forms(kCountdown, {bytes_of(start)}, fixpoint(grid, 100, by_flag("changed")),
                  {{zero_words(12'000), zero_words(1)}, 10, true});
  check_all_forms(kCountdown, {bytes_of(start)}, fixpoint(grid, 6, never()),
                  {{bytes_of(counted_down(start, 6)), bytes_of(Words{1})}, 6, false});
}

TEST_CASE("an iteration whose segments differ from iteration to iteration") {
  // x[0] is 5, 4, 3, …: for 5, the loop has no trip and the tail takes one; for 4 and 3 the loop
  // takes one of each. All others go down where the loop has its trip 1.
  Words truth{5, 9, 9, 9, 9, 9, 9, 9};
  std::uint32_t iterations = 0;
  for (bool changes = true; changes;) {
    const Words before = truth;
    if (truth[0] % 3 < 2) truth = counted_down(truth, 1);
    if (truth[0] % 3 == 2) --truth[0];
    ++iterations;
    changes = truth != before;
  }
  const std::vector<Bytes> inputs{bytes_of(Words{5, 9, 9, 9, 9, 9, 9, 9})};
  check_all_forms(kLoopedCountdown, inputs, fixpoint(on_grid(2, 1), 200),
                  {{bytes_of(truth), bytes_of(Words{1})}, iterations, true});
  check_all_forms(kLoopedCountdown, inputs, fixpoint(on_grid(2, 1), 200, by_flag("changed")),
                  {{bytes_of(truth), bytes_of(Words{0})}, iterations, true});
}

TEST_CASE("a long run: the blocks of iterations grow, and the end is found exactly") {
  for (const std::uint32_t needed : {1'000u, 1'023u, 1'024u, 3'333u}) {
    CAPTURE(needed);
    check_all_forms(kPlainCountdown, {bytes_of(Words{needed, 1, 0})},
                    fixpoint(on_grid(1), 1'000'000),
                    {{zero_words(3), bytes_of(Words{1})}, needed + 1, true});
    check_all_forms(kCountdown, {bytes_of(Words{needed, 1, 0})},
                    fixpoint(on_grid(1), 4'000'000'000, by_flag("changed")),
                    {{zero_words(3), bytes_of(Words{0})}, needed + 1, true});
  }
}

TEST_CASE("more iterations than the loops of one kernel may have trips on some drivers") {
  constexpr std::uint32_t kMany = 70'000;
  const ir::Program program = valid_program(kPlainCountdown);
  const Bytes x = bytes_of(Words{3, kMany});
  for (const Form& form : forms()) {
    // Dispatch by dispatch it would take long and show nothing new.
    if (form.sync == GridSync::HostSplit || form.sync == GridSync::Resident) continue;
    if (form.backend != &tested()) continue;
    CAPTURE(form.name);
    for (const Convergence& convergence : {Convergence{}, by_flag("changed"), never()}) {
      const bool ends = convergence.kind != Convergence::Kind::None;
      std::vector<Bytes> slots;
      const DispatchTiming timing = must(form.backend->dispatch_borrowed_into(
          program, std::vector<ByteSpan>{x}, slots,
          in_form(fixpoint(on_grid(1), kMany + 1 + (ends ? 100'000 : 0), convergence), form)));
      CHECK(timing.iterations_run == kMany + 1);
      CHECK(timing.converged == ends);
      CHECK(words_of(slots[0]) == Words{0, 0});
    }
  }
}

TEST_CASE("a run without convergence takes each of its iterations") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    let next = x[(i + 1) % len(x)];
    gridsync;
    x[i] = next * 3 + 1;
  })";
  Words truth{1, 2, 3, 4, 5, 6, 7, 8};
  for (int iteration = 0; iteration < 300; ++iteration) {
    const Words old = truth;
    for (std::size_t i = 0; i < 8; ++i) truth[i] = old[(i + 1) % 8] * 3 + 1;
  }
  const std::vector<Bytes> inputs{bytes_of(counting(8, 1))};
  check_all_forms(text, inputs, fixpoint(on_grid(2), 300, never()),
                  {{bytes_of(truth)}, 300, false});
  check_all_forms(text, inputs, fixpoint(on_grid(2), 300), {{bytes_of(truth)}, 300, false});
}

TEST_CASE("without a word about iterations there is one") {
  check_all_forms(kCountdown, {bytes_of(Words{5, 0, 2, 9})}, on_grid(1),
                  {{bytes_of(Words{4, 0, 1, 8}), bytes_of(Words{1})}, 1, std::nullopt});
  DispatchConfig flagged = on_grid(1);
  flagged.convergence = by_flag("changed");
  check_all_forms(kCountdown, {bytes_of(Words{5, 0, 2, 9})}, flagged,
                  {{bytes_of(Words{4, 0, 1, 8}), bytes_of(Words{1})}, 1, false});
  check_all_forms(kCountdown, {bytes_of(Words{0, 0, 0, 0})}, flagged,
                  {{zero_words(4), zero_words(1)}, 1, true});
}

TEST_CASE("oscillations never rest: of two states, of three, within a buffer and between two") {
  const char* const flips =
      "program p workgroup(4) { readwrite x: u32[]; let i = invocation.x; let mine = x[i];"
      " gridsync; x[i] = 1 - mine; }";
  // Sums of the bytes, in any order, stay the same here.
  const char* const rotates =
      "program p workgroup(3) { readwrite x: u32[3]; let i = invocation.x;"
      " let next = x[(i + 1) % 3]; gridsync; x[i] = next; }";
  const char* const swaps =
      "program p workgroup(2) { readwrite a: u32[2]; readwrite b: u32[2]; let i = invocation.x;"
      " let mine = a[i]; gridsync; a[i] = b[i]; b[i] = mine; }";
  const Bytes ones = bytes_of(Words{0, 1, 0, 1, 1});
  const Bytes zeros = bytes_of(Words{1, 0, 1, 0, 0});
  for (const std::uint32_t bound : {2u, 3u, 8u, 63u, 64u, 65u, 200u}) {
    CAPTURE(bound);
    const bool odd = bound % 2 == 1;
    check_all_forms(flips, {ones}, fixpoint(on_grid(2), bound),
                    {{odd ? zeros : ones}, bound, false});
    Words turned{7, 8, 9};
    std::ranges::rotate(turned, turned.begin() + bound % 3);
    check_all_forms(rotates, {bytes_of(Words{7, 8, 9})}, fixpoint(on_grid(1), bound),
                    {{bytes_of(turned)}, bound, false});
    const Bytes a = bytes_of(Words{3, 5});
    const Bytes b = bytes_of(Words{5, 3});
    check_all_forms(swaps, {a, b}, fixpoint(on_grid(1), bound),
                    {{odd ? b : a, odd ? a : b}, bound, false});
  }
}

TEST_CASE(
    "an output that each iteration writes at another place keeps what earlier iterations wrote") {
  const char* const text = R"(program p workgroup(4) {
    readwrite iteration: u32[1];
    output log: u32[24];
    writeonly blind: u16[24];
    let now = iteration[0];
    gridsync;
    let at = now * 4 + local.x;
    if now < 5 {
      log[at] = log[at] + 100 + at;
      blind[23 - at] = u16(at);
    }
    if local.x == 0 && now < 5 { iteration[0] = now + 1; }
  })";
  Words log(24);
  std::vector<std::uint16_t> blind(24);
  for (std::uint32_t at = 0; at < 20; ++at) {
    log[at] = 100 + at;
    blind[23 - at] = static_cast<std::uint16_t>(at);
  }
  check_all_forms(text, {bytes_of(Words{0})}, fixpoint(on_grid(1), 100),
                  {{bytes_of(Words{5}), bytes_of(log), bytes_of(blind)}, 6, true});
}

TEST_CASE("workgroup memory and locals are fresh in each iteration") {
  const char* const text = R"(program p workgroup(4) {
    readwrite iteration: u32[1];
    output seen: u32[8];
    workgroup own: u32[4];
    let local_count = 0;
    own[local.x] = own[local.x] + 1;
    local_count = local_count + 1;
    let now = iteration[0];
    gridsync;
    seen[invocation.x] = seen[invocation.x] + own[local.x] * 10 + local_count;
    if invocation.x == 0 { iteration[0] = now + 1; }
  })";
  check_all_forms(text, {bytes_of(Words{0})}, fixpoint(on_grid(2), 7),
                  {{bytes_of(Words{7}), bytes_of(Words(8, 77))}, 7, false});
}

TEST_CASE("who returned in one iteration runs again in the next") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output passed: u32[8];
    let i = invocation.x;
    let mine = x[i];
    if mine % 2 == 1 { x[i] = mine + 1; return; }
    gridsync;
    passed[i] = passed[i] + 1;
    x[i] = min(mine + 1, 9);
  })";
  Words x = counting(8);
  Words passed(8);
  for (int iteration = 0; iteration < 5; ++iteration) {
    for (std::size_t i = 0; i < 8; ++i) {
      if (x[i] % 2 == 0) ++passed[i];
      x[i] = x[i] % 2 == 1 ? x[i] + 1 : std::min(x[i] + 1, 9u);
    }
  }
  check_all_forms(text, {bytes_of(counting(8))}, fixpoint(on_grid(2), 5, never()),
                  {{bytes_of(x), bytes_of(passed)}, 5, false});
}
