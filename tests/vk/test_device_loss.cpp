// A device that is lost: every call says so until a new one is there, nothing of the old one is
// taken for something of the new one, and nobody gets bytes that no device computed.
#include <vulkan/vulkan.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "vk/backend_on_device.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Where Vulkan says next that the device is lost. From then on it says so of that device
// everywhere.
enum class LostIn { Nothing, Submit, Wait, Look };
std::atomic<LostIn> next_loss = LostIn::Nothing;

// Vulkan allows a queue one thread at a time, also for waiting.
std::mutex queue_mutex;
std::mutex lost_mutex;
std::map<VkQueue, VkDevice> device_of;
std::set<VkDevice> lost_devices;

bool loses(LostIn where, VkDevice device) {
  const std::lock_guard lock(lost_mutex);
  LostIn wanted = where;
  if (next_loss.compare_exchange_strong(wanted, LostIn::Nothing)) lost_devices.insert(device);
  return lost_devices.contains(device);
}
bool loses(LostIn where, VkQueue queue) { return loses(where, device_of.at(queue)); }

// Nothing runs on a lost device; this one is well, and has to end its work first.
template <LostIn where, auto Member, class First, class... Args>
void replace(vk::DeviceFunctions& table,
             VkResult (VKAPI_PTR* vk::DeviceFunctions::*)(First, Args...)) {
  if (table.*Member == nullptr) return;
  static VkResult(VKAPI_PTR * original)(First, Args...) = nullptr;
  static PFN_vkDeviceWaitIdle wait_for_device = nullptr;
  static PFN_vkQueueWaitIdle wait_for_queue = nullptr;
  original = table.*Member;
  wait_for_device = table.vkDeviceWaitIdle;
  wait_for_queue = table.vkQueueWaitIdle;
  table.*Member = [](First first, Args... args) -> VkResult {
    if constexpr (std::is_same_v<First, VkQueue>) {
      const std::lock_guard lock(queue_mutex);
      if (!loses(where, first)) return original(first, args...);
      wait_for_queue(first);
    } else {
      if (!loses(where, first)) return original(first, args...);
      const std::lock_guard lock(queue_mutex);
      wait_for_device(first);
    }
    return VK_ERROR_DEVICE_LOST;
  };
}

void losable(vk::DeviceFunctions& table) {
  using Table = vk::DeviceFunctions;
  static PFN_vkGetDeviceQueue get_queue = nullptr;
  get_queue = table.vkGetDeviceQueue;
  table.vkGetDeviceQueue = [](VkDevice device, std::uint32_t family, std::uint32_t index,
                              VkQueue* queue) {
    get_queue(device, family, index, queue);
    const std::scoped_lock lock(queue_mutex, lost_mutex);
    device_of[*queue] = device;
    lost_devices.erase(device);  // a new one, where a lost one was
  };
  replace<LostIn::Submit, &Table::vkQueueSubmit>(table, &Table::vkQueueSubmit);
  replace<LostIn::Wait, &Table::vkWaitSemaphores>(table, &Table::vkWaitSemaphores);
  replace<LostIn::Wait, &Table::vkWaitForFences>(table, &Table::vkWaitForFences);
  replace<LostIn::Look, &Table::vkGetFenceStatus>(table, &Table::vkGetFenceStatus);
  replace<LostIn::Look, &Table::vkGetSemaphoreCounterValue>(table,
                                                            &Table::vkGetSemaphoreCounterValue);
}

// A backend with one of everything that a caller can hold.
struct Holder {
  explicit Holder(const std::string& mask = {}) : Holder(settings_for(mask, losable)) {}
  explicit Holder(vk::BackendSettings settings) : backend(open_backend(std::move(settings))) {
    buffer = must(backend->allocate_resident(4));
    must(backend->upload_resident(buffer, bytes));
    steps = {{.program = add_one(), .resources = {buffer}}};
    device_buffer = must(backend->allocate_device_buffer(4, "mine"));
    statics = must(backend->acquire_static_uploads("test", payloads));
    recorded = must(backend->record_resident({.prefix = steps, .reads = ranges()}));
    recorded_nothing = must(backend->record_resident({}));
    pipeline = must(backend->compile(add_one()));
    must(pipeline->dispatch_resident(steps.front().resources));
    pending = must(backend->dispatch_async(add_one(), {bytes}));
  }
  ~Holder() { next_loss = LostIn::Nothing; }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void lose() {
    next_loss = LostIn::Submit;
    CHECK(code_of(backend->dispatch(add_one(), {bytes})) == ErrorCode::DeviceLost);
  }
  void recover() { must(backend->try_recover()); }

