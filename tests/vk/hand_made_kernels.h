// Kernels written in GLSL, with the description that lowering would give them, and the programs
// whose buffers they take. What the bodies of those programs say does not matter here.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "felsite/backend.h"
#include "felsite/kernel.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "support/run_program.h"
#include "support/validation_layer.h"
#include "vk/add_scaled.comp.h"
#include "vk/add_scaled_block.comp.h"
#include "vk/count_trips.comp.h"
#include "vk/device/device.h"
#include "vk/report_status.comp.h"
#include "vk/subgroup_order.comp.h"
#include "vk/subgroup_order_in_rows.comp.h"

namespace felsite::test {

struct HandMade {
  ir::Program program;
  codegen::Kernel kernel;
};

// y += factor * x + workgroups; `unused` is not bound, `kept` neither, but is a result.
inline HandMade add_scaled(bool parameters_in_buffer = false) {
  HandMade made{valid_program(R"(program add_scaled workgroup(4) {
    readonly x: u32[];
    readonly unused: u8[];
    readwrite y: u32[];
    output seen: u32[4];
    readwrite kept: u16[];
    output zeros: u8[3];
    let factor = 0;
    y[0] = x[0] + factor;
  })"),
                {}};
  codegen::Kernel& kernel = made.kernel;
  if (parameters_in_buffer) {
    kernel.words.assign(std::begin(add_scaled_block_words), std::end(add_scaled_block_words));
    kernel.parameter_binding = 5;
  } else {
    kernel.words.assign(std::begin(add_scaled_words), std::end(add_scaled_words));
  }
  kernel.buffers = {{.buffer = 0, .binding = 0, .written = false},
                    {.buffer = 2, .binding = 3, .written = true},
                    {.buffer = 3, .binding = 1, .written = true}};
  kernel.parameters = {{codegen::ParameterKind::Length, 0},
                       {codegen::ParameterKind::Grid, 0},
                       {codegen::ParameterKind::Variable, 0}};
  kernel.workgroup_size = {4, 1, 1};
  return made;
}

inline HandMade report_status() {
  HandMade made{valid_program(R"(program report_status workgroup(1) {
    readonly states: u32[];
    output out: u32[1];
    out[0] = states[0];
  })"),
                {}};
  made.kernel.words.assign(std::begin(report_status_words), std::end(report_status_words));
  made.kernel.buffers = {{.buffer = 0, .binding = 0, .written = false}};
  made.kernel.status_binding = 7;
  made.kernel.trap_tags = {"never", "bad_state"};
  return made;
}

inline HandMade count_trips() {
  HandMade made{valid_program(R"(program count_trips workgroup(1) {
    readonly asked: u32[1];
    readwrite trips: u32[];
    trips[0] = asked[0];
  })"),
                {}};
  made.kernel.words.assign(std::begin(count_trips_words), std::end(count_trips_words));
  made.kernel.buffers = {{.buffer = 0, .binding = 0, .written = false},
                         {.buffer = 1, .binding = 1, .written = true}};
  return made;
}

inline HandMade subgroup_order(bool in_rows) {
  HandMade made{valid_program(R"(program subgroup_order workgroup(45) {
    readwrite places: u32[];
    places[0] = 1;
  })"),
                {}};
  codegen::Kernel& kernel = made.kernel;
  if (in_rows) {
    kernel.words.assign(std::begin(subgroup_order_in_rows_words),
                        std::end(subgroup_order_in_rows_words));
    kernel.workgroup_size = {16, 3, 2};
  } else {
    kernel.words.assign(std::begin(subgroup_order_words), std::end(subgroup_order_words));
    kernel.workgroup_size = {45, 1, 1};
  }
  kernel.buffers = {{.buffer = 0, .binding = 0, .written = true}};
  return made;
}

inline ByteSpan span_of(const std::vector<std::uint32_t>& words) {
  return std::as_bytes(std::span(words));
}

inline std::unique_ptr<vk::Device> open_test_device(const vk::DeviceWish& wish = {}) {
  auto device = vk::open_device(wish);
  if (!device) FAIL(to_string(device.error()));
  return std::move(*device);
}

}  // namespace felsite::test
