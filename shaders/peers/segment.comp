// Peer of the benchmarks: one of many steps, each of which writes its part of a buffer out of the
// part before, backwards, four elements at once.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) buffer Sums { uvec4 sums[]; };
layout(push_constant) uniform Parameters { uint part; uint step; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  uint quarter = part / 4;
  if (i >= quarter) return;
  uvec4 before = step == 0 ? uvec4(i * 4) + uvec4(0, 1, 2, 3)
                           : sums[step * quarter - 1 - i].wzyx;
  sums[step * quarter + i] = before * 3 + (step + 1);
}
