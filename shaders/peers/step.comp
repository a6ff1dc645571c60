// Peer of the benchmarks: one step of many, each of which changes what the one before has left.
#version 450

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict buffer V { uint v[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  v[i] = v[i] * 3 + 1;
}
