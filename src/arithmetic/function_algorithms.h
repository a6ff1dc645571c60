// The transcendental functions as templates over a value type: fixed sequences of exact operations.
//
// This header is expensive to compile: include it only to instantiate the functions (functions.cpp,
// a code generator), and functions.h elsewhere.
#pragma once

#include "arithmetic/exponential_functions.h"            // IWYU pragma: export
#include "arithmetic/inverse_trigonometric_functions.h"  // IWYU pragma: export
#include "arithmetic/trigonometric_functions.h"          // IWYU pragma: export
#include "arithmetic/value_traits.h"                     // IWYU pragma: export
