// A Vulkan backend on the tests' device, with no caches but its own.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "support/run_program.h"
#include "vk/vulkan_backend.h"

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

inline vk::BackendSettings settings_for(const std::string& mask = {},
                                        vk::EditFunctions edit = nullptr) {
  return {.open = [mask, edit] { return vk::open_device({.mask = mask}, edit); },
          .cache_folder = std::nullopt};
}

inline std::unique_ptr<vk::VulkanBackend> open_backend(vk::BackendSettings settings) {
  return must(vk::VulkanBackend::make(std::move(settings)));
}
inline std::unique_ptr<vk::VulkanBackend> open_backend(const std::string& mask = {}) {
  return open_backend(settings_for(mask));
}

// x[i] += 1, everywhere.
inline ir::Program add_one() {
  return valid_program(
      "program add_one workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " if i < len(x) { x[i] = x[i] + 1; } }");
}

inline bool still_works(Backend& backend) {
  const auto outputs = backend.dispatch(add_one(), {bytes_of(Words{41})});
  return outputs && words_of(outputs->front()) == Words{42};
}

// With FELSITE_VALIDATION the layer must have nothing to say.
inline void check_silent_layers(const Backend& backend) {
  const auto engine = must(dynamic_cast<const vk::VulkanBackend&>(backend).engine());
  const vk::ValidationLog& log = engine->device().instance().validation_log();
  for (const std::string& message : log.messages()) FAIL_CHECK(message);
  CHECK(log.count() == 0);
}

}  // namespace felsite::test
