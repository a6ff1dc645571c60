// Constant folding with the interpreter's own arithmetic.
#pragma once

#include <optional>
#include <span>

#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::arithmetic {

// The value of one expression row with literal operands; absent if it depends on anything else.
std::optional<ir::Literal> fold(const ir::Program& program, ir::ExprId expr,
                                std::span<const ir::Literal> operands);

}  // namespace felsite::arithmetic
