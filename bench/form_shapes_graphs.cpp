// Graphs: searches, components, ranks and closures, on graphs with short ways and on chains.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "form_shapes.h"
#include "sample_texts.h"

namespace felsite::bench {
namespace {

constexpr std::uint32_t kFar = UINT32_MAX;

// Chains of `length` nodes each; every node pulls from the one before it.
Graph chains(std::uint32_t nodes, std::uint32_t length) {
  Graph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    graph.first.push_back(static_cast<std::uint32_t>(graph.source.size()));
    if (i % length != 0) graph.source.push_back(i - 1);
  }
  graph.first.push_back(static_cast<std::uint32_t>(graph.source.size()));
  return graph;
}

FormShape search(std::string name, const Graph& graph, std::uint32_t length) {
  const auto nodes = static_cast<std::uint32_t>(graph.first.size() - 1);
  std::vector<std::uint32_t> distance(nodes, kFar);
  distance[graph.hub] = 0;
  for (std::uint32_t i = 0; length != 0 && i < nodes; i += length) distance[i] = 0;
  return {std::move(name),
          std::string(samples::grid_breadth_first),
          {bytes_of_values(graph.first), bytes_of_values(graph.source), bytes_of_values(distance)},
          along_x(nodes, 64, 2 * nodes)};
}

FormShape rank(const Graph& graph, bool flag) {
  const auto nodes = static_cast<std::uint32_t>(graph.leaving.size());
  std::vector<float> share(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    share[i] = graph.leaving[i] == 0 ? 0.0F : 1.0F / static_cast<float>(graph.leaving[i]);
  }
  FormShape shape{fmt::format("page_rank {}, {}", nodes, flag ? "until it rests" : "20 iterations"),
                  std::string(samples::grid_page_rank),
                  {bytes_of_values(graph.first), bytes_of_values(graph.source),
                   bytes_of_values(share), bytes_of_values(std::vector{0.15F, 0.85F, 0.0001F}),
                   bytes_of_values(std::vector(nodes, 1.0F))},
                  along_x(nodes, 64, flag ? 100 : 20, Convergence::Kind::None)};
  if (flag) shape.config.convergence = {Convergence::Kind::Flag, "changed"};
  return shape;
}

// Edges as pairs: one invocation for each edge or node, whichever are more.
FormShape components(const Graph& graph, std::uint32_t jumps) {
  const auto nodes = static_cast<std::uint32_t>(graph.leaving.size());
  const auto edges = static_cast<std::uint32_t>(graph.source.size());
  std::vector<std::uint32_t> target(edges);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    std::fill(target.begin() + graph.first[i], target.begin() + graph.first[i + 1], i);
  }
  std::vector<std::uint32_t> parent(nodes);
  std::iota(parent.begin(), parent.end(), 0);
  return {fmt::format("components {}, {} jumps", nodes, jumps),
          std::string(samples::grid_connected_components),
          {bytes_of_values(graph.source), bytes_of_values(target),
           bytes_of_values(std::vector{jumps}), bytes_of_values(parent)},
          along_x(std::max(edges, nodes), 64, 100)};
}

FormShape closure(std::uint32_t count, bool flag) {
  std::vector<std::uint32_t> value(count);
  for (std::uint32_t w = 0; w < count; w += 8) value[w] = 1u << (w / 8 % 32);
  const Bytes zeros(std::uint64_t{count} * 4);
  FormShape shape{fmt::format("closure {}, {}", count, flag ? "flag" : "compared"),
                  std::string(samples::closure),
                  {bytes_of_values(value), zeros, zeros, zeros, Bytes(4)},
                  along_x(count, 256, 64)};
  if (flag) shape.config.convergence = {Convergence::Kind::Flag, "changed"};
  return shape;
}

FormShape reach(std::uint32_t edges) {
  std::vector<std::uint32_t> source(edges);
  std::vector<std::uint32_t> target(edges);
  for (std::uint32_t e = 0; e < edges; ++e) {
    source[e] = e * 2654435761U % (edges / 2);
    target[e] = e * 40503U % (edges / 2);
  }
  std::vector<std::uint32_t> start(edges / 2);
  for (std::uint32_t i = 0; i < start.size(); ++i) start[i] = 1u << i % 32;
  return {fmt::format("reachability {} edges", edges),
          std::string(samples::reachability),
          {bytes_of_values(source), bytes_of_values(target), bytes_of_values(start)},
          along_x(edges, 64, 100)};
}

}  // namespace

std::vector<FormShape> graph_shapes() {
  std::vector<FormShape> all;
  for (const std::uint32_t scale : {6u, 10u, 12u, 14u}) {
    const Graph graph = recursive_graph(scale, 8);
    all.push_back(search(fmt::format("search {}", 1u << scale), graph, 0));
    all.push_back(rank(graph, false));
    if (scale == 10) all.push_back(rank(graph, true));
  }
  for (const auto& [nodes, length] : {std::pair{128u, 128u}, std::pair{1024u, 256u},
                                      std::pair{4096u, 64u}, std::pair{8192u, 16u}}) {
    all.push_back(
        search(fmt::format("chains {} of {}", nodes, length), chains(nodes, length), length));
  }
  for (const std::uint32_t scale : {5u, 8u, 10u}) {
    all.push_back(components(recursive_graph(scale, 4), scale == 8 ? 4 : 2));
  }
  for (const std::uint32_t count : {256u, 1024u, 8192u, 65536u}) {
    all.push_back(closure(count, true));
    if (count < 10000) all.push_back(closure(count, false));
  }
  for (const std::uint32_t edges : {128u, 2048u}) all.push_back(reach(edges));
  return all;
}

std::vector<FormShape> form_shapes() {
  std::vector<FormShape> all = array_shapes();
  for (FormShape& shape : graph_shapes()) all.push_back(std::move(shape));
  return all;
}

}  // namespace felsite::bench
