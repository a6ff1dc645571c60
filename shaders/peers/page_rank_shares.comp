// Peer of the benchmarks: what a page gives to each page that it links to.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 2) restrict readonly buffer Share { vec4 share[]; };
layout(std430, binding = 3) restrict readonly buffer Rank { vec4 rank[]; };
layout(std430, binding = 4) restrict writeonly buffer Given { vec4 given[]; };
layout(push_constant) uniform Parameters { uint n; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  given[i] = rank[i] * share[i];
}
