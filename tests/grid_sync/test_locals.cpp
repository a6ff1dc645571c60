// What an invocation knows survives the barrier: every local, with its current value. A value is
// never made again from what has changed in between.
#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A program over `x` (12 words with the caller's bytes) and `o` (12 words), on 3 workgroups of 4.
void check_locals(std::string_view body, const Words& o, std::optional<Words> x = std::nullopt) {
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[]; output o: u32[12]; readwrite n: u32[2];"
      " let i = invocation.x; " +
      std::string(body) + " }";
  const Words given = counting(12, 100);
  check_all_forms(text, {bytes_of(given), bytes_of(Words{3, 5})}, on_grid(3),
                  {{bytes_of(x ? *x : given), bytes_of(o), bytes_of(Words{3, 5})}});
}

}  // namespace

TEST_CASE("a local that was assigned before is read after") {
  check_locals("let a = 1; a = i * 5; gridsync; o[i] = a;", each(12, [](auto i) { return i * 5; }));
  check_locals(
      "let a = 1; a = a + 1; gridsync; a = a * 10; gridsync; a = a + i; gridsync; o[i] = a;",
      each(12, [](auto i) { return 20 + i; }));
  check_locals("let a = x[i]; a = a * 2; gridsync; o[i] = a;",
               each(12, [](auto i) { return (100 + i) * 2; }));
}

TEST_CASE("a local that only some invocations assigned") {
  check_locals("let a = 7; if i % 3 == 0 { a = i; } gridsync; o[i] = a;",
               each(12, [](auto i) { return i % 3 == 0 ? i : 7; }));
  check_locals(
      "let a = 7; if x[i] > 105 { a = a + 1; } else { if i == 2 { a = 0; } } gridsync; o[i] = a;",
      each(12, [](auto i) { return i > 5    ? 8u
                                   : i == 2 ? 0u
                                            : 7u; }));
  check_locals("let a = 7; gridsync; if i % 2 == 1 { a = i; } gridsync; o[i] = a;",
               each(12, [](auto i) { return i % 2 == 1 ? i : 7; }));
}

TEST_CASE("a local that a loop with a divergent trip count assigned") {
  check_locals("let a = 1; loop k in 0..i { a = a * 2 + k; } gridsync; o[i] = a;",
               each(12, [](auto i) {
                 std::uint32_t a = 1;
                 for (std::uint32_t k = 0; k < i; ++k) a = a * 2 + k;
                 return a;
               }));
}

TEST_CASE("a local that was made of another, which then changed") {
  check_locals("let a = i; let b = a * 2; a = 50; gridsync; o[i] = a * 100 + b;",
               each(12, [](auto i) { return 5000 + i * 2; }));
  check_locals("let a = i; let b = a + 1; gridsync; a = 9; gridsync; o[i] = b * 10 + a;",
               each(12, [](auto i) { return (i + 1) * 10 + 9; }));
  check_locals(
      "let a = 2; let b = a; let c = b * a; b = c + a; a = b; gridsync; o[i] = a * 100 + b * 10 + "
      "c;",
      each(12, [](auto) { return 664u; }));
}

TEST_CASE("a local that is read before it is assigned again, on both sides") {
  check_locals(
      "let a = i; gridsync; o[i] = a; a = a + 1; gridsync; o[i] = o[i] * 100 + a; a = a + 1;"
      " gridsync; o[i] = o[i] * 100 + a;",
      each(12, [](auto i) { return (i * 100 + i + 1) * 100 + i + 2; }));
}

TEST_CASE("a let of a load keeps its value when the memory changes later") {
  check_locals("let a = x[i]; gridsync; x[i] = 0; gridsync; o[i] = a;",
               each(12, [](auto i) { return 100 + i; }), Words(12, 0));
  // Changed by others, in the very segment that reads the local.
  check_locals("let a = x[i]; gridsync; x[11 - i] = 5; o[i] = a;",
               each(12, [](auto i) { return 100 + i; }), Words(12, 5));
  // Changed before the let as well: then the let holds the first change, not the second.
  check_locals("x[i] = i; gridsync; let a = x[11 - i]; gridsync; x[i] = 77; gridsync; o[i] = a;",
               each(12, [](auto i) { return 11 - i; }), Words(12, 77));
  check_locals(
      "let a = x[i] + x[(i + 1) % 12] * 2; gridsync; atomic_add(x[i], 1000); gridsync; o[i] = a;",
      each(12, [](auto i) { return 100 + i + (100 + (i + 1) % 12) * 2; }),
      each(12, [](auto i) { return 1100 + i; }));
}