  std::vector<ResidentRange> ranges() const { return {{.buffer = buffer}}; }

  std::unique_ptr<Backend> backend;
  const Bytes bytes = bytes_of(Words{41});
  const std::vector<ByteSpan> payloads{bytes};
  ResidentHandle buffer;
  std::vector<ResidentStep> steps;
  DeviceBuffer device_buffer;
  StaticUploads statics;
  std::unique_ptr<RecordedSequence> recorded;
  std::unique_ptr<RecordedSequence> recorded_nothing;
  std::unique_ptr<CompiledPipeline> pipeline;
  std::unique_ptr<PendingDispatch> pending;
};

const char* const kSplit =
    "program split workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; gridsync; x[0] = x[0] * 2; "
    "}";
const char* const kNothing = "program nothing workgroup(1) { readwrite x: u32[1]; gridsync; }";

DispatchConfig split() {
  DispatchConfig config = on_grid(1);
  config.grid_sync = GridSync::HostSplit;
  return config;
}

struct Call {
  std::string_view name;
  bool takes_handle;  // or is one
  std::function<Result<void>(Holder&)> run;
};

template <class T>
Result<void> plain(Result<T> result) {
  if (!result) return std::unexpected(std::move(result.error()));
  return {};
}

// Every call of the contract that can fail, but try_recover and shutdown.
std::vector<Call> calls() {
  static std::vector<Bytes> outputs;
  static Bytes out;
  const auto handles = [](Holder& h) { return std::span(h.steps.front().resources); };
  const auto uploads = [](Holder& h, auto call) {
    const ResidentUpload upload{.buffer = h.buffer, .bytes = h.bytes};
    return call(std::span(&upload, 1));
  };
  const auto ranges = [](Holder& h, auto call) { return plain(call(h.ranges())); };
  return {
      {"dispatch", false,
       [](Holder& h) { return plain(h.backend->dispatch(add_one(), {h.bytes})); }},
      {"dispatch_borrowed", false,
       [](Holder& h) { return plain(h.backend->dispatch_borrowed(add_one(), h.payloads)); }},
      {"dispatch_borrowed_into", false,
       [](Holder& h) {
         return plain(h.backend->dispatch_borrowed_into(add_one(), h.payloads, outputs));
       }},
      {"dispatch_borrowed_timed", false,
       [](Holder& h) { return plain(h.backend->dispatch_borrowed_timed(add_one(), h.payloads)); }},
      {"compile", false, [](Holder& h) { return plain(h.backend->compile(add_one())); }},
      {"prepare a program", false, [](Holder& h) { return h.backend->prepare(add_one()); }},
      {"dispatch_async", false,
       [](Holder& h) { return plain(h.backend->dispatch_async(add_one(), {h.bytes})); }},
      {"dispatch_borrowed_async", false,
       [](Holder& h) { return plain(h.backend->dispatch_borrowed_async(add_one(), h.payloads)); }},
      {"a host split", false,
       [](Holder& h) {
         return plain(h.backend->dispatch(valid_program(kSplit), {h.bytes}, split()));
       }},
      {"a host split that launches nothing", false,
       [](Holder& h) {
         return plain(h.backend->dispatch(valid_program(kNothing), {h.bytes}, split()));
       }},
      {"a host split under way", false,
       [](Holder& h) {
         return plain(h.backend->dispatch_async(valid_program(kSplit), {h.bytes}, split()));
       }},
      {"allocate_resident", false,
       [](Holder& h) { return plain(h.backend->allocate_resident(4)); }},
      {"allocate_resident_many", false,
       [](Holder& h) { return plain(h.backend->allocate_resident_many({})); }},
      {"resident_size", true, [](Holder& h) { return plain(h.backend->resident_size(h.buffer)); }},
      {"upload_resident", true,
       [](Holder& h) { return h.backend->upload_resident(h.buffer, h.bytes); }},
      {"upload_resident_many", true,
       [=](Holder& h) {
         return uploads(h, [&](auto all) { return h.backend->upload_resident_many(all); });
       }},
      {"upload_resident_at", true,
       [](Holder& h) { return h.backend->upload_resident_at(h.buffer, 0, h.bytes); }},
      {"upload_resident_at_many", true,
       [=](Holder& h) {
         return uploads(h, [&](auto all) { return h.backend->upload_resident_at_many(all); });
       }},
      {"upload_resident_at_many of nothing", false,
       [](Holder& h) { return h.backend->upload_resident_at_many({}); }},
      {"fill_resident", true,
       [](Holder& h) { return h.backend->fill_resident(h.buffer, std::byte{1}); }},
      {"download_resident", true,
       [](Holder& h) { return plain(h.backend->download_resident(h.buffer)); }},
      {"download_resident_into", true,
       [](Holder& h) { return h.backend->download_resident_into(h.buffer, out); }},
      {"download_resident_range", true,
       [](Holder& h) { return plain(h.backend->download_resident_range(h.buffer, 0, 4)); }},
      {"download_resident_range_into", true,
       [](Holder& h) { return h.backend->download_resident_range_into(h.buffer, 0, 4, out); }},
      {"download_resident_ranges_into", true,
       [=](Holder& h) {
         return ranges(h, [&](const auto& all) {
           return h.backend->download_resident_ranges_into(all, outputs);
         });
       }},
      {"free_resident", true, [](Holder& h) { return h.backend->free_resident(h.buffer); }},
      {"submit_resident", true,
       [](Holder& h) { return plain(h.backend->submit_resident({.prefix = h.steps}, outputs)); }},
      {"submit_resident of nothing", false,
       [](Holder& h) { return plain(h.backend->submit_resident({}, outputs)); }},
      {"record_resident", true,
       [](Holder& h) { return plain(h.backend->record_resident({.prefix = h.steps})); }},
      {"dispatch_resident", true,
       [=](Holder& h) { return h.backend->dispatch_resident(add_one(), handles(h)); }},
      {"dispatch_resident_timed", true,
       [=](Holder& h) { return plain(h.backend->dispatch_resident_timed(add_one(), handles(h))); }},
      {"dispatch_resident_sequence_read_ranges_into", true,
       [=](Holder& h) {
         return ranges(h, [&](const auto& all) {
           return h.backend->dispatch_resident_sequence_read_ranges_into(h.steps, all, outputs);
         });
       }},
      {"dispatch_resident_sequence_read_ranges_timed_into", true,
       [=](Holder& h) {
         return ranges(h, [&](const auto& all) {
           return h.backend->dispatch_resident_sequence_read_ranges_timed_into(h.steps, all,
                                                                               outputs);
         });
       }},
      {"dispatch_resident_repeated_sequence_read_ranges_into", true,
       [=](Holder& h) {
         return ranges(h, [&](const auto& all) {
           return h.backend->dispatch_resident_repeated_sequence_read_ranges_into({}, h.steps, 2,
                                                                                  all, outputs);
         });
       }},
      {"dispatch_resident_repeated_sequence_read_ranges_timed_into", true,
       [=](Holder& h) {
         return ranges(h, [&](const auto& all) {
           return h.backend->dispatch_resident_repeated_sequence_read_ranges_timed_into(
               h.steps, h.steps, 2, all, outputs);
         });
       }},
      {"acquire_static_uploads", false,
       [](Holder& h) { return plain(h.backend->acquire_static_uploads("test", h.payloads)); }},
      {"release_static_uploads", true,
       [](Holder& h) { return h.backend->release_static_uploads(h.statics); }},
      {"allocate_device_buffer", false,
       [](Holder& h) { return plain(h.backend->allocate_device_buffer(4, "other")); }},
      {"free_device_buffer", true,
       [](Holder& h) { return h.backend->free_device_buffer(h.device_buffer); }},
      {"dispatch_device_buffers", true,
       [](Holder& h) {
         return plain(h.backend->dispatch_device_buffers(add_one(), {&h.device_buffer, 1}));
       }},
      {"prepare", false, [](Holder& h) { return h.backend->prepare(); }},
      {"flush", false, [](Holder& h) { return h.backend->flush(); }},
      {"CompiledPipeline::dispatch", false,
       [](Holder& h) { return plain(h.pipeline->dispatch({h.bytes})); }},
      {"CompiledPipeline::dispatch_borrowed_into", false,
       [](Holder& h) { return plain(h.pipeline->dispatch_borrowed_into(h.payloads, outputs)); }},
      {"CompiledPipeline::dispatch_batch", false,
       [](Holder& h) { return plain(h.pipeline->dispatch_batch(std::array{h.payloads})); }},
      {"CompiledPipeline::dispatch_resident", true,
       [=](Holder& h) { return plain(h.pipeline->dispatch_resident(handles(h))); }},
      {"RecordedSequence::run_into", true,
       [](Holder& h) { return plain(h.recorded->run_into(outputs)); }},
      {"RecordedSequence::run_into of nothing", true,
       [](Holder& h) { return plain(h.recorded_nothing->run_into(outputs)); }},
      {"PendingDispatch::wait", true, [](Holder& h) { return plain(h.pending->wait()); }},
  };
}

