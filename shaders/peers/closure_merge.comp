// Peer of the benchmarks: last of the three: what was reached is known, and a change is told of, in
// a word for each pass.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict buffer Value { uvec4 v[]; };
layout(std430, binding = 3) restrict readonly buffer Next { uvec4 next[]; };
layout(std430, binding = 4) restrict writeonly buffer Changed { uint changed[]; };
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n / 4) return;
  uvec4 before = v[i];
  uvec4 after = before | next[i];
  if (after != before) {
    v[i] = after;
    changed[pass] = 1;
  }
}
