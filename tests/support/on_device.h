// Programs on a Vulkan device against the reference: lowered, validated, run, compared byte by
// byte. One device is opened for a test executable, and one for each narrower mask.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <memory>

#include "felsite/kernel.h"
#include "felsite/reference.h"
#include "support/difference.h"
#include "support/run_kernel.h"
#include "support/run_program.h"
#include "support/spirv_check.h"
#include "vk/device/device.h"

namespace felsite::test {

inline vk::Device& test_device() {
  static const std::unique_ptr<vk::Device> device = [] {
    auto opened = vk::open_device();
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    return *std::move(opened);
  }();
  return *device;
}

// The device with only the features of the mask. Kept open, as opening takes a while.
inline vk::Device& test_device(const codegen::Capabilities& mask) {
  static std::map<std::string, std::unique_ptr<vk::Device>> devices;
  const std::string key = mask.features.to_string() + std::to_string(mask.spirv_version) + "/" +
                          std::to_string(mask.loop_budget) + (mask.folds_float_zeros ? "z" : "");
  auto& device = devices[key];
  if (device == nullptr) {
    auto opened = vk::open_device({.capabilities = mask});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    device = *std::move(opened);
  }
  return *device;
}

inline codegen::Capabilities device_mask() { return test_device().capabilities(); }

inline Result<codegen::Kernel> lower_valid(const ir::Program& program,
                                           const codegen::Capabilities& mask) {
  auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
  if (kernel) {
    const std::string message = validation_message(kernel->words);
    if (!message.empty()) {
      return std::unexpected(Error{.code = ErrorCode::KernelCompileFailed,
                                   .message = "spirv-val: " + message,
                                   .fix = "mend the lowering.",
                                   .context = {}});
    }
  }
  return kernel;
}

inline Result<std::vector<Bytes>> run_on(vk::Device& device, const ir::Program& program,
                                         const std::vector<Bytes>& inputs, Extent3 grid) {
  auto kernel = lower_valid(program, device.capabilities());
  if (!kernel) return std::unexpected(kernel.error());
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  return vk::run_kernel(device, *kernel, program, spans, {.grid = grid}, std::chrono::seconds(60));
}

inline Result<std::vector<Bytes>> run_on_reference(const ir::Program& program,
                                                   const std::vector<Bytes>& inputs, Extent3 grid,
                                                   std::uint32_t subgroup_width) {
  ReferenceOptions options;
  options.subgroup_width = subgroup_width;
  DispatchConfig config;
  config.grid_override = grid;
  return make_reference_backend(options)->dispatch(program, inputs, config);
}

// How the device differs from the reference on this program; empty where it does not. An error of
// the device is a difference, unless the reference gives the same.
inline std::string device_difference(vk::Device& device, const ir::Program& program,
                                     const std::vector<Bytes>& inputs, Extent3 grid) {
  const auto expected =
      run_on_reference(program, inputs, grid, device.capabilities().subgroup_size);
  const auto found = run_on(device, program, inputs, grid);
  if (!expected && !found && expected.error().code == found.error().code) return "";
  if (!expected) return "the reference: " + to_string(expected.error());
  if (!found) return "the device: " + to_string(found.error());
  return difference(program, *expected, *found);
}

inline void check_on_device(std::string_view text, const std::vector<Bytes>& inputs = {},
                            Extent3 grid = {1, 1, 1},
                            const std::optional<codegen::Capabilities>& mask = std::nullopt) {
  INFO(text);
  const ir::Program program = valid_program(text);
  CHECK(device_difference(mask ? test_device(*mask) : test_device(), program, inputs, grid) == "");
}

}  // namespace felsite::test
