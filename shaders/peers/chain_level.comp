// Peer of the benchmarks: one level of a search in a graph whose nodes have one edge each, so that
// a level is one node: from where the level before has come to, to the next node.
#version 450

layout(local_size_x = 1) in;

layout(std430, binding = 0) restrict readonly buffer Edges { uint next[]; };
layout(std430, binding = 1) restrict buffer Reached { uint reached[]; };
layout(std430, binding = 2) restrict buffer At { uint at; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint node = next[at];
  if (node < n && reached[node] == 0) {
    reached[node] = 1;
    at = node;
  }
}
