// Constant folding by the interpreter's own arithmetic.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::arithmetic {

// The value of one expression row for literal operands; none if it depends on more than them.
std::optional<ir::Literal> fold(const ir::Program& program, ir::ExprId expr,
                                std::span<const ir::Literal> operands);

// By ExprId: the value of every expression that is made of literals only.
std::vector<std::optional<ir::Literal>> fold_constants(const ir::Program& program);

}  // namespace felsite::arithmetic
