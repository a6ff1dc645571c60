// Recordings: their barriers as planned and counted, kept to run again, and gone with their memory.
#include <array>
#include <atomic>

#include "vk/hand_made_sequences.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::array kRecordingMasks{"", "none", "-in_place_memory", "-synchronization2"};

// The barriers that Vulkan is given while commands are recorded.
std::atomic<int> barriers_recorded = 0;

template <auto Member, class... Args>
void count_calls(vk::DeviceFunctions& table, void (VKAPI_PTR* vk::DeviceFunctions::*)(Args...)) {
  if (table.*Member == nullptr) return;
  static void(VKAPI_PTR * original)(Args...) = nullptr;
  original = table.*Member;
  table.*Member = [](Args... args) {
    ++barriers_recorded;
    original(args...);
  };
}

void counting_barriers(vk::DeviceFunctions& table) {
  using Table = vk::DeviceFunctions;
  count_calls<&Table::vkCmdPipelineBarrier>(table, &Table::vkCmdPipelineBarrier);
  count_calls<&Table::vkCmdPipelineBarrier2>(table, &Table::vkCmdPipelineBarrier2);
}

}  // namespace

TEST_CASE("the barriers of the plan are recorded, and counted at each run") {
  for (const std::string mask : kRecordingMasks) {
    CAPTURE(mask);
    const auto backend = open_backend(settings_for(mask, counting_barriers));
    const auto engine = vulkan_engine(*backend);
    const auto buffers = must(backend->allocate_resident_many(std::array{16ul, 16ul}));
    const Bytes bytes(16);
    const std::array fills{ResidentFill{.buffer = buffers[1]}};
    const std::array uploads{ResidentUpload{.buffer = buffers[0], .bytes = bytes}};
    // Two that conflict, and one beside them.
    const std::array steps{ResidentStep{.program = add_one(), .resources = {buffers[0]}},
                           ResidentStep{.program = add_one(), .resources = {buffers[1]}},
                           ResidentStep{.program = add_one(), .resources = {buffers[0]}}};
    const std::array reads{ResidentRange{.buffer = buffers[0]}};
    for (const std::uint32_t count : {0u, 1u, 2u, 65u, 200u}) {
      CAPTURE(count);
      const ResidentSubmission submission{.fills = fills,
                                          .uploads = uploads,
                                          .prefix = steps,
                                          .repeated = steps,
                                          .count = count,
                                          .reads = reads};
      barriers_recorded = 0;
      const auto recording = must(engine->record(sequence_of(*backend, submission)));
      std::uint64_t around = 0;
      std::uint64_t of_block = 0;
      for (const dispatch::PlannedBarrier& barrier : recording->layout().barriers.barriers) {
        ++(barrier.section == dispatch::Section::Block ? of_block : around);
      }
      const std::uint64_t of_all_runs = around + of_block * count;
      // A few runs of a short block stand one after the other, for less to begin; what is recorded
      // does not grow with the runs beyond that.
      const int recorded = barriers_recorded;
      const std::uint64_t most_runs = std::min<std::uint64_t>(count, 2 * 256 / steps.size());
      CHECK(recorded >= static_cast<int>(around + (count == 0 ? 0 : of_block)));
      CHECK(recorded <= static_cast<int>(around + of_block * most_runs));
      for (const int round : {1, 2}) {
        CAPTURE(round);
        const Telemetry counts = counted([&] {
          auto running = must(engine->start(recording, std::array<ByteSpan, 1>{bytes}));
          must(engine->finish(running, vk::kNoTimeout));
        });
        CHECK(counts[Counter::Barriers] == of_all_runs);
        CHECK(counts[Counter::Launches] == 3 + 3 * count);
        CHECK(counts[Counter::Recordings] == 0);
        Bytes result(16);
        must(recording->read(0, result));
        CHECK(words_of(result) == Words(4, 2 + 2 * count));
      }
      CHECK(barriers_recorded == recorded);  // running records nothing
    }
    check_silent_layers();
  }
}

TEST_CASE("a submission that had no time leaves its recording for the next") {
  const std::unique_ptr<Backend> backend = open_backend();
  const ResidentHandle buffer = must(backend->allocate_resident(4));
  const std::array steps{ResidentStep{.program = add_one(), .resources = {buffer}}};
  std::vector<Bytes> nothing;
  must(backend->submit_resident({.prefix = steps}, nothing));
  CHECK(code_of(backend->submit_resident({.prefix = steps}, nothing,
                                         {.timeout = std::chrono::nanoseconds(0)})) ==
        ErrorCode::Timeout);
  const Telemetry counts =
      counted([&] { must(backend->submit_resident({.prefix = steps}, nothing)); });
  CHECK(counts[Counter::Recordings] == 0);
}

TEST_CASE("what is freed gives its memory back, and the recordings that use it go") {
  for (const std::string mask : kRecordingMasks) {
    CAPTURE(mask);
    const std::unique_ptr<Backend> backend = open_backend(mask);
    REQUIRE(still_works(*backend));
    const MetricSnapshot before = backend->metric_snapshot();
    const auto buffers = must(backend->allocate_resident_many(std::array{4096ul, 4096ul}));
    const auto run = [&](ResidentHandle buffer, std::uint32_t count) {
      const Bytes bytes(4096);
      const std::array uploads{ResidentUpload{.buffer = buffer, .bytes = bytes}};
      const std::array steps{ResidentStep{.program = add_one(), .resources = {buffer}}};
      const std::array reads{ResidentRange{.buffer = buffer, .length = 4}};
      std::vector<Bytes> outputs;
      must(backend->submit_resident(
          {.uploads = uploads, .repeated = steps, .count = count, .reads = reads}, outputs));
      CHECK(words_of(outputs[0]) == Words{count});
    };
    for (const std::uint32_t count : {1u, 2u, 3u}) run(buffers[0], count);
    run(buffers[1], 1);
    const MetricSnapshot filled = backend->metric_snapshot();
    CHECK(filled.recordings == before.recordings + 4);
    CHECK(filled.recordings_kept == before.recordings_kept + 4);
    CHECK(filled.device_bytes > before.device_bytes);
    for (const std::uint32_t count : {1u, 2u, 3u}) run(buffers[0], count);
    CHECK(backend->metric_snapshot().recordings == filled.recordings);
    CHECK(backend->metric_snapshot().device_bytes == filled.device_bytes);
    must(backend->free_resident(buffers[0]));
    CHECK(backend->metric_snapshot().recordings_kept == before.recordings_kept + 1);
    run(buffers[1], 1);
    CHECK(backend->metric_snapshot().recordings == filled.recordings);
    must(backend->free_resident(buffers[1]));
    CHECK(backend->metric_snapshot().recordings_kept == before.recordings_kept);
    CHECK(backend->metric_snapshot().device_bytes == before.device_bytes);
  }
}
