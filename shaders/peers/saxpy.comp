// Peer of the benchmarks: y = 2.5 x + y, four elements at once; n is a multiple of 4.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) restrict buffer Y { vec4 y[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  y[i] = 2.5 * x[i] + y[i];
}
