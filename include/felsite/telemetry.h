// Counters of the whole process, over all backends. Traffic is exact: the counters state precisely
// the bytes that moved between host and device.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "felsite/figures.h"

namespace felsite {

enum class Counter : std::uint8_t {
  Launches,
  Submissions,
  Waits,
  InputBytes,
  OutputBytes,
  UploadBytes,
  DownloadBytes,
  SlotsReused,
  SlotsMoved,
  SlotsAppended,
  SlotBytesReused,
  SlotBytesMoved,
  SlotBytesAppended,
  SlotBytesCopied,
  GridSyncPlans,
  GridSyncSplits,
  GridSyncSegments,
  GridSyncPoints,
  IterationsRun,
  IterationsSkipped,
  Barriers,
  Recordings,
  PipelinesCompiled,
  PipelinesCached,
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::PipelinesCached) + 1;

struct CounterInfo {
  Counter counter;
  std::string_view name;  // as Prometheus takes it, without the prefix `felsite_`
  std::string_view about;
};
const CounterInfo& info(Counter counter);

struct Telemetry {
  std::array<std::uint64_t, kCounterCount> values{};
  std::uint64_t operator[](Counter counter) const {
    return values[static_cast<std::size_t>(counter)];
  }
  bool operator==(const Telemetry&) const = default;
};

Telemetry telemetry_snapshot();
// What happened from `before` to `after`.
Telemetry difference(const Telemetry& after, const Telemetry& before);
// The text form of Prometheus: help, type and value of each counter.
std::string to_prometheus(const Telemetry& telemetry);

// The figures of one backend, as Backend::metric_snapshot gives them.
struct MetricInfo {
  std::uint64_t MetricSnapshot::*value;
  std::string_view name;  // without the prefix `felsite_backend_`
  std::string_view about;
  bool only_grows = false;
};
std::span<const MetricInfo> metrics();
// The same form. `backend` is the label that tells several of them apart.
std::string to_prometheus(const MetricSnapshot& figures, std::string_view backend);

}  // namespace felsite
