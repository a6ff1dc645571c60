// Peer of the benchmarks: second of the three: the frontier reaches its right neighbours, in groups
// of 8.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 2) readonly buffer Frontier { uint f[]; };
layout(std430, binding = 2) readonly buffer FrontierWide { uvec4 f_wide[]; };
layout(std430, binding = 3) restrict writeonly buffer Next { uvec4 next[]; };
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  uvec4 here = f_wide[i];
  uint left = i % 2 != 0 ? f[i * 4 - 1] : 0;
  next[i] = here | uvec4(left, here.xyz);
}