TEST_CASE("a let of a load keeps its value on a grid whose groups run far apart") {
  const char* const text = R"(program p workgroup(64) {
    readwrite x: u32[];
    output o: u32[16384];
    let i = invocation.x;
    let a = x[i];
    let index = x[len(x) - 1 - i];
    gridsync;
    x[len(x) - 1 - i] = 5;
    o[i] = a * 2 + index;
    gridsync;
    o[i] = o[i] + a;
  })";
  Words x(16384);
  Words o(16384);
  for (std::uint32_t i = 0; i < 16384; ++i) x[i] = i * 7;
  for (std::uint32_t i = 0; i < 16384; ++i) o[i] = x[i] * 3 + x[16383 - i];
  check_all_forms(text, {bytes_of(x)}, on_grid(256), {{bytes_of(Words(16384, 5)), bytes_of(o)}});
}

TEST_CASE("a let of a load of what nobody writes") {
  check_locals(
      "let a = n[0]; let b = n[a % 2] + a; gridsync; x[i] = b; gridsync; o[i] = a * 10 + b;",
      each(12, [](auto) { return 38u; }), Words(12, 8));
}

TEST_CASE("a load past the end of a buffer that grows nowhere") {
  check_locals("let a = x[i + 11]; gridsync; o[i] = a + 1;",
               each(12, [](auto i) { return i == 0 ? 112u : 1u; }));
}

TEST_CASE("the let of an atomic is not run again, nor what is made of it") {
  const char* const text = R"(program p workgroup(4) {
    readwrite n: u32[2];
    output taken: u32[16];
    output twice: u32[32];
    let ticket = atomic_add(n[0], 1);
    let double = ticket * 2 + atomic_sub(n[1], 1) * 0;
    gridsync;
    atomic_add(taken[ticket], 1);
    atomic_add(twice[double], 1);
    gridsync;
    atomic_add(taken[ticket], 10);
    atomic_add(twice[double + 1], 1);
  })";
  check_all_forms(text, {bytes_of(Words{0, 16})}, on_grid(4),
                  {{bytes_of(Words{16, 0}), bytes_of(Words(16, 11)), bytes_of(Words(32, 1))}});
}

TEST_CASE("atomics in conditions, indices and loop bounds are run once") {
  const char* const text = R"(program p workgroup(4) {
    readwrite n: u32[3];
    output o: u32[8];
    output first: u32[1];
    let winner = false;
    if atomic_add(n[0], 1) == 0 { winner = true; }
    o[atomic_add(n[1], 1)] = 5;
    loop k in 0..atomic_and(n[2], 3) { atomic_add(first[0], 100); }
    gridsync;
    if winner { atomic_add(first[0], 1); }
    o[invocation.x] = o[invocation.x] + 1;
  })";
  check_all_forms(text, {bytes_of(Words{0, 0, 3})}, on_grid(2),
                  {{bytes_of(Words{8, 8, 3}), bytes_of(Words(8, 6)), bytes_of(Words{2401})}});
}

TEST_CASE("a compare-exchange decides who goes on") {
  const char* const text = R"(program p workgroup(4) {
    readwrite owner: u32[4];
    output o: u32[4];
    output losers: u32[1];
    let i = invocation.x;
    let before = atomic_compare_exchange(owner[i % 4], 0, i + 1);
    gridsync;
    if before == 0 { o[i % 4] = owner[i % 4] - i; } else { atomic_add(losers[0], 1); }
    gridsync;
    if before == 0 { owner[i % 4] = 7; }
  })";
  check_all_forms(text, {zero_words(4)}, on_grid(3),
                  {{bytes_of(Words(4, 7)), bytes_of(Words(4, 1)), bytes_of(Words{8})}});
}

