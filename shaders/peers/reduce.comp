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
  // Counted, and not `width >>= 1` until it is 0: measured on lavapipe, the kernel with that loop
  // takes half as long again.
  for (uint round = 0; round < 8; ++round) {
    uint width = 128 >> round;
    if (place < width) part[place] += part[place + width];
    barrier();
  }
  if (place == 0) sums[gl_WorkGroupID.x] = part[0];
}
