// Peer of the benchmarks: first of the three kernels of a pass of the closure: what is new is the frontier.
#version 450

layout(local_size_x = 512) in;

layout(std430, binding = 0) restrict readonly buffer Value { uint v[]; };
layout(std430, binding = 1) restrict buffer Expanded { uint e[]; };
layout(std430, binding = 2) restrict writeonly buffer Frontier { uint f[]; };
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint w = gl_GlobalInvocationID.x;
  if (w >= n) return;
  uint value = v[w];
  uint expanded = e[w];
  uint fresh = value & ~expanded;
  f[w] = fresh;
  e[w] = expanded | fresh;
}
