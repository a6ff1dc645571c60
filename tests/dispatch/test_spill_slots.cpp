// Where spilled values lie: two that are never alive together share a place, bools share words.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dispatch/cut/spill_slots.h"

using namespace felsite;
using dispatch::SpillRange;

namespace {

SpillRange alive(ir::Type type, std::uint32_t begin, std::uint32_t end,
                 bool per_workgroup = false) {
  return {.variable = 0, .type = type, .begin = begin, .end = end, .per_workgroup = per_workgroup};
}

// "0 1.3 g0 | 2 + 1": the word of each value in the order given, with the bit of a bool and a "g"
// for the workgroup's; then the words of an invocation and of a workgroup.
std::string layout_of(std::vector<SpillRange> ranges) {
  for (std::uint32_t i = 0; i < ranges.size(); ++i) ranges[i].variable = i;
  const dispatch::SpillLayout layout = dispatch::lay_out_spills(ranges);
  REQUIRE(layout.slots.size() == ranges.size());
  std::vector<std::string> places(ranges.size());
  for (const SpilledValue& slot : layout.slots) {
    places[slot.variable] = fmt::format("{}{}", slot.per_workgroup ? "g" : "", slot.word);
    if (slot.bit != ir::kNone) places[slot.variable] += fmt::format(".{}", slot.bit);
  }
  return fmt::format("{} | {} + {}", fmt::join(places, " "), layout.lane_words, layout.group_words);
}

using enum ir::Type;

}  // namespace

TEST_CASE("spill slots: values that are live together have different places") {
  CHECK(layout_of({}) == " | 0 + 0");
  CHECK(layout_of({alive(U32, 0, 1)}) == "0 | 1 + 0");
  CHECK(layout_of({alive(U32, 0, 2), alive(F32, 1, 3)}) == "0 1 | 2 + 0");
  CHECK(layout_of({alive(U32, 0, 9), alive(I32, 1, 2), alive(F16, 1, 2)}) == "0 1 2 | 3 + 0");
}

TEST_CASE("spill slots: a value that is read last where another one is left makes room for it") {
  CHECK(layout_of({alive(U32, 0, 1), alive(U32, 1, 2)}) == "0 0 | 1 + 0");
  CHECK(layout_of({alive(U32, 0, 2), alive(U32, 1, 2)}) == "0 1 | 2 + 0");
  CHECK(layout_of({alive(U32, 0, 3), alive(U32, 0, 1), alive(U32, 1, 2), alive(U32, 2, 3)}) ==
        "0 1 1 1 | 2 + 0");
  // The one that ends first is the first to make room, whichever began first.
  CHECK(layout_of({alive(U32, 0, 5), alive(U32, 0, 2), alive(U32, 3, 4), alive(U32, 5, 6)})
            .starts_with("0 1 1 "));
  // In whatever order they are given.
  CHECK(layout_of({alive(U32, 1, 2), alive(U32, 0, 1)}) == "0 0 | 1 + 0");
}

TEST_CASE("spill slots: values of eight bytes take two words, and share with their like") {
  CHECK(layout_of({alive(U64, 0, 1), alive(F64, 0, 1), alive(U32, 0, 1)}) == "0 2 4 | 5 + 0");
  CHECK(layout_of({alive(I64, 0, 1), alive(U64, 1, 2)}) == "0 0 | 2 + 0");
  CHECK(layout_of({alive(U32, 0, 1), alive(U64, 1, 2)}) == "0 1 | 3 + 0");
  CHECK(layout_of({alive(U64, 0, 1), alive(U32, 1, 2)}) == "0 2 | 3 + 0");
}

TEST_CASE("spill slots: 32 bools share a word") {
  CHECK(layout_of({alive(Bool, 0, 1), alive(Bool, 0, 1), alive(U32, 0, 1)}) == "0.0 0.1 1 | 2 + 0");
  CHECK(layout_of({alive(Bool, 0, 1), alive(Bool, 1, 2)}) == "0.0 0.0 | 1 + 0");
  const std::string full = layout_of(std::vector(32, alive(Bool, 0, 1)));
  CHECK(full.starts_with("0.0 0.1 0.2 "));
  CHECK(full.ends_with(" 0.31 | 1 + 0"));
  CHECK(layout_of(std::vector(33, alive(Bool, 0, 1))).ends_with(" 0.31 1.0 | 2 + 0"));
  // A bool does not take the word of another value, nor the other way around.
  CHECK(layout_of({alive(U32, 0, 1), alive(Bool, 1, 2)}) == "0 1.0 | 2 + 0");
  CHECK(layout_of({alive(Bool, 0, 1), alive(U32, 1, 2)}) == "0.0 1 | 2 + 0");
}

TEST_CASE("spill slots: values of a workgroup lie apart from those of its invocations") {
  CHECK(layout_of({alive(U32, 0, 1, true), alive(U32, 0, 1), alive(U64, 0, 1, true)}) ==
        "g0 0 g1 | 1 + 3");
  CHECK(layout_of({alive(U32, 0, 1), alive(U32, 1, 2, true), alive(U32, 2, 3)}) ==
        "0 g0 0 | 1 + 1");
  CHECK(layout_of({alive(Bool, 0, 1), alive(Bool, 0, 1, true)}) == "0.0 g0.0 | 1 + 1");
}
