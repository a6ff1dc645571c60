// Peer of the benchmarks: second of the three: the frontier reaches its right neighbours, in groups of 8.
#version 450

layout(local_size_x = 512) in;

layout(std430, binding = 2) restrict readonly buffer Frontier { uint f[]; };
layout(std430, binding = 3) restrict writeonly buffer Next { uint next[]; };
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint w = gl_GlobalInvocationID.x;
  if (w >= n) return;
  next[w] = f[w] | (w % 8 != 0 ? f[w - 1] : 0);
}
