// Convergence by a flag: zero before each iteration, and an iteration that leaves all of it zero is
// the last.
#include <algorithm>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("a flag of several elements: any of them, with any value, goes on") {
  const char* const text = R"(program p workgroup(4) {
    readwrite left: u32[4];
    output flag: u32[5];
    let i = invocation.x;
    let mine = left[i];
    gridsync;
    if mine > 0 {
      left[i] = mine - 1;
      flag[i + 1] = 0x80000000 >> (i * 8);
    }
  })";
  for (const std::uint32_t last : {0u, 1u, 2u, 3u}) {
    CAPTURE(last);
    Words left{1, 2, 0, 1};
    left[last] = 6;
    check_all_forms(text, {bytes_of(left)}, fixpoint(on_grid(1), 50, by_flag("flag")),
                    {{zero_words(4), zero_words(5)}, 7, true});
    // Cut off in the last iteration that changes something, only one element is set.
    Words flag(5);
    flag[last + 1] = 0x8000'0000 >> (last * 8);
    check_all_forms(text, {bytes_of(left)}, fixpoint(on_grid(1), 6, by_flag("flag")),
                    {{zero_words(4), bytes_of(flag)}, 6, false});
  }
}

TEST_CASE("a flag ends the run though buffers change") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output flag: u32[1];
    let mine = x[invocation.x];
    gridsync;
    x[invocation.x] = mine + 1;
    if mine < 4 { flag[0] = 1; }
  })";
  check_all_forms(text, {bytes_of(Words{0, 9, 2, 9})}, fixpoint(on_grid(1), 50, by_flag("flag")),
                  {{bytes_of(Words{5, 14, 7, 14}), zero_words(1)}, 5, true});
}

TEST_CASE("a flag that is set goes on though nothing changes") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output flag: u32[1];
    gridsync;
    flag[0] = x[0] | 1;
  })";
  check_all_forms(text, {bytes_of(Words{2})}, fixpoint(on_grid(1), 77, by_flag("flag")),
                  {{bytes_of(Words{2}), bytes_of(Words{3})}, 77, false});
}

TEST_CASE("a flag that is set and cleared again in one iteration ends the run") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[1];
    output flag: u32[1];
    if invocation.x == 0 { x[0] = x[0] + 1; flag[0] = 1; }
    gridsync;
    let seen = flag[0];
    gridsync;
    if invocation.x == 5 && seen == 1 && x[0] >= 3 { flag[0] = 0; }
  })";
  check_all_forms(text, {bytes_of(Words{0})}, fixpoint(on_grid(2), 50, by_flag("flag")),
                  {{bytes_of(Words{3}), zero_words(1)}, 3, true});
}

TEST_CASE("a flag that is added up and wraps to zero is zero") {
  const char* const text = R"(program p workgroup(2) {
    readwrite x: u32[1];
    output flag: u32[1];
    gridsync;
    atomic_add(flag[0], 0x80000000);
    if invocation.x == 0 { x[0] = x[0] + 1; }
  })";
  check_all_forms(text, {bytes_of(Words{0})}, fixpoint(on_grid(1), 50, by_flag("flag")),
                  {{bytes_of(Words{1}), zero_words(1)}, 1, true});
  check_all_forms(text, {bytes_of(Words{0})}, fixpoint(on_grid(2), 50, by_flag("flag")),
                  {{bytes_of(Words{1}), zero_words(1)}, 1, true});
}

TEST_CASE("a flag with the caller's bytes reads as zero from the first iteration on") {
  const char* const text = R"(program p workgroup(4) {
    readwrite flag: u32[];
    output seen: u32[8];
    let i = invocation.x;
    let before = flag[i % 3];
    seen[i] = seen[i] * 10 + before + 1;
    gridsync;
    if i < 3 && seen[i] < 1000 { flag[i] = 5; }
  })";
  check_all_forms(text, {bytes_of(Words{7, 8, 9})}, fixpoint(on_grid(2), 50, by_flag("flag")),
                  {{zero_words(3), bytes_of(Words(8, 1111))}, 4, true});
}

TEST_CASE("a flag that no iteration ever sets, or that nothing in the program names") {
  const char* const text = R"(program p workgroup(4) {
    readwrite flag: u32[2];
    output o: u32[4];
    o[invocation.x] = o[invocation.x] + 1;
    gridsync;
    o[invocation.x] = o[invocation.x] * 3;
  })";
  check_all_forms(text, {bytes_of(Words{7, 8})}, fixpoint(on_grid(1), 50, by_flag("flag")),
                  {{zero_words(2), bytes_of(Words(4, 3))}, 1, true});
}

TEST_CASE("the program itself reads its flag to decide whether to continue within the iteration") {
  // The second half of an iteration runs only where the first half found something to do.
  const char* const text = R"(program p workgroup(4) {
    readwrite left: u32[8];
    output work: u32[8];
    output flag: u32[1];
    let i = invocation.x;
    if left[i] > 0 {
      left[i] = left[i] - 1;
      atomic_add(flag[0], 1);
    }
    gridsync;
    if flag[0] > 0 {
      work[i] = work[i] + flag[0];
      gridsync;
      let other = work[7 - i];
      gridsync;
      work[i] = other;
    } else {
      gridsync;
      work[i] = work[i] + 1000;
    }
  })";
  Words left{0, 1, 2, 3, 0, 5, 0, 2};
  Words work(8);
  std::uint32_t iterations = 0;
  for (std::uint32_t busy = 1; busy != 0; ++iterations) {
    busy = 0;
    for (std::uint32_t& l : left) {
      busy += l > 0 ? 1 : 0;
      l -= l > 0 ? 1 : 0;
    }
    for (std::uint32_t& w : work) w += busy > 0 ? busy : 1000;
    if (busy > 0) std::ranges::reverse(work);
  }
  CHECK(iterations == 6);
  check_all_forms(text, {bytes_of(Words{0, 1, 2, 3, 0, 5, 0, 2})},
                  fixpoint(on_grid(2), 50, by_flag("flag")),
                  {{bytes_of(left), bytes_of(work), zero_words(1)}, 6, true});
}

TEST_CASE("a flag that is the only result") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    output flag: u32[1];
    gridsync;
    if x[invocation.x] == 3 { flag[0] = 4; }
  })";
  check_all_forms(text, {bytes_of(counting(8))}, fixpoint(on_grid(2), 9, by_flag("flag")),
                  {{bytes_of(Words{4})}, 9, false});
  check_all_forms(text, {bytes_of(counting(3))}, fixpoint(on_grid(2), 9, by_flag("flag")),
                  {{zero_words(1)}, 1, true});
}
