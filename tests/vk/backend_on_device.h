// A Vulkan backend on the tests' device, with no caches but its own.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/resident_submission.h"
#include "support/results.h"
#include "support/run_program.h"
#include "support/validation_layer.h"
#include "vk/schedule/make_sequence.h"
#include "vk/vulkan_backend.h"

namespace felsite::test {

inline vk::BackendSettings settings_for(const std::string& mask = {},
                                        vk::EditFunctions edit = nullptr) {
  return {.open = [mask, edit] { return vk::open_device({.mask = mask}, edit); },
          .cache_folder = std::nullopt};
}

inline std::unique_ptr<Backend> open_backend(vk::BackendSettings settings) {
  return must(vk::make_backend(std::move(settings)));
}
inline std::unique_ptr<Backend> open_backend(const std::string& mask = {}) {
  return open_backend(settings_for(mask));
}

inline std::shared_ptr<vk::Engine> vulkan_engine(const Backend& backend) {
  return must(vk::engine_of(backend));
}
// With the recordings and the resident buffers.
inline dispatch::SharedDevice device_of(const Backend& backend) {
  return must(dispatch::BackendCore::of(backend).device());
}
inline vk::Sequence sequence_of(const Backend& backend, const ResidentSubmission& submission) {
  const auto resolved = must(dispatch::resolve(*device_of(backend), submission, {}));
  REQUIRE(resolved.stages.size() == 1);
  return must(vk::make_sequence(*vulkan_engine(backend), resolved, 0));
}

// x[i] += 1, everywhere.
inline ir::ValidProgram add_one() {
  return valid_program(
      "program add_one workgroup(4) { readwrite x: u32[]; let i = invocation.x;"
      " if i < len(x) { x[i] = x[i] + 1; } }");
}
// One of as many programs as are wanted.
inline ir::ValidProgram add_number(std::uint32_t number) {
  return valid_program(
      "program add_number workgroup(4) { readwrite x: u32[];"
      " let i = invocation.x; if i < len(x) { x[i] = x[i] + " +
      std::to_string(number) + "; } }");
}
inline ir::ValidProgram copying() {
  return valid_program(
      "program copy workgroup(4) { readonly x: u32[]; readwrite y: u32[]; let i = invocation.x;"
      " if i < len(y) { y[i] = x[i]; } }");
}
// Has a status block.
inline ir::ValidProgram trapping() {
  return valid_program(
      "program trapping workgroup(1) { readwrite x: u32[]; if x[0] == 7 { trap(3, seven); }"
      " x[0] = x[0] + 1; }");
}

inline bool still_works(Backend& backend) {
  const auto outputs = backend.dispatch(add_one(), {bytes_of(Words{41})});
  return outputs && words_of(outputs->front()) == Words{42};
}

}  // namespace felsite::test
