// Runs a program text on the reference backend: parse, validate, dispatch, compare.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "felsite/reference.h"
#include "support/parse.h"  // IWYU pragma: export

namespace doctest {

template <class T>
struct StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& values) {
    std::string text = "{";
    for (std::size_t i = 0; i < values.size() && i < 40; ++i) {
      text += ' ';
      if constexpr (std::is_enum_v<T>) {
        text += std::to_string(static_cast<unsigned>(values[i]));
      } else {
        text += toString(values[i]).c_str();
      }
    }
    text += values.size() > 40 ? " … }" : " }";
    return text.c_str();
  }
};

}  // namespace doctest

namespace felsite::test {

inline DispatchConfig inferred_grid() { return {}; }

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  REQUIRE(bytes.size() % sizeof(T) == 0);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The bits of one element of a buffer.
inline std::uint64_t element(const Bytes& bytes, std::size_t index, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * size, size);
  return value;
}

using Words = std::vector<std::uint32_t>;
inline Words words_of(const Bytes& bytes) { return values_of<std::uint32_t>(bytes); }
inline Bytes zero_words(std::size_t count) { return Bytes(count * 4); }

// 0, 1, 2, …
inline Words counting(std::uint32_t count, std::uint32_t first = 0) {
  Words words(count);
  for (std::uint32_t i = 0; i < count; ++i) words[i] = first + i;
  return words;
}

inline DispatchConfig on_grid(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) {
  DispatchConfig config;
  config.grid_override = {x, y, z};
  return config;
}

inline std::unique_ptr<ReferenceBackend> reference_with_memory(std::uint64_t limit) {
  ReferenceOptions options;
  options.memory_limit = limit;
  return make_reference_backend(options);
}

// The results of a dispatch that must succeed; on one workgroup if nothing else is said.
inline std::vector<Bytes> run(std::string_view text, const std::vector<Bytes>& inputs = {},
                              const DispatchConfig& config = on_grid(1),
                              const ReferenceOptions& options = {}) {
  const auto backend = make_reference_backend(options);
  auto outputs = backend->dispatch(valid_program(text), inputs, config);
  INFO(text);
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  return *std::move(outputs);
}

// The words of the only result.
inline Words run_words(std::string_view text, const std::vector<Bytes>& inputs = {},
                       const DispatchConfig& config = on_grid(1),
                       const ReferenceOptions& options = {}) {
  const auto outputs = run(text, inputs, config, options);
  REQUIRE(outputs.size() == 1);
  return words_of(outputs[0]);
}

// The error of a dispatch that must fail.
inline Error run_error(std::string_view text, const std::vector<Bytes>& inputs = {},
                       const DispatchConfig& config = on_grid(1),
                       const ReferenceOptions& options = {}) {
  const auto backend = make_reference_backend(options);
  const auto outputs = backend->dispatch(valid_program(text), inputs, config);
  INFO(text);
  REQUIRE(!outputs.has_value());
  CHECK(to_string(outputs.error()).find("Fix: ") != std::string::npos);
  return outputs.error();
}

}  // namespace felsite::test
