#include "codegen/kernel/buffer_layout.h"

namespace felsite::codegen {

Layout layout_of(const ir::BufferDecl& buffer, const Capabilities& mask, bool exact, bool roomy) {
  const bool in_workgroup = buffer.access == ir::Access::Workgroup;
  switch (ir::info(buffer.element).bytes) {
    case 8:
      return mask.has(Feature::Int64) ? Layout::Wides : Layout::Pairs;
    case 4:
      return buffer.element == ir::Type::F32 && !exact ? Layout::Floats : Layout::Words;
    case 2:
      if (in_workgroup) return roomy ? Layout::Words : Layout::InWords16;
      return mask.has(Feature::Storage16) ? Layout::Halves : Layout::InWords16;
    default:
      if (in_workgroup) return roomy ? Layout::Words : Layout::InWords8;
      return mask.has(Feature::Storage8) ? Layout::Bytes : Layout::InWords8;
  }
}

}  // namespace felsite::codegen
