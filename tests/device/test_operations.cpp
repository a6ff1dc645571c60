// Every operation on every type it takes, over boundary and random values, against the reference.
// One program for each operation and type: many values, one dispatch.
#include <algorithm>
#include <random>

#include "felsite/literal.h"
#include "ir/op_tables.h"
#include "support/on_device.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;
using ir::Type;

namespace {

constexpr std::uint32_t kWorkgroup = 32;

// 0, 1, MAX, MIN, powers of two and their neighbours; of floats ±0, ±inf, NaNs, subnormals, the
// least normal and greatest numbers; and random bits.
std::vector<std::uint64_t> interesting_bits(Type type, std::mt19937_64& random) {
  const unsigned width = ir::info(type).bytes * 8u;
  const std::uint64_t all = width == 64 ? ~0ull : (1ull << width) - 1;
  std::vector<std::uint64_t> values{0, 1, 2, 3, all, all - 1, all >> 1, (all >> 1) + 1};
  for (unsigned bit = 0; bit < width; ++bit) {
    for (const std::uint64_t around : {(1ull << bit) - 1, 1ull << bit, (1ull << bit) + 1}) {
      values.push_back(around);
      values.push_back(~around);
    }
  }
  if (ir::is_float(type)) {
    const auto add = [&](std::uint64_t bits) {
      values.push_back(bits);
      values.push_back(bits | 1ull << (width - 1));
    };
    static constexpr double kNumbers[] = {0.25,   0.5,     1.0,  1.5,   2.0,     2.5,
                                          3.0,    7.0,     10.0, 100.5, 0x1p-14, 0x1p-24,
                                          0x1p10, 65504.0, 1e-5, 1e5,   1e9};
    for (const double number : kNumbers) {
      const std::uint64_t bits = ir::float_literal(type, number).bits;
      for (const std::uint64_t near : {bits - 1, bits, bits + 1}) add(near);
    }
  }
  while (values.size() < 288 || values.size() % kWorkgroup != 0) {
    std::uint64_t bits = random();
    // Floats of moderate size are where results round, and rare among random bits.
    if (ir::is_float(type) && random() % 2 == 0) {
      const double size = static_cast<double>(bits % 2'000'001) / 1000.0 - 1000.0;
      bits = ir::float_literal(type, size).bits;
    }
    values.push_back(bits);
  }
  for (std::uint64_t& value : values) value &= all;
  return values;
}

Bytes as_bytes(Type type, const std::vector<std::uint64_t>& values) {
  const std::size_t size = ir::info(type).bytes;
  Bytes bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Any word is a bool; 0 and 1 alone would leave half the rule untested.
    std::memcpy(&bytes[i * size], &values[i], size);
  }
  return bytes;
}

bool has_type(const codegen::Capabilities& mask, Type type) {
  return type != Type::F64 || mask.has(Feature::Float64);
}

constexpr std::uint64_t kSeed = 20'240'229;

// a[i] with every b in turns: each pair of boundary values meets within the random ones' count.
void check_expression(const codegen::Capabilities& mask, const std::vector<Type>& operands,
                      Type result, const std::string& expression) {
  std::mt19937_64 random(kSeed);
  std::string text = fmt::format("program operation workgroup({}) {{\n", kWorkgroup);
  std::vector<Bytes> inputs;
  std::size_t count = 0;
  std::vector<std::vector<std::uint64_t>> values;
  for (const Type type : operands) {
    values.push_back(interesting_bits(type, random));
    count = std::max(count, values.back().size());
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t own = values[i].size();
    values[i].resize(count);
    for (std::size_t k = own; k < count; ++k) values[i][k] = values[i][k - own];
    inputs.push_back(as_bytes(operands[i], values[i]));
    text += fmt::format("  readonly {}: {}[];\n", static_cast<char>('a' + i),
                        ir::info(operands[i]).name);
  }
  const std::size_t rounds = operands.size() == 1 ? 1 : 9;
  text += fmt::format("  output r: {}[{}];\n", ir::info(result).name, count * rounds);
  text += "  let i = invocation.x;\n";
  text += fmt::format("  loop k in 0..{} {{\n", rounds);
  text += "    let x = a[i];\n";
  // Strides without a common factor with the count, so that each round makes other pairs.
  if (operands.size() > 1) text += fmt::format("    let y = b[(i + k * 37) % {}];\n", count);
  if (operands.size() > 2) text += fmt::format("    let z = c[(i + k * 101) % {}];\n", count);
  text += fmt::format("    r[k * {} + i] = {};\n  }}\n}}\n", count, expression);
  check_on_device(text, inputs, {static_cast<std::uint32_t>(count / kWorkgroup), 1, 1}, mask);
}

