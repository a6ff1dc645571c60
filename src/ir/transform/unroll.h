// Unrolling: several trips of a loop become one, with a copy of the body for each of them.
#pragma once

#include <span>

#include "felsite/validate.h"

namespace felsite::ir {

// `copies`: by NodeId, of the body in one trip. The trips that are left over follow the loop. A
// loop stays as it is if its bounds are not literals, or if it makes fewer trips than copies.
//
// The program grows, and bodies are nested one deeper: the caller keeps within kMaxNodes and
// kMaxNesting. Around a grid barrier each trip begins a segment, whose traps count before those of
// later ones, and a copy does not: there the caller makes sure that all invocations trap together.
ValidProgram unrolled(const ValidProgram& program, std::span<const std::uint32_t> copies);

}  // namespace felsite::ir
