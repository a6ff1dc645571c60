// The order of workgroups: it must not show in programs that do not depend on it, and must in
// others.
#include <algorithm>
#include <set>

#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

ReferenceOptions ordered(WorkgroupOrder order, std::uint64_t seed = 0) {
  ReferenceOptions options;
  options.order = order;
  options.seed = seed;
  return options;
}

// The workgroups in the order in which they ran.
Words tickets(const ReferenceOptions& options, std::uint32_t groups = 16) {
  const std::string text = R"(program p workgroup(1) {
    readwrite n: u32[1];
    output o: u32[64];
    o[atomic_add(n[0], 1)] = workgroup_id.x;
  })";
  Words order = words_of(run(text, {zero_words(1)}, on_grid(groups), options)[1]);
  order.resize(groups);
  return order;
}

}  // namespace

TEST_CASE("forward runs workgroups in order") {
  CHECK(tickets(ordered(WorkgroupOrder::Forward)) == counting(16));
}

TEST_CASE("reversed runs them backwards") {
  Words expected = counting(16);
  std::ranges::reverse(expected);
  CHECK(tickets(ordered(WorkgroupOrder::Reversed)) == expected);
}

TEST_CASE("shuffled runs each of them once, by the seed") {
  std::set<Words> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Words order = tickets(ordered(WorkgroupOrder::Shuffled, seed));
    CHECK(tickets(ordered(WorkgroupOrder::Shuffled, seed)) == order);
    Words sorted = order;
    std::ranges::sort(sorted);
    CHECK(sorted == counting(16));
    seen.insert(order);
  }
  CHECK(seen.size() > 15);
  CHECK(!seen.contains(counting(16)));
}

TEST_CASE("a shuffle of two workgroups takes both orders") {
  std::set<Words> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    seen.insert(tickets(ordered(WorkgroupOrder::Shuffled, seed), 2));
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("workgroups of a three-dimensional grid run x first, then y, then z") {
  const Words out = words_of(run(R"(program p workgroup(1) {
    readwrite n: u32[1];
    output o: u32[24];
    o[atomic_add(n[0], 1)] = workgroup_id.x + 10 * workgroup_id.y + 100 * workgroup_id.z;
  })",
                                 {zero_words(1)}, on_grid(2, 3, 4))[1]);
  for (std::uint32_t i = 0; i < 24; ++i) CHECK(out[i] == i % 2 + i / 2 % 3 * 10 + i / 6 * 100);
}

TEST_CASE("the last writer differs by order: the race shows") {
  const std::string text = "program p workgroup(1) { output o: u32[1]; o[0] = workgroup_id.x; }";
  CHECK(run_words(text, {}, on_grid(9)) == Words{8});
  CHECK(run_words(text, {}, on_grid(9), ordered(WorkgroupOrder::Reversed)) == Words{0});
}

TEST_CASE("a reader of another workgroup's output sees the order") {
  const std::string text = R"(program p workgroup(1) {
    output o: u32[8];
    o[invocation.x] = o[(invocation.x + 7) % 8] + 1;
  })";
  CHECK(run_words(text, {}, on_grid(8)) == counting(8, 1));
  CHECK(run_words(text, {}, on_grid(8), ordered(WorkgroupOrder::Reversed)) ==
        Words{2, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("programs that do not depend on the order give the same bytes in all of them") {
  const char* texts[] = {
      "program p workgroup(8) { readonly x: u32[]; output o: u32[64]; o[invocation.x] = x[63 - "
      "invocation.x]; }",
      "program p workgroup(8) { readonly x: u32[]; output o: u32[4]; atomic_add(o[x[invocation.x] "
      "% 4], 1); }",
      "program p workgroup(8) { readonly x: u32[]; output o: u32[4]; atomic_max(o[1], "
      "x[invocation.x] * 7); }",
      "program p workgroup(8) { readonly x: u32[]; output o: u32[64]; workgroup t: u32[8]; "
      "t[local.x] = x[invocation.x]; barrier; o[invocation.x] = t[7 - local.x]; }",
  };
  for (const char* text : texts) {
    const std::vector<Bytes> in{bytes_of(counting(64, 3))};
    const auto forward = run(text, in, on_grid(8));
    CHECK(run(text, in, on_grid(8), ordered(WorkgroupOrder::Reversed)) == forward);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      CHECK(run(text, in, on_grid(8), ordered(WorkgroupOrder::Shuffled, seed)) == forward);
    }
  }
}

TEST_CASE("reversed and shuffled hold for grids of many workgroups, each run once") {
  for (const WorkgroupOrder order :
       {WorkgroupOrder::Forward, WorkgroupOrder::Reversed, WorkgroupOrder::Shuffled}) {
    const Words out =
        run_words("program p workgroup(1) { output o: u32[5000]; atomic_add(o[invocation.x], 1); }",
                  {}, on_grid(5000), ordered(order, 5));
    CHECK(out == Words(5000, 1));
  }
}