constexpr std::array kLossMasks{"", "-timeline_semaphores", "-in_place_memory"};

}  // namespace

TEST_CASE("every call works on a device that is there") {
  // Or the tests below would test nothing. Each for itself, as some free what others need.
  for (const Call& call : calls()) {
    CAPTURE(call.name);
    static std::unique_ptr<Holder> holder;
    if (call.name == "dispatch") holder = std::make_unique<Holder>();
    if (call.name.starts_with("free_resident") || call.name.starts_with("free_device")) continue;
    const auto done = call.run(*holder);
    CHECK_MESSAGE(done.has_value(), to_string(done.error()));
    if (call.name == "PendingDispatch::wait") holder.reset();
  }
}

TEST_CASE("after a loss every call says so, and still says so the second time") {
  for (const std::string mask : kLossMasks) {
    CAPTURE(mask);
    Holder holder(mask);
    CHECK_FALSE(holder.backend->device_lost());
    holder.lose();
    CHECK(holder.backend->device_lost());
    for (const int round : {1, 2}) {
      CAPTURE(round);
      for (const Call& call : calls()) {
        CAPTURE(call.name);
        if (round == 2 && call.name == "PendingDispatch::wait") continue;  // once only
        const Error error = error_of(call.run(holder));
        CHECK_MESSAGE(error.code == ErrorCode::DeviceLost, to_string(error));
        CHECK(!error.context.device.empty());
      }
    }
    CHECK(holder.backend->device_lost());
    CHECK(holder.backend->metric_snapshot().recoveries == 0);
    // What cannot fail still answers.
    CHECK(!holder.backend->device_profile().name.empty());
    CHECK(!holder.backend->device_feature_cache_key().empty());
    CHECK(holder.backend->pipeline_cache_snapshot().entries > 0);
    CHECK(holder.pending->is_ready());
  }
}

