// Undirected graphs of real shapes, and what plain host algorithms say about them.
#pragma once

#include <algorithm>
#include <numeric>
#include <queue>
#include <random>
#include <utility>

#include "support/run_program.h"

namespace felsite::test {

inline constexpr std::uint32_t kFar = 0xFFFF'FFFF;

struct Graph {
  std::uint32_t nodes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  std::vector<Words> neighbours() const {
    std::vector<Words> lists(nodes);
    for (const auto& [a, b] : edges) {
      lists[a].push_back(b);
      if (a != b) lists[b].push_back(a);
    }
    return lists;
  }
};

// The neighbours of all nodes in one array, and where those of each node begin.
struct Adjacency {
  Words first{0};
  Words neighbour;

  explicit Adjacency(const Graph& graph) {
    for (const Words& list : graph.neighbours()) {
      neighbour.insert(neighbour.end(), list.begin(), list.end());
      first.push_back(static_cast<std::uint32_t>(neighbour.size()));
    }
  }
};

inline Graph chain(std::uint32_t nodes) {
  Graph graph{nodes, {}};
  for (std::uint32_t i = 1; i < nodes; ++i) graph.edges.emplace_back(i - 1, i);
  return graph;
}

inline Graph lattice(std::uint32_t width, std::uint32_t height) {
  Graph graph{width * height, {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t at = y * width + x;
      if (x + 1 < width) graph.edges.emplace_back(at, at + 1);
      if (y + 1 < height) graph.edges.emplace_back(at, at + width);
    }
  }
  return graph;
}

// Newcomers link to the end of a random earlier link, so that few nodes have most of the links.
// Every sixteenth node stays alone.
inline Graph power_law(std::uint32_t nodes, std::uint32_t links_each, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Graph graph{nodes, {{0, 1}}};
  for (std::uint32_t i = 2; i < nodes; ++i) {
    if (i % 16 == 15) continue;
    for (std::uint32_t k = 0; k < links_each; ++k) {
      const auto& [a, b] = graph.edges[engine() % graph.edges.size()];
      graph.edges.emplace_back(i, engine() % 2 == 0 ? a : b);
    }
  }
  return graph;
}

// So sparse that it falls into many parts of all sizes.
inline Graph scattered(std::uint32_t nodes, std::uint32_t edges, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Graph graph{nodes, {}};
  for (std::uint32_t i = 0; i < edges; ++i) {
    graph.edges.emplace_back(engine() % nodes, engine() % nodes);
  }
  return graph;
}

inline Words distances_from(const Graph& graph, std::uint32_t source) {
  const std::vector<Words> neighbours = graph.neighbours();
  Words distance(graph.nodes, kFar);
  std::queue<std::uint32_t> open;
  distance[source] = 0;
  open.push(source);
  while (!open.empty()) {
    const std::uint32_t node = open.front();
    open.pop();
    for (const std::uint32_t other : neighbours[node]) {
      if (distance[other] != kFar) continue;
      distance[other] = distance[node] + 1;
      open.push(other);
    }
  }
  return distance;
}

inline std::uint32_t largest_finite(const Words& distance) {
  std::uint32_t largest = 0;
  for (const std::uint32_t d : distance) largest = d == kFar ? largest : std::max(largest, d);
  return largest;
}

// For each node the smallest one connected to it: nodes in rising order claim what they reach.
inline Words smallest_connected(const Graph& graph) {
  Words smallest(graph.nodes, kFar);
  const std::vector<Words> neighbours = graph.neighbours();
  for (std::uint32_t root = 0; root < graph.nodes; ++root) {
    if (smallest[root] != kFar) continue;
    Words stack{root};
    smallest[root] = root;
    while (!stack.empty()) {
      const std::uint32_t node = stack.back();
      stack.pop_back();
      for (const std::uint32_t other : neighbours[node]) {
        if (smallest[other] != kFar) continue;
        smallest[other] = root;
        stack.push_back(other);
      }
    }
  }
  return smallest;
}

}  // namespace felsite::test
