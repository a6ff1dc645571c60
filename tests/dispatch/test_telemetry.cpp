#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "dispatch/telemetry/counters.h"
#include "felsite/telemetry.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

template <class Work>
Telemetry counted(Work work) {
  const Telemetry before = telemetry_snapshot();
  work();
  return difference(telemetry_snapshot(), before);
}

}  // namespace

TEST_CASE("each counter has its own row, with a name that Prometheus takes") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const auto counter = static_cast<Counter>(i);
    const CounterInfo& row = info(counter);
    CHECK(row.counter == counter);
    CHECK(row.name.ends_with("_total"));
    CHECK(std::ranges::all_of(row.name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); }));
    CHECK(row.about.ends_with("."));
    CHECK(row.about.find('\n') == std::string_view::npos);
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("a difference is what happened in between") {
  Telemetry before;
  Telemetry after;
  before.values[static_cast<std::size_t>(Counter::Launches)] = 5;
  after.values[static_cast<std::size_t>(Counter::Launches)] = 12;
  after.values[static_cast<std::size_t>(Counter::Barriers)] = 3;
  const Telemetry between = difference(after, before);
  CHECK(between[Counter::Launches] == 7);
  CHECK(between[Counter::Barriers] == 3);
  CHECK(between[Counter::Submissions] == 0);
  CHECK(difference(after, after) == Telemetry{});
}

TEST_CASE("counters that have gone around their end still give the difference") {
  Telemetry before;
  Telemetry after;
  before.values[0] = UINT64_MAX - 1;
  after.values[0] = 2;
  CHECK(difference(after, before).values[0] == 4);
}

TEST_CASE("counts of all threads are there") {
  const Telemetry counts = counted([] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 1000; ++i) dispatch::count(Counter::GridSyncSplits);
        dispatch::count(Counter::GridSyncPoints, 10);
      });
    }
  });
  CHECK(counts[Counter::GridSyncSplits] == 8000);
  CHECK(counts[Counter::GridSyncPoints] == 80);
}

TEST_CASE("the text form has help, type and value of each counter") {
  Telemetry telemetry;
  telemetry.values[static_cast<std::size_t>(Counter::Launches)] = 42;
  const std::string text = to_prometheus(telemetry);
  CHECK(text.starts_with(
      "# HELP felsite_launches_total Programs launched: each step and each iteration is one.\n"
      "# TYPE felsite_launches_total counter\n"
      "felsite_launches_total 42\n"
      "# HELP felsite_submissions_total Submissions to a device.\n"
      "# TYPE felsite_submissions_total counter\n"
      "felsite_submissions_total 0\n"
      "# HELP felsite_waits_total How often the host waited for a device to finish.\n"));
  CHECK(std::ranges::count(text, '\n') == 3 * kCounterCount);
  telemetry.values.fill(UINT64_MAX);
  CHECK(
      to_prometheus(telemetry).ends_with("felsite_pipelines_cached_total 18446744073709551615\n"));
}

TEST_CASE("the figures of a backend have the same text form, each of them once") {
  MetricSnapshot figures;
  figures.resident_buffers = 7;
  figures.recoveries = 3;
  const std::string text = to_prometheus(figures, "a \"name\"\n");
  CHECK(
      text.starts_with("# HELP felsite_backend_resident_buffers Resident buffers that exist.\n"
                       "# TYPE felsite_backend_resident_buffers gauge\n"
                       "felsite_backend_resident_buffers{backend=\"a \\\"name\\\"\\n\"} 7\n"));
  CHECK(text.find("# TYPE felsite_backend_recoveries_total counter\n") != std::string::npos);
  CHECK(text.find("felsite_backend_recoveries_total{backend=\"a \\\"name\\\"\\n\"} 3\n") !=
        std::string::npos);
  CHECK(std::ranges::count(text, '\n') == static_cast<long>(3 * metrics().size()));
  // Every figure has a row, and no two the same.
  CHECK(metrics().size() * sizeof(std::uint64_t) == sizeof(MetricSnapshot));
  for (const MetricInfo& row : metrics()) {
    MetricSnapshot one;
    one.*row.value = 1;
    for (const MetricInfo& other : metrics()) {
      CHECK(one.*other.value == (other.name == row.name ? 1 : 0));
    }
    CHECK(row.only_grows == row.name.ends_with("_total"));
  }
}

TEST_CASE("the names of a backend's figures do not change: dashboards hold them") {
  std::string names;
  for (const MetricInfo& row : metrics()) names += std::string(row.name) + " ";
  CHECK(names ==
        "resident_buffers resident_bytes device_bytes in_flight recordings_total recordings_kept "
        "recording_bytes idle_bytes allocations_total pipelines_kept pipeline_bytes "
        "pipeline_driver_bytes pipeline_disk_bytes pipeline_hits_total pipeline_misses_total "
        "pipeline_evictions_total validated_programs validated_bytes static_bytes "
        "static_hits_total static_misses_total recoveries_total ");
}

TEST_CASE("slots are counted by what becomes of them") {
  std::vector<Bytes> slots{Bytes(8), Bytes{}, Bytes(4)};
  slots[1].reserve(16);
  slots[2].shrink_to_fit();
  const std::vector<std::uint64_t> sizes{8, 16, 5, 0, 1};
  const Telemetry counts = counted([&] { dispatch::count_slots(slots, sizes); });
  CHECK(counts[Counter::SlotsReused] == 2);
  CHECK(counts[Counter::SlotsMoved] == 1);
  CHECK(counts[Counter::SlotsAppended] == 2);
  CHECK(counts[Counter::SlotBytesReused] == 24);
  CHECK(counts[Counter::SlotBytesMoved] == 5);
  CHECK(counts[Counter::SlotBytesAppended] == 1);
  CHECK(counts[Counter::SlotBytesCopied] == 0);
  const Telemetry none = counted([&] { dispatch::count_slots(slots, {}); });
  CHECK(none == Telemetry{});
}

TEST_CASE("iterations of a fixpoint: those that ran, and those that convergence saved") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(
      "program p workgroup(1) { readwrite x: u32[1]; if x[0] < 3 { x[0] = x[0] + 1; } }");
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 10;
  const Telemetry counts =
      counted([&] { REQUIRE(backend->dispatch(program, {Bytes(4)}, config).has_value()); });
  CHECK(counts[Counter::IterationsRun] == 4);
  CHECK(counts[Counter::IterationsSkipped] == 6);
  CHECK(counts[Counter::Launches] == 4);
  CHECK(counts[Counter::Submissions] == 1);
  CHECK(counts[Counter::UploadBytes] == 4);
  CHECK(counts[Counter::DownloadBytes] == 4);
  config.convergence.kind = Convergence::Kind::None;
  const Telemetry all =
      counted([&] { REQUIRE(backend->dispatch(program, {Bytes(4)}, config).has_value()); });
  CHECK(all[Counter::IterationsRun] == 10);
  CHECK(all[Counter::IterationsSkipped] == 0);
}

TEST_CASE("a dispatch that is refused moves nothing") {
  const auto backend = make_reference_backend();
  const ir::Program program =
      valid_program("program p workgroup(1) { readwrite x: u32[1]; x[0] = 1; }");
  REQUIRE(backend->dispatch(program, {Bytes(4)}).has_value());
  const Telemetry counts =
      counted([&] { CHECK(!backend->dispatch(program, {Bytes(8)}).has_value()); });
  CHECK(counts[Counter::InputBytes] == 0);
  CHECK(counts[Counter::UploadBytes] == 0);
  CHECK(counts[Counter::Launches] == 0);
  CHECK(counts[Counter::SlotsAppended] == 0);
}
