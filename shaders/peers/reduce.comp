// Peer of the benchmarks: the sums of 256 elements each: four by each of 64 lanes, then a tree in
// shared memory. n is a multiple of 256.
#version 450

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict readonly buffer X { uvec4 x[]; };
layout(std430, binding = 1) restrict writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Parameters { uint n; };

shared uint part[64];

void main() {
  uint place = gl_LocalInvocationID.x;
  uvec4 four = x[gl_GlobalInvocationID.x];
  part[place] = four.x + four.y + four.z + four.w;
  barrier();
  // Counted, and not `width >>= 1` until it is 0: measured on lavapipe, the kernel with that loop
  // takes half as long again.
  for (uint round = 0; round < 6; ++round) {
    uint width = 32 >> round;
    if (place < width) part[place] += part[place + width];
    barrier();
  }
  if (place == 0) sums[gl_WorkGroupID.x] = part[0];
}
