// The structural fingerprint: equal for programs that mean the same thing row by row, whatever
// their local variables are called and wherever their text stood.
#pragma once

#include "felsite/program.h"

namespace felsite::ir {

Fingerprint fingerprint_of(std::string_view name,
                           const std::array<std::uint32_t, 3>& workgroup_size, FloatMode float_mode,
                           const Arena& arena);

struct FingerprintHash {
  std::size_t operator()(const Fingerprint& f) const { return f.low ^ f.high; }
};

}  // namespace felsite::ir
