// Workgroup barriers and the whole-grid barrier, which the reference runs natively.
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("a tree reduction in workgroup memory") {
  const std::string text = R"(program p workgroup(64) {
    readonly x: u32[];
    output o: u32[4];
    workgroup t: u32[64];
    t[local.x] = x[invocation.x];
    barrier;
    loop step in 0..6 {
      let half = 32 >> step;
      if local.x < half { t[local.x] = t[local.x] + t[local.x + half]; }
      barrier;
    }
    if local.x == 0 { o[workgroup_id.x] = t[0]; }
  })";
  const Words out = run_words(text, {bytes_of(counting(256))}, on_grid(4));
  for (std::uint32_t g = 0; g < 4; ++g) CHECK(out[g] == g * 64 * 64 + 63 * 64 / 2);
}

TEST_CASE("every ordering is a workgroup barrier") {
  for (const char* ordering : {"acquire", "release", "acq_rel", "seq_cst"}) {
    const std::string text = std::string(R"(program p workgroup(96) {
      output o: u32[96];
      workgroup t: u32[96];
      t[local.x] = local.x * local.x;
      barrier.)") + ordering +
                             R"(;
      o[local.x] = t[95 - local.x];
    })";
    const Words out = run_words(text);
    for (std::uint32_t i = 0; i < 96; ++i) CHECK(out[i] == (95 - i) * (95 - i));
  }
}

TEST_CASE("a storage write before a workgroup barrier is seen after it by the workgroup") {
  const Words out = run_words(R"(program p workgroup(8) {
    output o: u32[16];
    o[invocation.x] = invocation.x + 1;
    barrier;
    let other = o[workgroup_id.x * 8 + (7 - local.x)];
    barrier;
    o[invocation.x] = other;
  })",
                              {}, on_grid(2));
  for (std::uint32_t i = 0; i < 16; ++i) CHECK(out[i] == i / 8 * 8 + (7 - i % 8) + 1);
}

TEST_CASE("only invocations that have not returned wait at a barrier") {
  const Words out = run_words(R"(program p workgroup(8) {
    output o: u32[8];
    workgroup t: u32[8];
    if local.x >= 5 { return; }
    t[local.x] = local.x + 1;
    barrier;
    o[local.x] = t[4 - local.x] + t[7];
  })");
  CHECK(out == Words{5, 4, 3, 2, 1, 0, 0, 0});
}

TEST_CASE("workgroup memory starts as zeros in every workgroup") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[64];
    workgroup t: u32[4];
    o[invocation.x] = t[local.x];
    t[local.x] = 77;
  })",
                              {}, on_grid(16));
  CHECK(out == Words(64, 0));
}

TEST_CASE("grid barrier: every write before it is visible to every invocation after") {
  const auto out = run(R"(program p workgroup(4) {
    output o: u32[32];
    output r: u32[32];
    o[invocation.x] = invocation.x * 3;
    gridsync;
    r[invocation.x] = o[31 - invocation.x];
  })",
                       {}, on_grid(8));
  const Words read = words_of(out[1]);
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(read[i] == (31 - i) * 3);
}

TEST_CASE("grid barrier: a local assigned before is read after with its current value") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[16];
    let x = 1;
    loop k in 0..invocation.x { x = x * 2; }
    if invocation.x % 2 == 1 { x = x + 1000; }
    gridsync;
    o[invocation.x] = x;
    x = x + 1;
    gridsync;
    o[invocation.x] = o[invocation.x] * 10 + x % 10;
  })",
                              {}, on_grid(4));
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::uint32_t x = (1u << i) + (i % 2 == 1 ? 1000 : 0);
    CHECK(out[i] == x * 10 + (x + 1) % 10);
  }
}

