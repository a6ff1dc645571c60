// Peer of the benchmarks: one step of diffusion over a grid 2048 cells wide; the rim stays.
#version 450

layout(local_size_x = 16, local_size_y = 16) in;

layout(std430, binding = 0) restrict readonly buffer From { float from[]; };
layout(std430, binding = 1) restrict writeonly buffer To { float to[]; };
layout(push_constant) uniform Parameters { uint n; };

const uint kWidth = 2048;

void main() {
  uint column = gl_GlobalInvocationID.x;
  uint i = gl_GlobalInvocationID.y * kWidth + column;
  if (column < 1 || column >= kWidth - 1 || i < kWidth || i + kWidth >= n) return;
  to[i] = 0.5 * from[i] +
          0.125 * (from[i - 1] + from[i + 1] + from[i - kWidth] + from[i + kWidth]);
}
