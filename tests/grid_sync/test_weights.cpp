// Shortest paths between all pairs, and PageRank until the residual is small.
#include <cmath>
#include <queue>

#include "grid_sync/forms.h"
#include "grid_sync/graphs.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// One node after the other, always the nearest that is left: another algorithm than the kernel's.
Words all_distances(const Words& matrix, std::uint32_t n) {
  Words result;
  for (std::uint32_t source = 0; source < n; ++source) {
    Words distance(n, kFar);
    std::vector<bool> done(n);
    distance[source] = 0;
    for (std::uint32_t round = 0; round < n; ++round) {
      std::uint32_t nearest = n;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (!done[i] && (nearest == n || distance[i] < distance[nearest])) nearest = i;
      }
      if (distance[nearest] == kFar) break;
      done[nearest] = true;
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t step = matrix[nearest * n + i];
        if (step != kFar) distance[i] = std::min(distance[i], distance[nearest] + step);
      }
    }
    result.insert(result.end(), distance.begin(), distance.end());
  }
  return result;
}

void check_ways(std::uint32_t n, std::uint32_t one_in, std::uint64_t seed) {
  CAPTURE(n);
  std::mt19937_64 engine(seed);
  Words matrix(std::size_t{n} * n, kFar);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      if (engine() % one_in == 0) matrix[i * n + j] = static_cast<std::uint32_t>(engine() % 1000);
    }
    matrix[i * n + i] = 0;
  }
  check_all_forms(sample_text("grid_floyd_warshall"), {bytes_of(Words{n}), bytes_of(matrix)},
                  on_grid((n + 1) / 2, (n + 1) / 2), {{bytes_of(all_distances(matrix, n))}});
}

struct Ranks {
  std::vector<float> rank;
  std::uint32_t iterations = 0;
  bool converged = false;
};

Ranks ranks_of(const std::vector<Words>& linking, const std::vector<float>& share, float base,
               float damping, float small, std::uint32_t bound) {
  Ranks ranks{std::vector<float>(linking.size(), 1.0f)};
  while (ranks.iterations < bound && !ranks.converged) {
    const std::vector<float> old = ranks.rank;
    ranks.converged = true;
    for (std::size_t i = 0; i < linking.size(); ++i) {
      float gained = 0.0f;
      for (const std::uint32_t other : linking[i]) gained += old[other] * share[other];
      ranks.rank[i] = base + damping * gained;
      if (std::abs(ranks.rank[i] - old[i]) > small) ranks.converged = false;
    }
    ++ranks.iterations;
  }
  return ranks;
}

void check_ranks(const Graph& graph, float small, std::uint32_t bound) {
  CAPTURE(small);
  const std::vector<Words> linking = graph.neighbours();
  const Adjacency adjacency(graph);
  std::vector<float> share(graph.nodes);
  for (std::size_t i = 0; i < share.size(); ++i) {
    share[i] = linking[i].empty() ? 0.0f : 1.0f / static_cast<float>(linking[i].size());
  }
  const Ranks truth = ranks_of(linking, share, 0.15f, 0.85f, small, bound);
  check_all_forms(sample_text("grid_page_rank"),
                  {bytes_of(adjacency.first), bytes_of(adjacency.neighbour), bytes_of(share),
                   bytes_of(std::vector<float>{0.15f, 0.85f, small}),
                   bytes_of(std::vector<float>(graph.nodes, 1.0f))},
                  fixpoint(on_grid((graph.nodes + 63) / 64), bound, by_flag("changed")),
                  {{bytes_of(truth.rank), bytes_of(Words{truth.converged ? 0u : 1u})},
                   truth.iterations,
                   truth.converged});
}

}  // namespace

TEST_CASE("shortest ways between all pairs of nodes") {
  check_ways(1, 2, 1);
  check_ways(7, 2, 2);
  check_ways(24, 5, 3);
  check_ways(32, 20, 4);
}

TEST_CASE("PageRank of a graph with hubs, until the ranks move by less and less") {
  const Graph graph = power_law(500, 2, 21);
  for (const float small : {10.0f, 1e-1f, 1e-3f, 1e-5f}) check_ranks(graph, small, 1'000);
}

TEST_CASE("PageRank that is cut off by the bound, one iteration short, or not at all") {
  const Graph graph = lattice(12, 9);
  for (const std::uint32_t bound : {1u, 5u, 12u, 200u}) check_ranks(graph, 1e-4f, bound);
}
