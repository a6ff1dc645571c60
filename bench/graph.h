// Graphs for the rows about whole jobs, the same in every run.
#pragma once

#include <cstdint>
#include <vector>

namespace felsite::bench {

// The edges into node i come from source[first[i]] to source[first[i + 1] - 1].
struct Graph {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> source;
  std::vector<std::uint32_t> leaving;  // edges out of each node
  std::uint32_t hub = 0;               // the node that most edges leave
};

// Of 2^scale nodes by the recursive matrix method: few nodes with many edges, many with few.
Graph recursive_graph(std::uint32_t scale, std::uint32_t edges_a_node);

}  // namespace felsite::bench