TEST_CASE("after a recovery everything works, and old handles are invalid in every call") {
  for (const std::string mask : kLossMasks) {
    CAPTURE(mask);
    Holder holder(mask);
    const std::string key = holder.backend->device_feature_cache_key();
    holder.lose();
    holder.recover();
    CHECK_FALSE(holder.backend->device_lost());
    CHECK(holder.backend->metric_snapshot().recoveries == 1);
    CHECK(holder.backend->metric_snapshot().resident_buffers == 0);
    CHECK(holder.backend->metric_snapshot().static_bytes == 0);
    CHECK(holder.backend->device_feature_cache_key() == key);
    // A new buffer takes the place of the old one, and is not taken for it.
    const ResidentHandle fresh = must(holder.backend->allocate_resident(4));
    must(holder.backend->upload_resident(fresh, holder.bytes));
    for (const Call& call : calls()) {
      CAPTURE(call.name);
      const auto done = call.run(holder);
      if (!call.takes_handle) {
        CHECK_MESSAGE(done.has_value(), to_string(done.error()));
      } else {
        const Error error = error_of(done);
        CHECK_MESSAGE(error.code == ErrorCode::InvalidHandle, to_string(error));
      }
    }
    CHECK(must(holder.backend->download_resident(fresh)) == holder.bytes);
    // A pipeline is no handle: it goes on, with buffers of the new device.
    must(holder.pipeline->dispatch_resident(std::array{fresh}));
    CHECK(words_of(must(holder.backend->download_resident(fresh))) == Words{42});
    CHECK(words_of(must(holder.pipeline->dispatch({holder.bytes}))[0]) == Words{42});

    SUBCASE("and once more") {
      holder.lose();
      CHECK(code_of(holder.backend->resident_size(fresh)) == ErrorCode::DeviceLost);
      holder.recover();
      CHECK(holder.backend->metric_snapshot().recoveries == 2);
      CHECK(code_of(holder.backend->resident_size(fresh)) == ErrorCode::InvalidHandle);
      CHECK(still_works(*holder.backend));
    }
    check_silent_layers();
  }
}