TEST_CASE("locals of blocks and regions that a barrier stands in") {
  check_locals("{ let a = i; a = a + 1; gridsync; o[i] = a; }",
               each(12, [](auto i) { return i + 1; }));
  check_locals(
      "region \"r\" { let a = x[i]; gridsync; x[i] = 3; { let b = a + 1; gridsync; o[i] = a + b; } "
      "}",
      each(12, [](auto i) { return (100 + i) * 2 + 1; }), Words(12, 3));
  check_locals(
      "let a = 1; { let b = a + i; a = b * 2; { gridsync; } a = a + b; } gridsync; o[i] = a;",
      each(12, [](auto i) { return (1 + i) * 3; }));
}

TEST_CASE("locals of the same name in scopes beside each other") {
  check_locals(
      "{ let a = i; gridsync; o[i] = a; } { let a = 1000; gridsync; o[i] = o[i] + a; }"
      " { let a = i == 3; gridsync; if a { o[i] = 1; } }",
      each(12, [](auto i) { return i == 3 ? 1 : 1000 + i; }));
  check_locals(
      "loop k in 0..2 { let a = k * 100 + i; gridsync; o[i] = o[i] + a; }"
      " loop k in 5..7 { let a = k * 1000; gridsync; o[i] = o[i] + a; }",
      each(12, [](auto i) { return 100 + i * 2 + 11'000; }));
  check_locals(
      "if n[0] == 3 { let a = i; gridsync; o[i] = a; } else { let a = 2.5; gridsync; o[i] = "
      "u32(a); }",
      each(12, [](auto i) { return i; }));
}

TEST_CASE("a local that is declared in a loop is fresh in each trip") {
  check_locals(
      "loop k in 0..3 { let a = 0; a = a + i + k; gridsync; a = a + 1; gridsync; o[i] = o[i] + a; "
      "}",
      each(12, [](auto i) { return i * 3 + 3 + 3; }));
  check_locals(
      "loop k in 0..4 { let a = 5; if k == 1 { a = i; } gridsync; o[i] = o[i] * 10 + a % 10; }",
      each(12, [](auto i) { return 5055 + i % 10 * 100; }));
}

TEST_CASE("a local that a trip hands on to the next") {
  check_locals(
      "let a = i; loop k in 0..4 { o[i] = a; gridsync; a = o[(i + 1) % 12] + k; gridsync; } o[i] = "
      "a;",
      each(12, [](auto i) { return (i + 4) % 12 + 6; }));
  check_locals(
      "let a = 1; let b = 1; loop k in 0..8 { let c = a + b; a = b; gridsync; b = c; }"
      " gridsync; o[i] = b * 1000 + a;",
      each(12, [](auto) { return 55'034u; }));
}

TEST_CASE("a local that nobody reads after, and one that is only read much later") {
  check_locals(
      "let a = x[i]; let b = a + 1; o[i] = b; gridsync; x[i] = 1; gridsync; gridsync;"
      " o[i] = o[i] + 1; gridsync; x[i] = 2; gridsync; o[i] = o[i] * 1000 + a;",
      each(12, [](auto i) { return (102 + i) * 1000 + 100 + i; }), Words(12, 2));
}

TEST_CASE("a local that is kept, then remade, then kept again") {
  check_locals(
      "let a = x[i]; gridsync; x[i] = a + 1; a = i; gridsync; o[i] = a; a = x[11 - i]; gridsync;"
      " x[i] = 0; gridsync; o[i] = o[i] * 1000 + a;",
      each(12, [](auto i) { return i * 1000 + 112 - i; }), Words(12, 0));
}

TEST_CASE("operations that the program defines, on both sides") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    op mix(a: u32, b: u32) -> u32 {
      let c = a * 31;
      loop k in 0..b { c = c + k; }
      yield c;
    }
    let i = invocation.x;
    let a = mix(x[i], i);
    gridsync;
    x[i] = mix(a, 3) + mix(x[7 - i] * 0, 0);
  })";
  Words x(8);
  for (std::uint32_t i = 0; i < 8; ++i) x[i] = ((i + 1) * 31 + i * (i - 1) / 2) * 31 + 3;
  check_all_forms(text, {bytes_of(counting(8, 1))}, on_grid(2), {{bytes_of(x)}});
}
