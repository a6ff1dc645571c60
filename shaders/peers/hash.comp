// Peer of the benchmarks: 64 rounds in the manner of SHA-256 over one word, written out eight at a
// time, so that no value has to move.
#version 450

layout(local_size_x = 256) in;

layout(std430, binding = 0) restrict readonly buffer X { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Hashes { uint hashes[]; };
layout(push_constant) uniform Parameters { uint n; };

uint rotate_right(uint value, int count) { return value >> count | value << (32 - count); }

#define ROUND(a, b, c, d, e, f, g, h, k)                                                      \
  {                                                                                           \
    uint mixed = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +       \
                 (g ^ (e & (f ^ g))) + (k) * 0x9e3779b9 + word;                               \
    word = rotate_right(word, 7) ^ word >> 3;                                                 \
    d += mixed;                                                                               \
    h = mixed + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +            \
        ((a & b) | (c & (a | b)));                                                            \
  }

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= n) return;
  uint word = x[i];
  uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
  uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
  for (uint k = 0; k < 64; k += 8) {
    ROUND(a, b, c, d, e, f, g, h, k)
    ROUND(h, a, b, c, d, e, f, g, k + 1)
    ROUND(g, h, a, b, c, d, e, f, k + 2)
    ROUND(f, g, h, a, b, c, d, e, k + 3)
    ROUND(e, f, g, h, a, b, c, d, k + 4)
    ROUND(d, e, f, g, h, a, b, c, k + 5)
    ROUND(c, d, e, f, g, h, a, b, k + 6)
    ROUND(b, c, d, e, f, g, h, a, k + 7)
  }
  hashes[i] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}