TEST_CASE("wherever Vulkan says it, a loss is an error of that call") {
  for (const std::string mask : kLossMasks) {
    CAPTURE(mask);
    for (const LostIn where : {LostIn::Submit, LostIn::Wait}) {
      CAPTURE(static_cast<int>(where));
      Holder holder(mask);
      const auto lost_in = [&](std::string_view name, auto call) {
        CAPTURE(name);
        next_loss = where;
        CHECK(code_of(call()) == ErrorCode::DeviceLost);
        CHECK(holder.backend->device_lost());
        holder.recover();
        CHECK(still_works(*holder.backend));
      };
      lost_in("dispatch", [&] { return holder.backend->dispatch(add_one(), {holder.bytes}); });
      lost_in("dispatch_async", [&]() -> Result<std::vector<Bytes>> {
        auto pending = holder.backend->dispatch_async(add_one(), {holder.bytes});
        if (!pending) return std::unexpected(pending.error());
        return (*pending)->wait();
      });
      const auto resident = [&] {
        const ResidentHandle buffer = holder.backend->allocate_resident(4).value();
        return std::vector<ResidentStep>{{.program = add_one(), .resources = {buffer}}};
      };
      std::vector<Bytes> outputs;
      std::vector<ResidentStep> steps = resident();
      lost_in("submit_resident",
              [&] { return holder.backend->submit_resident({.prefix = steps}, outputs); });
      // More submissions than one: the second may be the one that fails.
      steps = resident();
      lost_in("repeated", [&] {
        return holder.backend->submit_resident({.repeated = steps, .count = 200}, outputs);
      });
      steps = resident();
      const auto recorded = must(holder.backend->record_resident({.prefix = steps}));
      lost_in("run_into", [&] { return recorded->run_into(outputs); });
      steps = resident();
      lost_in("fill", [&] {
        return holder.backend->fill_resident(steps[0].resources[0].buffer, std::byte{1});
      });
      if (mask == "-in_place_memory") {
        steps = resident();
        lost_in("download",
                [&] { return holder.backend->download_resident(steps[0].resources[0].buffer); });
      }
    }
  }
}

TEST_CASE("a device that is lost at the start of asynchronous work is an error of the wait") {
  for (const std::string mask : kLossMasks) {
    CAPTURE(mask);
    Holder holder(mask);
    std::vector<Bytes> outputs;
    const std::vector<std::function<Result<std::unique_ptr<PendingDispatch>>()>> starts{
        [&] { return holder.backend->dispatch_async(add_one(), {holder.bytes}); },
        [&] { return holder.backend->submit_resident_async({.prefix = holder.steps}); },
        [&] { return holder.recorded->start(); }};
    for (std::size_t i = 0; i < starts.size(); ++i) {
      CAPTURE(i);
      const ResidentHandle buffer = must(holder.backend->allocate_resident(4));
      holder.steps = {{.program = add_one(), .resources = {buffer}}};
      holder.recorded = must(holder.backend->record_resident({.prefix = holder.steps}));
      next_loss = LostIn::Submit;
      const auto pending = must(starts[i]());
      CHECK(holder.backend->device_lost());
      CHECK(pending->is_ready());
      const Error error = error_of(pending->wait_into(outputs));
      CHECK(error.code == ErrorCode::DeviceLost);
      CHECK(!error.context.device.empty());
      CHECK(code_of(pending->wait_into(outputs)) == ErrorCode::DispatchFailed);
      // From now on the start itself says so.
      CHECK(code_of(starts[i]()) == ErrorCode::DeviceLost);
      holder.recover();
      CHECK(still_works(*holder.backend));
    }
    CHECK(code_of(holder.recorded->start()) == ErrorCode::InvalidHandle);
  }
}

TEST_CASE("a loss that is noticed by a look gives nobody wrong bytes") {
  for (const std::string mask : kLossMasks) {
    CAPTURE(mask);
    Holder holder(mask);
    const auto looks = {
        std::function([](Holder& h) { static_cast<void>(h.pending->is_ready()); }),
        std::function([](Holder& h) { static_cast<void>(h.backend->metric_snapshot()); })};
    for (const auto& look : looks) {
      holder.pending.reset();
      holder.pending = must(holder.backend->dispatch_async(add_one(), {holder.bytes}));
      next_loss = LostIn::Look;
      look(holder);
      CHECK(holder.backend->device_lost());
      CHECK(code_of(holder.pending->wait()) == ErrorCode::DeviceLost);
      CHECK(code_of(holder.backend->flush()) == ErrorCode::DeviceLost);
      holder.recover();
      CHECK(still_works(*holder.backend));
    }
  }
}

