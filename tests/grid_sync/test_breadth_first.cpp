// Breadth-first search: an iteration of a fixpoint for each level, or a trip of a loop.
#include "grid_sync/forms.h"
#include "grid_sync/graphs.h"

using namespace felsite;
using namespace felsite::test;

namespace {

Words only_the_source(std::uint32_t nodes, std::uint32_t source) {
  Words distance(nodes, kFar);
  distance[source] = 0;
  return distance;
}

// A queue of nodes, of which [state[0], state[1]) is the level at hand. It is as long as there are
// nodes, and its order is only defined where a level has one node.
const char* const kFrontier = R"(program frontier workgroup(32) {
  readonly first: u32[];
  readonly neighbour: u32[];
  readwrite distance: u32[];
  readwrite queue: u32[];
  readwrite state: u32[3];
  output found: u32[1];

  let begin = state[0];
  let end = state[1];
  let level = state[2];
  gridsync;
  loop k in 0..(end - begin + 31) / 32 {
    let at = begin + k * 32 + invocation.x;
    if at < end {
      let node = queue[at];
      loop n in first[node]..first[node + 1] {
        let other = neighbour[n];
        if atomic_compare_exchange(distance[other], 0xFFFFFFFF, level + 1) == 0xFFFFFFFF {
          queue[atomic_add(state[1], 1)] = other;
          atomic_or(found[0], 1);
        }
      }
    }
  }
  if invocation.x == 0 {
    state[0] = end;
    state[2] = level + 1;
  }
})";

// As a loop over the levels of one workgroup; the two frontiers are in its memory.
const char* const kFrontierLoop = R"(program frontier_loop workgroup(32) {
  readonly first: u32[];
  readonly neighbour: u32[];
  uniform levels: u32[2];
  readwrite distance: u32[];
  workgroup frontier: u32[128];
  workgroup size: u32[2];

  if local.x == 0 {
    frontier[0] = levels[0];
    size[0] = 1;
  }
  gridsync;
  loop level in 0..levels[1] {
    let now = level & 1;
    let next = 1 - now;
    loop k in 0..2 {
      let at = k * 32 + local.x;
      if at < size[now] {
        let node = frontier[now * 64 + at];
        loop n in first[node]..first[node + 1] {
          let other = neighbour[n];
          if atomic_compare_exchange(distance[other], 0xFFFFFFFF, level + 1) == 0xFFFFFFFF {
            frontier[next * 64 + atomic_add(size[next], 1)] = other;
          }
        }
      }
    }
    gridsync;
    if local.x == 0 {
      size[now] = 0;
    }
    gridsync;
  }
})";

void check_levels(const Graph& graph, std::uint32_t source) {
  const Adjacency adjacency(graph);
  const Words truth = distances_from(graph, source);
  check_all_forms(sample_text("grid_breadth_first"),
                  {bytes_of(adjacency.first), bytes_of(adjacency.neighbour),
                   bytes_of(only_the_source(graph.nodes, source))},
                  fixpoint({}, 10'000), {{bytes_of(truth)}, largest_finite(truth) + 1, true});
}

}  // namespace

TEST_CASE("breadth-first search of a lattice, a level each iteration") {
  check_levels(lattice(40, 25), 0);
  check_levels(lattice(40, 25), 512);
}

TEST_CASE("breadth-first search of a graph with hubs and lonely nodes") {
  check_levels(power_law(3000, 3, 7), 2);
  check_levels(power_law(3000, 1, 8), 2999);
}

TEST_CASE("breadth-first search of one node, and of parts that cannot be reached") {
  check_levels(Graph{1, {}}, 0);
  check_levels(Graph{200, {{0, 1}, {2, 3}}}, 0);
}

TEST_CASE("breadth-first search of a chain, which every level changes by one node") {
  check_levels(chain(300), 0);
  check_levels(chain(300), 150);
}

TEST_CASE("breadth-first search down a chain of 10 000, an iteration each level, ended by a flag") {
  const Graph graph = chain(10'000);
  const Adjacency adjacency(graph);
  Words queue(10'000);
  queue[0] = 0;
  check_all_forms(kFrontier,
                  {bytes_of(adjacency.first), bytes_of(adjacency.neighbour),
                   bytes_of(only_the_source(10'000, 0)), bytes_of(queue), bytes_of(Words{0, 1, 0})},
                  fixpoint(on_grid(1), 20'000, by_flag("found")),
                  {{bytes_of(counting(10'000)), bytes_of(counting(10'000)),
                    bytes_of(Words{10'000, 10'000, 10'000}), bytes_of(Words{0})},
                   10'000,
                   true});
}

TEST_CASE("breadth-first search down a chain of 1 000, ended by comparing bytes") {
  const Adjacency adjacency(chain(1'000));
  // The state counts levels as long as it runs, so it never rests: the bound ends it.
  check_all_forms(
      kFrontier,
      {bytes_of(adjacency.first), bytes_of(adjacency.neighbour),
       bytes_of(only_the_source(1'000, 0)), zero_words(1'000), bytes_of(Words{0, 1, 0})},
      fixpoint(on_grid(1), 1'100),
      {{bytes_of(counting(1'000)), bytes_of(counting(1'000)), bytes_of(Words{1'000, 1'000, 1'100}),
        bytes_of(Words{1})},
       1'100,
       false});
}

TEST_CASE("breadth-first search down a chain of 10 000 as a loop of one workgroup") {
  for (const std::uint32_t source : {0u, 6'000u}) {
    const Graph graph = chain(10'000);
    const Adjacency adjacency(graph);
    const Words truth = distances_from(graph, source);
    check_all_forms(
        kFrontierLoop,
        {bytes_of(adjacency.first), bytes_of(adjacency.neighbour),
         bytes_of(Words{source, largest_finite(truth)}), bytes_of(only_the_source(10'000, source))},
        on_grid(1), {{bytes_of(truth)}, 1, false});
  }
}

TEST_CASE("breadth-first search of a narrow lattice as a loop of one workgroup") {
  const Graph graph = lattice(9, 50);
  const Adjacency adjacency(graph);
  const Words truth = distances_from(graph, 4);
  check_all_forms(kFrontierLoop,
                  {bytes_of(adjacency.first), bytes_of(adjacency.neighbour),
                   bytes_of(Words{4, largest_finite(truth)}), bytes_of(only_the_source(450, 4))},
                  on_grid(1), {{bytes_of(truth)}, 1, false});
}
