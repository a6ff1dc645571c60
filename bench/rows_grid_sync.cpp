// Rows about programs with grid barriers: what it saves that buffers stay on the device, that cost
// is in proportion to segments, and long fixpoints whose passes are narrow.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "felsite/telemetry.h"
#include "felsite/vulkan.h"
#include "glsl.h"
#include "on_device.h"
#include "peers.h"
#include "raw_passes.h"

namespace felsite::bench {
namespace {

// A program with its configuration, its inputs and the slots of its outputs.
class GridJob {
 public:
  GridJob(std::shared_ptr<Backend> backend, const ir::Program& program, std::vector<Bytes> inputs,
          const DispatchConfig& config)
      : backend_(std::move(backend)),
        compiled_(must(backend_->compile(program, config))),
        inputs_(std::move(inputs)),
        spans_(inputs_.begin(), inputs_.end()) {}
  DispatchTiming run() { return must(compiled_->dispatch_borrowed_into(spans_, outputs_)); }
  const std::vector<Bytes>& outputs() const { return outputs_; }

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<CompiledPipeline> compiled_;
  std::vector<Bytes> inputs_;
  std::vector<ByteSpan> spans_;
  std::vector<Bytes> outputs_;
};

// Segments that each write their own part of one buffer.
ir::Program accumulator(std::uint32_t segments, std::uint32_t part) {
  std::string text = fmt::format(
      "program accumulate workgroup(256) {{\n  output sums: u32[{}];\n  let i = invocation.x;\n",
      segments * part);
  for (std::uint32_t s = 0; s < segments; ++s) {
    if (s != 0) text += "  gridsync;\n";
    text += fmt::format("  if i < {0} {{\n    sums[i + {1}] = i * 3 + {2};\n  }}\n", part, s * part,
                        s + 1);
  }
  return parsed_program(text + "}\n");
}

double moved_by(GridJob& job) {
  const Telemetry before = telemetry_snapshot();
  job.run();
  const Telemetry moved = difference(telemetry_snapshot(), before);
  return static_cast<double>(moved[Counter::UploadBytes] + moved[Counter::DownloadBytes]);
}

std::vector<Case> host_split_cases(bool quick) {
  constexpr std::uint32_t kSegments = 100;
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  const std::uint32_t mebi = quick ? 8 : 64;
  // Nearly: 100 parts of whole workgroups.
  const std::uint32_t groups = (mebi << 18) / kSegments / 256;
  const ir::Program program = accumulator(kSegments, groups * 256);
  DispatchConfig config{.grid_override = std::array{groups, 1u, 1u},
                        .grid_sync = GridSync::Resident};
  const auto resident = std::make_shared<GridJob>(backend, program, std::vector<Bytes>{}, config);
  config.grid_sync = GridSync::HostSplit;
  const auto split = std::make_shared<GridJob>(backend, program, std::vector<Bytes>{}, config);
  const double resident_bytes = moved_by(*resident);
  const double split_bytes = moved_by(*split);
  if (resident->outputs() != split->outputs()) give_up("the forms give different results");
  const std::string size = fmt::format("{} segments, {} MiB", kSegments, mebi);
  return {{.size = size,
           .felsite = [resident] { return time_ns([&] { resident->run(); }); },
           .peer = "segments by the host",
           .peer_cost = [split] { return time_ns([&] { split->run(); }); }},
          // The traffic is the same in each run: the bytes in place of the nanoseconds.
          {.size = "its traffic, bytes",
           .felsite = budget(resident_bytes),
           .peer = "segments by the host",
           .peer_cost = budget(split_bytes),
           .bound = 0.01}};
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

std::vector<Case> scaling_cases(bool) {
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  const auto per_segment = [](const std::shared_ptr<GridJob>& job, std::uint32_t segments) {
    const std::uint32_t times = std::max(1000 / segments, 1u);
    return [=] { return mean_ns(std::min(times, 20u), [&] { job->run(); }) / segments; };
  };
  std::vector<Case> cases;
  for (const auto& [segments, base] : {std::pair{1u, 10u}, {10u, 100u}, {1000u, 100u}}) {
    cases.push_back({.size = fmt::format("{} segment{}", segments, segments == 1 ? "" : "s"),
                     .felsite = per_segment(steps_job(backend, segments), segments),
                     .peer = fmt::format("each of {} segments", base),
                     .peer_cost = per_segment(steps_job(backend, base), base),
                     .rounds = 21,
                     // What a dispatch costs whatever it does falls on few segments there.
                     .bound = segments < base ? std::optional(0.0) : std::nullopt});
  }
  return cases;
}

// A search down a chain: as many levels as nodes, and one node in each.
constexpr std::uint32_t kNodes = 10'000;

// A pass is a level. Nodes have one edge each, so a level is one node.
constexpr std::string_view kChain = R"(
program chain workgroup(1) {
  readonly next: u32[10000];
  readwrite reached: u32[10000];
  readwrite at: u32[1];
  output changed: u32[1];
  let node = next[at[0]];
  if node < 10000 {
    if reached[node] == 0 {
      reached[node] = 1;
      at[0] = node;
      changed[0] = 1;
    }
  }
})";

Bytes words(std::vector<std::uint32_t> values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
Bytes chain_edges() {
  std::vector<std::uint32_t> next(kNodes);
  std::iota(next.begin(), next.end(), 1);
  return words(std::move(next));
}
// The first node is where the search begins.
Bytes chain_start() {
  std::vector<std::uint32_t> reached(kNodes);
  reached[0] = 1;
  return words(std::move(reached));
}

std::shared_ptr<GridJob> chain_job(const std::shared_ptr<Backend>& backend, GridSync form) {
  std::vector<Bytes> inputs{chain_edges(), chain_start(), words({0})};
  const DispatchConfig config{.grid_override = std::array{1u, 1u, 1u},
                              .fixpoint_iterations = 2 * kNodes,
                              .convergence = {Convergence::Kind::Flag, "changed"},
                              .grid_sync = form};
  auto job = std::make_shared<GridJob>(backend, parsed_program(kChain), std::move(inputs), config);
  const DispatchTiming timing = job->run();
  if (timing.passes_run != kNodes || !timing.converged) give_up("the chain takes other passes");
  return job;
}

// A dispatch for each level, all in one command buffer. It knows how many there are, and so has
// nothing to ask.
class RawChain {
 public:
  explicit RawChain(const SharedRawDevice& device)
      : passes_(device, std::array{compile_glsl(peers::chain_level)},
                std::array<std::uint64_t, 3>{kNodes * 4, kNodes * 4, 4}, 1),
        edges_(chain_edges()),
        reached_(chain_start()) {
    passes_.record([&] {
      passes_.use_kernel(0);
      passes_.push(0, std::array{kNodes});
      for (std::uint32_t level = 0; level < kNodes; ++level) {
        if (level != 0) passes_.barrier();
        passes_.dispatch(1);
      }
    });
  }
  void run() {
    std::memcpy(passes_.mapped(0), edges_.data(), edges_.size());
    std::memcpy(passes_.mapped(1), reached_.data(), reached_.size());
    std::memset(passes_.mapped(2), 0, 4);
    passes_.run();
    result_.assign(passes_.mapped(1), passes_.mapped(1) + kNodes * 4);
  }
  const Bytes& reached() const { return result_; }

 private:
  RawPasses passes_;
  Bytes edges_;
  Bytes reached_;
  Bytes result_;
};

double own_processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What the caller's thread does for a pass, all submissions and looks at words included, beside how
// long the pass takes.
Case host_part_case(const std::shared_ptr<GridJob>& split) {
  struct Last {
    double host = 0;
    double whole = 0;
  };
  const auto last = std::make_shared<Last>();
  const auto run = [=] {
    const double before = own_processor_ns();
    last->whole = time_ns([&] { split->run(); }) / kNodes;
    last->host = (own_processor_ns() - before) / kNodes;
  };
  return {.size = "the host's part, split",
          .felsite =
              [=] {
                run();
                return last->host;
              },
          .peer = "the whole pass",
          .peer_cost =
              [=] {
                if (last->whole == 0) run();
                return last->whole;
              },
          .bound = 0.1};
}

std::vector<Case> chain_cases(bool) {
  const auto raw = RawDevice::open();
  if (!raw) return {skipped_case(raw.error())};
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  const auto whole = chain_job(backend, GridSync::OneWorkgroup);
  const auto split = chain_job(backend, GridSync::Resident);
  const auto peer = std::make_shared<RawChain>(*raw);
  peer->run();
  if (whole->outputs()[0] != peer->reached() || split->outputs()[0] != peer->reached()) {
    give_up("the chain differs from that of raw Vulkan");
  }
  return {{.size = "10000 passes, one workgroup",
           .felsite = [whole] { return time_ns([&] { whole->run(); }); },
           .peer = "raw Vulkan, a dispatch each",
           .peer_cost = [peer] { return time_ns([&] { peer->run(); }); }},
          host_part_case(split)};
}

}  // namespace

std::vector<Row> grid_sync_rows() {
  return {
      {"resident_vs_host_split", "Buffers stay on the device, beside segment by segment", 0.1,
       host_split_cases},
      {"segments_scaling", "A segment of many, beside one of few", 1.2, scaling_cases, kNoWorkers},
      {"chain_fixpoint", "Passes in one dispatch, beside a dispatch each in raw Vulkan", 0.02,
       chain_cases},
  };
}

}  // namespace felsite::bench
