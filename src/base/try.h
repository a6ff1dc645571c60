// Error propagation: takes the value of a call, or returns its error to the caller immediately.
//
//   FELSITE_TRY(auto plan, make_plan(program));   // plan is the value
//   FELSITE_CHECK(check_grid(plan.grid));         // a Result<void>, or one with an unused value
#pragma once

#include <expected>
#include <utility>

#define FELSITE_JOINED(a, b) a##b
#define FELSITE_NAMED_BY_LINE(name, line) FELSITE_JOINED(name, line)

// The enclosing function returns a std::expected with the same error. The call comes last and may
// contain commas.
#define FELSITE_TRY(declaration, ...) \
  FELSITE_TRY_AS(FELSITE_NAMED_BY_LINE(felsite_result_, __LINE__), declaration, __VA_ARGS__)
#define FELSITE_TRY_AS(result, declaration, ...)                  \
  auto result = __VA_ARGS__;                                      \
  if (!result) return std::unexpected(std::move(result.error())); \
  declaration = *std::move(result)

#define FELSITE_CHECK(...)                                       \
  do {                                                           \
    if (auto felsite_result = __VA_ARGS__; !felsite_result) {    \
      return std::unexpected(std::move(felsite_result.error())); \
    }                                                            \
  } while (false)
