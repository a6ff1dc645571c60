// Watched sequences: a block is submitted again only as long as a word that the device writes is
// not zero, whatever its bound.
#include <chrono>
#include <thread>

#include "support/skip.h"
#include "vk/counting_sequence.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;
using vk::Place;

namespace {

constexpr std::array kWatchedMasks{"", "-in_place_memory", "-timeline_semaphores",
                                   "transfer_queue,-in_place_memory", "none"};

// A clock that takes a thousand ticks from any query to the next.
void ticking(vk::DeviceFunctions& table) {
  noting_submissions(table);
  table.vkGetQueryPoolResults = [](VkDevice, VkQueryPool, std::uint32_t first, std::uint32_t count,
                                   std::size_t, void* data, VkDeviceSize, VkQueryResultFlags) {
    for (std::uint32_t i = 0; i < count; ++i) {
      static_cast<std::uint64_t*>(data)[i] = 1000u * (first + i);
    }
    return VK_SUCCESS;
  };
}

std::uint64_t planned_barriers(const vk::Recording& recording) {
  std::uint64_t sum = 0;
  for (const dispatch::PlannedBarrier& barrier : recording.layout().barriers.barriers) {
    sum += barrier.section == dispatch::Section::Block ? recording.block_runs() : 1;
  }
  return sum;
}

}  // namespace

TEST_CASE("the pace doubles while it is quick, slows down while it is not, and never oversteps") {
  vk::RunPace pace;
  for (const std::uint32_t expected : {1u, 2u, 4u, 8u}) CHECK(pace.next(1ms, 1000) == expected);
  CHECK(pace.next(50ms, 1000) == 16);
  CHECK(pace.next(51ms, 1000) == 16);
  CHECK(pace.next(100ms, 1000) == 16);
  CHECK(pace.next(101ms, 1000) == 8);
  CHECK(pace.next(1ms, 3) == 3);
  CHECK(vk::RunPace().next(1h, 9) == 1);  // the beginning says nothing about the block alone
  vk::RunPace slow;
  for (int i = 0; i < 5; ++i) CHECK(slow.next(1s, 1000) == 1);
  vk::RunPace quick;
  std::uint32_t last = 0;
  for (int i = 0; i < 40; ++i) last = quick.next(0ns, UINT32_MAX);
  CHECK(last == vk::RunPace::kMax);
}

TEST_CASE("a block runs until its word is zero, and at most as often as it may") {
  for (const std::string mask : kWatchedMasks) {
    CAPTURE(mask);
    Workbench bench(mask, noting_submissions);
    const bool staged = !bench.engine->device().plan().memory.reads_in_place;
    for (const std::uint32_t count : {2u, 5u, 300u}) {
      for (const std::uint32_t wanted : {0u, 1u, 2u, 5u, 299u, 300u, 301u}) {
        if (count < 300 && wanted > 5 && wanted < 301) continue;
        CAPTURE(count);
        CAPTURE(wanted);
        Counting counting(bench);
        auto recording = bench.record(counting.sequence(wanted == 0 ? 0 : 1, count));
        const Bytes bytes = bytes_of(Words{wanted});
        const std::uint32_t effective = std::min(wanted, count);
        for (int round = 0; round < 2; ++round) {
          note_from_now();
          const Telemetry counts =
              counted([&] { must(bench.run(recording, std::array<ByteSpan, 1>{bytes})); });
          REQUIRE(recording != nullptr);
          CHECK(Workbench::read(*recording, 0) == Words(4, effective));
          CHECK(must(recording->read_words(word_of(counting.go, 0))) ==
                Words{wanted > count ? 1u : 0u});
          CHECK(must(recording->read_words(counting.n)) == Words{effective});
          // Not one submission after the word was zero.
          const std::uint32_t runs = recording->block_runs();
          CHECK(runs >= std::max(effective, 1u));
          CHECK(runs <= count);
          CHECK(runs <= std::max(2 * effective, 1u));
          if (wanted < 3) CHECK(runs == std::max(effective, 1u));
          CHECK(submitted.sizes.front() == 1);
          // Long lines of runs have command buffers of their own.
          CHECK(command_buffers() <= runs + (staged ? 1 : 0));
          if (runs < 3) CHECK(command_buffers() == runs + (staged ? 1 : 0));
          if (staged) CHECK(submitted.sizes.back() == 1);
          CHECK(counts[Counter::Submissions] == submitted.sizes.size());
          CHECK(counts[Counter::Launches] == runs);
          CHECK(counts[Counter::Barriers] == planned_barriers(*recording));
          CHECK(counts[Counter::UploadBytes] == 4);
          CHECK(counts[Counter::DownloadBytes] == 0);
          CHECK(counts[Counter::Recordings] == 0);
        }
      }
    }
    check_silent_layers();
  }
}

TEST_CASE("many runs cost few submissions") {
  Workbench bench({}, noting_submissions);
  Counting counting(bench);
  auto recording = bench.record(counting.sequence(1, 2000));
  const Bytes bytes = bytes_of(Words{1000});
  note_from_now();
  must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
  CHECK(Workbench::read(*recording, 0) == Words(4, 1000));
  // 1 + 1 + 2 + 4 + … if the machine is quick; on one that is busy a few more.
  CHECK(submitted.sizes.size() < 200);
  CHECK(command_buffers() < 1000);
}

