#version 450
// Invocations with a non-zero state report: 1 a trap, 2 an exceeded loop budget, 3 a trap on which
// two tags agree, 4 a trap with two addresses. Of several the lowest counts.
layout(local_size_x = 1) in;

layout(set = 0, binding = 0) readonly buffer States { uint states[]; };
layout(set = 0, binding = 7) buffer Status { uint words[]; } status;

const uint kAddress = 3;
const uint kTags = kAddress + 8 * 16;

void tell(uint address, uint key) {
  for (uint digit = 0; digit < 8; ++digit) {
    uint value = (address >> (4 * digit)) & 15;
    atomicMax(status.words[kAddress + 16 * digit + value], key);
  }
}

void main() {
  uint at = gl_GlobalInvocationID.x;
  uint state = states[at];
  uint key = ~at;
  if (state == 0 || status.words[status.words.length() - 1] != 0) return;
  if (atomicMax(status.words[0], key) >= key) return;
  atomicExchange(status.words[status.words.length() - 2], 1);
  atomicExchange(status.words[1], gl_NumWorkGroups.x);
  atomicExchange(status.words[2], 1);
  if (state == 2) return;
  atomicMax(status.words[kTags + 1], key);
  tell(100 + at, key);
  if (state == 3) atomicMax(status.words[kTags], key);
  if (state == 4) tell(200 + at, key);
}
