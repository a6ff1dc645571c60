// User-defined operations.
#include <fmt/format.h>

#include <chrono>

#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("an operation computes from its parameters") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    op mix(a: u32, b: u32) -> u32 { yield a * 10 + b; }
    o[local.x] = mix(local.x, 7) + mix(1, local.x);
  })") == Words{17, 28, 39, 50});
}

TEST_CASE("an operation without parameters") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[1];
    op seven() -> u32 { yield 7; }
    o[0] = seven() * seven();
  })") == Words{49});
}

TEST_CASE("operations that contain loops, ifs and variables") {
  CHECK(run_words(R"(program p workgroup(8) {
    output o: u32[8];
    op collatz(n: u32) -> u32 {
      let x = n;
      let steps = 0;
      loop k in 0..200 {
        if x > 1 {
          steps = steps + 1;
          if x % 2 == 0 { x = x / 2; } else { x = 3 * x + 1; }
        }
      }
      yield steps;
    }
    o[local.x] = collatz(local.x + 1);
  })") == Words{0, 1, 7, 2, 5, 8, 16, 3});
}

TEST_CASE("variables of an operation are fresh in every call") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[3];
    op count(n: u32) -> u32 { let c = 0; loop k in 0..n { c = c + 1; } yield c; }
    loop k in 0..3 { o[k] = count(k + 1) * 100 + count(2); }
  })") == Words{102, 202, 302});
}

TEST_CASE("nested calls, and calls as arguments of the same operation") {
  CHECK(run_words(R"(program p workgroup(2) {
    output o: u32[2];
    op sub1(a: u32, b: u32) -> u32 { yield a - b; }
    op twice(a: u32) -> u32 { let t = sub1(a, 1); yield sub1(t, sub1(1, 0)) + sub1(a, 0); }
    o[local.x] = sub1(sub1(100, sub1(10, 3)), sub1(twice(local.x + 10), sub1(5, 2)));
  })") == Words{93 - (8 + 10 - 3), 93 - (9 + 11 - 3)});
}

TEST_CASE("an argument that is itself computed from an earlier call keeps its value") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[1];
    op id(a: u32) -> u32 { let t = a; yield t; }
    o[0] = id(1) * 1000 + id(2) * 100 + id(id(3) + id(4)) * 10 + id(8);
  })") == Words{1278});
}

TEST_CASE("a call under a divergent mask runs for the active invocations only") {
  CHECK(run_words(R"(program p workgroup(6) {
    output o: u32[6];
    op steps(n: u32) -> u32 { let s = 0; loop k in 0..n { if k % 2 == 0 { s = s + k; } } yield s; }
    let x = 1000;
    if local.x % 2 == 0 { x = steps(local.x + 4); } else if local.x > 2 { x = steps(3); }
    o[local.x] = x;
  })") == Words{2, 1000, 6, 2, 12, 2});
}

TEST_CASE("a call does not disturb the variables of inactive invocations") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    op id(a: u32) -> u32 { let t = a + 1; t = t - 1; yield t; }
    let kept = id(local.x + 10);
    if local.x > 1 { let other = id(99); kept = kept + other; }
    loop k in 0..local.x { kept = kept + id(k); }
    o[local.x] = kept;
  })") == Words{10, 11, 12 + 99 + 1, 13 + 99 + 3});
}

TEST_CASE("operations of every type") {
  const auto out = run(R"(program p workgroup(1) {
    output b: bool[1]; output l: i64[1]; output d: f64[1]; output h: f16[1]; output n: u8[1];
    op flip(x: bool) -> bool { yield !x; }
    op neg(x: i64) -> i64 { yield -x; }
    op half(x: f64) -> f64 { yield x * 0.5f64; }
    op add_h(x: f16, y: f16) -> f16 { yield x + y; }
    op cut(x: u32) -> u8 { yield u8(x); }
    b[0] = flip(false); l[0] = neg(5000000000i64); d[0] = half(3.0f64); h[0] = add_h(2048f16, 1f16);
    n[0] = cut(511);
  })");
  CHECK(words_of(out[0]) == Words{1});
  CHECK(values_of<std::int64_t>(out[1])[0] == -5'000'000'000);
  CHECK(values_of<double>(out[2])[0] == 1.5);
  CHECK(values_of<std::uint16_t>(out[3])[0] == 0x6800);
  CHECK(values_of<std::uint8_t>(out[4])[0] == 255);
}

TEST_CASE("arguments are evaluated left to right, once each") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite n: u32[1];
    output o: u32[1];
    op order(a: u32, b: u32, c: u32) -> u32 { yield a * 100 + b * 10 + c + a * 0; }
    o[0] = order(atomic_add(n[0], 1), atomic_add(n[0], 1), atomic_add(n[0], 1));
  })",
                       {bytes_of(Words{4})});
  CHECK(words_of(out[1]) == Words{456});
  CHECK(words_of(out[0]) == Words{7});
}

TEST_CASE("a call whose value is not used is harmless") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[1];
    op f(a: u32) -> u32 { yield a + 1; }
    f(3);
    o[0] = f(4);
  })") == Words{5});
}

TEST_CASE("a chain of calls as deep as there are operations") {
  std::string text =
      "program p workgroup(3) {\n  output o: u32[3];\n  op step0(a: u32) -> u32 { yield a + 1; }\n";
  for (int i = 1; i < 200; ++i) {
    text +=
        fmt::format("  op step{}(a: u32) -> u32 {{ let t = step{}(a); yield t + 1; }}\n", i, i - 1);
  }
  CHECK(run_words(text + "  o[local.x] = step199(local.x);\n}\n") == Words{200, 201, 202});
}

TEST_CASE("an exponential chain of calls is stopped by the timeout") {
  std::string text =
      "program p workgroup(1) {\n  output o: u32[1];\n  op step0(a: u32) -> u32 { yield a + 1; }\n";
  for (int i = 1; i < 60; ++i) {
    text += fmt::format("  op step{0}(a: u32) -> u32 {{ yield step{1}(a) + step{1}(a + 1); }}\n", i,
                        i - 1);
  }
  text += "  o[0] = step59(1);\n}\n";
  DispatchConfig config = on_grid(1);
  config.timeout = std::chrono::milliseconds(100);
  CHECK(run_error(text, {}, config).code == ErrorCode::Timeout);
}

TEST_CASE("an exponential chain of calls that is short enough gives its value") {
  std::string text =
      "program p workgroup(1) {\n  output o: u32[1];\n  op step0(a: u32) -> u32 { yield a; }\n";
  for (int i = 1; i < 12; ++i) {
    text +=
        fmt::format("  op step{0}(a: u32) -> u32 {{ yield step{1}(a) + step{1}(a); }}\n", i, i - 1);
  }
  CHECK(run_words(text + "  o[0] = step11(3);\n}\n") == Words{3u << 11});
}