TEST_CASE("grid barrier: the let of an atomic is not run again") {
  const auto out = run(R"(program p workgroup(4) {
    readwrite n: u32[1];
    output o: u32[16];
    let ticket = atomic_add(n[0], 1);
    gridsync;
    atomic_add(o[ticket], 1);
    gridsync;
    atomic_add(o[ticket], 10);
  })",
                       {zero_words(1)}, on_grid(4));
  CHECK(words_of(out[0]) == Words{16});
  CHECK(words_of(out[1]) == Words(16, 11));
}

TEST_CASE("grid barrier: the let of a load keeps the value from before") {
  const auto out = run(R"(program p workgroup(4) {
    readwrite x: u32[];
    output o: u32[8];
    let before = x[invocation.x];
    gridsync;
    x[7 - invocation.x] = 1000;
    gridsync;
    o[invocation.x] = before;
  })",
                       {bytes_of(counting(8, 5))}, on_grid(2));
  CHECK(words_of(out[0]) == Words(8, 1000));
  CHECK(words_of(out[1]) == counting(8, 5));
}

TEST_CASE("grid barrier: an invocation that returned stays returned") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[16];
    o[invocation.x] = 1;
    if invocation.x % 3 == 0 { return; }
    gridsync;
    o[invocation.x] = o[invocation.x] + 1;
    if invocation.x % 3 == 1 { return; }
    gridsync;
    o[invocation.x] = o[invocation.x] + 1;
  })",
                              {}, on_grid(4));
  for (std::uint32_t i = 0; i < 16; ++i) CHECK(out[i] == i % 3 + 1);
}

TEST_CASE("grid barrier: a workgroup that returned whole does not block the others") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[16];
    if workgroup_id.x == 1 { return; }
    loop k in 0..3 { gridsync; o[invocation.x] = o[invocation.x] + 1; }
  })",
                              {}, on_grid(4));
  for (std::uint32_t i = 0; i < 16; ++i) CHECK(out[i] == (i / 4 == 1 ? 0u : 3u));
}

TEST_CASE("grid barrier: everything returned before it") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[8];
    o[invocation.x] = 3;
    if invocation.x < 100 { return; }
    gridsync;
    o[invocation.x] = 4;
  })",
                  {}, on_grid(2)) == Words(8, 3));
}

TEST_CASE("grid barrier: workgroup memory keeps its contents") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[12];
    workgroup t: u32[4];
    t[local.x] = invocation.x * 7;
    gridsync;
    o[invocation.x] = t[3 - local.x];
    gridsync;
    t[local.x] = t[local.x] + 1;
    gridsync;
    o[invocation.x] = o[invocation.x] * 1000 + t[local.x];
  })",
                              {}, on_grid(3));
  for (std::uint32_t i = 0; i < 12; ++i) {
    CHECK(out[i] == (i / 4 * 4 + 3 - i % 4) * 7 * 1000 + i * 7 + 1);
  }
}

TEST_CASE("grid barrier in a loop: a prefix sum over the whole grid") {
  const std::string text = R"(program p workgroup(8) {
    readwrite a: u32[];
    let i = invocation.x;
    loop step in 0..6 {
      let distance = 1 << step;
      let add = select(i >= distance, a[i - distance], 0);
      gridsync;
      a[i] = a[i] + add;
      gridsync;
    }
  })";
  const Words out = run_words(text, {bytes_of(Words(64, 1))}, on_grid(8));
  CHECK(out == counting(64, 1));
}

TEST_CASE("grid barrier in a loop with bounds from a uniform buffer") {
  const std::string text = R"(program p workgroup(4) {
    uniform n: u32[2];
    output o: u32[12];
    let x = invocation.x;
    loop trip in n[0]..n[1] {
      o[invocation.x] = x;
      gridsync;
      x = o[(invocation.x + 1) % 12] + trip;
      gridsync;
    }
    o[invocation.x] = x;
  })";
  const Words out = run_words(text, {bytes_of(Words{2, 7})}, on_grid(3));
  for (std::uint32_t i = 0; i < 12; ++i) CHECK(out[i] == (i + 5) % 12 + 2 + 3 + 4 + 5 + 6);
  CHECK(run_words(text, {bytes_of(Words{7, 2})}, on_grid(3)) == counting(12));
}