TEST_CASE("what runs once or never is one submission, watched or not") {
  for (const std::string mask : kWatchedMasks) {
    CAPTURE(mask);
    Workbench bench(mask, noting_submissions);
    for (const std::uint32_t count : {0u, 1u}) {
      Counting counting(bench);
      auto recording = bench.record(counting.sequence(1, count));
      CHECK_FALSE(recording->layout().watched);
      const Bytes bytes = bytes_of(Words{9});
      note_from_now();
      must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
      CHECK(submitted.sizes == std::vector<std::uint32_t>{1});
      CHECK(Workbench::read(*recording, 0) == Words(4, count));
      CHECK(must(recording->read_words(counting.n)) == Words{count});
      CHECK(recording->block_runs() == count);
    }
    // Nothing to repeat.
    Counting counting(bench);
    vk::Sequence empty = counting.sequence(1, 5);
    empty.prefix = std::move(empty.repeated);
    empty.repeated.clear();
    auto recording = bench.record(std::move(empty));
    const Bytes bytes = bytes_of(Words{9});
    must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
    CHECK(Workbench::read(*recording, 0) == Words(4, 1));
    CHECK(recording->block_runs() == 0);
    check_silent_layers();
  }
}

TEST_CASE("only the beginning is submitted before somebody waits") {
  Workbench bench({}, noting_submissions);
  Counting counting(bench);
  auto recording = bench.record(counting.sequence(1, 100));
  const Bytes bytes = bytes_of(Words{7});
  note_from_now();
  auto running = must(bench.engine->start(recording, std::array<ByteSpan, 1>{bytes}));
  CHECK(submitted.sizes == std::vector<std::uint32_t>{1});
  SUBCASE("the rest comes with the wait") {
    must(bench.engine->finish(running, vk::kNoTimeout));
    CHECK(Workbench::read(*recording, 0) == Words(4, 7));
  }
  SUBCASE("what nobody waits for goes no further") {
    bench.engine->abandon(std::move(running));
    must(bench.engine->wait_for_all());
    CHECK(submitted.sizes == std::vector<std::uint32_t>{1});
    CHECK(bench.backend->metric_snapshot().in_flight == 0);
    // The queue has let it go; it would run again.
    CHECK(recording.use_count() == 1);
    must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
    CHECK(Workbench::read(*recording, 0) == Words(4, 7));
  }
}

TEST_CASE("several threads run watched sequences side by side") {
  Workbench bench;
  struct Run {
    std::shared_ptr<vk::Recording> recording;
    std::uint32_t wanted = 0;
    int right = 0;
  };
  std::vector<Run> runs;
  for (const std::uint32_t wanted : {1u, 6u, 40u, 150u}) {
    runs.push_back({.recording = bench.record(Counting(bench).sequence(1, 100)), .wanted = wanted});
  }
  std::vector<std::thread> threads;
  for (Run& run : runs) {
    threads.emplace_back([&bench, &run] {
      const Bytes bytes = bytes_of(Words{run.wanted});
      const Words expected(4, std::min(run.wanted, 100u));
      for (int round = 0; round < 10 && run.recording != nullptr; ++round) {
        if (!bench.run(run.recording, std::array<ByteSpan, 1>{bytes})) continue;
        Bytes result(16);
        const auto read = run.recording->read(0, result);
        run.right += read && result == bytes_of(expected) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Run& run : runs) CHECK(run.right == 10);
  check_silent_layers();
}

TEST_CASE("measured runs are submitted one by one, and their times are added up") {
  for (const std::string mask : {"", "-in_place_memory"}) {
    CAPTURE(mask);
    Workbench bench(mask, ticking);
    FELSITE_SKIP_IF(bench.engine->device().timestamp_bits() == 0, "the queue has no timestamps");
    const float period = bench.engine->device().snapshot().limits.timestamp_period_ns;
    const auto ticks = [&](std::uint64_t thousands) {
      return static_cast<std::uint64_t>(static_cast<double>(period) * 1000.0 *
                                        static_cast<double>(thousands));
    };
    const bool staged = !bench.engine->device().plan().memory.reads_in_place;
    Counting counting(bench);
    vk::Sequence sequence = counting.sequence(1, 100);
    sequence.prefix.push_back(bench.step(add_one(), {bench.words(Place::Device, 4)}));
    sequence.measured = true;
    auto recording = bench.record(std::move(sequence));
    for (const std::uint32_t wanted : {1u, 6u}) {
      const Bytes bytes = bytes_of(Words{wanted});
      note_from_now();
      const DispatchTiming timing = must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
      CHECK(recording->block_runs() == wanted);
      const std::uint64_t submissions = wanted + (staged ? 1 : 0);
      CHECK(submitted.sizes == std::vector<std::uint32_t>(submissions, 1));
      CHECK(timing.device_ns == ticks(submissions));
      CHECK(timing.step_device_ns ==
            std::vector<std::uint64_t>{ticks(1), ticks(wanted), ticks(wanted)});
      CHECK(*timing.wall_ns == *timing.enqueue_ns + *timing.wait_ns);
    }
    check_silent_layers();
  }
}

TEST_CASE("the device's own clock sees every run") {
  Workbench bench;
  FELSITE_SKIP_IF(bench.engine->device().timestamp_bits() == 0, "the queue has no timestamps");
  Counting counting(bench);
  vk::Sequence sequence = counting.sequence(1, 50);
  sequence.measured = true;
  auto recording = bench.record(std::move(sequence));
  const Bytes bytes = bytes_of(Words{20});
  const DispatchTiming timing = must(bench.run(recording, std::array<ByteSpan, 1>{bytes}));
  REQUIRE(timing.step_device_ns.size() == 2);
  CHECK(timing.step_device_ns[0] + timing.step_device_ns[1] <= timing.device_ns.value_or(0));
  CHECK(timing.device_ns.value_or(0) <= timing.wall_ns.value_or(0));
  check_silent_layers();
}
