#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("a trap carries tag, address and invocation") {
  const Error error = run_error(R"(program p workgroup(4, 2) {
    readwrite x: u32[];
    if invocation.x == 6 && invocation.y == 3 { trap(x[1] + 5, too_large); }
  })",
                                {bytes_of(Words{7, 100})}, on_grid(3, 2));
  CHECK(error.code == ErrorCode::Trapped);
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->tag == "too_large");
  CHECK(error.context.trap->address == 105);
  CHECK(error.context.trap->invocation == Extent3{6, 3, 0});
  CHECK(error.context.program == "p");
}

TEST_CASE("of several invocations of a workgroup the first in order traps") {
  const Error error = run_error(R"(program p workgroup(8) {
    output o: u32[8];
    if local.x >= 3 { trap(local.x * 10, stop); }
    o[local.x] = 1;
  })");
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->invocation[0] == 3);
  CHECK(error.context.trap->address == 30);
}

TEST_CASE("a trap that nobody reaches is no error") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    if local.x > 10 { trap(0, never); }
    resume(never);
    o[local.x] = local.x;
  })") == counting(4));
}

TEST_CASE("an invocation that returned does not trap") {
  CHECK(run_words(R"(program p workgroup(4) {
    output o: u32[4];
    o[local.x] = 5;
    if local.x < 10 { return; }
    trap(0, never);
  })") == Words(4, 5));
}

TEST_CASE("a trap in a loop, in the trip that reaches it") {
  const Error error = run_error(R"(program p workgroup(4) {
    output o: u32[4];
    loop k in 0..100 { if k * k > 50 + local.x * 20 { trap(k, found); } o[local.x] = k; }
  })");
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->address == 8);
  CHECK(error.context.trap->invocation[0] == 0);
}

TEST_CASE("of two tags the one reached is reported") {
  const Error error = run_error(R"(program p workgroup(1) {
    output o: u32[1];
    if o[0] == 1 { trap(1, first); } else { trap(2, second); }
  })");
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->tag == "second");
  CHECK(error.context.trap->address == 2);
}

TEST_CASE("a trap after a grid barrier") {
  const Error error = run_error(R"(program p workgroup(2) {
    output o: u32[8];
    o[invocation.x] = invocation.x;
    gridsync;
    if o[7 - invocation.x] == 2 { trap(o[invocation.x], late); }
  })",
                                {}, on_grid(4));
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->invocation[0] == 5);
  CHECK(error.context.trap->address == 5);
}

TEST_CASE("with many threads the trap of the first workgroup in order is reported") {
  const std::string text = R"(program p workgroup(32) {
    output o: u32[65536];
    let x = invocation.x;
    loop k in 0..20 { x = x * 1664525 + 1013904223; }
    o[invocation.x] = x;
    if invocation.x % 1000 == 777 { trap(invocation.x, here); }
  })";
  for (const unsigned threads : {1u, 2u, 8u}) {
    ReferenceOptions options;
    options.threads = threads;
    for (int i = 0; i < 4; ++i) {
      const Error error = run_error(text, {}, inferred_grid(), options);
      CAPTURE(threads);
      REQUIRE(error.context.trap.has_value());
      CHECK(error.context.trap->invocation[0] == 777);
      CHECK(error.context.trap->address == 777);
    }
  }
}

TEST_CASE("the trap names the whole invocation on three axes") {
  const Error error = run_error(R"(program p workgroup(2, 2, 2) {
    output o: u32[64];
    if local.x + local.y + local.z == 3 && workgroup_id.z == 1 { trap(9, corner); }
  })",
                                {}, on_grid(2, 2, 2));
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->invocation == Extent3{1, 1, 3});
}

TEST_CASE("the first trap in order is reported, whether the later ones come sooner or later") {
  for (const char* slow : {"invocation.x < 1000", "invocation.x >= 1000"}) {
    const std::string text = std::string(R"(program p workgroup(32) {
      output o: u32[65536];
      let x = invocation.x;
      loop k in 0..select()") +
                             slow + R"(, 4000, 1) { x = x * 1664525 + 1013904223; }
      o[invocation.x] = x;
      if invocation.x % 1000 == 777 { trap(invocation.x, here); }
    })";
    for (const unsigned threads : {2u, 8u}) {
      ReferenceOptions options;
      options.threads = threads;
      for (int i = 0; i < 6; ++i) {
        const Error error = run_error(text, {}, inferred_grid(), options);
        CAPTURE(threads);
        REQUIRE(error.context.trap.has_value());
        CHECK(error.context.trap->invocation[0] == 777);
      }
    }
  }
}

TEST_CASE("the lowest invocation is reported, in whichever order workgroups run") {
  const std::string text = R"(program p workgroup(4) {
    output o: u32[40];
    let i = invocation.x;
    if i % 5 == 3 { trap(i * 10, bad); }
    o[i] = i;
  })";
  for (const WorkgroupOrder order :
       {WorkgroupOrder::Forward, WorkgroupOrder::Reversed, WorkgroupOrder::Shuffled}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      ReferenceOptions options;
      options.order = order;
      options.seed = seed;
      const Error error = run_error(text, {}, inferred_grid(), options);
      REQUIRE(error.context.trap.has_value());
      CHECK(error.context.trap->invocation[0] == 3);
      CHECK(error.context.trap->address == 30);
    }
  }
}

TEST_CASE("an invocation that trapped has ended, and the others of its workgroup go on") {
  // Invocation 1 traps first in the text, and invocation 0 behind a barrier that 1 never reaches.
  const Error error = run_error(R"(program p workgroup(4) {
    output o: u32[4];
    workgroup w: u32[4];
    if local.x == 1 { trap(1, early); }
    w[local.x] = 5;
    barrier;
    if w[1] != 0 { trap(9, wrong); }
    if local.x == 0 { trap(w[2], late); }
  })");
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->tag == "late");
  CHECK(error.context.trap->address == 5);
  CHECK(error.context.trap->invocation[0] == 0);
}

TEST_CASE("a loop that waits for an invocation that trapped still ends") {
  const Error error = run_error(R"(program p workgroup(4) {
    output o: u32[4];
    loop k in 0..1000 {
      if local.x == 2 { trap(k, gone); }
      barrier;
      o[local.x] = o[local.x] + o[2];
    }
    if local.x == 0 { trap(o[2] + 6, end); }
  })");
  REQUIRE(error.context.trap.has_value());
  CHECK(error.context.trap->tag == "end");
  CHECK(error.context.trap->address == 6);
}
