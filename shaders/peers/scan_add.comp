// Peer of the benchmarks: last of the three: what stands before a workgroup's elements is added.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict buffer X { uvec4 x[]; };
layout(std430, binding = 1) restrict readonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint block = gl_WorkGroupID.x + 1;
  uint before = sums[block - 1];
  for (uint k = 0; k < 4; ++k) x[block * 1024 + k * 256 + gl_LocalInvocationID.x] += before;
}
