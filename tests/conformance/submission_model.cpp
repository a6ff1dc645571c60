#include "conformance/submission_model.h"

#include <algorithm>
#include <cstring>

namespace felsite::test {
namespace {

std::uint32_t count_of(const Bytes& bytes) { return static_cast<std::uint32_t>(bytes.size() / 4); }

// Past the end reads as zero and is not written, as in every program.
std::uint32_t load(const Bytes& bytes, std::uint32_t index) {
  std::uint32_t word = 0;
  if (index < count_of(bytes)) std::memcpy(&word, bytes.data() + std::size_t{index} * 4, 4);
  return word;
}

void store(Bytes& bytes, std::uint32_t index, std::uint32_t word) {
  if (index < count_of(bytes)) std::memcpy(bytes.data() + std::size_t{index} * 4, &word, 4);
}

using Buffers = std::span<Bytes* const>;

}  // namespace

const std::vector<ModelProgram>& model_programs() {
  using Grid = ModelProgram::Grid;
  static const std::vector<ModelProgram> programs{
      {"program set_grid workgroup(1) { readonly x: u32[]; readwrite g: u32[];"
       " g[0] = x[0] % 5; g[1] = 1; g[2] = x[1] % 3; }",
       2, 1, 4, Grid::One,
       [](Buffers b) {
         store(*b[1], 0, load(*b[0], 0) % 5);
         store(*b[1], 1, 1);
         store(*b[1], 2, load(*b[0], 1) % 3);
       }},
      {"program read_grid workgroup(1) { readonly g: u32[]; readwrite n: u32[];"
       " indirect_dispatch(g[0]); atomic_add(n[workgroup_id.x], 3 + workgroup_id.z); }",
       2, 1, 4, Grid::Indirect,
       [](Buffers b) {
         for (std::uint32_t z = 0; z < load(*b[0], 2); ++z) {
           for (std::uint32_t y = 0; y < load(*b[0], 1); ++y) {
             for (std::uint32_t x = 0; x < load(*b[0], 0); ++x) {
               store(*b[1], x, load(*b[1], x) + 3 + z);
             }
           }
         }
       }},
      {"program sum_over_grid workgroup(2) { readonly g: u32[]; readwrite n: u32[];"
       " indirect_dispatch(g[0]); atomic_add(n[0], 1); gridsync; atomic_add(n[1], n[0]); }",
       2, 1, 4, Grid::Indirect,
       [](Buffers b) {
         const std::uint32_t count = 2 * load(*b[0], 0) * load(*b[0], 1) * load(*b[0], 2);
         store(*b[1], 0, load(*b[1], 0) + count);
         store(*b[1], 1, load(*b[1], 1) + count * load(*b[1], 0));
       }},
      {"program add workgroup(8) { readonly x: u32[]; readwrite y: u32[]; let i = invocation.x;"
       " if i < len(y) { y[i] = y[i] + x[i]; } }",
       2, 1, 4, Grid::Inferred,
       [](Buffers b) {
         for (std::uint32_t i = 0; i < count_of(*b[1]); ++i) {
           store(*b[1], i, load(*b[1], i) + load(*b[0], i));
         }
       }},
      {"program mirror workgroup(16) { readonly x: u32[]; readwrite y: u32[];"
       " let i = invocation.x; if i < len(y) { y[i] = x[len(x) - 1 - i] ^ i; } }",
       2, 1, 4, Grid::Inferred,
       [](Buffers b) {
         for (std::uint32_t i = 0; i < count_of(*b[1]); ++i) {
           store(*b[1], i, load(*b[0], count_of(*b[0]) - 1 - i) ^ i);
         }
       }},
      {"program exchange workgroup(4) { readwrite a: u32[]; readwrite b: u32[];"
       " let i = invocation.x; if i < len(a) { if i < len(b) {"
       " let t = a[i]; a[i] = b[i] + 1; b[i] = t * 3; } } }",
       2, 2, 4, Grid::Inferred,
       [](Buffers b) {
         const std::uint32_t count = std::min(count_of(*b[0]), count_of(*b[1]));
         for (std::uint32_t i = 0; i < count; ++i) {
           const std::uint32_t t = load(*b[0], i);
           store(*b[0], i, load(*b[1], i) + 1);
           store(*b[1], i, t * 3);
         }
       }},
      {"program histogram workgroup(8) { readonly x: u32[]; readwrite h: u32[];"
       " let i = invocation.x; if i < len(x) { atomic_add(h[x[i] % max(len(h), 1)], 1); } }",
       2, 1, 4, Grid::OverFirst,
       [](Buffers b) {
         for (std::uint32_t i = 0; i < count_of(*b[0]); ++i) {
           const std::uint32_t place = load(*b[0], i) % std::max(count_of(*b[1]), 1u);
           store(*b[1], place, load(*b[1], place) + 1);
         }
       }},
      {"program mix workgroup(8) { readonly x: u32[]; readonly y: u32[]; readwrite z: u32[];"
       " let i = invocation.x; if i < len(z) { z[i] = z[i] ^ (x[i] + (y[i] << 1)); } }",
       3, 1, 4, Grid::Inferred,
       [](Buffers b) {
         for (std::uint32_t i = 0; i < count_of(*b[2]); ++i) {
           store(*b[2], i, load(*b[2], i) ^ (load(*b[0], i) + (load(*b[1], i) << 1)));
         }
       }},
      {"program bytes workgroup(8) { readonly a: u8[]; readwrite b: u8[]; let i = invocation.x;"
       " if i < len(b) { b[i] = b[i] * 3 + a[i]; } }",
       2, 1, 1, Grid::Inferred,
       [](Buffers b) {
         for (std::size_t i = 0; i < b[1]->size(); ++i) {
           const unsigned more = i < b[0]->size() ? static_cast<unsigned>((*b[0])[i]) : 0;
           (*b[1])[i] = static_cast<std::byte>(static_cast<unsigned>((*b[1])[i]) * 3 + more);
         }
       }},
  };
  return programs;
}

}  // namespace felsite::test
