// Peer of the benchmarks: each word of a frontier reaches its right neighbour within groups of 8.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict readonly buffer Frontier { uint frontier[]; };
layout(std430, binding = 1) restrict writeonly buffer Next { uint next[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint w = gl_GlobalInvocationID.x;
  if (w >= n) return;
  next[w] = frontier[w] | (w % 8 != 0 ? frontier[w - 1] : 0);
}
