// Rows about programs with grid barriers: buffers stay on the device, and cost is in proportion to
// segments.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "felsite/telemetry.h"
#include "glsl.h"
#include "grid_job.h"
#include "on_device.h"
#include "peers.h"

namespace felsite::bench {
namespace {

// Segments that each write their own part of one buffer, out of the part before, backwards: so each
// has to wait for all of the one before.
ir::Program accumulator(std::uint32_t segments, std::uint32_t part) {
  std::string text = fmt::format(
      "program accumulate workgroup(256) {{\n  output sums: u32[{}];\n  let i = invocation.x;\n",
      segments * part);
  for (std::uint32_t s = 0; s < segments; ++s) {
    if (s != 0) text += "  gridsync;\n";
    const std::string before = s == 0 ? "i" : fmt::format("sums[{} - i]", s * part - 1);
    text += fmt::format("  if i < {0} {{\n    sums[i + {1}] = {2} * 3 + {3};\n  }}\n", part,
                        s * part, before, s + 1);
  }
  return parsed_program(text + "}\n");
}

class RawSegments {
 public:
  RawSegments(const SharedRawDevice& device, std::uint32_t segments, std::uint32_t part)
      : result_(std::uint64_t{segments} * part * 4),
        kernels_(device, std::array{compile_glsl(peers::segment)}, std::array{result_.size()}, 2) {
    kernels_.record([&] {
      kernels_.use_kernel(0);
      for (std::uint32_t s = 0; s < segments; ++s) {
        if (s != 0) kernels_.barrier();
        kernels_.push(0, std::array{part, s});
        kernels_.dispatch((part / 4 + 255) / 256);
      }
    });
  }
  void run() {
    kernels_.run();
    std::memcpy(result_.data(), kernels_.mapped(0), result_.size());
  }
  const Bytes& result() const { return result_; }

 private:
  Bytes result_;
  RawKernels kernels_;
};

double moved_by(GridJob& job) {
  const Telemetry before = telemetry_snapshot();
  job.run();
  const Telemetry moved = difference(telemetry_snapshot(), before);
  return static_cast<double>(moved[Counter::UploadBytes] + moved[Counter::DownloadBytes]);
}

std::vector<Case> segments_cases(Extent extent) {
  constexpr std::uint32_t kSegments = 100;
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::uint32_t mebi = by_extent(extent, 1u, 16u, 64u);
  // Nearly: 100 parts of whole workgroups.
  const std::uint32_t groups = (mebi << 18) / kSegments / 256;
  const std::uint32_t part = groups * 256;
  const DispatchConfig config{.grid_override = std::array{groups, 1u, 1u}};
  const auto felsite = std::make_shared<GridJob>(sides->backend, accumulator(kSegments, part),
                                                 std::vector<Bytes>{}, config);
  const auto raw = std::make_shared<RawSegments>(sides->raw, kSegments, part);
  const double moved = moved_by(*felsite);
  raw->run();
  if (felsite->outputs()[0] != raw->result()) give_up("segments give other results than raw");
  return {{.size = fmt::format("{} segments, {} MiB", kSegments, mebi),
           .felsite = [felsite] { return time_ns([&] { felsite->run(); }); },
           .peer = "raw Vulkan, a dispatch each",
           .peer_cost = [raw] { return time_ns([&] { raw->run(); }); },
           .compared = std::string(kSameBytes)},
          {.size = "the bytes it moves",
           .felsite = constant(moved),
           .peer = "the results, once",
           .peer_cost = constant(static_cast<double>(raw->result().size())),
           .compared = "nothing: counters",
           .bound = 1.01,
           .unit = Unit::Bytes}};
}

// Segments that all do the same amount of work, one on what the other has left.
std::shared_ptr<GridJob> steps_job(const std::shared_ptr<Backend>& backend,
                                   std::uint32_t segments) {
  constexpr std::uint32_t kWords = 1024;
  // Some different kernels in turn: neither the same one all the time, nor a thousand to compile.
  constexpr std::uint32_t kKernels = 8;
  std::string text =
      "program steps workgroup(256) {\n  readwrite v: u32[];\n  let i = invocation.x;\n";
  for (std::uint32_t s = 0; s < segments; ++s) {
    if (s != 0) text += "  gridsync;\n";
    text += fmt::format("  if i < len(v) {{\n    v[i] = v[i] * 3 + {};\n  }}\n", s % kKernels);
  }
  text += "}\n";
  const DispatchConfig config{.grid_override = std::array{kWords / 256, 1u, 1u},
                              .grid_sync = GridSync::Resident};
  std::vector<Bytes> inputs{Bytes(kWords * 4)};
  return std::make_shared<GridJob>(backend, parsed_program(text), std::move(inputs), config);
}

std::vector<Case> scaling_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const auto per_segment = [](const std::shared_ptr<GridJob>& job, std::uint32_t segments) {
    const std::uint32_t times = std::clamp(1000 / segments, 1u, 20u);
    return [=] { return mean_ns(times, [&] { job->run(); }) / segments; };
  };
  const std::uint32_t base = by_extent(extent, 10u, 100u, 100u);
  const std::uint32_t many = 10 * base;
  return {{.size = fmt::format("{} segments", many),
           .felsite = per_segment(steps_job(sides->backend, many), many),
           .peer = fmt::format("each of {} segments", base),
           .peer_cost = per_segment(steps_job(sides->backend, base), base),
           .compared = "nothing: two programs"}};
}

}  // namespace

std::vector<Row> grid_sync_rows() {
  return {
      {"segments_vs_raw", "Segments on buffers that stay on the device, beside raw Vulkan", 1.10,
       segments_cases},
      {"segments_scaling", "A segment of many, beside one of few", 1.2, scaling_cases, kNoWorkers},
  };
}

}  // namespace felsite::bench
