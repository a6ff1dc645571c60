// Recordings: their barriers as planned and counted, kept to run again, and gone with their memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "vk/hand_made_sequences.h"
#include "vk/resident_sequence.h"

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

ir::Fingerprint key(std::uint64_t number) { return vk::RecordingKey().add(number).hash(); }

// Recordings of one step on a buffer of their own.
struct Recorder {
  std::unique_ptr<Backend> backend = open_backend();
  std::shared_ptr<vk::Engine> engine = must(dynamic_cast<vk::VulkanBackend&>(*backend).engine());

  std::shared_ptr<vk::Recording> record(ResidentHandle buffer) {
    const std::array steps{ResidentStep{.program = add_one(), .resources = {buffer}}};
    return must(engine->record(must(vk::make_sequence(*engine, {.prefix = steps}, {}))));
  }
  std::shared_ptr<vk::Recording> record() { return record(must(backend->allocate_resident(4))); }
};

}  // namespace

TEST_CASE("the barriers of the plan are recorded, and counted at each run") {
  for (const std::string mask : kRecordingMasks) {
    CAPTURE(mask);
    const auto backend = open_backend(settings_for(mask, counting_barriers));
    const auto engine = must(backend->engine());
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
      const auto recording = must(engine->record(must(vk::make_sequence(*engine, submission, {}))));
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

TEST_CASE("the pool gives a recording to one at a time") {
  Recorder recorder;
  vk::RecordingPool pool(1000);
  CHECK(pool.take(key(1)) == nullptr);
  const auto a = recorder.record();
  const auto b = recorder.record();
  pool.release(key(1), a, 0);
  pool.release(key(1), b, 0);
  CHECK(pool.size() == 2);
  CHECK(pool.take(key(2)) == nullptr);
  const auto first = pool.take(key(1));
  const auto second = pool.take(key(1));
  CHECK(first != second);
  CHECK((first == a || first == b));
  CHECK((second == a || second == b));
  CHECK(pool.take(key(1)) == nullptr);
  CHECK(pool.size() == 0);
}

TEST_CASE("the least recently used recordings go first, by bytes and by number") {
  Recorder recorder;
  const auto recording = recorder.record();  // which one is kept does not matter here
  vk::RecordingPool pool(100);
  pool.release(key(1), recording, 40);
  pool.release(key(2), recording, 40);
  pool.release(key(1), pool.take(key(1)), 40);  // used again
  pool.release(key(3), recording, 40);
  CHECK(pool.size() == 2);
  CHECK(pool.take(key(2)) == nullptr);
  CHECK(pool.take(key(1)) != nullptr);
  CHECK(pool.take(key(3)) != nullptr);
  // What was taken does not count any more; what never fits is not kept, and drives nobody out.
  pool.release(key(4), recording, 100);
  pool.release(key(5), recording, 101);
  CHECK(pool.take(key(5)) == nullptr);
  CHECK(pool.take(key(4)) != nullptr);
  pool.release(key(6), recording, 60);
  pool.clear();
  CHECK(pool.size() == 0);
  pool.release(key(7), recording, 100);
  CHECK(pool.size() == 1);
  pool.clear();

  constexpr std::uint64_t kMax = 256;
  for (std::uint64_t i = 0; i < kMax + 10; ++i) pool.release(key(i), recording, 0);
  CHECK(pool.size() == kMax);
  CHECK(pool.take(key(9)) == nullptr);
  CHECK(pool.take(key(10)) == recording);
  CHECK(recording.use_count() == static_cast<long>(kMax));  // with ours, and one taken
}

TEST_CASE("the users of a buffer are dropped, and nobody else") {
  Recorder recorder;
  const ResidentHandle x = must(recorder.backend->allocate_resident(4));
  const ResidentHandle y = must(recorder.backend->allocate_resident(4));
  vk::RecordingPool pool(1000);
  for (std::uint64_t i = 0; i < 3; ++i) pool.release(key(i), recorder.record(x), 10);
  const auto other = recorder.record(y);
  pool.release(key(3), other, 10);
  const auto buffer = must(recorder.engine->buffers().find(x));
  CHECK(buffer.use_count() > 2);
  pool.drop_users(buffer.get());
  CHECK(buffer.use_count() == 2);  // ours and the table's
  CHECK(pool.size() == 1);
  CHECK(pool.take(key(0)) == nullptr);
  CHECK(pool.take(key(3)) == other);
  pool.drop_users(nullptr);
}

TEST_CASE("many threads take from one pool and give back") {
  Recorder recorder;
  std::vector<std::shared_ptr<vk::Recording>> recordings;
  vk::RecordingPool pool(1000);
  for (std::uint64_t i = 0; i < 8; ++i) {
    recordings.push_back(recorder.record());
    pool.release(key(i % 4), recordings.back(), 1);
  }
  std::array<std::atomic<int>, 8> holders{};
  std::atomic<int> shared = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const ir::Fingerprint wanted = key((seed + i * 7) % 4);
        auto taken = pool.take(wanted);
        if (taken == nullptr) continue;
        const auto which =
            static_cast<std::size_t>(std::ranges::find(recordings, taken) - recordings.begin());
        if (++holders[which] != 1) ++shared;
        --holders[which];
        pool.release(wanted, std::move(taken), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared == 0);
  CHECK(pool.size() == 8);
}

TEST_CASE("keys differ in what they are made of, in its order and number") {
  CHECK(vk::RecordingKey().add(1).add(2).hash() == vk::RecordingKey().add(1).add(2).hash());
  CHECK(vk::RecordingKey().add(1).add(2).hash() != vk::RecordingKey().add(2).add(1).hash());
  CHECK(vk::RecordingKey().add(0).hash() != vk::RecordingKey().add(0).add(0).hash());
  // Of a submission, everything but the bytes of its uploads.
  const ResidentHandle x{.backend = 1, .slot = 0, .generation = 1};
  const ResidentHandle later{.backend = 1, .slot = 0, .generation = 2};
  const Bytes four(4);
  const Bytes other(4, std::byte{1});
  const Bytes eight(8);
  const auto key = [](const ResidentSubmission& submission) {
    return vk::key_of(submission, "", /*measured=*/false);
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
  const ResidentFill fill{.buffer = x};
  const ResidentFill value{.buffer = x, .value = std::byte{1}};
  const ResidentRange read{.buffer = x};
  const ResidentRange part{.buffer = x, .length = 4};
  const std::vector<ir::Fingerprint> different{
      key({}),
      vk::key_of(ResidentSubmission{}, "", /*measured=*/true),
      vk::key_of(ResidentSubmission{}, "a label", /*measured=*/false),
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
  };
  for (std::size_t i = 0; i < different.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      CHECK(different[i] != different[j]);
    }
  }
}
