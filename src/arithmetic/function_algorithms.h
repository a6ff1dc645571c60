// The transcendental functions as templates over a value type: fixed sequences of exact operations.
//
// Heavy: include it where the functions are instantiated (the reference's functions.cpp, a code
// generator), and functions.h everywhere else.
#pragma once

#include "arithmetic/exponential_functions.h"            // IWYU pragma: export
#include "arithmetic/inverse_trigonometric_functions.h"  // IWYU pragma: export
#include "arithmetic/trigonometric_functions.h"          // IWYU pragma: export
#include "arithmetic/value_traits.h"                     // IWYU pragma: export
