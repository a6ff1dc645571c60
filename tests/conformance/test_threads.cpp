// Many threads on one backend, each with its own work and all kinds of calls.
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kCount = 6;  // words in each buffer

// What all threads use together.
struct Common {
  ir::Program add = valid_program(kAdd);
  ir::Program grow = valid_program(kGrow);
  // Each word takes what its left neighbour has, one more in each iteration.
  ir::Program spread = valid_program(
      "program spread workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " let left = select(i == 0, x[0], x[max(i, 1) - 1]); gridsync;"
      " if x[i] == 0 { x[i] = left; } }");
  std::unique_ptr<CompiledPipeline> pipeline = must(tested().compile(add));
};

// doctest's assertions are for one thread: here a call answers whether all was right.
class Worker {
 public:
  Worker(const Common& common, std::uint32_t number) : common_(common), random_(number) {}

  bool plain() {
    const std::uint32_t value = draw();
    const auto result = tested().dispatch(common_.add, inputs(value));
    return result && words((*result)[0]) == counting(kCount, value);
  }

  bool compiled() {
    const std::uint32_t value = draw();
    const auto result = common_.pipeline->dispatch(inputs(value));
    return result && words((*result)[0]) == counting(kCount, value);
  }

  bool async() {
    std::vector<std::pair<std::uint32_t, std::unique_ptr<PendingDispatch>>> pending;
    for (int i = 0; i < 3; ++i) {
      const std::uint32_t value = draw();
      auto started = tested().dispatch_async(common_.add, inputs(value));
      if (!started) return false;
      pending.emplace_back(value, std::move(*started));
    }
    pending.pop_back();
    for (auto& [value, dispatch] : pending) {
      const auto result = dispatch->wait();
      if (!result || words((*result)[0]) != counting(kCount, value)) return false;
    }
    return true;
  }

  bool resident() {
    const std::uint32_t value = draw();
    const std::vector<std::uint64_t> sizes{kCount * 4, kCount * 4};
    const auto handles = tested().allocate_resident_many(sizes);
    if (!handles) return false;
    const std::vector<Bytes> bytes = inputs(value);
    bool right = tested().upload_resident((*handles)[0], bytes[0]).has_value() &&
                 tested().upload_resident_at((*handles)[1], 0, bytes[1]).has_value() &&
                 tested().dispatch_resident(common_.add, *handles).has_value();
    const auto result = tested().download_resident((*handles)[1]);
    right = right && result && words(*result) == counting(kCount, value);
    for (const ResidentHandle handle : *handles) {
      right = tested().free_resident(handle).has_value() && right;
    }
    return right && !tested().download_resident((*handles)[1]).has_value();
  }

  bool sequence() {
    const std::uint32_t value = draw() % 1000;
    const auto handle = tested().allocate_resident(kCount * 4);
    if (!handle) return false;
    const Bytes start = bytes_of(Words(kCount, value));
    const ResidentUpload upload{.buffer = *handle, .bytes = start};
    const std::vector<ResidentStep> steps{{.program = common_.grow, .resources = {*handle}}};
    const ResidentRange read{.buffer = *handle, .offset = 4, .length = 8};
    const ResidentSubmission submission{
        .uploads = {&upload, 1}, .repeated = steps, .count = 3, .reads = {&read, 1}};
    const Words expected(2, value * 8 + 7);
    std::vector<Bytes> slots;
    bool right =
        tested().submit_resident(submission, slots).has_value() && words(slots[0]) == expected;
    const auto recorded = tested().record_resident(submission);
    for (int i = 0; i < 3 && right; ++i) {
      right = recorded && (*recorded)->run_into(slots).has_value() && words(slots[0]) == expected;
    }
    return tested().free_resident(*handle).has_value() && right;
  }

  bool static_uploads() {
    const Bytes payload = bytes_of(Words(4, draw() % 5));
    const std::vector<ByteSpan> payloads{payload};
    const auto uploads = tested().acquire_static_uploads("threads", payloads);
    if (!uploads) return false;
    const auto found = tested().download_resident(uploads->handles[0]);
    const bool right = found && *found == payload;
    return tested().release_static_uploads(*uploads).has_value() && right;
  }

