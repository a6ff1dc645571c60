// The grid read from a buffer.
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

const char* const kText = R"(program p workgroup(2) {
  readonly grid: u32[];
  output o: u32[64];
  indirect_dispatch(grid[1]);
  atomic_add(o[invocation.x + 16 * invocation.y + 32 * invocation.z], 1);
  if invocation.x == 0 {
    o[63] = num_workgroups.x * 100 + num_workgroups.y * 10 + num_workgroups.z;
  }
})";

}  // namespace

TEST_CASE("the grid is three words at the offset") {
  const Words out = run_words(kText, {bytes_of(Words{9, 3, 2, 1, 9})}, inferred_grid());
  for (std::uint32_t i = 0; i < 63; ++i) CHECK(out[i] == (i % 16 < 6 && i < 32 ? 1u : 0u));
  CHECK(out[63] == 321);
}

TEST_CASE("a zero on any axis runs nothing") {
  for (const Words& grid : {Words{7, 0, 2, 1}, Words{7, 3, 0, 1}, Words{7, 3, 2, 0}}) {
    CHECK(run_words(kText, {bytes_of(grid)}, inferred_grid()) == Words(64, 0));
  }
}

TEST_CASE("words past the end read as zero, as any load does, so nothing runs") {
  for (const Words& grid : {Words{}, Words{1}, Words{1, 2, 3}}) {
    CHECK(run_words(kText, {bytes_of(grid)}, inferred_grid()) == Words(64, 0));
  }
}

TEST_CASE("an explicit grid together with an indirect dispatch is BadInputs") {
  CHECK(run_error(kText, {bytes_of(Words{9, 3, 2, 1})}, on_grid(3)).code == ErrorCode::BadInputs);
}

TEST_CASE("the grid is read before the program runs") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite grid: u32[3];
    output o: u32[8];
    indirect_dispatch(grid[0]);
    grid[0] = 1;
    atomic_add(o[invocation.x], 1);
  })",
                       {bytes_of(Words{5, 1, 1})}, inferred_grid());
  CHECK(words_of(out[0]) == Words{1, 1, 1});
  CHECK(words_of(out[1]) == Words{1, 1, 1, 1, 1, 0, 0, 0});
}

TEST_CASE("a hostile indirect grid is stopped by the timeout") {
  DispatchConfig config;
  config.timeout = std::chrono::milliseconds(100);
  const Error error =
      run_error(kText, {bytes_of(Words{0, 0xFFFF'FFFF, 0xFFFF'FFFF, 0xFFFF'FFFF})}, config);
  CHECK((error.code == ErrorCode::Timeout || error.code == ErrorCode::BadInputs));
}
