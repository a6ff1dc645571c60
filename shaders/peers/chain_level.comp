// Peer of the benchmarks: one level of a search in a graph whose nodes have one edge each. It takes
// the nodes of the queue that the level before has filled, and fills the next one.
#version 450

layout(local_size_x = 8) in;

layout(std430, binding = 0) restrict readonly buffer Edges { uint next[]; };
layout(std430, binding = 1) restrict buffer Reached { uint reached[]; };
layout(std430, binding = 2) restrict buffer Queues { uint queue[]; };  // two, by turns
layout(std430, binding = 3) restrict buffer Sizes { uint size[]; };    // of the queue of each level
layout(push_constant) uniform Parameters { uint n; uint level; };

void main() {
  uint count = size[level];
  uint from = (level & 1) * n;
  uint to = n - from;
  for (uint at = gl_LocalInvocationIndex; at < count; at += 8) {
    uint node = next[queue[from + at]];
    if (node < n && atomicExchange(reached[node], 1) == 0) {
      queue[to + atomicAdd(size[level + 1], 1)] = node;
    }
  }
}
