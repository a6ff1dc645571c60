#include "felsite/telemetry.h"

#include <fmt/format.h>

#include <atomic>

#include "dispatch/telemetry/counters.h"

namespace felsite {
namespace {

constexpr std::array<CounterInfo, kCounterCount> kCounters{{
    {Counter::Launches, "launches_total",
     "Programs launched: each step and each iteration is one."},
    {Counter::Submissions, "submissions_total", "Submissions to a device."},
    {Counter::Waits, "waits_total", "How often the host waited for a device to finish."},
    {Counter::InputBytes, "input_bytes_total", "Bytes that callers gave to plain dispatches."},
    {Counter::OutputBytes, "output_bytes_total", "Bytes that plain dispatches gave to callers."},
    {Counter::UploadBytes, "upload_bytes_total", "Bytes moved from host to device memory."},
    {Counter::DownloadBytes, "download_bytes_total", "Bytes moved from device to host memory."},
    {Counter::SlotsReused, "slots_reused_total", "Output slots whose allocation was used again."},
    {Counter::SlotsMoved, "slots_moved_total", "Output slots that had to grow."},
    {Counter::SlotsAppended, "slots_appended_total", "Output slots that were not there."},
    {Counter::SlotBytesReused, "slot_bytes_reused_total",
     "Bytes of results in slots whose allocation was used again."},
    {Counter::SlotBytesMoved, "slot_bytes_moved_total",
     "Bytes of results in slots that had to grow."},
    {Counter::SlotBytesAppended, "slot_bytes_appended_total",
     "Bytes of results in slots that were not there."},
    {Counter::SlotBytesCopied, "slot_bytes_copied_total",
     "Bytes of results that were copied on the host once more, out of memory of a thread."},
    {Counter::GridSyncPlans, "grid_sync_plans_total",
     "Plans made for grid barriers or iterations."},
    {Counter::GridSyncSplits, "grid_sync_splits_total", "Programs split at grid barriers."},
    {Counter::GridSyncSegments, "grid_sync_segments_total", "Segments that splitting gave."},
    {Counter::GridSyncPoints, "grid_sync_points_total", "Grid barriers passed between segments."},
    {Counter::IterationsRun, "iterations_run_total",
     "Iterations that ran, of dispatches and of blocks that can end before their bound."},
    {Counter::IterationsSkipped, "iterations_skipped_total", "Iterations that convergence saved."},
    {Counter::Barriers, "barriers_total", "Barriers recorded between device work."},
    {Counter::Recordings, "recordings_total", "Sequences recorded."},
    {Counter::PipelinesCompiled, "pipelines_compiled_total", "Programs made ready to run."},
    {Counter::PipelinesCached, "pipelines_cached_total", "Programs asked for and found ready."},
}};

// Relaxed: each counter is exact, and they order nothing.
std::array<std::atomic<std::uint64_t>, kCounterCount> totals{};

thread_local int parts = 0;  // PartOfDispatch

bool is_callers(Counter counter) {
  switch (counter) {
    case Counter::InputBytes:
    case Counter::OutputBytes:
    case Counter::SlotsReused:
    case Counter::SlotsMoved:
    case Counter::SlotsAppended:
    case Counter::SlotBytesReused:
    case Counter::SlotBytesMoved:
    case Counter::SlotBytesAppended:
    case Counter::SlotBytesCopied:
    case Counter::IterationsRun:
    case Counter::IterationsSkipped:
      return true;
    case Counter::Launches:
    case Counter::Submissions:
    case Counter::Waits:
    case Counter::UploadBytes:
    case Counter::DownloadBytes:
    case Counter::GridSyncPlans:
    case Counter::GridSyncSplits:
    case Counter::GridSyncSegments:
    case Counter::GridSyncPoints:
    case Counter::Barriers:
    case Counter::Recordings:
    case Counter::PipelinesCompiled:
    case Counter::PipelinesCached:
      return false;
  }
  return false;
}

}  // namespace

const CounterInfo& info(Counter counter) { return kCounters[static_cast<std::size_t>(counter)]; }

Telemetry telemetry_snapshot() {
  Telemetry now;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    now.values[i] = totals[i].load(std::memory_order_relaxed);
  }
  return now;
}

Telemetry difference(const Telemetry& after, const Telemetry& before) {
  Telemetry between;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    between.values[i] = after.values[i] - before.values[i];
  }
  return between;
}

std::string to_prometheus(const Telemetry& telemetry) {
  std::string text;
  for (const CounterInfo& row : kCounters) {
    text += fmt::format("# HELP felsite_{0} {1}\n# TYPE felsite_{0} counter\nfelsite_{0} {2}\n",
                        row.name, row.about, telemetry[row.counter]);
  }
  return text;
}

namespace dispatch {

PartOfDispatch::PartOfDispatch() { ++parts; }
PartOfDispatch::~PartOfDispatch() { --parts; }

void count(Counter counter, std::uint64_t by) {
  if (parts != 0 && is_callers(counter)) return;
  totals[static_cast<std::size_t>(counter)].fetch_add(by, std::memory_order_relaxed);
}

void count_slots(std::span<const Bytes> slots, std::span<const std::uint64_t> sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i >= slots.size()) {
      count(Counter::SlotsAppended);
      count(Counter::SlotBytesAppended, sizes[i]);
      continue;
    }
    const bool is_reused = slots[i].capacity() >= sizes[i];
    count(is_reused ? Counter::SlotsReused : Counter::SlotsMoved);
    count(is_reused ? Counter::SlotBytesReused : Counter::SlotBytesMoved, sizes[i]);
  }
}

}  // namespace dispatch
}  // namespace felsite