TEST_CASE("a recovery that fails changes nothing, and can be tried again") {
  int refusals = 0;
  int opened = 0;
  vk::BackendSettings settings = settings_for({}, losable);
  const vk::OpenDevice open = settings.open;
  settings.open = [&]() -> Result<std::unique_ptr<vk::Device>> {
    if (refusals > 0) {
      --refusals;
      return std::unexpected(Error{.code = ErrorCode::UnsupportedFeature,
                                   .message = "The device is not there.",
                                   .fix = "wait a while.",
                                   .context = {}});
    }
    ++opened;
    return open();
  };
  Holder holder(std::move(settings));
  must(holder.backend->try_recover());  // nothing to recover from
  CHECK(opened == 1);
  holder.lose();
  refusals = 2;
  for (const int round : {1, 2}) {
    CAPTURE(round);
    CHECK(code_of(holder.backend->try_recover()) == ErrorCode::UnsupportedFeature);
    CHECK(holder.backend->device_lost());
    CHECK(holder.backend->metric_snapshot().recoveries == 0);
    CHECK(code_of(holder.backend->dispatch(add_one(), {holder.bytes})) == ErrorCode::DeviceLost);
    CHECK(code_of(holder.backend->resident_size(holder.buffer)) == ErrorCode::DeviceLost);
  }
  must(holder.backend->try_recover());
  CHECK(opened == 2);
  CHECK(holder.backend->metric_snapshot().recoveries == 1);
  CHECK(still_works(*holder.backend));
}

TEST_CASE("many recover at once: one device is opened, all of them have it") {
  std::atomic<int> opened = 0;
  vk::BackendSettings settings = settings_for({}, losable);
  settings.open = [&, open = settings.open] {
    ++opened;
    return open();
  };
  Holder holder(std::move(settings));
  for (const int round : {1, 2, 3}) {
    CAPTURE(round);
    holder.lose();
    std::atomic<int> recovered = 0;
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (holder.backend->try_recover()) ++recovered;
        if (still_works(*holder.backend)) ++right;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(recovered == 4);
    CHECK(right == 4);
    CHECK(opened == 1 + round);
    CHECK(holder.backend->metric_snapshot().recoveries == static_cast<std::uint64_t>(round));
  }
}

TEST_CASE("losses and recoveries under the work of other threads") {
  Holder holder;
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const Bytes bytes = bytes_of(Words{i});
      while (!stop) {
        const auto outputs = holder.backend->dispatch(add_one(), {bytes});
        const auto buffer = holder.backend->allocate_resident(4);
        Result<Bytes> back = bytes;
        if (buffer) {
          if (auto up = holder.backend->upload_resident(*buffer, bytes); !up) {
            back = std::unexpected(up.error());
          } else {
            back = holder.backend->download_resident(*buffer);
          }
          static_cast<void>(holder.backend->free_resident(*buffer));
        }
        for (const Result<Bytes>& result :
             {outputs ? Result<Bytes>(outputs->front()) : std::unexpected(outputs.error()), back}) {
          if (result) continue;
          const ErrorCode code = result.error().code;
          if (code != ErrorCode::DeviceLost && code != ErrorCode::InvalidHandle) ++wrong;
        }
        if (outputs && words_of(outputs->front()) != Words{i + 1}) ++wrong;
        if (back && *back != bytes) ++wrong;
        if (outputs && back) ++right;
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    const int before = right;
    while (right < before + 3) std::this_thread::yield();
    next_loss = round % 2 == 0 ? LostIn::Wait : LostIn::Submit;
    while (!holder.backend->device_lost()) std::this_thread::yield();
    holder.recover();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(holder.backend->metric_snapshot().recoveries == 5);
  CHECK(still_works(*holder.backend));
}

TEST_CASE("a lost backend can be shut down and destroyed") {
  Holder holder;
  holder.lose();
  must(holder.backend->shutdown());
  CHECK_FALSE(holder.backend->device_lost());
  CHECK(code_of(holder.backend->try_recover()) == ErrorCode::DispatchFailed);
  CHECK(code_of(holder.backend->dispatch(add_one(), {holder.bytes})) == ErrorCode::DispatchFailed);
  Holder other;  // lost, and not shut down
  other.lose();
}