void check_binaries(const codegen::Capabilities& mask) {
  for (const ir::BinaryOpInfo& op : ir::kBinaryOps) {
    for (std::size_t t = 0; t < ir::kTypeCount - 1; ++t) {
      const auto type = static_cast<Type>(t);
      if (!op.rule.operands.has(type) || !has_type(mask, type)) continue;
      CAPTURE(op.name);
      CAPTURE(ir::info(type).name);
      check_expression(mask, {type, type}, ir::result_type(op.rule, type),
                       fmt::format("{}(x, y)", op.name));
    }
  }
}

void check_unaries(const codegen::Capabilities& mask) {
  for (const ir::UnaryOpInfo& op : ir::kUnaryOps) {
    for (std::size_t t = 0; t < ir::kTypeCount - 1; ++t) {
      const auto type = static_cast<Type>(t);
      if (!op.rule.operands.has(type) || !has_type(mask, type)) continue;
      CAPTURE(op.name);
      CAPTURE(ir::info(type).name);
      check_expression(mask, {type}, ir::result_type(op.rule, type), fmt::format("{}(x)", op.name));
    }
  }
}

void check_casts(const codegen::Capabilities& mask) {
  for (std::size_t f = 0; f < ir::kTypeCount - 1; ++f) {
    for (std::size_t t = 0; t < ir::kTypeCount - 1; ++t) {
      const auto from = static_cast<Type>(f);
      const auto to = static_cast<Type>(t);
      if (!has_type(mask, from) || !has_type(mask, to)) continue;
      CAPTURE(ir::info(from).name);
      CAPTURE(ir::info(to).name);
      const std::string_view name = ir::info(to).name;
      // A load widens a narrow integer; truncated, it has the narrow type again.
      const std::string x =
          ir::kNarrowTypes.has(from) ? fmt::format("{}(x)", ir::info(from).name) : std::string("x");
      check_expression(mask, {from}, to, fmt::format("{}({})", name, x));
      const bool same_width = ir::info(from).bytes == ir::info(to).bytes;
      if (same_width && from != Type::Bool && to != Type::Bool) {
        check_expression(mask, {from}, to, fmt::format("bitcast<{}>({})", name, x));
      }
    }
  }
}

void check_others(const codegen::Capabilities& mask) {
  for (std::size_t t = 0; t < ir::kTypeCount - 1; ++t) {
    const auto type = static_cast<Type>(t);
    if (!has_type(mask, type)) continue;
    CAPTURE(ir::info(type).name);
    check_expression(mask, {type}, type, "x");
    const Type loaded = ir::info(type).loaded;
    if (ir::is_float(type)) check_expression(mask, {type, type, type}, type, "fma(x, y, z)");
    if (loaded == type) check_expression(mask, {type, type, Type::Bool}, type, "select(z, x, y)");
  }
}

codegen::Capabilities bare_mask() {
  codegen::Capabilities mask = device_mask();
  mask.features.reset();
  mask.spirv_version = 0x0001'0300;
  return mask;
}

}  // namespace

TEST_CASE("binary operations") { check_binaries(device_mask()); }
TEST_CASE("unary operations") { check_unaries(device_mask()); }
TEST_CASE("casts and bitcasts") { check_casts(device_mask()); }
TEST_CASE("loads, fma and select") { check_others(device_mask()); }

TEST_CASE("binary operations, nothing optional") { check_binaries(bare_mask()); }
TEST_CASE("unary operations, nothing optional") { check_unaries(bare_mask()); }
TEST_CASE("casts and bitcasts, nothing optional") { check_casts(bare_mask()); }
TEST_CASE("loads, fma and select, nothing optional") { check_others(bare_mask()); }

