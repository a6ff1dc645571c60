// Connected components and k-cores: hooks by atomics, loops with bounds from a buffer, a flag.
#include "grid_sync/forms.h"
#include "grid_sync/graphs.h"

using namespace felsite;
using namespace felsite::test;

namespace {

void check_components(const Graph& graph, std::uint32_t jumps) {
  CAPTURE(jumps);
  Words source;
  Words target;
  for (const auto& [a, b] : graph.edges) {
    source.push_back(a);
    target.push_back(b);
  }
  const auto work = std::max<std::size_t>(graph.nodes, graph.edges.size());
  DispatchConfig config = on_grid(static_cast<std::uint32_t>((work + 63) / 64));
  check_all_forms(
      sample_text("grid_connected_components"),
      {bytes_of(source), bytes_of(target), bytes_of(Words{jumps}), bytes_of(counting(graph.nodes))},
      fixpoint(config, 1'000), {{bytes_of(smallest_connected(graph))}, std::nullopt, true});
}

// A node with fewer than `least` neighbours left goes, and each of its neighbours loses one.
const char* const kCore = R"(program core workgroup(32) {
  readonly first: u32[];
  readonly neighbour: u32[];
  uniform least: u32[1];
  readwrite degree: i32[];
  output gone: bool[700];
  output changed: u32[2];

  let i = invocation.x;
  let goes = i < len(degree) && !gone[i] && degree[i] < i32(least[0]);
  gridsync;
  if goes {
    gone[i] = true;
    changed[i & 1] = 7;
    loop k in first[i]..first[i + 1] {
      atomic_sub(degree[neighbour[k]], 1i32);
    }
  }
})";

struct Core {
  std::vector<std::int32_t> degree;
  Words gone;
  std::uint32_t rounds = 0;  // in which nodes went
};

// Round by round, since the number of rounds is asked for as well.
Core core_of(const Graph& graph, std::int32_t least) {
  const std::vector<Words> neighbours = graph.neighbours();
  Core core{std::vector<std::int32_t>(graph.nodes), Words(700, 0)};
  for (std::uint32_t i = 0; i < graph.nodes; ++i) {
    core.degree[i] = static_cast<std::int32_t>(neighbours[i].size());
  }
  for (;;) {
    Words leaving;
    for (std::uint32_t i = 0; i < graph.nodes; ++i) {
      if (core.gone[i] == 0 && core.degree[i] < least) leaving.push_back(i);
    }
    if (leaving.empty()) return core;
    ++core.rounds;
    for (const std::uint32_t node : leaving) {
      core.gone[node] = 1;
      for (const std::uint32_t other : neighbours[node]) --core.degree[other];
    }
  }
}

void check_core(const Graph& graph, std::uint32_t least) {
  CAPTURE(least);
  REQUIRE(graph.nodes <= 700);
  const Adjacency adjacency(graph);
  std::vector<std::int32_t> degree(graph.nodes);
  for (std::uint32_t i = 0; i < graph.nodes; ++i) {
    degree[i] = static_cast<std::int32_t>(adjacency.first[i + 1] - adjacency.first[i]);
  }
  const Core truth = core_of(graph, static_cast<std::int32_t>(least));
  check_all_forms(kCore,
                  {bytes_of(adjacency.first), bytes_of(adjacency.neighbour), bytes_of(Words{least}),
                   bytes_of(degree)},
                  fixpoint({}, 5'000, by_flag("changed")),
                  {{bytes_of(truth.degree), bytes_of(truth.gone), bytes_of(Words{0, 0})},
                   truth.rounds + 1,
                   true});
}

}  // namespace

TEST_CASE("connected components of scattered edges") {
  for (const std::uint32_t jumps : {1u, 2u, 5u}) check_components(scattered(900, 700, 3), jumps);
  check_components(scattered(300, 2'000, 4), 3);
}

TEST_CASE("connected components of a long chain, a lattice and lonely nodes") {
  check_components(chain(1'500), 4);
  check_components(lattice(30, 30), 2);
  check_components(Graph{100, {}}, 2);
  check_components(power_law(1'000, 2, 5), 2);
}

TEST_CASE("connected components of a graph whose nodes are in no order") {
  Graph graph = chain(600);
  for (auto& [a, b] : graph.edges) {
    a = a * 7 % 600;
    b = b * 7 % 600;
  }
  check_components(graph, 3);
}

TEST_CASE("k-cores of a graph with hubs") {
  const Graph graph = power_law(700, 3, 11);
  for (const std::uint32_t least : {0u, 1u, 2u, 3u, 4u, 100u}) check_core(graph, least);
}

TEST_CASE("k-core of a chain: it goes from both ends, two nodes an iteration") {
  check_core(chain(401), 2);
  CHECK(core_of(chain(401), 2).rounds == 201);
}

TEST_CASE("k-core of a ring: nothing goes") {
  Graph ring = chain(64);
  ring.edges.emplace_back(63, 0);
  CHECK(core_of(ring, 2).rounds == 0);
  check_core(ring, 2);
}
