// Peer of the benchmarks: first of three kernels of a prefix sum: each workgroup sums up 4096
// elements, 16 by each lane.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict buffer X { uvec4 x[]; };
layout(std430, binding = 1) restrict writeonly buffer Sums { uint sums[]; };
layout(push_constant) uniform Parameters { uint n; };

shared uint part[256];

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint first = gl_WorkGroupID.x * 1024 + lane * 4;
  uvec4 own[4];
  uint sum = 0;
  for (uint k = 0; k < 4; ++k) {
    uvec4 four = x[first + k];
    four.x += sum;
    four.y += four.x;
    four.z += four.y;
    four.w += four.z;
    sum = four.w;
    own[k] = four;
  }
  part[lane] = sum;
  barrier();
  for (uint round = 0; round < 8; ++round) {
    uint reach = 1 << round;
    uint left = lane >= reach ? part[lane - reach] : 0;
    barrier();
    part[lane] += left;
    barrier();
  }
  uint before = lane == 0 ? 0 : part[lane - 1];
  for (uint k = 0; k < 4; ++k) x[first + k] = own[k] + before;
  if (lane == 255) sums[gl_WorkGroupID.x] = part[255];
}