TEST_CASE("grid barrier in a uniform if, both ways") {
  const std::string text = R"(program p workgroup(4) {
    uniform n: u32[1];
    output o: u32[8];
    let x = invocation.x + 1;
    o[invocation.x] = x;
    if n[0] > 5 {
      gridsync;
      x = o[7 - invocation.x];
      gridsync;
    } else {
      x = x * 100;
    }
    o[invocation.x] = x;
  })";
  const Words above = run_words(text, {bytes_of(Words{6})}, on_grid(2));
  const Words below = run_words(text, {bytes_of(Words{5})}, on_grid(2));
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(above[i] == 8 - i);
    CHECK(below[i] == (i + 1) * 100);
  }
}

TEST_CASE("grid barrier inside blocks and regions") {
  const Words out = run_words(R"(program p workgroup(2) {
    output o: u32[6];
    region "outer" {
      let x = invocation.x * 2;
      { o[invocation.x] = x; gridsync; x = x + o[5 - invocation.x]; }
      region "inner" { gridsync; o[invocation.x] = x; }
    }
  })",
                              {}, on_grid(3));
  CHECK(out == Words(6, 10));
}

TEST_CASE("grid barrier: several outputs, 64-bit locals, workgroup atomics") {
  const auto out = run(R"(program p workgroup(4) {
    output a: u64[8];
    output b: i64[8];
    output c: f64[8];
    workgroup t: u64[1];
    let big = u64(invocation.x) << 40u64;
    let negative = -i64(invocation.x) * 10000000000i64;
    let real = f64(invocation.x) / 3.0f64;
    atomic_add(t[0], big);
    gridsync;
    a[invocation.x] = t[0] + big;
    b[invocation.x] = negative;
    gridsync;
    c[invocation.x] = real;
  })",
                       {}, on_grid(2));
  const auto a = values_of<std::uint64_t>(out[0]);
  const auto b = values_of<std::int64_t>(out[1]);
  const auto c = values_of<double>(out[2]);
  for (std::uint64_t i = 0; i < 8; ++i) {
    CHECK(a[i] == ((i < 4 ? 6 : 22) + i) << 40);
    CHECK(b[i] == -static_cast<std::int64_t>(i) * 10'000'000'000);
    CHECK(c[i] == static_cast<double>(i) / 3.0);
  }
}

TEST_CASE("grid barrier: results are the same with any order of workgroups") {
  const std::string text = R"(program p workgroup(4) {
    readwrite a: u32[];
    let i = invocation.x;
    loop k in 0..20 {
      let left = a[(i + 39) % 40];
      let right = a[(i + 1) % 40];
      gridsync;
      a[i] = a[i] ^ left * 3 + right;
      gridsync;
    }
  })";
  const std::vector<Bytes> in{bytes_of(counting(40, 9))};
  const Words forward = run_words(text, in, on_grid(10));
  ReferenceOptions options;
  options.order = WorkgroupOrder::Reversed;
  CHECK(run_words(text, in, on_grid(10), options) == forward);
  options.order = WorkgroupOrder::Shuffled;
  for (options.seed = 0; options.seed < 5; ++options.seed) {
    CHECK(run_words(text, in, on_grid(10), options) == forward);
  }
  // By hand.
  Words a = counting(40, 9);
  for (int k = 0; k < 20; ++k) {
    const Words old = a;
    for (std::size_t i = 0; i < 40; ++i)
      a[i] = old[i] ^ (old[(i + 39) % 40] * 3 + old[(i + 1) % 40]);
  }
  CHECK(forward == a);
}

TEST_CASE("on one workgroup the grid barrier is a workgroup barrier with storage semantics") {
  const Words out = run_words(R"(program p workgroup(64) {
    output o: u32[64];
    o[local.x] = local.x;
    gridsync;
    let x = o[63 - local.x];
    gridsync;
    o[local.x] = x;
  })",
                              {}, on_grid(1));
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == 63 - i);
}
