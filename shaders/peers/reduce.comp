// Peer of the benchmarks: the sum of each workgroup's elements, by a tree in shared memory.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict readonly buffer X { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Parameters { uint n; };

shared uint part[256];

void main() {
  uint i = gl_GlobalInvocationID.x;
  uint place = gl_LocalInvocationID.x;
  part[place] = i < n ? x[i] : 0;
  barrier();
  for (uint width = 128; width > 0; width >>= 1) {
    if (place < width) part[place] += part[place + width];
    barrier();
  }
  if (place == 0) sums[gl_WorkGroupID.x] = part[0];
}
