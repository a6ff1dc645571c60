// With one rank the collectives are the identity; the two with a source copy it.
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("all_reduce with one rank leaves the buffer as it is") {
  for (const char* op : {"add", "mul", "min", "max", "and", "or", "xor"}) {
    const auto out =
        run(std::string("program p workgroup(1) { readwrite a: u32[]; all_reduce.") + op + "(a); }",
            {bytes_of(counting(10, 5))});
    CHECK(words_of(out[0]) == counting(10, 5));
  }
}

TEST_CASE("broadcast from rank 0 is the identity") {
  CHECK(run_words("program p workgroup(1) { readwrite a: u32[]; broadcast(a, 0); }",
                  {bytes_of(counting(5))}) == counting(5));
}

TEST_CASE("all_gather and reduce_scatter copy the source to the destination") {
  for (const char* call : {"all_gather(b, a);", "reduce_scatter.add(b, a);"}) {
    const auto out = run(
        std::string("program p workgroup(1) { readonly a: f32[]; output b: f32[4]; ") + call + " }",
        {bytes_of(std::vector<float>{1, 2, 3, 4})});
    CHECK(values_of<float>(out[0]) == std::vector<float>{1, 2, 3, 4});
  }
}

TEST_CASE("a collective concerns the whole grid: it sees every write before it") {
  const auto out = run(R"(program p workgroup(4) {
    output a: u32[16];
    output b: u32[16];
    output c: u32[16];
    a[15 - invocation.x] = invocation.x;
    all_gather(b, a);
    c[invocation.x] = b[(invocation.x + 5) % 16];
  })",
                       {}, on_grid(4));
  for (std::uint32_t i = 0; i < 16; ++i) {
    CHECK(words_of(out[1])[i] == 15 - i);
    CHECK(words_of(out[2])[i] == 15 - (i + 5) % 16);
  }
}

TEST_CASE("a collective happens though every invocation has returned") {
  const auto out = run(R"(program p workgroup(2) {
    readonly a: u32[]; output b: u32[4];
    if local.x < 5 { return; }
    all_gather(b, a);
  })",
                       {bytes_of(counting(4, 3))});
  // An invocation's work ends when it returns; a collective belongs to the grid, not to any of
  // them.
  CHECK(words_of(out[0]) == counting(4, 3));
}

TEST_CASE("a copy between buffers of different lengths is cut, never past an end") {
  const auto shorter =
      run("program p workgroup(1) { readonly a: u32[]; output b: u32[3]; all_gather(b, a); }",
          {bytes_of(counting(5, 1))});
  CHECK(words_of(shorter[0]) == Words{1, 2, 3});
  const auto longer =
      run("program p workgroup(1) { readonly a: u32[]; output b: u32[5]; all_gather(b, a); }",
          {bytes_of(counting(3, 1))});
  CHECK(words_of(longer[0]) == Words{1, 2, 3, 0, 0});
}
