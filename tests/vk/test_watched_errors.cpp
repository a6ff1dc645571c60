// Watched sequences that do not end well: traps, timeouts, submissions that fail in the middle.
#include <chrono>
#include <thread>

#include "vk/counting_sequence.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using vk::BufferSlice;
using vk::Place;

namespace {

ir::ValidProgram trap_at() {
  return valid_program(
      "program trap_at workgroup(1) { readonly wanted: u32[]; readwrite n: u32[];"
      " n[0] = n[0] + 1; if n[0] == wanted[0] { trap(5, wanted); } }");
}
ir::ValidProgram slow() {
  return valid_program(
      "program slow workgroup(64) { readonly x: u32[]; readwrite y: u32[];"
      " let s = invocation.x; loop k in 0..50000 { s = (s * 1664525 + 1013904223) ^ (s >> 7); }"
      " if s == x[invocation.x] { y[0] = s; } }");
}

// The work is done in time, and the host late to hear of it.
void waking_late(vk::DeviceFunctions& table) {
  noting_submissions(table);
  static PFN_vkWaitSemaphores wait_semaphores = nullptr;
  static PFN_vkWaitForFences wait_fences = nullptr;
  wait_semaphores = table.vkWaitSemaphores;
  wait_fences = table.vkWaitForFences;
  table.vkWaitSemaphores = [](VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t) {
    std::this_thread::sleep_for(50ms);
    return wait_semaphores(device, info, UINT64_MAX);
  };
  table.vkWaitForFences = [](VkDevice device, std::uint32_t count, const VkFence* fences,
                             VkBool32 all, std::uint64_t) {
    std::this_thread::sleep_for(50ms);
    return wait_fences(device, count, fences, all, UINT64_MAX);
  };
}

}  // namespace

TEST_CASE("a trap ends it after the submission that it comes up in, and says where it was") {
  for (const std::string mask : {"", "-in_place_memory"}) {
    for (const bool measured : {false, true}) {
      CAPTURE(mask);
      Workbench bench(mask, noting_submissions);
      Counting counting(bench);
      vk::Sequence sequence = counting.sequence(1, 1000);
      const BufferSlice n = bench.words(Place::Control, 1);
      const BufferSlice at = bench.words(Place::Device, 1);
      sequence.host_words.push_back({n, {0}});
      sequence.uploads.push_back(at);
      sequence.repeated.push_back(bench.step(trap_at(), {at, n}));
      sequence.repeated.back().segment = {.index = 1, .count = 3};
      sequence.repeated.back().caller_step = 4;
      sequence.measured = measured;
      auto recording = bench.record(std::move(sequence));
      const Bytes never = bytes_of(Words{5000});
      for (const std::uint32_t trap : {1u, 2u, 6u, 0u, 3u}) {
        CAPTURE(trap);
        const Bytes bytes = bytes_of(Words{trap});
        const std::array<ByteSpan, 2> trapping{never, bytes};
        const Bytes twelve = bytes_of(Words{12});
        if (trap == 0) {
          // Nothing is left of the one before.
          must(bench.run(recording, std::array<ByteSpan, 2>{twelve, bytes}));
          CHECK(Workbench::read(*recording, 0) == Words(4, 12));
          continue;
        }
        const Error error = error_of(bench.run(recording, trapping));
        CHECK(error.code == ErrorCode::Trapped);
        CHECK(error.context.segment == 1u);
        CHECK(error.context.step == 4u);
        CHECK(error.context.program == "trap_at");
        CHECK_MESSAGE(error.message.ends_with(", in segment 1 of 3, counted from 0."),
                      error.message);
        REQUIRE(recording != nullptr);
        CHECK(recording->block_runs() >= trap);
        CHECK(recording->block_runs() <= 2 * trap);
        CHECK(bench.backend->metric_snapshot().in_flight == 0);
      }
      check_silent_layers();
    }
  }
}

