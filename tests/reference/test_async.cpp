// Asynchronous copies: captured at the issue, visible at the wait with the same tag.
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("an async load brings what was there at the issue, at the wait") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite s: u32[4];
    output o: u32[8];
    workgroup t: u32[4];
    async_load(t[0], s[0], 4, a);
    s[1] = 99;
    loop i in 0..4 { o[i] = t[i]; }
    async_wait(a);
    loop i in 0..4 { o[4 + i] = t[i]; }
  })",
                       {bytes_of(Words{1, 2, 3, 4})});
  CHECK(words_of(out[0]) == Words{1, 99, 3, 4});
  CHECK(words_of(out[1]) == Words{0, 0, 0, 0, 1, 2, 3, 4});
}

TEST_CASE("an async store writes at the wait what was there at the issue") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite s: u32[4];
    output o: u32[4];
    workgroup t: u32[4];
    loop i in 0..4 { t[i] = 10 + i; }
    async_store(s[1], t[0], 2, a);
    t[0] = 77;
    loop i in 0..4 { o[i] = s[i]; }
    async_wait(a);
  })",
                       {bytes_of(Words{1, 2, 3, 4})});
  CHECK(words_of(out[0]) == Words{1, 10, 11, 4});
  CHECK(words_of(out[1]) == Words{1, 2, 3, 4});
}

TEST_CASE("reading past the end gives zeros, writing past it is cut") {
  const auto out = run(R"(program p workgroup(1) {
    readonly s: u32[];
    output o: u32[4];
    output r: u32[3];
    workgroup t: u32[4];
    loop i in 0..4 { t[i] = 50 + i; }
    async_load(t[1], s[1], 8, a);
    async_wait(a);
    loop i in 0..4 { o[i] = t[i]; }
    async_store(r[2], t[0], 4, b);
    async_wait(b);
    async_store(r[4294967295], t[0], 4, b);
    async_wait(b);
  })",
                       {bytes_of(Words{1, 2, 3})});
  CHECK(words_of(out[0]) == Words{50, 2, 3, 0});
  CHECK(words_of(out[1]) == Words{0, 0, 50});
}

TEST_CASE("each invocation copies for itself, and waits for its own copies") {
  const Words out = run_words(R"(program p workgroup(8) {
    readonly s: u32[];
    output o: u32[32];
    workgroup t: u32[32];
    async_load(t[local.x * 4], s[(7 - local.x) * 4], 4, fetch);
    async_wait(fetch);
    barrier;
    loop k in 0..4 { o[local.x * 4 + k] = t[local.x * 4 + k]; }
  })",
                              {bytes_of(counting(32))});
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(out[i] == (7 - i / 4) * 4 + i % 4);
}

TEST_CASE("tags are independent") {
  const Words out = run_words(R"(program p workgroup(1) {
    readonly s: u32[];
    output o: u32[6];
    workgroup t: u32[2];
    async_load(t[0], s[0], 1, first);
    async_load(t[1], s[1], 1, second);
    async_wait(second);
    o[0] = t[0]; o[1] = t[1];
    async_wait(first);
    o[2] = t[0]; o[3] = t[1];
    async_wait(first);
    o[4] = t[0];
  })",
                              {bytes_of(Words{7, 8})});
  CHECK(out == Words{0, 8, 7, 8, 7, 0});
}

TEST_CASE("several copies under one tag land in the order of their issue") {
  const Words out = run_words(R"(program p workgroup(1) {
    readonly s: u32[];
    output o: u32[1];
    workgroup t: u32[1];
    loop i in 0..5 { async_load(t[0], s[i], 1, a); }
    async_wait(a);
    o[0] = t[0];
  })",
                              {bytes_of(counting(5, 40))});
  CHECK(out == Words{44});
}

TEST_CASE("only the active invocations issue, and only they wait") {
  const Words out = run_words(R"(program p workgroup(4) {
    readonly s: u32[];
    output o: u32[8];
    workgroup t: u32[4];
    if local.x % 2 == 0 { async_load(t[local.x], s[local.x], 1, a); }
    if local.x == 0 { async_wait(a); }
    barrier;
    o[local.x] = t[local.x];
    barrier;
    async_wait(a);
    o[4 + local.x] = t[local.x];
  })",
                              {bytes_of(Words{5, 6, 7, 8})});
  CHECK(out == Words{5, 0, 0, 0, 5, 0, 7, 0});
}

TEST_CASE("a copy that nobody waits for is not visible") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite s: u32[1];
    workgroup t: u32[1];
    t[0] = 9;
    if s[0] == 5 { async_wait(a); }
    async_store(s[0], t[0], 1, a);
  })",
                       {bytes_of(Words{1})});
  CHECK(words_of(out[0]) == Words{1});
}

TEST_CASE("copies of narrow, wide and float elements") {
  const auto out =
      run(R"(program p workgroup(1) {
    readonly a: u8[]; readonly b: f64[]; readonly c: f32[];
    output x: u8[5]; output y: f64[2]; output z: f32[2];
    workgroup ta: u8[5]; workgroup tb: f64[2]; workgroup tc: f32[2];
    async_load(ta[1], a[0], 3, l); async_load(tb[0], b[0], 2, l); async_load(tc[0], c[0], 2, l);
    async_wait(l);
    async_store(x[0], ta[0], 4, s); async_store(y[0], tb[0], 2, s); async_store(z[0], tc[0], 2, s);
    async_wait(s);
  })",
          {bytes_of(std::vector<std::uint8_t>{200, 201, 202}),
           bytes_of(std::vector<double>{0.5, -3.25}), bytes_of(Words{0x3F80'0000, 0x4000'0000})});
  CHECK(values_of<std::uint8_t>(out[0]) == std::vector<std::uint8_t>{0, 200, 201, 202, 0});
  CHECK(values_of<double>(out[1]) == std::vector<double>{0.5, -3.25});
  CHECK(words_of(out[2]) == Words{0x3F80'0000, 0x4000'0000});
}

TEST_CASE("a copy issued before a grid barrier can be waited for after it") {
  const Words out = run_words(R"(program p workgroup(2) {
    readonly s: u32[];
    output o: u32[4];
    workgroup t: u32[2];
    async_load(t[local.x], s[invocation.x], 1, a);
    gridsync;
    async_wait(a);
    o[invocation.x] = t[local.x];
  })",
                              {bytes_of(Words{5, 6, 7, 8})}, on_grid(2));
  CHECK(out == Words{5, 6, 7, 8});
}
