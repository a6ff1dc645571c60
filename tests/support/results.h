// What a call gave: its value, or its error, which must then be whole.
#pragma once

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>

#include "felsite/dispatch.h"
#include "felsite/error.h"

namespace felsite::test {

template <class T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.has_value(), to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class T>
Error error_of(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(!result.error().message.empty());
  CHECK(!result.error().fix.empty());
  return result.error();
}

template <class T>
ErrorCode code_of(const Result<T>& result) {
  return error_of(result).code;
}

inline std::vector<ByteSpan> spans_of(const std::vector<Bytes>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace felsite::test
