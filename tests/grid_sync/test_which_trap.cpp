// Which trap is reported: of all invocations that trap in the first segment, of the first
// iteration, in which one does, the one with the lowest linear index. The same in every form, on
// every run.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "grid_sync/forms.h"
#include "support/random.h"

using namespace felsite;
using namespace felsite::test;
using Invocation = Extent3;

namespace {

void check_trap(const ir::Program& program, const std::vector<Bytes>& inputs,
                const DispatchConfig& config, const TrapInfo& expected, int times = 2) {
  for (int i = 0; i < times; ++i) {
    check_all_forms_fail(program, inputs, config, ErrorCode::Trapped, true,
                         [&](const Form&, const Error& error) {
                           REQUIRE(error.context.trap.has_value());
                           CHECK(error.context.trap->tag == expected.tag);
                           CHECK(error.context.trap->address == expected.address);
                           CHECK(error.context.trap->invocation == expected.invocation);
                         });
  }
}

}  // namespace

TEST_CASE("of many invocations that trap, the lowest is reported, on every run") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    if i % 5 == 3 { trap(i * 10, bad); }
    x[i] = i;
  })");
  check_trap(program, {zero_words(16)}, on_grid(4), {"bad", 30, {3, 0, 0}}, 5);
  check_trap(program, {zero_words(40'000)}, on_grid(10'000), {"bad", 30, {3, 0, 0}}, 5);
}

TEST_CASE("the tag and the address are those of the invocation that is reported") {
  // Low invocations trap last in the text, and each with another tag and address.
  const ir::Program program = valid_program(R"(program p workgroup(8) {
    readwrite x: u32[];
    let i = invocation.x;
    let mine = x[i];
    loop k in 0..4 {
      if i >= 48 - 8 * k && mine == k { trap(0xFFFFFFFF - i, early); }
    }
    if mine == 7 { trap(i * 0x01234567, seven); }
    if mine == 8 { trap(x[0], eight); }
    if mine == 9 { trap(0, nine); }
    barrier;
    if mine == 10 { trap(0x80000001, ten); }
  })");
  Words x(64, 0);
  for (std::uint32_t i = 0; i < 64; ++i) x[i] = i % 4;
  struct Case {
    std::uint32_t at;
    std::uint32_t value;
    const char* tag;
    std::uint32_t address;
  };
  for (const Case& one :
       {Case{3, 7, "seven", 3 * 0x01234567u}, Case{4, 8, "eight", 0}, Case{5, 9, "nine", 0},
        Case{23, 10, "ten", 0x80000001u}, Case{63, 9, "early", 0xFFFFFFFF - 27}}) {
    Words given = x;
    given[one.at] = one.value;
    const std::uint32_t who = one.at == 63 ? 27 : one.at;
    CAPTURE(one.at);
    check_trap(program, {bytes_of(given)}, on_grid(8), {one.tag, one.address, {who, 0, 0}});
  }
}

TEST_CASE("the lowest counts along x, then y, then z of the whole grid, not of a workgroup") {
  const ir::Program program = valid_program(R"(program p workgroup(4, 2, 2) {
    readwrite x: u32[];
    let i = invocation.x + 8 * (invocation.y + 6 * invocation.z);
    if x[i] != 0 { trap(i, marked); }
  })");
  // Pairs of which the second is lower, although the first is in an earlier workgroup, or row.
  struct Case {
    Invocation high;
    Invocation low;
  };
  for (const Case& one : {Case{{0, 1, 0}, {7, 0, 0}}, Case{{0, 0, 1}, {7, 5, 0}},
                          Case{{3, 1, 1}, {4, 1, 1}}, Case{{0, 2, 3}, {7, 1, 3}}}) {
    const auto index = [](const Invocation& at) { return at[0] + 8 * (at[1] + 6 * at[2]); };
    const Invocation& low = index(one.high) < index(one.low) ? one.high : one.low;
    Words x(8 * 6 * 4);
    x[index(one.high)] = 1;
    x[index(one.low)] = 1;
    check_trap(program, {bytes_of(x)}, on_grid(2, 3, 2), {"marked", index(low), low});
  }
}

