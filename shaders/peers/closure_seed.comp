// Peer of the benchmarks: first of the three kernels of a pass of the closure: what is new is the
// frontier. Four words at once; n is a multiple of 8.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict readonly buffer Value { uvec4 v[]; };
layout(std430, binding = 1) restrict buffer Expanded { uvec4 e[]; };
layout(std430, binding = 2) restrict writeonly buffer Frontier { uvec4 f[]; };
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  uvec4 expanded = e[i];
  uvec4 fresh = v[i] & ~expanded;
  f[i] = fresh;
  e[i] = expanded | fresh;
}
