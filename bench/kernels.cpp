#include "kernels.h"

#include <fmt/format.h>

#include <cstring>

#include "felsite/text.h"
#include "give_up.h"
#include "peers.h"

namespace felsite::bench {

const BenchKernel kSaxpy{"saxpy", "256", R"(
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) {
    y[i] = 2.5 * x[i] + y[i];
  })", peers::saxpy, 1 << 19, {1024, 1}};

// The condition says of both buffers that the index is inside: nothing is left to be checked.
const BenchKernel kStencil{"stencil", "16, 16", R"(
  readonly from: f32[];
  readwrite to: f32[];
  let column = invocation.x;
  let i = invocation.y * 2048 + column;
  if column >= 1 && column < 2047 && i >= 2048 && i + 2048 < len(from) && i < len(to) {
    to[i] = 0.5 * from[i] + 0.125 * (from[i - 1] + from[i + 1] + from[i - 2048] + from[i + 2048]);
  })", peers::stencil, kStencilWidth * 128, {64, 16}};

const BenchKernel kReduce{"reduce", "256", R"(
  readonly x: u32[];
  readwrite sums: u32[];
  workgroup part: u32[256];
  part[local.x] = x[invocation.x];
  barrier;
  loop round in 0..8 {
    let width = 128 >> round;
    if local.x < width {
      part[local.x] = part[local.x] + part[local.x + width];
    }
    barrier;
  }
  if local.x == 0 {
    sums[workgroup_id.x] = part[0];
  })", peers::reduce, 1 << 18, {256, 1}};

const BenchKernel kClosureHop{"closure hop", "256", R"(
  readonly frontier: u32[];
  readwrite next: u32[];
  let w = invocation.x;
  if w < len(next) {
    next[w] = frontier[w] | select(w % 8 != 0, frontier[w - 1], 0);
  })", peers::closure_hop, 1 << 19, {1024, 1}};

const BenchKernel kHash{"hash", "256", R"(
  readonly x: u32[];
  readwrite hashes: u32[];
  let i = invocation.x;
  if i < len(hashes) {
    let word = x[i];
    let a = 0x6a09e667;
    let b = 0xbb67ae85;
    let c = 0x3c6ef372;
    let d = 0xa54ff53a;
    let e = 0x510e527f;
    let f = 0x9b05688c;
    let g = 0x1f83d9ab;
    let h = 0x5be0cd19;
    loop k in 0..64 {
      let from_e = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
      let from_a = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
      let choice = (e & f) ^ (~e & g);
      let majority = (a & b) ^ (a & c) ^ (b & c);
      let mixed = h + from_e + choice + k * 0x9e3779b9 + word;
      word = rotate_right(word, 7) ^ (word >> 3);
      h = g;
      g = f;
      f = e;
      e = d + mixed;
      d = c;
      c = b;
      b = a;
      a = mixed + from_a + majority;
    }
    hashes[i] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
  })", peers::hash, 1 << 17, {256, 1}};

const BenchKernel kSaxpyFma{"saxpy fma", "256", R"(
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) {
    y[i] = fma(2.5, x[i], y[i]);
  })",
                            "", 1 << 19};

const BenchKernel kNormalise{"normalise", "256", R"(
  readonly x: f32[];
  readonly y: f32[];
  readwrite unit: f32[];
  let i = invocation.x;
  if i < len(unit) {
    unit[i] = x[i] / sqrt(x[i] * x[i] + y[i] * y[i]);
  })",
                             "", 1 << 19};

const BenchKernel kPolynomial{"polynomial", "256", R"(
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  if i < len(y) {
    let t = x[i];
    y[i] = (((((((0.25 * t + 0.5) * t + 0.75) * t + 1.25) * t + 1.5) * t + 1.75) * t + 2.25) * t
            + 2.5) * t + 2.75;
  })",
                              "", 1 << 19};

// Nothing says that the indices are inside. They are small, so robust access can stand for a check.
const BenchKernel kSaxpyUnguarded{"saxpy", "256", R"(
  readonly x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  y[i] = 2.5 * x[i] + y[i];)",
                                  "", 1 << 19};

const BenchKernel kStencilUnguarded{"stencil", "256", R"(
  readonly from: f32[];
  readwrite to: f32[];
  let i = invocation.x;
  to[i] = 0.5 * from[i] + 0.125 * (from[i - 1] + from[i + 1] + from[i - 2048] + from[i + 2048]);)",
                                    "", kStencilWidth * 128};

