// Peer of the benchmarks: the rank of a page out of what it is given.
#version 450

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict readonly buffer First { uint first[]; };
layout(std430, binding = 1) restrict readonly buffer Source { uint source[]; };
layout(std430, binding = 3) restrict writeonly buffer Rank { float rank[]; };
layout(std430, binding = 4) restrict readonly buffer Given { float given[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  uint end = first[i + 1];
  float gained = 0.0;
  for (uint k = first[i]; k < end; ++k) gained += given[source[k]];
  rank[i] = 0.15 + 0.85 * gained;
}
