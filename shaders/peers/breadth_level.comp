// Peer of the benchmarks: one level of a search: nodes without a distance look for a neighbour that
// the level before has reached.
#version 450

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict readonly buffer First { uint first[]; };
layout(std430, binding = 1) restrict readonly buffer Neighbour { uint neighbour[]; };
layout(std430, binding = 2) buffer Distance { uint distance[]; };
layout(std430, binding = 3) restrict buffer Levels { uint base; uint changed[]; };
layout(push_constant) uniform Parameters { uint n; uint step; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n || distance[i] != 0xffffffff) return;
  uint level = base + step;
  uint end = first[i + 1];
  for (uint k = first[i]; k < end; ++k) {
    // What another writes meanwhile is level + 1, and so is not taken for the level before.
    if (distance[neighbour[k]] == level) {
      distance[i] = level + 1;
      changed[step] = 1;
      return;
    }
  }
}
