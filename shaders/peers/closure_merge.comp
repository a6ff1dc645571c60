// Peer of the benchmarks: last of the three: what was reached is known, and a change is told of.
#version 450

layout(local_size_x = 512) in;

layout(std430, binding = 0) restrict buffer Value { uint v[]; };
layout(std430, binding = 3) restrict readonly buffer Next { uint next[]; };
layout(std430, binding = 4) restrict writeonly buffer Changed { uint changed[]; };  // a word for each pass
layout(push_constant) uniform Parameters { uint n; uint pass; };

void main() {
  uint w = gl_GlobalInvocationID.x;
  if (w >= n) return;
  uint before = v[w];
  uint after = before | next[w];
  if (after != before) {
    v[w] = after;
    changed[pass] = 1;
  }
}
