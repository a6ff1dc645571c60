#include "felsite/dispatch.h"
#include "support/run_program.h"

using namespace felsite;

namespace {

DispatchTiming timing(std::uint64_t wall, std::uint64_t device) {
  DispatchTiming result;
  result.wall_ns = wall;
  result.device_ns = device;
  result.enqueue_ns = 1;
  result.wait_ns = 2;
  result.iterations_run = 3;
  return result;
}

}  // namespace

TEST_CASE("the parts of timings are added") {
  DispatchTiming a = timing(10, 5);
  DispatchTiming b = timing(20, 6);
  a.step_device_ns = {1, 2};
  b.step_device_ns = {3};
  a.converged = b.converged = true;
  const DispatchTiming total = sum(a, b);
  CHECK(total.wall_ns == 30);
  CHECK(total.device_ns == 11);
  CHECK(total.enqueue_ns == 2);
  CHECK(total.wait_ns == 4);
  CHECK(total.iterations_run == 6);
  CHECK(total.converged);
  CHECK(total.step_device_ns == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("a part that one of them lacks is absent, not zero") {
  DispatchTiming a = timing(10, 5);
  DispatchTiming b = timing(20, 6);
  b.device_ns.reset();
  a.wait_ns.reset();
  a.step_device_ns = {1};
  for (const DispatchTiming& total : {sum(a, b), sum(b, a)}) {
    CHECK(total.wall_ns == 30);
    CHECK(!total.device_ns.has_value());
    CHECK(!total.wait_ns.has_value());
    CHECK(total.enqueue_ns == 2);
    CHECK(total.step_device_ns.empty());
    CHECK(!total.converged);
  }
}

TEST_CASE("a part that overflows is absent") {
  const std::uint64_t most = UINT64_MAX;
  CHECK(sum(timing(most, 0), timing(0, most)).wall_ns == most);
  CHECK(!sum(timing(most, 0), timing(1, 0)).wall_ns.has_value());
  CHECK(!sum(timing(1, 0), timing(most, 0)).wall_ns.has_value());
  CHECK(!sum(timing(most, 0), timing(most, 0)).wall_ns.has_value());
  CHECK(sum(timing(most, 1), timing(1, 1)).device_ns == 2);
  DispatchTiming many;
  many.iterations_run = UINT32_MAX - 1;
  CHECK(sum(many, timing(0, 0)).iterations_run == UINT32_MAX);
}

TEST_CASE("the blocks of both are kept, in order") {
  DispatchTiming a = timing(10, 5);
  DispatchTiming b = timing(20, 6);
  a.blocks = {{.iterations_run = 4, .converged = true}, {.iterations_run = 1}};
  b.blocks = {{.iterations_run = 7}};
  CHECK(sum(a, b).blocks == std::vector<BlockTiming>{{4, true}, {1, false}, {7, false}});
  CHECK(sum(b, a).blocks == std::vector<BlockTiming>{{7, false}, {4, true}, {1, false}});
  // A dispatch has none, which hides none of a submission.
  CHECK(sum(timing(1, 1), b).blocks == b.blocks);
  CHECK(sum(b, timing(1, 1)).blocks == b.blocks);
}
