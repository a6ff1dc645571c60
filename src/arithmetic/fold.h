// Constant folding with the interpreter's own arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::arithmetic {

// The value of one expression row with literal operands; absent if it depends on anything else.
std::optional<ir::Literal> fold(const ir::Program& program, ir::ExprId expr,
                                std::span<const ir::Literal> operands);

// By ExprId: the value of every expression that consists of literals only.
std::vector<std::optional<ir::Literal>> fold_constants(const ir::Program& program);

}  // namespace felsite::arithmetic
