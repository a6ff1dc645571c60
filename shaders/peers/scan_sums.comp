// Peer of the benchmarks: second of the three: prefix sums of the sums of the workgroups, by one
// workgroup that goes along them.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 1) restrict buffer Sums { uint sums[]; };
layout(push_constant) uniform Parameters { uint n; };

shared uint part[256];

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint blocks = n / 4096;
  uint before = 0;
  for (uint first = 0; first < blocks; first += 256) {
    part[lane] = first + lane < blocks ? sums[first + lane] : 0;
    barrier();
    for (uint round = 0; round < 8; ++round) {
      uint reach = 1 << round;
      uint left = lane >= reach ? part[lane - reach] : 0;
      barrier();
      part[lane] += left;
      barrier();
    }
    if (first + lane < blocks) sums[first + lane] = before + part[lane];
    before += part[255];
    barrier();
  }
}
