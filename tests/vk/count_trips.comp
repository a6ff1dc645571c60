#version 450
// Loops as often as asked, in a way that no compiler sees through, and counts.
layout(local_size_x = 1) in;

layout(set = 0, binding = 0) readonly buffer Asked { uint asked[1]; };
layout(set = 0, binding = 1) buffer Trips { uint trips[]; };

void main() {
  uint state = 1;
  uint count = 0;
  for (uint i = 0; i < asked[0]; ++i) {
    state = state * 1664525u + 1013904223u;
    count += state == 0 && i == 0 ? 2 : 1;
  }
  trips[gl_GlobalInvocationID.x] = count;
}
