// A row about a long fixpoint whose iterations are narrow: a search down a chain, as many levels as
// nodes, and one node in each. An expert loops inside one kernel.
#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "glsl.h"
#include "grid_job.h"
#include "on_device.h"
#include "peers.h"

namespace felsite::bench {
namespace {

// An iteration is a level. {0}: nodes.
constexpr std::string_view kChain = R"(
program chain workgroup(1) {{
  readonly next: u32[{0}];
  readwrite reached: u32[{0}];
  readwrite at: u32[1];
  output changed: u32[1];
  let node = next[at[0]];
  if node < {0} {{
    if reached[node] == 0 {{
      reached[node] = 1;
      at[0] = node;
      changed[0] = 1;
    }}
  }}
}})";

Bytes words(const std::vector<std::uint32_t>& values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
Bytes chain_edges(std::uint32_t nodes) {
  std::vector<std::uint32_t> next(nodes);
  std::iota(next.begin(), next.end(), 1);
  return words(next);
}
// The first node is where the search begins.
Bytes chain_start(std::uint32_t nodes) {
  std::vector<std::uint32_t> reached(nodes);
  reached[0] = 1;
  return words(reached);
}

std::shared_ptr<GridJob> chain_job(const std::shared_ptr<Backend>& backend, std::uint32_t nodes,
                                   GridSync form) {
  std::vector<Bytes> inputs{chain_edges(nodes), chain_start(nodes), words({0})};
  const DispatchConfig config{.grid_override = std::array{1u, 1u, 1u},
                              .fixpoint_iterations = 2 * nodes,
                              .convergence = {Convergence::Kind::Flag, "changed"},
                              .grid_sync = form};
  auto job = std::make_shared<GridJob>(
      backend, parsed_program(fmt::format(fmt::runtime(kChain), nodes)), std::move(inputs), config);
  const DispatchTiming timing = job->run();
  if (timing.iterations_run != nodes || !timing.converged)
    give_up("the chain takes other iterations");
  return job;
}

class RawChain {
 public:
  RawChain(const SharedRawDevice& device, std::uint32_t nodes)
      : kernels_(device, std::array{compile_glsl(peers::chain)},
                 std::array<std::uint64_t, 3>{nodes * 4, nodes * 4, 8}, 1),
        edges_(chain_edges(nodes)),
        reached_(chain_start(nodes)) {
    kernels_.record([&] {
      kernels_.use_kernel(0);
      kernels_.push(0, std::array{nodes});
      kernels_.dispatch(1);
    });
  }
  void run() {
    std::memcpy(kernels_.mapped(0), edges_.data(), edges_.size());
    std::memcpy(kernels_.mapped(1), reached_.data(), reached_.size());
    std::memset(kernels_.mapped(2), 0, 4);
    kernels_.run();
    result_.assign(kernels_.mapped(1), kernels_.mapped(1) + reached_.size());
  }
  const Bytes& reached() const { return result_; }

 private:
  RawKernels kernels_;
  Bytes edges_;
  Bytes reached_;
  Bytes result_;
};

// What the caller's thread does for an iteration, all submissions and looks at words included,
// beside how long the iteration takes. The sides are two figures of one run.
Case host_part_case(const std::shared_ptr<GridJob>& split, std::uint32_t nodes) {
  struct Last {
    double host = 0;
    double whole = 0;
  };
  const auto last = std::make_shared<Last>();
  const auto run = [=] {
    last->host =
        processor_ns([&] { last->whole = time_ns([&] { split->run(); }) / nodes; }) / nodes;
  };
  return {.size = "the host's part, split",
          .felsite =
              [=] {
                run();
                return last->host;
              },
          .peer = "the whole iteration",
          .peer_cost =
              [=] {
                if (last->whole == 0) run();
                return last->whole;
              },
          .compared = "nothing: one run",
          .bound = 0.1,
          .most_rounds = kLeastRounds};
}

std::vector<Case> chain_cases(Extent extent) {
  const std::uint32_t nodes = by_extent(extent, 100u, 10'000u, 10'000u);
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const auto felsite = chain_job(sides->backend, nodes, GridSync::Automatic);
  const auto split = chain_job(sides->backend, nodes, GridSync::Resident);
  const auto raw = std::make_shared<RawChain>(sides->raw, nodes);
  raw->run();
  if (felsite->outputs()[0] != raw->reached() || split->outputs()[0] != raw->reached()) {
    give_up("the chain differs from that of raw Vulkan");
  }
  return {{.size = fmt::format("{} iterations", nodes),
           .felsite = [felsite] { return time_ns([&] { felsite->run(); }); },
           .peer = "raw Vulkan, a loop in the kernel",
           .peer_cost = [raw] { return time_ns([&] { raw->run(); }); },
           .compared = std::string(kSameBytes)},
          host_part_case(split, nodes)};
}

}  // namespace

std::vector<Row> chain_rows() {
  return {{"chain_fixpoint", "Narrow iterations, beside a loop inside one raw kernel", 1.25,
           chain_cases}};
}

}  // namespace felsite::bench
