// How the elements of a buffer lie in SPIR-V memory.
#pragma once

#include <cstdint>

#include "felsite/capabilities.h"
#include "felsite/program.h"

namespace felsite::codegen {

enum class Layout : std::uint8_t {
  Words,     // a 32-bit element, or in workgroup memory a narrow one, in a word each
  Floats,    // f32 as floats: fast mode, where nothing depends on single bits
  Wides,     // 64 bits, natively
  Pairs,     // 64 bits in two words
  Bytes,     // 8 bits, natively
  Halves,    // 16 bits, natively
  InWords8,  // four elements of 8 bits in a word
  InWords16  // two elements of 16 bits in a word
};

struct LayoutInfo {
  std::uint32_t unit_bytes;        // of one SPIR-V array element
  std::uint32_t units;             // SPIR-V array elements for one element of the buffer
  std::uint32_t elements_in_unit;  // the other way round
};

constexpr LayoutInfo info(Layout layout) {
  switch (layout) {
    case Layout::Words:
    case Layout::Floats:
      return {4, 1, 1};
    case Layout::Wides:
      return {8, 1, 1};
    case Layout::Pairs:
      return {4, 2, 1};
    case Layout::Bytes:
      return {1, 1, 1};
    case Layout::Halves:
      return {2, 1, 1};
    case Layout::InWords8:
      return {4, 1, 4};
    case Layout::InWords16:
      return {4, 1, 2};
  }
  return {4, 1, 1};
}

// `roomy`: workgroup memory has room for a word for each narrow element.
Layout layout_of(const ir::BufferDecl& buffer, const Capabilities& mask, bool exact, bool roomy);

// The SPIR-V array elements that `count` elements take.
constexpr std::uint64_t units_for(Layout layout, std::uint64_t count) {
  const LayoutInfo about = info(layout);
  return (count * about.units + about.elements_in_unit - 1) / about.elements_in_unit;
}

}  // namespace felsite::codegen
