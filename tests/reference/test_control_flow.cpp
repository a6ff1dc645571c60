#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("if and else split the invocations of a workgroup") {
  const Words out = run_words(R"(program p workgroup(8) {
    output o: u32[8];
    let i = local.x;
    if i < 3 { o[i] = 10 + i; } else if i == 5 { o[i] = 55; } else { o[i] = 20 + i; }
  })");
  CHECK(out == Words{10, 11, 12, 23, 24, 55, 26, 27});
}

TEST_CASE("both arms of an if see and change the outer variable") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[4];
    let x = 100;
    if local.x % 2 == 0 { x = x + local.x; } else { x = x * 2; }
    o[local.x] = x;
  })");
  CHECK(out == Words{100, 200, 102, 200});
}

TEST_CASE("a loop is half-open and its bounds are evaluated once") {
  const Words out = run_words(R"(program p workgroup(1) {
    output o: u32[8];
    let from = 1;
    let to = 4;
    let sum = 0;
    loop k in from..to { to = 100; from = 50; sum = sum * 10 + k; }
    o[0] = sum;
    o[1] = to;
  })");
  CHECK(out[0] == 123);
  CHECK(out[1] == 100);
}

TEST_CASE("from not below to runs no trip") {
  const Words out = run_words(R"(program p workgroup(1) {
    output o: u32[4];
    loop a in 5..5 { o[0] = 1; }
    loop b in 6..5 { o[1] = 1; }
    loop c in 4294967295..0 { o[2] = 1; }
    loop d in 4294967294..4294967295 { o[3] = o[3] + 1; }
  })");
  CHECK(out == Words{0, 0, 0, 1});
}

TEST_CASE("a loop up to the largest bound ends") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[1];
    loop d in 4294967290..4294967295 { o[0] = o[0] * 2 + d % 2; }
  })") == Words{0b01010});
}

TEST_CASE("each invocation has its own number of trips") {
  const Words out = run_words(R"(program p workgroup(6) {
    output o: u32[6];
    loop k in 0..local.x { o[local.x] = o[local.x] + k + 1; }
  })");
  CHECK(out == Words{0, 1, 3, 6, 10, 15});
}

TEST_CASE("a loop variable starts again in every trip of the outer loop") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[1];
    let n = 0;
    loop i in 0..4 { loop j in i..4 { n = n * 2 + 1; } }
    o[0] = n;
  })") == Words{1023});
}

TEST_CASE("a let inside a loop body is fresh in each trip") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[4];
    loop i in 0..4 { let x = 7; x = x + i; o[i] = x; }
  })") == Words{7, 8, 9, 10});
}

TEST_CASE("return ends only the invocations that reach it") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[4];
    o[local.x] = 1;
    if local.x == 2 { return; }
    o[local.x] = 2;
  })");
  CHECK(out == Words{2, 2, 1, 2});
}

TEST_CASE("return inside nested loops leaves all of them") {
  const Words out = run_words(R"(program p workgroup(4) {
    output o: u32[4];
    loop i in 0..4 {
      loop j in 0..4 {
        o[local.x] = o[local.x] + 1;
        if i * 4 + j == local.x * 3 { return; }
      }
    }
    o[local.x] = 99;
  })");
  CHECK(out == Words{1, 4, 7, 10});
}

TEST_CASE("when all invocations return, nothing after runs") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    loop i in 0..10 {
      if i == 3 { return; }
      o[local.x] = o[local.x] + 1;
    }
    o[local.x] = 77;
  })") == Words{3, 3, 3, 3});
}

TEST_CASE("a return in one arm does not stop the other") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    if local.x < 2 { return; } else { o[local.x] = 5; }
    o[local.x] = o[local.x] + 1;
  })") == Words{0, 0, 6, 6});
}

TEST_CASE("blocks and regions are scopes and nothing else") {
  CHECK(run_words(R"(program p workgroup(1) {
    output o: u32[2];
    let x = 1;
    { let y = 2; x = x + y; }
    region "a" { let y = 3; { let z = 4; x = x * y + z; } }
    o[0] = x;
  })")[0] == 13);
}

TEST_CASE("both sides of && and || are evaluated") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite n: u32[2];
    output o: bool[2];
    o[0] = false && atomic_add(n[0], 1) == 0;
    o[1] = true || atomic_add(n[1], 1) == 0;
  })",
                       {zero_words(2)});
  CHECK(words_of(out[0]) == Words{1, 1});
  CHECK(words_of(out[1]) == Words{0, 1});
}

