// Peer of the benchmarks: the closure of 1024 words in one workgroup, all passes in one dispatch and
// all values in registers.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict buffer Value { uvec4 v[]; };
layout(std430, binding = 1) restrict writeonly buffer Expanded { uvec4 e[]; };
layout(std430, binding = 2) restrict writeonly buffer Frontier { uvec4 f[]; };
layout(std430, binding = 3) restrict writeonly buffer Next { uvec4 next[]; };
layout(std430, binding = 4) restrict writeonly buffer Changed { uint passes; };
layout(push_constant) uniform Parameters { uint n; uint bound; };

shared uint last[256];
shared uint changed[2];

void main() {
  uint i = gl_LocalInvocationID.x;
  uvec4 value = v[i];
  uvec4 expanded = uvec4(0);
  uvec4 fresh, reached;
  uint pass = 0;
  if (i < 2) changed[i] = 0;
  bool again = true;
  for (; again && pass < bound; ++pass) {
    fresh = value & ~expanded;
    expanded |= fresh;
    last[i] = fresh.w;
    barrier();
    uint left = i % 2 != 0 ? last[i - 1] : 0;
    reached = fresh | uvec4(left, fresh.xyz);
    uvec4 after = value | reached;
    if (after != value) changed[pass % 2] = 1;
    value = after;
    barrier();
    again = changed[pass % 2] != 0;
    if (i == 0) changed[(pass + 1) % 2] = 0;
  }
  v[i] = value;
  e[i] = expanded;
  f[i] = fresh;
  next[i] = reached;
  if (i == 0) passes = pass;
}