TEST_CASE("a grid that runs in parts: the lowest of all parts, which are not in its order") {
  // Many devices take 65535 workgroups along an axis. Then the second half of the first row is in
  // another part than the first, and comes before the first half of the second row.
  const ir::Program program = valid_program(R"(program p workgroup(1) {
    readwrite x: u32[];
    let i = invocation.x + 70000 * invocation.y;
    if x[i] == 1 { trap(i, marked); }
    gridsync;
    if x[i] == 2 { trap(i, late); }
  })");
  const auto check = [&](std::vector<std::pair<std::uint32_t, std::uint32_t>> marks,
                         const TrapInfo& expected) {
    Words x(140'000);
    for (const auto& [at, value] : marks) x[at] = value;
    check_trap(program, {bytes_of(x)}, on_grid(70'000, 2), expected, 1);
  };
  check({{70'000, 1}, {66'000, 1}, {139'999, 1}, {5, 2}}, {"marked", 66'000, {66'000, 0, 0}});
  check({{70'003, 1}, {139'999, 1}}, {"marked", 70'003, {3, 1, 0}});
  check({{139'999, 2}, {137'000, 2}}, {"late", 137'000, {67'000, 1, 0}});
}

TEST_CASE("a grid that runs in parts behind a gate of the device: the lowest of all parts") {
  // Without conditional dispatches each part is a separate step with a separate report.
  const ir::Program program = valid_program(R"(program p workgroup(1) {
    readwrite x: u32[];
    readwrite go: u32[1];
    let i = invocation.x + 70000 * invocation.y;
    gridsync;
    if go[0] == 1 {
      if x[i] == 1 { trap(i, marked); }
      gridsync;
      if x[i] == 2 { trap(i, late); }
    }
    gridsync;
    if i == 0 { go[0] = 3; }
  })");
  const auto check = [&](std::vector<std::pair<std::uint32_t, std::uint32_t>> marks,
                         const TrapInfo& expected) {
    Words x(140'000);
    for (const auto& [at, value] : marks) x[at] = value;
    check_trap(program, {bytes_of(x), bytes_of(Words{1})}, on_grid(70'000, 2), expected, 1);
  };
  check({{70'000, 1}, {66'000, 1}, {139'999, 1}, {5, 2}}, {"marked", 66'000, {66'000, 0, 0}});
  check({{139'999, 1}, {70'003, 1}}, {"marked", 70'003, {3, 1, 0}});
  check({{70'000, 2}, {66'000, 2}}, {"late", 66'000, {66'000, 0, 0}});
}

TEST_CASE("an early segment comes before a lower invocation of a later one") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    if x[i] == 1 { trap(i + 100, first); }
    gridsync;
    if x[i] == 2 { trap(i + 200, second); }
    gridsync;
    if x[i] == 3 { trap(i + 300, third); }
  })");
  check_trap(program, {bytes_of(Words{3, 2, 0, 0, 0, 0, 0, 2, 0, 0, 1, 1})}, on_grid(3),
             {"first", 110, {10, 0, 0}});
  check_trap(program, {bytes_of(Words{3, 3, 0, 0, 0, 0, 0, 2, 0, 2, 0, 0})}, on_grid(3),
             {"second", 207, {7, 0, 0}});
  check_trap(program, {bytes_of(Words{0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0})}, on_grid(3),
             {"third", 306, {6, 0, 0}});
}

TEST_CASE("trips of a loop around a grid barrier come one after the other, and so do its parts") {
  // y[3 * trip + part] is the invocation that traps there, in trip `trip`.
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readonly y: u32[12];
    readwrite x: u32[];
    let i = invocation.x;
    loop k in 0..4 {
      if i == y[3 * k] { trap(1000 * k + i, before); }
      gridsync;
      x[i] = x[i] + 1;
      if i == y[3 * k + 1] { trap(1000 * k + i, between); }
      gridsync;
      if i == y[3 * k + 2] { trap(1000 * k + i, behind); }
    }
    if i == 0 && x[0] != 4 { trap(7777, wrong); }
  })");
  const std::array<const char*, 3> tags{"before", "between", "behind"};
  for (std::uint32_t place = 0; place < 12; ++place) {
    Words y(12, 99);
    // All that comes later has a lower invocation.
    for (std::uint32_t later = place; later < 12; ++later) y[later] = 11 - (later - place);
    CAPTURE(place);
    check_trap(program, {bytes_of(y), zero_words(12)}, on_grid(3),
               {tags[place % 3], 1000 * (place / 3) + 11, {11, 0, 0}}, 1);
  }
}

TEST_CASE("a way that the device decides: the same order of segments") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readonly y: u32[4];
    readwrite x: u32[];
    let i = invocation.x;
    let end = x[12];
    let arm = x[13];
    gridsync;
    loop k in 0..end {
      if arm == 1 {
        if i == y[k] { trap(1000 * k + i, before); }
        gridsync;
        if i == y[k] + 1 { trap(1000 * k + i, behind); }
      } else {
        gridsync;
        if i == y[k] + 2 { trap(1000 * k + i, other); }
      }
      x[i] = x[i] + 1;
    }
  })");
  const auto x = [](std::uint32_t arm) {
    Words words(14);
    words[12] = 4;
    words[13] = arm;
    return bytes_of(words);
  };
  for (std::uint32_t trip = 0; trip < 4; ++trip) {
    Words y(4, 99);
    for (std::uint32_t later = trip; later < 4; ++later) y[later] = 9 - (later - trip);
    CAPTURE(trip);
    check_trap(program, {bytes_of(y), x(1)}, on_grid(3), {"before", 1000 * trip + 9, {9, 0, 0}}, 1);
    check_trap(program, {bytes_of(y), x(0)}, on_grid(3), {"other", 1000 * trip + 11, {11, 0, 0}},
               1);
    // Nobody is `before` in this trip, and `behind` comes before the next one.
    y[trip] = UINT32_MAX;
    for (std::uint32_t later = trip + 1; later < 4; ++later) y[later] = 5;
    check_trap(program, {bytes_of(y), x(1)}, on_grid(3), {"behind", 1000 * trip, {0, 0, 0}}, 1);
  }
}

TEST_CASE("an early iteration comes before a lower invocation of a later one") {
  // Each iteration counts its elements up; the one that reaches 40 first is the highest.
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    let i = invocation.x;
    let mine = x[i];
    gridsync;
    if mine == 40 { trap(i, forty); }
    x[i] = mine + 1;
  })";
  const ir::Program program = valid_program(text);
  const Words x{36, 37, 36, 35, 35, 30, 20, 10, 9, 37, 38, 38};
  for (const Convergence& convergence : {Convergence{}, never()}) {
    check_trap(program, {bytes_of(x)}, fixpoint(on_grid(3), 64, convergence),
               {"forty", 10, {10, 0, 0}});
  }
  // Many more iterations than one submission, or one dispatch, runs.
  Words long_way(12, 0);
  for (std::uint32_t i = 0; i < 12; ++i) long_way[i] = 40 + (UINT32_MAX - 5000) + i;
  check_trap(program, {bytes_of(long_way)}, fixpoint(on_grid(3), 20'000, never()),
             {"forty", 11, {11, 0, 0}}, 1);
}

TEST_CASE("generated programs trap where a plain walk over them says") {
  const std::uint64_t first = test::run_seed();
  MESSAGE("FELSITE_TEST_SEED=" << first);
  for (std::uint64_t seed = first; seed < first + 12; ++seed) {
    test::Random random(seed);
    CAPTURE(seed);
    const std::uint32_t groups = 1 + random.below(6);
    const std::uint32_t count = groups * 8;
    const std::uint32_t iterations = random.chance(2) ? 1 : 2 + random.below(20);
    struct Site {
      std::uint32_t factor, offset, modulus, iteration, address, tag;
    };
    // Segments with trap sites. An iteration adds one to each element, which begin as zeros.
    std::vector<std::vector<Site>> segments(1 + random.below(5));
    std::string text =
        "program p workgroup(8) {\n readwrite x: u32[];\n let i = invocation.x;\n let mine = "
        "x[i];\n";
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const std::uint32_t sites = random.below(4);
      for (std::uint32_t k = 0; k < sites; ++k) {
        Site site{random.below(1000),          random.below(1000),
                  2 + random.below(3 * count), random.below(iterations + 2),
                  random.below(UINT32_MAX),    random.below(3)};
        segments[s].push_back(site);
        text += fmt::format(
            " if mine == {} && (i * {} + {}) % {} == 0 {{ trap({}u32 ^ i, tag{}); }}\n",
            site.iteration, site.factor, site.offset, site.modulus, site.address, site.tag);
        if (random.chance(3)) text += " barrier;\n";
      }
      text += " gridsync;\n";
    }
    text += " x[i] = mine + 1;\n}\n";
    std::optional<TrapInfo> expected;
    for (std::uint32_t iteration = 0; iteration < iterations && !expected; ++iteration) {
      for (std::size_t s = 0; s < segments.size() && !expected; ++s) {
        for (std::uint32_t i = 0; i < count && !expected; ++i) {
          for (const Site& site : segments[s]) {
            if (site.iteration != iteration || (i * site.factor + site.offset) % site.modulus != 0)
              continue;
            expected = TrapInfo{fmt::format("tag{}", site.tag), site.address ^ i, {i, 0, 0}};
            break;
          }
        }
      }
    }
    CAPTURE(text);
    const ir::Program program = valid_program(text);
    DispatchConfig config = on_grid(groups);
    if (iterations > 1)
      config = fixpoint(config, iterations, random.chance(2) ? never() : Convergence{});
    if (expected) {
      check_trap(program, {zero_words(count)}, config, *expected, 1);
    } else {
      check_all_forms(program, {zero_words(count)}, config, {{bytes_of(Words(count, iterations))}});
    }
  }
}
