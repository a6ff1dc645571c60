// Rows about whole jobs: the samples as they are, in the form that Felsite chooses, beside what an
// expert writes in raw Vulkan. Both go from the caller's bytes to the results.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "glsl.h"
#include "graph.h"
#include "grid_job.h"
#include "on_device.h"
#include "peers.h"
#include "sample_texts.h"

namespace felsite::bench {
namespace {

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The raw side of a job: what goes in, how it is run, and where the result is.
struct RawJob {
  std::unique_ptr<RawKernels> kernels;
  std::vector<Bytes> inputs;  // of the first buffers; what is empty stays as it is
  std::size_t result = 0;
  std::function<void(RawKernels&)> run = [](RawKernels& kernels) { kernels.run(); };
  Bytes output{};

  void go() {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(kernels->mapped(i), inputs[i].data(), inputs[i].size());
    }
    run(*kernels);
    std::memcpy(output.data(), kernels->mapped(result), output.size());
  }
};

Case job_case(std::string size, const std::shared_ptr<GridJob>& felsite, std::size_t output,
              const std::shared_ptr<RawJob>& raw, std::string peer, bool floats) {
  felsite->run();
  raw->go();
  const Bytes& of_felsite = felsite->outputs()[output];
  const bool same = floats ? nearly_equal(of_felsite, raw->output) : of_felsite == raw->output;
  if (!same) give_up(fmt::format("{} gives other results than raw Vulkan", size));
  return {.size = std::move(size),
          .felsite = [felsite] { return time_ns([&] { felsite->run(); }); },
          .peer = std::move(peer),
          .peer_cost = [raw] { return time_ns([&] { raw->go(); }); },
          .compared = std::string(floats ? kNearlyEqual : kSameBytes)};
}

std::shared_ptr<RawJob> raw_job(const SharedRawDevice& device,
                                const std::vector<std::vector<std::uint32_t>>& modules,
                                const std::vector<std::uint64_t>& sizes, std::uint32_t parameters,
                                std::size_t result) {
  auto job = std::make_shared<RawJob>();
  job->kernels = std::make_unique<RawKernels>(device, modules, sizes, parameters);
  job->result = result;
  job->output.resize(sizes[result]);
  return job;
}

// The same kernel the other way round.
std::string with_buffers_swapped(std::string_view source) {
  std::string text(source);
  for (std::size_t at = 0; (at = text.find("binding = ", at)) != std::string::npos; at += 11) {
    char& binding = text[at + 10];
    binding = binding == '0' ? '1' : '0';
  }
  return text;
}

std::vector<Case> heat_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::uint32_t side = by_extent(extent, 64u, 512u, 1024u);
  const std::uint32_t steps = by_extent(extent, 4u, 50u, 100u);
  std::vector<float> heat(std::size_t{side} * side);
  for (std::size_t i = 0; i < heat.size(); ++i) {
    heat[i] = static_cast<float>(static_cast<std::uint32_t>(i) * 2654435761U >> 8) * 0x1p-24F;
  }
  const DispatchConfig config{.grid_override = std::array{side / 8, side / 8, 1u},
                              .fixpoint_iterations = steps,
                              .convergence = {.kind = Convergence::Kind::None}};
  const auto felsite = std::make_shared<GridJob>(
      sides->backend, parsed_program(samples::grid_heat),
      std::vector<Bytes>{bytes_of(std::vector{side}), bytes_of(heat)}, config);
  const std::uint64_t bytes = heat.size() * 4;
  const auto raw = raw_job(
      sides->raw, {compile_glsl(peers::heat), compile_glsl(with_buffers_swapped(peers::heat))},
      {bytes, bytes}, 2, steps % 2);
  raw->inputs = {bytes_of(heat)};
  raw->kernels->record([&] {
    raw->kernels->push(0, std::array{side, side});
    for (std::uint32_t step = 0; step < steps; ++step) {
      if (step != 0) raw->kernels->barrier();
      raw->kernels->use_kernel(step % 2);
      raw->kernels->dispatch((side / 4 + 15) / 16, (side + 15) / 16);
    }
  });
  return {job_case(fmt::format("heat, {0} × {0}, {1} steps", side, steps), felsite, 0, raw,
                   "raw Vulkan, two buffers in turn", true)};
}

std::vector<Case> scan_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::uint32_t count = by_extent(extent, 1u << 14, 1u << 18, 1u << 20);
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = i * 2654435761U >> 20;
  const ir::Program program = parsed_program(samples::prefix_scan);
  const std::uint32_t in_workgroup = program.workgroup_size()[0];
  const DispatchConfig config{.grid_override =
                                  std::array{(count + in_workgroup - 1) / in_workgroup, 1u, 1u}};
  const auto felsite = std::make_shared<GridJob>(sides->backend, program,
                                                 std::vector<Bytes>{bytes_of(values)}, config);
  const std::uint32_t blocks = count / 4096;
  const auto raw = raw_job(sides->raw,
                           {compile_glsl(peers::scan_blocks), compile_glsl(peers::scan_sums),
                            compile_glsl(peers::scan_add)},
                           {std::uint64_t{count} * 4, std::uint64_t{blocks} * 4}, 1, 0);
  raw->inputs = {bytes_of(values)};
  raw->kernels->record([&] {
    raw->kernels->push(0, std::array{count});
    const std::array groups{blocks, 1u, blocks - 1};
    for (std::size_t kernel = 0; kernel < groups.size(); ++kernel) {
      if (kernel != 0) raw->kernels->barrier();
      raw->kernels->use_kernel(kernel);
      raw->kernels->dispatch(groups[kernel]);
    }
  });
  return {job_case(fmt::format("prefix sums, {} Ki", count >> 10), felsite, 0, raw,
                   "raw Vulkan, three kernels", false)};
}

