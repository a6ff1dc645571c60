// Peer of the benchmarks: one step of heat in a plate; the rim keeps its own. Four cells at once.
#version 450

layout(local_size_x = 16, local_size_y = 16) in;

layout(std430, binding = 0) readonly buffer From { float from[]; };
layout(std430, binding = 0) readonly buffer FromWide { vec4 from_wide[]; };
layout(std430, binding = 1) writeonly buffer ToWide { vec4 to_wide[]; };
layout(push_constant) uniform Parameters { uint width; uint height; };

void main() {
  uint wide = width / 4;
  uint column = gl_GlobalInvocationID.x;
  uint row = gl_GlobalInvocationID.y;
  if (column >= wide || row >= height) return;
  uint i = row * wide + column;
  vec4 here = from_wide[i];
  if (row == 0 || row == height - 1) {
    to_wide[i] = here;
    return;
  }
  vec4 left = vec4(from[i * 4 - 1], here.xyz);
  vec4 right = vec4(here.yzw, from[i * 4 + 4]);
  vec4 mean = (left + right + from_wide[i - wide] + from_wide[i + wide]) * 0.25;
  if (column == 0) mean.x = here.x;
  if (column == wide - 1) mean.w = here.w;
  to_wide[i] = mean;
}