TEST_CASE("both arms of select are evaluated, left to right") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite n: u32[1];
    output o: u32[3];
    o[0] = select(false, atomic_add(n[0], 1), atomic_add(n[0], 10));
    o[1] = atomic_add(n[0], 100) * 1000 + atomic_add(n[0], 0);
    o[2] = select(atomic_exchange(n[0], 7) == 111, atomic_add(n[0], 1), 0);
  })",
                       {zero_words(1)});
  CHECK(words_of(out[1]) == Words{1, 11111, 7});
  CHECK(words_of(out[0]) == Words{8});
}

TEST_CASE("the index of a store is evaluated before its value") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite n: u32[1];
    output o: u32[4];
    o[atomic_add(n[0], 1)] = atomic_add(n[0], 1) + 10;
  })",
                       {zero_words(1)});
  CHECK(words_of(out[1]) == Words{11, 0, 0, 0});
}

TEST_CASE("ids over a three-dimensional grid") {
  const Words out = run_words(R"(program p workgroup(2, 3, 2) {
    output o: u32[288];
    let gx = num_workgroups.x * workgroup_size.x;
    let gy = num_workgroups.y * workgroup_size.y;
    let slot = (invocation.z * gy + invocation.y) * gx + invocation.x;
    let check = invocation.x == workgroup_id.x * 2 + local.x
             && invocation.y == workgroup_id.y * 3 + local.y
             && invocation.z == workgroup_id.z * 2 + local.z
             && num_workgroups.x == 3 && num_workgroups.y == 2 && num_workgroups.z == 4
             && workgroup_size.x == 2 && workgroup_size.y == 3 && workgroup_size.z == 2;
    o[slot] = o[slot] + select(check, 1, 1000);
  })",
                              {}, on_grid(3, 2, 4));
  CHECK(out == Words(288, 1));
}

TEST_CASE("a divergent loop around an if around a return") {
  // Invocation i stops in the first trip k with k * k >= i.
  const Words out = run_words(R"(program p workgroup(16) {
    output o: u32[16];
    loop k in 0..local.x + 1 {
      if k * k >= local.x { o[local.x] = k + 100; return; }
      o[local.x] = k;
    }
  })");
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint32_t k = 0;
    while (k * k < i) ++k;
    CHECK(out[i] == k + 100);
  }
}

TEST_CASE("nesting 200 deep runs") {
  std::string text = "program p workgroup(4) {\noutput o: u32[4];\nlet x = 0;\n";
  for (int i = 0; i < 200; ++i) text += "if local.x < 3 {\nx = x + 1;\n";
  for (int i = 0; i < 200; ++i) text += "}\n";
  text += "o[local.x] = x;\n}\n";
  CHECK(run_words(text) == Words{200, 200, 200, 0});
}

TEST_CASE("a long chain of assignments in a deep expression") {
  std::string sum = "1";
  for (int i = 0; i < 1000; ++i) sum = "(" + sum + " + 1)";
  CHECK(run_words("program p workgroup(1) { output o: u32[1]; o[0] = " + sum + "; }") ==
        Words{1001});
}

TEST_CASE("a name reused in a later scope is a new variable") {
  CHECK(run_words(R"(program p workgroup(2) {
    output o: u32[2];
    if local.x == 0 { let t = 5; t = t + 1; o[0] = t; }
    if local.x == 1 { let t = 8; o[1] = t; }
  })") == Words{6, 8});
}

TEST_CASE("changing the variable that was the condition does not change the arm taken") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    let c = local.x < 2;
    let x = o[local.x];
    if c { c = false; o[local.x] = o[local.x] + 1; } else { c = true; o[local.x] = x + 10; }
    if c { o[local.x] = o[local.x] + 100; }
  })") == Words{1, 1, 110, 110});
}

TEST_CASE("changing the variable that was the bound of a loop does not change the trips") {
  CHECK(run_words(R"(program p workgroup(2) {
    output o: u32[2];
    let from = local.x;
    let to = 3;
    loop k in from..to { from = 0; to = to - 1; o[local.x] = o[local.x] * 10 + k + 1; }
  })") == Words{123, 23});
}
