// Idle recordings: one user at a time, bounds, and what goes with the memory or kernel that it
// uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "dispatch/state/recording_keys.h"
#include "dispatch/state/recording_pool.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

using dispatch::PooledRecording;
using dispatch::RecordingKey;
using dispatch::RecordingPool;

struct Memory final : dispatch::Allocation {
  std::uint64_t bytes() const override { return 4; }
};
struct Kernel final : dispatch::CompiledKernel {
  std::vector<Use> uses() const override { return {}; }
};

// It runs nothing: the pool only asks for its size and what it uses.
struct Recording final : dispatch::Recorded {
  explicit Recording(std::uint64_t size) : size(size) {}
  bool uses(const dispatch::Allocation& other) const override { return memory.get() == &other; }
  bool uses(const dispatch::CompiledKernel& other) const override { return kernel.get() == &other; }
  std::uint64_t own_bytes() const override { return size; }
  std::vector<std::uint64_t> read_sizes() const override { return {}; }
  Result<void> read(std::size_t, std::span<std::byte>) const override { return {}; }

  const std::uint64_t size;
  dispatch::SharedAllocation memory;
  dispatch::SharedCompiledKernel kernel;
};

ir::Fingerprint key(std::uint64_t number) { return RecordingKey().add(number).hash(); }

std::shared_ptr<Recording> recording(std::uint64_t bytes) {
  return std::make_shared<Recording>(bytes);
}

ir::ValidProgram add_one() {
  return valid_program(
      "program add_one workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " if i < len(x) { x[i] = x[i] + 1; } }");
}

}  // namespace

TEST_CASE("the pool gives a recording to one at a time") {
  RecordingPool pool(1000);
  CHECK(pool.take(key(1)).recorded == nullptr);
  const auto a = recording(0);
  const auto b = recording(0);
  pool.release(key(1), {a});
  pool.release(key(1), {b});
  CHECK(pool.size() == 2);
  CHECK(pool.take(key(2)).recorded == nullptr);
  const auto first = pool.take(key(1)).recorded;
  const auto second = pool.take(key(1)).recorded;
  CHECK(first != second);
  CHECK((first == a || first == b));
  CHECK((second == a || second == b));
  CHECK(pool.take(key(1)).recorded == nullptr);
  CHECK(pool.size() == 0);
}

TEST_CASE("a pooled recording keeps the buffers that was stored with it") {
  RecordingPool pool(1000);
  pool.release(key(1), {recording(1), {{3, true}}});
  const auto taken = pool.take(key(1)).buffers;
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].buffer == 3);
  CHECK(taken[0].is_written);
  pool.release(key(1), {recording(1)});
  CHECK(pool.take(key(1)).buffers.empty());
}

TEST_CASE("the least recently used recordings go first, by bytes and by number") {
  RecordingPool pool(100);
  pool.release(key(1), {recording(40)});
  pool.release(key(2), {recording(40)});
  CHECK(pool.own_bytes() == 80);
  pool.release(key(1), pool.take(key(1)));  // used again
  pool.release(key(3), {recording(40)});
  CHECK(pool.size() == 2);
  CHECK(pool.take(key(2)).recorded == nullptr);
  CHECK(pool.take(key(1)).recorded != nullptr);
  CHECK(pool.take(key(3)).recorded != nullptr);
  CHECK(pool.own_bytes() == 0);
  // What was taken does not count any more; what never fits is not kept, and drives nobody out.
  pool.release(key(4), {recording(100)});
  pool.release(key(5), {recording(101)});
  CHECK(pool.take(key(5)).recorded == nullptr);
  CHECK(pool.take(key(4)).recorded != nullptr);
  pool.release(key(6), {recording(60)});
  pool.clear();
  CHECK(pool.size() == 0);
  pool.release(key(7), {recording(100)});
  CHECK(pool.size() == 1);
  pool.clear();

  constexpr std::uint64_t kMax = 256;
  const auto small = recording(0);
  for (std::uint64_t i = 0; i < kMax + 10; ++i) pool.release(key(i), {small});
  CHECK(pool.size() == kMax);
  CHECK(pool.take(key(9)).recorded == nullptr);
  CHECK(pool.take(key(10)).recorded == small);
  CHECK(small.use_count() == static_cast<long>(kMax));  // with ours, and one taken
}

TEST_CASE("the users of a buffer or of a kernel are dropped, and nobody else") {
  RecordingPool pool(1000);
  const auto x = std::make_shared<Memory>();
  const auto kernel = std::make_shared<Kernel>();
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto user = recording(10);
    user->memory = x;
    if (i == 1) user->kernel = kernel;
    pool.release(key(i), {user});
  }
  const auto other = recording(10);
  other->kernel = kernel;
  pool.release(key(3), {other});
  CHECK(x.use_count() == 4);
  pool.drop_users(*x);
  CHECK(x.use_count() == 1);
  CHECK(pool.size() == 1);
  CHECK(pool.take(key(0)).recorded == nullptr);
  const auto left = pool.take(key(3)).recorded;
  CHECK(left == other);
  pool.release(key(3), {left});
  pool.drop_users(*x);
  CHECK(pool.size() == 1);
  pool.drop_users(*kernel);
  CHECK(pool.size() == 0);
}

