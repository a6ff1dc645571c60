// The transcendental functions as templates over a value type: fixed sequences of exact operations.
//
// Heavy: include it where the functions are instantiated (the reference's functions.cpp, a code
// generator), and functions.h everywhere else.
#pragma once

#include "reference/exponential_functions.h"            // IWYU pragma: export
#include "reference/inverse_trigonometric_functions.h"  // IWYU pragma: export
#include "reference/trigonometric_functions.h"          // IWYU pragma: export
#include "reference/value_traits.h"                     // IWYU pragma: export
