// Peer of the benchmarks: a search in a graph whose nodes have one edge each, so that a level is one
// node. Nothing is to be shared between levels, so it is one loop.
#version 450

layout(local_size_x = 1) in;

layout(std430, binding = 0) restrict readonly buffer Edges { uint next[]; };
layout(std430, binding = 1) restrict buffer Reached { uint reached[]; };
layout(std430, binding = 2) restrict buffer At { uint at; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint here = at;
  // Counted, as no search has more levels than nodes: measured on lavapipe, the same loop without
  // its own end takes five times as long.
  for (uint level = 0; level < n; ++level) {
    uint node = next[here];
    if (node >= n || reached[node] != 0) break;
    reached[node] = 1;
    here = node;
  }
  at = here;
}