std::array<const BenchKernel*, 5> kernels_with_peers() {
  return {&kSaxpy, &kStencil, &kReduce, &kClosureHop, &kHash};
}

ir::Program parsed_program(std::string_view text) {
  auto program = ir::parse(text);
  if (!program) {
    give_up(fmt::format("A program of the benchmarks does not parse:\n{}", text));
  }
  return *program;
}

ir::Program program_of(const BenchKernel& kernel, ir::FloatMode mode) {
  return parsed_program(fmt::format("program bench workgroup({}){} {{{}\n}}\n", kernel.workgroup,
                                    mode == ir::FloatMode::Fast ? " fast" : "", kernel.body));
}

namespace {

// Spread over [0.5, 1.5), so that no sum of them and no quotient is out of the ordinary.
float sample_float(std::uint32_t i) {
  return 0.5F + static_cast<float>(i * 2654435761U >> 8) * 0x1p-24F;
}

Bytes sample_contents(ir::Type element, std::uint32_t elements) {
  Bytes bytes(std::size_t{elements} * 4);
  for (std::uint32_t i = 0; i < elements; ++i) {
    const std::uint32_t word = i * 2654435761U;
    const float value = sample_float(i);
    const void* const from = element == ir::Type::F32 ? static_cast<const void*>(&value)
                                                      : static_cast<const void*>(&word);
    std::memcpy(&bytes[std::size_t{i} * 4], from, 4);
  }
  return bytes;
}

}  // namespace

Workload workload_of(const ir::Program& program, std::uint32_t elements) {
  const auto& [columns, rows, layers] = program.workgroup_size();
  Workload workload;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (buffer.access == ir::Access::Workgroup) continue;
    workload.inputs.push_back(sample_contents(buffer.element, elements));
  }
  if (rows == 1) {
    workload.grid = {(elements + columns - 1) / columns, 1, layers};
  } else {
    workload.grid = {kStencilWidth / columns, elements / kStencilWidth / rows, layers};
  }
  return workload;
}

std::array<std::uint32_t, 2> peer_grid(const BenchKernel& kernel, std::uint32_t elements) {
  const auto& [columns, rows] = kernel.peer_tile;
  if (rows == 1) return {elements / columns, 1};
  return {kStencilWidth / columns, elements / kStencilWidth / rows};
}

std::string straight_line_text(std::uint32_t statements) {
  std::string text =
      "program straight workgroup(256) {\n  readonly x: u32[];\n  readwrite y: u32[];\n"
      "  let i = invocation.x;\n  if i >= len(y) {\n    return;\n  }\n  let v0 = x[i];\n";
  for (std::uint32_t n = 1; n < statements; ++n) {
    text += fmt::format("  let v{0} = (v{1} * 3 + {0}) ^ (v{1} >> 5);\n", n, n - 1);
  }
  return text + fmt::format("  y[i] = v{};\n}}\n", statements - 1);
}

std::string straight_line_glsl(std::uint32_t statements) {
  std::string text =
      "#version 450\nlayout(local_size_x = 256) in;\n"
      "layout(std430, binding = 0) restrict readonly buffer X { uint x[]; };\n"
      "layout(std430, binding = 1) restrict writeonly buffer Y { uint y[]; };\n"
      "layout(push_constant) uniform Parameters { uint n; };\n"
      "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  if (i >= n) return;\n"
      "  uint v0 = x[i];\n";
  for (std::uint32_t n = 1; n < statements; ++n) {
    text += fmt::format("  uint v{0} = (v{1} * 3 + {0}) ^ (v{1} >> 5);\n", n, n - 1);
  }
  return text + fmt::format("  y[i] = v{};\n}}\n", statements - 1);
}

std::string mixed_text(std::uint32_t nodes) {
  std::string text =
      "program mixed workgroup(256) {\n  readonly x: u32[];\n  readwrite y: u32[];\n"
      "  let v0 = x[invocation.x];\n";
  std::uint32_t n = 1;
  for (; n * 4 < nodes; ++n) {
    text += fmt::format(
        "  let v{0} = (v{1} * 3 + {0}) ^ (v{1} >> 5);\n  y[v{0}] = x[v{1} & 1023] + v{0};\n"
        "  if v{0} > {0} {{\n    y[{0}] = v{1};\n  }}\n",
        n, n - 1);
  }
  return text + "}\n";
}

}  // namespace felsite::bench
