// Traps before, between and after grid barriers: the error says which, where, and in which segment.
#include <algorithm>
#include <map>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Traps in the segment where[0], in trip where[1] of the loop, in invocation where[2].
const char* const kTraps = R"(program trapper workgroup(4) {
  readonly where: u32[3];
  readwrite x: u32[];
  let i = invocation.x;
  if where[0] == 0 && i == where[2] { trap(x[i] + 1, first); }
  x[i] = x[i] * 2;
  gridsync;
  if where[0] == 1 && i == where[2] { trap(x[i] + 2, second); }
  let other = x[len(x) - 1 - i];
  gridsync;
  loop k in 0..4 {
    x[i] = other + k;
    gridsync;
    if where[0] == 2 && k == where[1] && i == where[2] { trap(x[i] + 3, third); }
    gridsync;
  }
  if where[0] == 3 && i == where[2] { trap(x[i] + 4, last); }
  resume(last);
})";

Words doubled_and_turned() {
  Words x(12);
  for (std::uint32_t i = 0; i < 12; ++i) x[i] = (11 - i + 10) * 2 + 3;
  return x;
}

}  // namespace

TEST_CASE("a trap in each segment, with its tag, address, invocation and segment") {
  const ir::Program program = valid_program(kTraps);
  struct Case {
    Words where;
    const char* tag;
    std::uint32_t address;
  };
  const std::vector<Case> cases{{{0, 0, 7}, "first", 18},
                                {{1, 0, 2}, "second", 26},
                                {{2, 0, 11}, "third", 23},
                                {{2, 3, 4}, "third", 40},
                                {{3, 0, 0}, "last", 49}};
  std::map<std::string, std::vector<std::uint32_t>> segments;
  for (const Case& one : cases) {
    CAPTURE(one.tag);
    check_all_forms_fail(program, {bytes_of(one.where), bytes_of(counting(12, 10))}, on_grid(3),
                         ErrorCode::Trapped, true, [&](const Form& form, const Error& error) {
                           REQUIRE(error.context.trap.has_value());
                           CHECK(error.context.trap->tag == one.tag);
                           CHECK(error.context.trap->address == one.address);
                           CHECK(error.context.trap->invocation == Extent3{one.where[2], 0, 0});
                           CHECK(error.context.program == "trapper");
                           if (!form.has_segments()) return;
                           CHECK(error.context.segment.has_value());
                           segments[form.name].push_back(error.context.segment.value_or(0));
                         });
    // Nothing of it lingers.
    check_all_forms(program, {bytes_of(Words{9, 9, 9}), bytes_of(counting(12, 10))}, on_grid(3),
                    {{bytes_of(doubled_and_turned())}});
  }
  for (const auto& [form, list] : segments) {
    CAPTURE(form);
    CAPTURE(list);
    REQUIRE(list.size() == cases.size());
    CHECK(list[0] < list[1]);
    CHECK(list[1] < list[2]);
    CHECK(list[2] == list[3]);
    CHECK(list[3] <= list[4]);
  }
}

TEST_CASE("a trap in a later iteration") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    let mine = x[invocation.x];
    gridsync;
    if mine == 5 { trap(invocation.x, five); }
    x[invocation.x] = mine + 1;
  })";
  const ir::Program program = valid_program(text);
  for (const Convergence& convergence : {Convergence{}, never()}) {
    check_all_forms_fail(program, {bytes_of(Words{0, 9, 9, 9, 9, 9, 3, 9})},
                         fixpoint(on_grid(2), 100, convergence), ErrorCode::Trapped, true,
                         [](const Form&, const Error& error) {
                           REQUIRE(error.context.trap.has_value());
                           CHECK(error.context.trap->tag == "five");
                           CHECK(error.context.trap->address == 6);
                         });
  }
  // The bound ends it just before.
  check_all_forms(program, {bytes_of(Words{0, 9, 9, 9, 9, 9, 3, 9})}, fixpoint(on_grid(2), 2),
                  {{bytes_of(Words{2, 11, 11, 11, 11, 11, 5, 11})}, 2, false});
}

TEST_CASE("who returned, and who comes after the end, does not trap") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[8];
    let i = invocation.x;
    o[i] = 5;
    if i < 100 { return; }
    gridsync;
    trap(0, never);
  })";
  check_all_forms(text, {}, on_grid(2), {{bytes_of(Words(8, 5))}});
  const char* const converged = R"(program p workgroup(4) {
    readwrite iteration: u32[1];
    gridsync;
    if iteration[0] == 3 { trap(0, too_far); }
    gridsync;
    if invocation.x == 0 { iteration[0] = min(iteration[0] + 1, 2); }
  })";
  check_all_forms(converged, {zero_words(1)}, fixpoint(on_grid(2), 64),
                  {{bytes_of(Words{2})}, 3, true});
}

TEST_CASE("a trap ends the run, long before the loop behind it would") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    if x[invocation.x] == 6 { trap(6, stop); }
    gridsync;
    let end = x[0];
    gridsync;
    loop k in 0..end { x[invocation.x + 1] = x[invocation.x + 1] + k; gridsync; }
  })";
  Words x = counting(9);
  x[0] = 100'000;
  DispatchConfig config = on_grid(2);
  config.timeout = std::chrono::seconds(60);
  check_all_forms_fail(valid_program(text), {bytes_of(x)}, config, ErrorCode::Trapped, true);
}

TEST_CASE("an error says in which of how many segments it was") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    let mine = x[invocation.x];
    gridsync;
    if mine == 3 { trap(mine, three); }
    gridsync;
    x[invocation.x] = mine + 1;
  })");
  int named = 0;
  check_all_forms_fail(
      program, {bytes_of(counting(8))}, on_grid(2), ErrorCode::Trapped,
      /*needs_a_run=*/true, [&](const Form& form, const Error& error) {
        const bool cuts = form.sync == GridSync::HostSplit || form.has_segments();
        if (!cuts) return;
        ++named;
        CHECK(error.context.segment == 1u);
        CHECK(error.message.find("segment 1 of 3, counted from 0") != std::string::npos);
      });
  CHECK(named >= 2);
}
