#version 450
// Invocations with a non-zero state report it; the first one wins.
layout(local_size_x = 1) in;

layout(set = 0, binding = 0) readonly buffer States { uint states[]; };
layout(set = 0, binding = 7) buffer Status {
  uint state;
  uint tag;
  uint address;
  uint invocation[3];
} status;

void main() {
  uint state = states[gl_GlobalInvocationID.x];
  if (state != 0 && atomicCompSwap(status.state, 0, state) == 0) {
    status.tag = 1;
    status.address = 100 + gl_GlobalInvocationID.x;
    status.invocation[0] = gl_GlobalInvocationID.x;
    status.invocation[1] = gl_GlobalInvocationID.y;
    status.invocation[2] = gl_GlobalInvocationID.z;
  }
}
