// Peer of the benchmarks: each word of a frontier reaches its right neighbour within groups of 8,
// four words at once; n is a multiple of 8.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) readonly buffer Frontier { uint frontier[]; };
layout(std430, binding = 0) readonly buffer FrontierWide { uvec4 frontier_wide[]; };
layout(std430, binding = 1) restrict writeonly buffer Next { uvec4 next[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  uvec4 here = frontier_wide[i];
  uint left = i % 2 != 0 ? frontier[i * 4 - 1] : 0;
  next[i] = here | uvec4(left, here.xyz);
}