std::uint32_t scale_for(Extent extent) { return by_extent(extent, 8u, 14u, 17u); }

std::vector<Case> rank_cases(Extent extent) {
  constexpr std::uint32_t kRounds = 20;
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const Graph graph = recursive_graph(scale_for(extent), 8);
  const auto nodes = static_cast<std::uint32_t>(graph.leaving.size());
  std::vector<float> share(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    share[i] = graph.leaving[i] == 0 ? 0.0F : 1.0F / static_cast<float>(graph.leaving[i]);
  }
  const Bytes first = bytes_of(graph.first);
  const Bytes source = bytes_of(graph.source);
  const Bytes ranks = bytes_of(std::vector(nodes, 1.0F));
  const DispatchConfig config{.grid_override = std::array{(nodes + 63) / 64, 1u, 1u},
                              .fixpoint_iterations = kRounds,
                              .convergence = {.kind = Convergence::Kind::None}};
  const auto felsite = std::make_shared<GridJob>(
      sides->backend, parsed_program(samples::grid_page_rank),
      std::vector<Bytes>{first, source, bytes_of(share),
                         bytes_of(std::vector{0.15F, 0.85F, 0.0001F}), ranks},
      config);
  const auto raw = raw_job(
      sides->raw, {compile_glsl(peers::page_rank_shares), compile_glsl(peers::page_rank_gather)},
      {first.size(), source.size(), ranks.size(), ranks.size(), ranks.size()}, 1, 3);
  raw->inputs = {first, source, bytes_of(share), ranks};
  raw->kernels->record([&] {
    raw->kernels->push(0, std::array{nodes});
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      if (round != 0) raw->kernels->barrier();
      raw->kernels->use_kernel(0);
      raw->kernels->dispatch((nodes / 4 + 255) / 256);
      raw->kernels->barrier();
      raw->kernels->use_kernel(1);
      raw->kernels->dispatch((nodes + 63) / 64);
    }
  });
  return {job_case(fmt::format("PageRank × {}, {} nodes", kRounds, nodes), felsite, 0, raw,
                   "raw Vulkan, two kernels", true)};
}

std::vector<Case> search_cases(Extent extent) {
  constexpr std::uint32_t kFar = UINT32_MAX;
  constexpr std::uint32_t kChunk = 8;  // levels, after which the host looks
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const Graph graph = recursive_graph(scale_for(extent), 8);
  const auto nodes = static_cast<std::uint32_t>(graph.leaving.size());
  const Bytes first = bytes_of(graph.first);
  const Bytes neighbour = bytes_of(graph.source);
  std::vector<std::uint32_t> distance(nodes, kFar);
  distance[graph.hub] = 0;
  const DispatchConfig config{.grid_override = std::array{(nodes + 63) / 64, 1u, 1u},
                              .fixpoint_iterations = 1000};
  const auto felsite =
      std::make_shared<GridJob>(sides->backend, parsed_program(samples::grid_breadth_first),
                                std::vector<Bytes>{first, neighbour, bytes_of(distance)}, config);
  const auto raw = raw_job(sides->raw, {compile_glsl(peers::breadth_level)},
                           {first.size(), neighbour.size(), nodes * 4, (1 + kChunk) * 4}, 2, 2);
  raw->inputs = {first, neighbour, bytes_of(distance)};
  raw->kernels->record([&] {
    raw->kernels->use_kernel(0);
    for (std::uint32_t level = 0; level < kChunk; ++level) {
      if (level != 0) raw->kernels->barrier();
      raw->kernels->push(0, std::array{nodes, level});
      raw->kernels->dispatch((nodes + 63) / 64);
    }
  });
  raw->run = [](RawKernels& kernels) {
    for (std::uint32_t base = 0;; base += kChunk) {
      std::array<std::uint32_t, 1 + kChunk> levels{base};
      std::memcpy(kernels.mapped(3), levels.data(), sizeof levels);
      kernels.run();
      std::memcpy(levels.data(), kernels.mapped(3), sizeof levels);
      if (levels.back() == 0) return;
    }
  };
  return {job_case(fmt::format("search, {} nodes", nodes), felsite, 0, raw,
                   "raw Vulkan, chunks of 8 levels", false)};
}

}  // namespace

std::vector<Row> job_rows() {
  return {
      {"job_stencil", "The sample grid_heat, beside raw Vulkan", 1.25, heat_cases},
      {"job_scan", "The sample prefix_scan, beside raw Vulkan", 1.25, scan_cases},
      {"job_page_rank", "The sample grid_page_rank, beside raw Vulkan", 1.25, rank_cases},
      {"job_search", "The sample grid_breadth_first, beside raw Vulkan", 1.25, search_cases},
  };
}

}  // namespace felsite::bench
