// Peer of the benchmarks: one step of diffusion over a grid 2048 cells wide; the rim stays. Four
// cells at once, of which the neighbours above and below are whole vectors too.
#version 450

layout(local_size_x = 16, local_size_y = 16) in;

layout(std430, binding = 0) readonly buffer From { float from[]; };
layout(std430, binding = 0) readonly buffer FromWide { vec4 from_wide[]; };
layout(std430, binding = 1) writeonly buffer To { float to[]; };
layout(std430, binding = 1) writeonly buffer ToWide { vec4 to_wide[]; };
layout(push_constant) uniform Parameters { uint n; };

const uint kWide = 2048 / 4;

void main() {
  uint column = gl_GlobalInvocationID.x;
  uint i = gl_GlobalInvocationID.y * kWide + column;
  if (i < kWide || i + kWide >= n / 4) return;
  vec4 here = from_wide[i];
  vec4 left = vec4(from[i * 4 - 1], here.xyz);
  vec4 right = vec4(here.yzw, from[i * 4 + 4]);
  vec4 next = 0.5 * here + 0.125 * (left + right + from_wide[i - kWide] + from_wide[i + kWide]);
  if (column != 0 && column != kWide - 1) {
    to_wide[i] = next;
    return;
  }
  if (column != 0) to[i * 4] = next.x;
  to[i * 4 + 1] = next.y;
  to[i * 4 + 2] = next.z;
  if (column == 0) to[i * 4 + 3] = next.w;
}