TEST_CASE("a trap in the prologue ends it at once") {
  Workbench bench({}, noting_submissions);
  Counting counting(bench);
  vk::Sequence sequence = counting.sequence(1, 1000);
  const BufferSlice n = bench.words(Place::Control, 1);
  sequence.host_words.push_back({n, {0}});
  sequence.prefix.push_back(bench.step(trap_at(), {bench.control({1}), n}));
  auto recording = bench.record(std::move(sequence));
  const Bytes bytes = bytes_of(Words{500});
  note_from_now();
  const Error error = error_of(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
  CHECK(error.code == ErrorCode::Trapped);
  CHECK_FALSE(error.context.segment);
  CHECK(submitted.sizes == std::vector<std::uint32_t>{1});
}

TEST_CASE("the timeout is for all of it") {
  for (const std::string mask : {"", "-timeline_semaphores"}) {
    CAPTURE(mask);
    Workbench bench(mask, noting_submissions);
    REQUIRE(still_works(*bench.backend));
    const std::uint64_t bytes_before = bench.backend->metric_snapshot().device_bytes;
    {
      const BufferSlice x = bench.words(Place::Device, 1);
      vk::Sequence sequence{.count = UINT32_MAX, .watch = bench.control({1})};
      sequence.repeated.push_back(bench.step(slow(), {x, bench.words(Place::Device, 1)}));
      auto recording = bench.record(std::move(sequence));
      // The first run compiles as well; it has all the time it needs.
      note_from_now();
      const auto begin = Clock::now();
      const Error error = error_of(bench.run(recording, {}, 400ms));
      CHECK(error.code == ErrorCode::Timeout);
      CHECK(error.context.vk_result == VK_TIMEOUT);
      CHECK(Clock::now() - begin < 2s);
      CHECK(recording == nullptr);
      CHECK(submitted.sizes.size() > 1);  // one alone is far from that long
    }
    must(bench.backend->flush());
    CHECK(bench.backend->metric_snapshot().in_flight == 0);
    CHECK(bench.backend->metric_snapshot().device_bytes <= bytes_before);
    CHECK(still_works(*bench.backend));
    check_silent_layers();
  }
}

TEST_CASE("nothing more is submitted once the time is up") {
  for (const std::string mask : {"", "-timeline_semaphores"}) {
    CAPTURE(mask);
    Workbench bench(mask, waking_late);
    Counting counting(bench);
    auto recording = bench.record(counting.sequence(1, 1000));
    const Bytes bytes = bytes_of(Words{1000});
    note_from_now();
    const Error error = error_of(bench.run(recording, std::array<ByteSpan, 1>{bytes}, 20ms));
    CHECK(error.code == ErrorCode::Timeout);
    CHECK(error.message.find("within the timeout") != std::string::npos);
    CHECK(submitted.sizes == std::vector<std::uint32_t>{1});
    CHECK(recording == nullptr);
    CHECK(bench.backend->metric_snapshot().in_flight == 0);
  }
}

TEST_CASE("a submission that fails in the middle ends it and leaves nothing behind") {
  for (const std::string mask : {"", "-in_place_memory"}) {
    for (std::size_t fail_at = 0; fail_at < 6; ++fail_at) {
      CAPTURE(mask);
      CAPTURE(fail_at);
      Workbench bench(mask, noting_submissions);
      const bool staged = !bench.engine->device().plan().memory.reads_in_place;
      const std::uint64_t before = bench.backend->metric_snapshot().device_bytes;
      {
        Counting counting(bench);
        auto recording = bench.record(counting.sequence(1, 100));
        const Bytes bytes = bytes_of(Words{5});
        note_from_now(fail_at);
        const auto done = bench.run(recording, std::array<ByteSpan, 1>{bytes});
        submitted.fail_at = SIZE_MAX;
        // 1 + 1 + 2 + 4 runs, if nobody disturbs; and the epilogue, where there is one.
        if (fail_at < 4) {
          CHECK(code_of(done) == ErrorCode::DeviceOutOfMemory);
          CHECK(recording == nullptr);
        } else if (done) {
          CHECK(Workbench::read(*recording, 0) == Words(4, 5));
        }
        if (done) CHECK(submitted.sizes.size() >= (staged ? 5 : 4));
      }
      CHECK(still_works(*bench.backend));
      must(bench.backend->flush());
      CHECK(bench.backend->metric_snapshot().in_flight == 0);
      device_of(*bench.backend)->recordings.clear();
      CHECK(bench.backend->metric_snapshot().device_bytes <= before);
    }
  }
}
