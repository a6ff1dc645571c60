#include "dispatch/telemetry/trace.h"

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/guarded.h"
#include "felsite/printable.h"

namespace felsite {
namespace dispatch {
namespace {

struct Slice {
  std::string name;
  std::uint64_t thread = 0;  // of a host slice
  std::string device;        // of a device slice; empty: the host
  TraceClock::time_point begin;
  std::chrono::nanoseconds duration{};
};

struct Record {
  std::mutex mutex;
  std::vector<Slice> slices;
  TraceClock::time_point begin;
};

std::atomic<bool> running{false};

// Never destroyed: threads may still note slices while the process ends.
Record& record() {
  static Record& the_record = *new Record;
  return the_record;
}

// The ids of std::thread are reused, and mean nothing to a reader.
std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = ++last;
  return number;
}

void note(std::string_view name, std::string_view device, TraceClock::time_point begin,
          std::chrono::nanoseconds duration) {
  // A gap in the trace is better than a call that fails because it is traced.
  base::best_effort([&] {
    Slice slice{.name = std::string(name),
                .thread = thread_number(),
                .device = std::string(device),
                .begin = begin,
                .duration = duration};
    Record& all = record();
    const std::lock_guard lock(all.mutex);
    // Slices that began before the trace are left out: half a slice would mislead.
    if (!running || begin < all.begin) return;
    all.slices.push_back(std::move(slice));
  });
}

// A row of the viewer: processes are groups of rows, threads are rows.
nlohmann::json name_event(const char* what, int process, std::uint64_t row,
                          const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", row}, {"args", {{"name", name}}}};
}

constexpr int kHost = 1;
constexpr int kDevices = 2;

// Rows in the order in which they first noted something.
template <class Row>
std::uint64_t row_of(std::map<Row, std::uint64_t>& rows, const Row& row) {
  return rows.emplace(row, rows.size() + 1).first->second;
}

std::string to_json(const std::vector<Slice>& slices, TraceClock::time_point begin) {
  using Microseconds = std::chrono::duration<double, std::micro>;
  nlohmann::json events = nlohmann::json::array();
  std::map<std::uint64_t, std::uint64_t> threads;
  std::map<std::string, std::uint64_t> devices;
  for (const Slice& slice : slices) {
    const bool on_host = slice.device.empty();
    const std::uint64_t row =
        on_host ? row_of(threads, slice.thread) : row_of(devices, slice.device);
    events.push_back({{"ph", "X"},
                      {"name", slice.name},
                      {"cat", on_host ? "host" : "device"},
                      {"pid", on_host ? kHost : kDevices},
                      {"tid", row},
                      {"ts", Microseconds(slice.begin - begin).count()},
                      {"dur", Microseconds(slice.duration).count()}});
  }
  events.push_back(name_event("process_name", kHost, 0, "host"));
  events.push_back(name_event("process_name", kDevices, 0, "devices"));
  for (const auto& [thread, row] : threads) {
    events.push_back(name_event("thread_name", kHost, row, "thread " + std::to_string(row)));
  }
  for (const auto& [device, row] : devices) {
    events.push_back(name_event("thread_name", kDevices, row, device));
  }
  const nlohmann::json trace{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Labels are the caller's: invalid UTF-8 is replaced instead of throwing.
  return printable_json(trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

bool tracing() { return running.load(std::memory_order_relaxed); }

HostSlice::HostSlice(std::string_view name) : name_(name), noted_(tracing()) {
  if (noted_) begin_ = TraceClock::now();
}

HostSlice::~HostSlice() {
  if (noted_) note(name_, {}, begin_, TraceClock::now() - begin_);
}

void note_device_slice(std::string_view device, std::string_view name, TraceClock::time_point begin,
                       std::chrono::nanoseconds duration) {
  if (tracing()) note(name, device, begin, duration);
}

}  // namespace dispatch

void start_trace() {
  dispatch::Record& all = dispatch::record();
  const std::lock_guard lock(all.mutex);
  all.slices.clear();
  all.begin = dispatch::TraceClock::now();
  dispatch::running = true;
}

std::string stop_trace() {
  dispatch::Record& all = dispatch::record();
  std::vector<dispatch::Slice> slices;
  dispatch::TraceClock::time_point begin;
  {
    const std::lock_guard lock(all.mutex);
    dispatch::running = false;
    slices.swap(all.slices);
    begin = all.begin;
  }
  return dispatch::to_json(slices, begin);
}

}  // namespace felsite