TEST_CASE("f64 on a device without 64-bit integers") {
  FELSITE_SKIP_IF(!device_mask().has(Feature::Float64), "the device lacks f64");
  const codegen::Capabilities mask = device_mask()
                                         .without(Feature::Int64)
                                         .without(Feature::Atomics64)
                                         .without(Feature::SharedAtomics64);
  for (const char* op : {"add", "mul", "div", "min"}) {
    check_expression(mask, {Type::F64, Type::F64}, Type::F64, fmt::format("{}(x, y)", op));
  }
  check_expression(mask, {Type::F64}, Type::F64, "sqrt(x)");
  check_expression(mask, {Type::F64, Type::F64, Type::F64}, Type::F64, "fma(x, y, z)");
  check_expression(mask, {Type::F64}, Type::I64, "i64(x)");
  check_expression(mask, {Type::U64}, Type::F64, "f64(x)");
}

// Drivers narrow such comparisons again, and one did so wrongly.
TEST_CASE("widened integers compare with constants") {
  for (const auto& [narrow, wide] :
       {std::pair{"i32", "i64"}, std::pair{"u32", "u64"}, std::pair{"u32", "i64"}}) {
    for (const char* op : {"<", "<=", ">", ">=", "==", "!="}) {
      for (const char* constant : {"0", "5", "7", "4294967289", "4294967296", "2147483648"}) {
        const Type from = *ir::type_named(narrow);
        check_expression(device_mask(), {from}, Type::Bool,
                         fmt::format("{0}(x) {1} {2}{0}", wide, op, constant));
        if (wide[0] != 'i') continue;
        check_expression(device_mask(), {from}, Type::Bool,
                         fmt::format("{0}(x) {1} -{2}{0}", wide, op, constant));
      }
    }
  }
}

// What is left of a count after its mask was taken for superfluous.
TEST_CASE("shifts and rotations by constants, of any size") {
  for (const char* type : {"u32", "i32", "u64", "i64"}) {
    const unsigned width = ir::info(*ir::type_named(type)).bytes * 8u;
    for (const char* op : {"shl", "shr", "rotate_left", "rotate_right"}) {
      for (const std::uint64_t count : {0ull, 1ull, 31ull, 32ull, 33ull, 63ull, 64ull, 96ull,
                                        0x7FFF'FFE0ull, 0x7FFF'FFFF'FFFF'FFE0ull}) {
        if (width == 32 && count > 0x7FFF'FFFF) continue;
        check_expression(device_mask(), {*ir::type_named(type)}, *ir::type_named(type),
                         fmt::format("{}(x, {}{})", op, count, type));
      }
    }
  }
  // A count that only the driver finds to be constant.
  check_on_device(R"(program calls workgroup(32) {
  readonly x: u64[];
  output r: u64[64];
  op left(a: u64, count: u64) -> u64 {
    yield a << count;
  }
  op around(a: u64, count: u64) -> u64 {
    yield rotate_left(a, count);
  }
  let i = invocation.x;
  r[i] = left(x[i], 9223372036854775776u64);
  r[i + 32] = around(x[i], 9223372036854775776u64);
}
)",
                  {bytes_of(std::vector<std::uint64_t>(32, 0xD142'B6AD'0700'03FFu))});
}

TEST_CASE("a bitcast to a float is canonical at once, and bits that stand for a number are kept") {
  const ir::Program program = valid_program(
      "program p workgroup(10) { readwrite x: u32[10]; let i = local.x; "
      "x[i] = bitcast<u32>(bitcast<f32>(x[i])); }");
  const Words bits{1,           0x007F'FFFF, 0x8000'0001, 0x807F'FFFF, 0x0080'0000,
                   0x8080'0000, 0x7F80'0001, 0xFFFF'FFFF, 0x3F80'0000, 0x8000'0000};
  const Words kept{0,           0,           0x8000'0000, 0x8000'0000, 0x0080'0000,
                   0x8080'0000, 0x7FC0'0000, 0x7FC0'0000, 0x3F80'0000, 0x8000'0000};
  const auto outputs = run_on(test_device(), program, {bytes_of(bits)}, {1, 1, 1});
  REQUIRE(outputs.has_value());
  CHECK(words_of((*outputs)[0]) == kept);
}
