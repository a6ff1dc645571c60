// Peer of the benchmarks: the same step over more elements than one dimension has workgroups for.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict buffer V { uint v[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint first = gl_WorkGroupID.x * 2048 + gl_LocalInvocationIndex;
  for (uint k = 0; k < 8; ++k) {
    uint i = first + k * 256;
    if (i < n) v[i] = v[i] * 3 + 1;
  }
}
