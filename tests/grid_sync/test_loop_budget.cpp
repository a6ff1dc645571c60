// Loops that a driver's budget for one dispatch does not hold, where each segment's does: left to
// itself the backend gives the results all the same.
#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("an iteration that compares more than one workgroup can look through") {
  const char* const text = R"(program p workgroup(8) {
    readwrite x: u32[];
    atomic_max(x[local.x], local.x);
  })";
  Words x(600'000);
  const Bytes start = bytes_of(x);
  for (std::uint32_t i = 0; i < 8; ++i) x[i] = i;
  check_all_forms(text, {start}, fixpoint(on_grid(1), 5), {{bytes_of(x)}, 2, true});
}

TEST_CASE("loops on both sides of a barrier that are too long together") {
  const char* const text = R"(program p workgroup(4) {
    readonly trips: u32[1];
    output o: u32[8];
    let s = invocation.x;
    loop k in 0..trips[0] { s = s * 1664525 + k; }
    gridsync;
    loop k in 0..trips[0] { s = (s ^ (s >> 5)) + k; }
    o[invocation.x] = s;
  })";
  constexpr std::uint32_t kTrips = 40'000;
  const Words o = each(8, [](std::uint32_t s) {
    for (std::uint32_t k = 0; k < kTrips; ++k) s = s * 1664525 + k;
    for (std::uint32_t k = 0; k < kTrips; ++k) s = (s ^ (s >> 5)) + k;
    return s;
  });
  for (int round = 0; round < 2; ++round) {
    check_all_forms(text, {bytes_of(Words{kTrips})}, on_grid(2), {{bytes_of(o)}});
  }
  // One that was started cannot run again.
  const std::vector<Bytes> inputs{bytes_of(Words{kTrips})};
  const auto started =
      must(tested().dispatch_borrowed_async(valid_program(text), spans_of(inputs), on_grid(2)));
  CHECK(must(started->wait()).front() == bytes_of(o));
}

TEST_CASE("iterations that become longer than those before") {
  const char* const text = R"(program p workgroup(4) {
    readwrite trips: u32[1];
    output o: u32[4];
    let n = trips[0];
    let s = invocation.x;
    loop k in 0..n { s = s * 1664525 + k; }
    o[invocation.x] = s;
    gridsync;
    if invocation.x == 0 { trips[0] = 50000; }
  })";
  const Words o = each(4, [](std::uint32_t s) {
    for (std::uint32_t k = 0; k < 50'000; ++k) s = s * 1664525 + k;
    return s;
  });
  check_all_forms(text, {bytes_of(Words{20'000})}, fixpoint(on_grid(1), 10),
                  {{bytes_of(Words{50'000}), bytes_of(o)}, 3, true});
}
