// Buffers on the device: accesses past the end, packed elements, workgroup memory, lengths.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/on_device.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

codegen::Capabilities without_robust_access() {
  return device_mask().without(Feature::RobustAccess2);
}

// With the device's own features, and with none.
template <class Check>
void on_both_masks(Check check) {
  codegen::Capabilities bare = device_mask();
  bare.features.reset();
  check(device_mask());
  check(bare);
}

}  // namespace

TEST_CASE("accesses past the end: loads give zero, stores and atomics do nothing") {
  constexpr std::string_view kText = R"(program outside workgroup(4) {
  readonly at: u32[];
  readonly x: u32[];
  readwrite y: u32[];
  output loaded: u32[64];
  output old: u32[64];
  workgroup tile: u32[4];
  let i = invocation.x;
  loaded[i] = x[at[i]] + y[at[i]] + tile[at[i]];
  y[at[i]] = 7;
  tile[at[i]] = 9;
  old[i] = atomic_add(y[at[i] | 2147483648], 5) + atomic_max(tile[at[i] | 4], 3);
}
)";
  // Also where four or eight times the index wraps around.
  const Words at{0,          1,           2,          3,          4,
                 5,          6,           0x3FFFFFFF, 0x40000000, 0x40000001,
                 0x20000000, 0x7FFFFFFF,  0x80000000, 0x80000002, 0xC0000000,
                 0xFFFFFFFE, 0xFFFFFFFFu, 2,          9,          0x10000000};
  for (const std::uint32_t count : {0u, 1u, 3u, 16u}) {
    CAPTURE(count);
    // One invocation writes each element, so that the order does not matter.
    for (std::size_t first = 0; first + 4 <= at.size(); first += 4) {
      const Words four(at.begin() + static_cast<std::ptrdiff_t>(first),
                       at.begin() + static_cast<std::ptrdiff_t>(first + 4));
      const std::vector<Bytes> inputs{bytes_of(four), bytes_of(counting(count, 100)),
                                      bytes_of(counting(count, 200))};
      on_both_masks([&](const auto& mask) { check_on_device(kText, inputs, {1, 1, 1}, mask); });
    }
  }
}

TEST_CASE("small indices past the end, where the device itself may take care of them") {
  constexpr std::string_view kText = R"(program stencil workgroup(8) {
  readonly x: f32[];
  readwrite y: u64[];
  output z: f32[24];
  let i = invocation.x;
  z[i] = x[i - 1] + x[i] + x[i + 1] + f32(y[i + 2]);
  y[i + 3] = u64(i);
  y[i - 1] = u64(i) + 5u64;
}
)";
  for (const std::uint32_t count : {0u, 1u, 7u, 24u}) {
    CAPTURE(count);
    std::vector<float> x(count);
    std::iota(x.begin(), x.end(), 1.0f);
    const std::vector<Bytes> inputs{bytes_of(x),
                                    bytes_of(std::vector<std::uint64_t>(count / 2, 3))};
    // One invocation at a time, as neighbours would race: eight grids of one workgroup do not.
    check_on_device(R"(program stencil workgroup(1) {
  readonly x: f32[];
  readwrite y: u64[];
  output z: f32[24];
  loop i in 0..24 {
    z[i] = x[i - 1] + x[i] + x[i + 1] + f32(y[i + 2]);
    y[i + 3] = u64(i);
    y[i - 1] = u64(i) + 5u64;
  }
}
)",
                    inputs);
    const auto kernel = lower_valid(valid_program(kText), device_mask());
    REQUIRE(kernel.has_value());
    CHECK(kernel->needs_robust_access2 == device_mask().has(Feature::RobustAccess2));
    const auto checked = lower_valid(valid_program(kText), without_robust_access());
    REQUIRE(checked.has_value());
    CHECK(!checked->needs_robust_access2);
  }
}

TEST_CASE("a load past the end gives zero, also behind a store to the same index") {
  for (const std::string_view type : {"u8", "u16", "u32", "u64", "f32", "bool"}) {
    CAPTURE(type);
    const std::string text = fmt::format(R"(program forwarded workgroup(8) {{
  readwrite a: {0}[];
  readwrite seen: {0}[8];
  let i = invocation.x;
  a[i] = {0}(5);
  seen[i] = a[i];
  loop k in 0..2 {{ a[i + k * 8] = {0}(7); seen[i] = a[i + k * 8]; }}
}}
)",
                                         type);
    const std::size_t bytes = type == "u64"                    ? 8
                              : type == "u8" || type == "bool" ? 1
                              : type == "u16"                  ? 2
                                                               : 4;
    for (const std::size_t count : {0u, 3u, 8u, 11u}) {
      CAPTURE(count);
      on_both_masks([&](const auto& mask) {
        check_on_device(text, {Bytes(count * bytes), Bytes(8 * bytes)}, {1, 1, 1}, mask);
      });
    }
  }
}