  // A device buffer, a compiled pipeline on it, filled, read in two ranges.
  bool device_buffers() {
    const std::uint32_t value = draw();
    const auto pipeline = tested().compile(common_.grow);
    const auto buffer = tested().allocate_device_buffer(kCount * 4, "threads");
    if (!pipeline || !buffer) return false;
    const std::array<ResidentHandle, 1> resources{buffer->resident};
    const Bytes start = bytes_of(Words(kCount, value));
    bool right = tested().fill_resident(buffer->resident, std::byte{0x11}).has_value() &&
                 tested().upload_resident(buffer->resident, start).has_value() &&
                 (*pipeline)->dispatch_resident(resources).has_value() &&
                 tested().dispatch_device_buffers(common_.grow, {&*buffer, 1}).has_value();
    const std::array<ResidentRange, 2> ranges{
        {{.buffer = buffer->resident, .offset = 0, .length = 4},
         {.buffer = buffer->resident, .offset = 8, .length = 4}}};
    std::vector<Bytes> slots;
    right = right && tested().download_resident_ranges_into(ranges, slots).has_value() &&
            words(slots[0]) == Words{value * 4 + 3} && words(slots[1]) == Words{value * 4 + 3};
    const auto batch = (*pipeline)->dispatch_batch(std::vector<std::vector<ByteSpan>>{{start}});
    right = right && batch && words((*batch)[0][0]) == Words(kCount, value * 2 + 1);
    return tested().free_device_buffer(*buffer).has_value() && right;
  }

  bool iterations() {
    DispatchConfig config;
    config.grid_override = {2, 1, 1};
    config.fixpoint_iterations = 40;
    const std::uint32_t value = draw();
    const auto result =
        tested().dispatch(common_.spread, {bytes_of(Words{value, 0, 0, 0, 0, 0})}, config);
    return result && words((*result)[0]) == Words(6, value);
  }

  bool others() {
    const auto trapped = tested().dispatch(valid_trap(), {Bytes(4), Bytes(4)});
    return !trapped && trapped.error().code == ErrorCode::Trapped && tested().flush().has_value() &&
           !tested().device_lost() && tested().prepare(common_.grow).has_value() &&
           tested().pipeline_cache_snapshot().entries > 0 &&
           tested().metric_snapshot().in_flight < 1000;
  }

 private:
  static const ir::Program& valid_trap() {
    static const ir::Program program = *ir::parse(kTrapAt);
    return program;
  }
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_() % 100'000); }
  static std::vector<Bytes> inputs(std::uint32_t value) {
    return {bytes_of(Words(kCount, value)), bytes_of(counting(kCount))};
  }
  static Words words(const Bytes& bytes) {
    Words result(bytes.size() / 4);
    std::memcpy(result.data(), bytes.data(), result.size() * 4);
    return result;
  }

  const Common& common_;
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("eight threads mix all calls on one backend") {
  const Common common;
  must(tested().flush());
  const MetricSnapshot before = tested().metric_snapshot();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      Worker worker(common, number);
      for (std::uint32_t round = 0; round < 3; ++round) {
        // Each thread begins elsewhere, so that different calls meet.
        for (std::uint32_t i = 0; i < 9; ++i) {
          bool right = false;
          switch ((number + i) % 9) {
            case 0:
              right = worker.plain();
              break;
            case 1:
              right = worker.compiled();
              break;
            case 2:
              right = worker.async();
              break;
            case 3:
              right = worker.resident();
              break;
            case 4:
              right = worker.sequence();
              break;
            case 5:
              right = worker.static_uploads();
              break;
            case 6:
              right = worker.device_buffers();
              break;
            case 7:
              right = worker.iterations();
              break;
            default:
              right = worker.others();
              break;
          }
          if (!right) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  must(tested().flush());
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.in_flight == 0);
  // The static uploads stay.
  CHECK(after.resident_buffers <= before.resident_buffers + 5);
}

TEST_CASE("one recording from several threads: they wait for each other") {
  const OnDevice total(Words{0});
  const OnDevice amount(Words{0});
  const Bytes one = bytes_of(Words{1});
  const ResidentUpload upload{.buffer = amount.handle(), .bytes = one};
  const std::vector<ResidentStep> steps{step(kAdd, {amount.handle(), total.handle()})};
  const auto recorded = must(tested().record_resident({.uploads = {&upload, 1}, .prefix = steps}));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t number = 1; number <= 4; ++number) {
    threads.emplace_back([&, number] {
      const Bytes fresh = bytes_of(Words{number});
      const std::vector<ByteSpan> uploads{fresh};
      std::vector<Bytes> slots;
      for (int i = 0; i < 10; ++i) {
        if (!recorded->run_into(slots, uploads)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(total.words() == Words{10 * (1 + 2 + 3 + 4)});
}