TEST_CASE("many threads take from one pool and give back") {
  std::vector<std::shared_ptr<dispatch::Recorded>> recordings;
  RecordingPool pool(1000);
  for (std::uint64_t i = 0; i < 8; ++i) {
    recordings.push_back(recording(1));
    pool.release(key(i % 4), {recordings.back()});
  }
  std::array<std::atomic<int>, 8> holders{};
  std::atomic<int> shared = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const ir::Fingerprint wanted = key((seed + i * 7) % 4);
        PooledRecording taken = pool.take(wanted);
        if (taken.recorded == nullptr) continue;
        const auto which = static_cast<std::size_t>(std::ranges::find(recordings, taken.recorded) -
                                                    recordings.begin());
        if (++holders[which] != 1) ++shared;
        --holders[which];
        pool.release(wanted, std::move(taken));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared == 0);
  CHECK(pool.size() == 8);
}

TEST_CASE("keys differ in what they are made of, in its order and number") {
  CHECK(RecordingKey().add(1).add(2).hash() == RecordingKey().add(1).add(2).hash());
  CHECK(RecordingKey().add(1).add(2).hash() != RecordingKey().add(2).add(1).hash());
  CHECK(RecordingKey().add(0).hash() != RecordingKey().add(0).add(0).hash());
  // Of a submission, everything but the bytes of its uploads.
  const ResidentHandle x{.backend = 1, .slot = 0, .generation = 1};
  const ResidentHandle later{.backend = 1, .slot = 0, .generation = 2};
  const Bytes four(4);
  const Bytes other(4, std::byte{1});
  const Bytes eight(8);
  const auto key = [](const ResidentSubmission& submission) {
    return dispatch::key_of(submission, "", /*measured=*/false);
  };
  const auto upload = [&](ResidentHandle buffer, ByteSpan bytes, std::uint64_t offset = 0) {
    const ResidentUpload all{.buffer = buffer, .offset = offset, .bytes = bytes};
    return key({.uploads = {&all, 1}});
  };
  CHECK(upload(x, four) == upload(x, other));
  const auto step = [&](const ResidentStep& step, std::uint32_t count, bool repeated) {
    return repeated ? key({.repeated = {&step, 1}, .count = count})
                    : key({.prefix = {&step, 1}, .count = count});
  };
  const ResidentStep plain{.program = add_one(), .resources = {x}};
  ResidentStep grid = plain;
  grid.grid_override = {{1, 1, 1}};
  ResidentStep workgroup = plain;
  workgroup.workgroup_override = {{1, 1, 1}};
  ResidentStep buffer = plain;
  buffer.resources = {later};
  ResidentStep fast = plain;
  fast.float_mode = ir::FloatMode::Fast;
  ResidentStep bounded = plain;
  bounded.max_output_bytes = 4;
  ResidentStep lent = plain;
  lent.resources = {ResidentResource::of(four)};
  ResidentStep more_lent = plain;
  more_lent.resources = {ResidentResource::of(eight)};
  ResidentStep same_lent = plain;
  same_lent.resources = {ResidentResource::of(other)};
  CHECK(step(lent, 1, false) == step(same_lent, 1, false));
  const auto block = [&](const ResidentStep& one, Repeat repeat) {
    const ResidentBlock of{.steps = {&one, 1}, .repeat = std::move(repeat)};
    return key({.blocks = {&of, 1}});
  };
  const ResidentFill fill{.buffer = x};
  const ResidentFill value{.buffer = x, .value = std::byte{1}};
  const ResidentRange read{.buffer = x};
  const ResidentRange part{.buffer = x, .length = 4};
  const std::vector<ir::Fingerprint> different{
      key({}),
      dispatch::key_of(ResidentSubmission{}, "", /*measured=*/true),
      dispatch::key_of(ResidentSubmission{}, "a label", /*measured=*/false),
      upload(x, four),
      upload(x, eight),
      upload(x, four, 4),
      upload(later, four),
      key({.fills = {&fill, 1}}),
      key({.fills = {&value, 1}}),
      key({.reads = {&read, 1}}),
      key({.reads = {&part, 1}}),
      step(plain, 1, false),
      step(plain, 1, true),
      step(plain, 2, true),
      step(grid, 1, false),
      step(workgroup, 1, false),
      step(buffer, 1, false),
      step(fast, 1, false),
      step(bounded, 1, false),
      step(lent, 1, false),
      step(more_lent, 1, false),
      block(plain, Repeat::once()),
      block(grid, Repeat::once()),
      block(plain, Repeat::times(2)),
      block(plain, Repeat::until_unchanged(2)),
      block(plain, Repeat::until_zero(x, 2)),
      block(plain, Repeat::until_zero(later, 2)),
      block(plain, Repeat::until_zero({x, 4, 4}, 2)),
  };
  for (std::size_t i = 0; i < different.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(different[i] != different[j]);
    }
  }
}
