#include "graph.h"

#include <algorithm>
#include <numeric>

namespace felsite::bench {

Graph recursive_graph(std::uint32_t scale, std::uint32_t edges_a_node) {
  const std::uint32_t nodes = 1u << scale;
  const std::uint32_t edges = nodes * edges_a_node;
  std::uint64_t state = 0x9e3779b97f4a7c15;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::uint32_t>(state >> 32);
  };
  // Each bit of both ends at once: the quarters are as likely as those of the Graph 500.
  constexpr std::uint32_t kPercent = UINT32_MAX / 100;
  std::vector<std::uint32_t> from(edges);
  std::vector<std::uint32_t> to(edges);
  for (std::uint32_t e = 0; e < edges; ++e) {
    for (std::uint32_t bit = 0; bit < scale; ++bit) {
      const std::uint32_t draw = random() / kPercent;
      const std::uint32_t quarter = draw < 57 ? 0 : draw < 76 ? 1 : draw < 95 ? 2 : 3;
      from[e] = from[e] << 1 | (quarter >> 1);
      to[e] = to[e] << 1 | (quarter & 1);
    }
  }
  Graph graph{.first = std::vector<std::uint32_t>(nodes + 1),
              .source = std::vector<std::uint32_t>(edges),
              .leaving = std::vector<std::uint32_t>(nodes)};
  for (std::uint32_t e = 0; e < edges; ++e) {
    ++graph.first[to[e] + 1];
    ++graph.leaving[from[e]];
  }
  std::partial_sum(graph.first.begin(), graph.first.end(), graph.first.begin());
  std::vector<std::uint32_t> next(graph.first.begin(), graph.first.end() - 1);
  for (std::uint32_t e = 0; e < edges; ++e) graph.source[next[to[e]]++] = from[e];
  graph.hub =
      static_cast<std::uint32_t>(std::ranges::max_element(graph.leaving) - graph.leaving.begin());
  return graph;
}

}  // namespace felsite::bench
