// Peer of the benchmarks: a search in a graph whose nodes have one edge each, so that a level is one
// node. Nothing is to be shared between levels, so it is one loop.
#version 450

layout(local_size_x = 1) in;

layout(std430, binding = 0) restrict readonly buffer Edges { uint next[]; };
layout(std430, binding = 1) restrict buffer Reached { uint reached[]; };
layout(std430, binding = 2) restrict buffer At { uint at; uint levels; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint here = at;
  uint level = 0;
  while (true) {
    uint node = next[here];
    if (node >= n || reached[node] != 0) break;
    reached[node] = 1;
    here = node;
    ++level;
  }
  at = here;
  levels = level;
}