TEST_CASE("packed elements: stores leave the neighbours alone, also those others write") {
  on_both_masks([](const codegen::Capabilities& mask) {
    for (const char* type : {"u8", "i8", "u16", "i16", "f16", "bf16"}) {
      CAPTURE(type);
      const bool is_float = std::string_view(type).ends_with("f16");
      const std::string value = is_float         ? fmt::format("{}(i)", type)
                                : type[0] == 'i' ? "i32(i) - 50i32"
                                                 : "i * 3";
      // Every invocation its own element, all elements of a word at once; then every third one.
      check_on_device(fmt::format(R"(program packed workgroup(64) {{
  output all: {0}[130];
  output turned: {0}[128];
  readwrite some: {0}[];
  workgroup tile: {0}[67];
  let i = invocation.x;
  all[i] = {1};
  if i % 3 == 0 {{
    some[i] = {1};
  }}
  tile[local.x] = {1};
  barrier;
  turned[i] = tile[63 - local.x];
}}
)",
                                  type, value),
                      {Bytes(ir::info(*ir::type_named(type)).bytes * 61, std::byte{0x5A})},
                      {2, 1, 1}, mask);
    }
  });
}

TEST_CASE("workgroup memory starts as zeros in every workgroup, in every layout") {
  on_both_masks([](const codegen::Capabilities& mask) {
    for (const char* type : {"u8", "f16", "u32", "u64", "bool", "f32"}) {
      CAPTURE(type);
      check_on_device(fmt::format(R"(program zeroed workgroup(4, 2) {{
  output o: {0}[64];
  workgroup tile: {0}[29];
  let lane = local.x + 4 * local.y;
  o[lane + workgroup_id.x * 8] = tile[lane * 3];
  barrier;
  tile[lane * 3] = {0}(1);
}}
)",
                                  type),
                      {}, {8, 1, 1}, mask);
    }
  });
}

TEST_CASE("narrow workgroup memory is packed where a word for each element does not fit") {
  // 24000 bytes packed, 96000 with a word each.
  check_on_device(R"(program large workgroup(32) {
  output o: u32[32];
  workgroup tile: u8[24000];
  loop k in 0..750 {
    tile[k * 32 + local.x] = k + local.x;
  }
  barrier;
  let sum = 0;
  loop k in 0..750 {
    sum = sum + tile[local.x * 750 + k];
  }
  o[local.x] = sum;
}
)");
}

TEST_CASE("lengths, ids and extents") {
  check_on_device(R"(program places workgroup(4, 3, 2) {
  readonly a: u8[];
  readonly b: f32[];
  readonly c: u64[];
  output o: u32[2304];
  let width = num_workgroups.x * workgroup_size.x;
  let height = num_workgroups.y * workgroup_size.y;
  let at = invocation.x + width * (invocation.y + height * invocation.z);
  o[at * 4] = len(a) + 1000 * len(b) + 1000000 * len(c) + len(o);
  o[at * 4 + 1] = workgroup_id.x + 10 * workgroup_id.y + 100 * workgroup_id.z;
  o[at * 4 + 2] = local.x + 10 * local.y + 100 * local.z;
  o[at * 4 + 3] = num_workgroups.x + 10 * num_workgroups.y + 100 * num_workgroups.z;
}
)",
                  {Bytes(5), Bytes(12), Bytes(16)}, {2, 3, 4});
}

TEST_CASE("more lengths than push constants hold go through a buffer") {
  std::string text = "program many workgroup(1) {\n";
  std::vector<Bytes> inputs;
  for (int i = 0; i < 12; ++i) {
    text += fmt::format("  readonly b{}: u8[];\n", i);
    inputs.emplace_back(static_cast<std::size_t>(i + 1));
  }
  text += "  output o: u32[12];\n";
  for (int i = 0; i < 12; ++i) text += fmt::format("  o[{0}] = len(b{0}) + u32(b{0}[0]);\n", i);
  text += "}\n";
  check_on_device(text, inputs);
  codegen::Capabilities mask = device_mask();
  mask.limits.push_constant_bytes = 32;
  const auto kernel = lower_valid(valid_program(text), mask);
  REQUIRE(kernel.has_value());
  CHECK(kernel->parameter_binding.has_value());
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  const auto outputs =
      vk::run_kernel(test_device(), *kernel, valid_program(text), spans, {.grid = {1, 1, 1}});
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  CHECK(words_of((*outputs)[0]) == counting(12, 1));
}

TEST_CASE("a smaller workgroup size, specialized into the finished module") {
  const ir::Program program = valid_program(R"(program resized workgroup(16) {
  output o: u32[64];
  workgroup t: u32[40];
  let i = invocation.x;
  t[local.x] = i;
  barrier;
  o[i] = t[(local.x + 1) % workgroup_size.x] + workgroup_size.x * 1000 + t[39];
}
)");
  auto kernel = lower_valid(program, device_mask());
  REQUIRE(kernel.has_value());
  // The loop budget was planned for this size; the few trips here fit it either way.
  CHECK(kernel->workgroup_size_is_fixed == (device_mask().loop_budget != 0));
  // What vkCreateComputePipelines does with the constant of id 0: its default becomes another.
  constexpr std::uint32_t kSpecConstant = 4u << 16 | 50u;
  const auto constant = std::ranges::find(kernel->words, kSpecConstant);
  REQUIRE(constant != kernel->words.end());
  REQUIRE(constant[3] == 16);
  constant[3] = 8;
  const auto outputs = vk::run_kernel(test_device(), *kernel, program, {}, {.grid = {8, 1, 1}});
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  const auto expected = run_on_reference(program.with_workgroup_size({8, 1, 1}), {}, {8, 1, 1}, 1);
  REQUIRE(expected.has_value());
  CHECK(*outputs == *expected);
}
