// The figures of one backend as rows of a table.
#include <fmt/format.h>

#include <array>

#include "felsite/telemetry.h"

namespace felsite {
namespace {

using Figures = MetricSnapshot;

constexpr std::array kMetrics{
    MetricInfo{&Figures::resident_buffers, "resident_buffers", "Resident buffers that exist."},
    MetricInfo{&Figures::resident_bytes, "resident_bytes", "Bytes of resident buffers."},
    MetricInfo{&Figures::device_bytes, "device_bytes", "Bytes taken from the device."},
    MetricInfo{&Figures::in_flight, "in_flight", "Dispatches that were submitted and not done."},
    MetricInfo{&Figures::recordings, "recordings_total", "Sequences recorded.", true},
    MetricInfo{&Figures::recordings_kept, "recordings_kept", "Recordings kept to run again."},
    MetricInfo{&Figures::recording_bytes, "recording_bytes",
               "Bytes of the device that only these recordings use."},
    MetricInfo{&Figures::idle_bytes, "idle_bytes", "Bytes kept for later buffers."},
    MetricInfo{&Figures::allocations, "allocations_total", "Allocations of device memory.", true},
    MetricInfo{&Figures::pipelines_kept, "pipelines_kept", "Programs that are ready to run."},
    MetricInfo{&Figures::pipeline_bytes, "pipeline_bytes",
               "Bytes of these programs, as lowered for the device."},
    MetricInfo{&Figures::pipeline_driver_bytes, "pipeline_driver_bytes",
               "Bytes that the driver keeps to compile pipelines again."},
    MetricInfo{&Figures::pipeline_disk_bytes, "pipeline_disk_bytes",
               "Bytes read from the cache file."},
    MetricInfo{&Figures::pipeline_hits, "pipeline_hits_total",
               "Requests that found their program ready.", true},
    MetricInfo{&Figures::pipeline_misses, "pipeline_misses_total",
               "Requests that compiled their program.", true},
    MetricInfo{&Figures::pipeline_evictions, "pipeline_evictions_total",
               "Ready programs dropped to make room.", true},
    MetricInfo{&Figures::validated_programs, "validated_programs",
               "Programs that are remembered as valid."},
    MetricInfo{&Figures::validated_bytes, "validated_bytes", "Bytes of what remembers them."},
    MetricInfo{&Figures::static_bytes, "static_bytes", "Bytes of static uploads."},
    MetricInfo{&Figures::static_hits, "static_hits_total", "Static uploads that were there.", true},
    MetricInfo{&Figures::static_misses, "static_misses_total", "Static uploads that were not.",
               true},
    MetricInfo{&Figures::recoveries, "recoveries_total", "Devices opened after a loss.", true},
};

// As the value of a label.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\n') {
      made += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

}  // namespace

std::span<const MetricInfo> metrics() { return kMetrics; }

std::string to_prometheus(const MetricSnapshot& figures, std::string_view backend) {
  std::string text;
  for (const MetricInfo& row : kMetrics) {
    text += fmt::format(
        "# HELP felsite_backend_{0} {1}\n# TYPE felsite_backend_{0} {2}\n"
        "felsite_backend_{0}{{backend=\"{3}\"}} {4}\n",
        row.name, row.about, row.only_grows ? "counter" : "gauge", escaped(backend),
        figures.*row.value);
  }
  return text;
}

}  // namespace felsite
