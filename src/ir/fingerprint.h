// The structural fingerprint: equal for programs that mean the same row by row, whatever the names
// of their local variables and the positions in their texts.
#pragma once

#include "felsite/program.h"

namespace felsite::ir {

Fingerprint fingerprint_of(std::string_view name, const Extent3& workgroup_size,
                           FloatMode float_mode, const Arena& arena);

struct FingerprintHash {
  std::size_t operator()(const Fingerprint& f) const { return f.low ^ f.high; }
};

}  // namespace felsite::ir
