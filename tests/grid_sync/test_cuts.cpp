// What stands on one side of a cut and means something on the other: names, tags, conditions.
#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr Expected::Refusal kWhereSplit = Expected::Refusal::WhereSplit;

}  // namespace

TEST_CASE("a resume whose trap is in an earlier segment") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    if x[invocation.x] > 100 { trap(0, big); }
    gridsync;
    resume(big);
    if x[invocation.x] == 7 { resume(big); }
    x[invocation.x] = x[invocation.x] + 1;
  })";
  check_all_forms(text, {bytes_of(counting(8))}, on_grid(2), {{bytes_of(counting(8, 1))}});
}

TEST_CASE("a return under a condition in an inner scope, and later another variable of that name") {
  const char* const text = R"(program p workgroup(4) {
    readonly a: u32[];
    readwrite x: u32[];
    let i = invocation.x;
    region "a" {
      let n = len(a);
      let twice = n * 2;
      if i >= twice / 2 { return; }
      gridsync;
      x[i] = x[i] + 1;
    }
    let n = len(x) * 2;
    let twice = n * 2;
    gridsync;
    x[i] = x[i] + n + twice;
  })";
  Words x(8);
  for (std::uint32_t i = 0; i < 5; ++i) x[i] = 1 + 16 + 32;
  check_all_forms(text, {zero_words(5), zero_words(8)}, on_grid(2), {{bytes_of(x)}});
}

TEST_CASE("more returns than can be asked for again in each segment") {
  std::string text = "program p workgroup(8) { readwrite x: u32[]; let i = invocation.x;\n";
  for (int k = 0; k < 80; ++k) {
    text += "if i >= len(x) - " + std::to_string(k) + " { return; } x[i] = x[i] + 1; gridsync;\n";
  }
  Words x(96);
  for (std::uint32_t i = 0; i < 96; ++i) x[i] = std::min(96 - i, 80u);
  check_all_forms(text + "}", {zero_words(96)}, on_grid(12), {{bytes_of(x)}});
}

TEST_CASE("a chain of variables that is too long to be computed again in each segment") {
  std::string text = "program p workgroup(4) { output o: u32[8]; let v0 = invocation.x;\n";
  for (int k = 1; k <= 300; ++k) {
    text += "let v" + std::to_string(k) + " = v" + std::to_string(k - 1) + " * 3 + 1;\n";
    if (k % 60 == 0) text += "gridsync; o[v0] = o[v0] ^ v" + std::to_string(k) + ";\n";
  }
  text += "gridsync; o[v0] = o[v0] + v300 + v150 + v10; }";
  Words o(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    Words v{i};
    for (int k = 1; k <= 300; ++k) v.push_back(v.back() * 3 + 1);
    for (int k = 60; k <= 300; k += 60) o[i] ^= v[k];
    o[i] += v[300] + v[150] + v[10];
  }
  check_all_forms(text, {}, on_grid(2), {{bytes_of(o)}});
}

TEST_CASE("a copy that the next trip waits for is under way at the barrier") {
  const char* const text = R"(program p workgroup(4) {
    readonly a: u32[];
    output o: u32[12];
    workgroup t: u32[4];
    loop k in 0..3 {
      async_wait(q);
      if workgroup_id.x == 0 { o[k * 4 + local.x] = t[local.x]; }
      async_load(t[local.x], a[k * 4 + local.x], 1, q);
      gridsync;
    }
  })";
  Words o(12);
  for (std::uint32_t i = 4; i < 12; ++i) o[i] = i - 3;
  check_all_forms(text, {bytes_of(counting(12, 1))}, on_grid(2),
                  {.outputs = {bytes_of(o)}, .refusal = kWhereSplit});
}

TEST_CASE("a wait that may be left out ends no copy") {
  const char* const text = R"(program p workgroup(4) {
    readonly a: u32[];
    output o: u32[4];
    workgroup t: u32[8];
    let l = local.x;
    {
      if l < 2 { async_load(t[l], a[l], 1, q); }
      if l == 9 { async_wait(q); }
    }
    gridsync;
    async_wait(q);
    if workgroup_id.x == 0 { o[l] = t[l]; }
    async_load(t[4 + l], a[l], 1, q);
    async_wait(q);
  })";
  check_all_forms(text, {bytes_of(counting(4, 1))}, on_grid(2),
                  {.outputs = {bytes_of(Words{1, 2, 0, 0})}, .refusal = kWhereSplit});
}

TEST_CASE("waits behind the barrier for copies that have ended before it") {
  const char* const text = R"(program p workgroup(4) {
    readonly a: u32[];
    output o: u32[8];
    workgroup t: u32[4];
    if local.x < 3 {
      async_load(t[local.x], a[invocation.x], 1, q);
      async_wait(q);
    }
    gridsync;
    async_wait(q);
    o[invocation.x] = t[local.x];
  })";
  check_all_forms(text, {bytes_of(counting(8, 1))}, on_grid(2),
                  {{bytes_of(Words{1, 2, 3, 0, 5, 6, 7, 0})}});
}

TEST_CASE("copies that nobody waits for are seen by nobody") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[8];
    output r: u32[8];
    workgroup t: u32[4];
    t[local.x] = 1;
    r[invocation.x] = 5;
    async_store(o[invocation.x], t[local.x], 1, q);
    gridsync;
    r[invocation.x] = r[invocation.x] + 2;
  })";
  check_all_forms(text, {}, on_grid(2), {{zero_words(8), bytes_of(Words(8, 7))}});
}

TEST_CASE("a condition that is as deep as an expression can be") {
  std::string condition = "len(x)";
  for (int k = 0; k < 1021; ++k) condition = "~" + condition;
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[]; readonly y: u32[1];"
      " if y[0] == " +
      condition +
      " { x[invocation.x] = 1; gridsync; }"
      " x[invocation.x] = x[invocation.x] + 1; }";
  check_all_forms(text, {zero_words(8), bytes_of(Words{~8u})}, on_grid(2),
                  {{bytes_of(Words(8, 2))}});
  check_all_forms(text, {zero_words(8), bytes_of(Words{8})}, on_grid(2), {{bytes_of(Words(8, 1))}});
}

TEST_CASE("a store nested as deep as can be, whose changes are reported in iterations") {
  std::string open;
  std::string close;
  for (int k = 0; k < 254; ++k) {
    open += "{ ";
    close += " }";
  }
  const std::string text =
      "program p workgroup(4) { readwrite x: u32[]; let mine = x[invocation.x];"
      " gridsync; " +
      open + "x[invocation.x] = min(mine + 1, 3);" + close + " }";
  check_all_forms(text, {zero_words(8)}, fixpoint(on_grid(2), 20),
                  {{bytes_of(Words(8, 3))}, 4, true});
}

TEST_CASE("what a subgroup operation depends on is the same for all after the barrier too") {
  const char* const text = R"(program p workgroup(8) {
    readwrite x: u32[];
    output o: u32[16];
    let limit = x[0];
    gridsync;
    x[0] = 1;
    gridsync;
    if limit > 3 { o[invocation.x] = subgroup_max(x[0]) + limit; }
  })";
  Words x{9, 0};
  check_all_forms(text, {bytes_of(x)}, on_grid(2),
                  {{bytes_of(Words{1, 0}), bytes_of(Words(16, 10))}});
}
