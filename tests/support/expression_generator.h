// The expressions of program_generator.h, which includes this.
#pragma once

#include "support/program_generator.h"

namespace felsite::test {

inline std::string ProgramGenerator::literal(Type type) {
  const auto& row = ir::info(type);
  const unsigned width = row.bytes * 8u;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  switch (row.kind) {
    case ir::TypeClass::Bool:
      return chance(2) ? "true" : "false";
    case ir::TypeClass::Unsigned: {
      const std::uint64_t values[] = {
          0, 1, 2, 3, 7, 31, 33, mask, mask / 2, mask / 2 + 1, random_.bits() & mask};
      return fmt::format("{}{}", values[below(11)], row.name);
    }
    case ir::TypeClass::Signed: {
      const auto top = static_cast<std::int64_t>(mask >> 1);
      const auto random = static_cast<std::int64_t>(random_.bits() & (mask >> 1));
      const std::int64_t values[] = {0, 1, -1, 2, 5, -7, 33, top, -top - 1, random, -random};
      return fmt::format("{}{}", values[below(11)], row.name);
    }
    case ir::TypeClass::Float: {
      const std::string suffix = type == Type::F32 ? "" : fmt::format("_{}", row.name);
      if (chance(10)) return "nan" + suffix;
      if (chance(8)) return (chance(2) ? "-inf" : "inf") + suffix;
      static constexpr const char* kAny[] = {"0.0",   "-0.0", "1.0",     "-1.0", "0.5",
                                             "1.5",   "-2.5", "3.0",     "0.1",  "1e-3",
                                             "255.0", "6e4",  "-1234.5", "6e-6", "1e-7"};
      static constexpr const char* kWide[] = {"1e38",  "-3e38", "1.2e-38",     "1e-38",
                                              "1e-20", "1e19",  "4294967296.0"};
      static constexpr const char* kWidest[] = {"1e308", "-1e-307", "2.3e-308", "1e-310", "1e300"};
      if (type == Type::F64 && chance(4)) return fmt::format("{}f64", kWidest[below(5)]);
      if (type != Type::F16 && chance(4)) return fmt::format("{}{}", kWide[below(7)], row.name);
      return fmt::format("{}{}", kAny[below(15)], row.name);
    }
    case ir::TypeClass::None:
      break;
  }
  return "0";
}

// Programs with grid barriers are about what lives across them: each has many kernels, and drivers
// take long to compile large expressions and exact functions, which other programs are for.
inline bool ProgramGenerator::is_too_large(ir::UnaryOp op) const {
  return grid_sync_ && op >= ir::UnaryOp::Sqrt && op <= ir::UnaryOp::Log2;
}

inline std::string ProgramGenerator::expression(Type type, unsigned depth) {
  if (few_) return few_expression(type);
  if (slips()) type = any_type();
  if (slips()) return "nosuch";
  if (grid_sync_) depth = std::min(depth, 2u);
  std::vector<const Var*> known;
  for (const Var& var : vars_) {
    if (var.type == type) known.push_back(&var);
  }
  const auto variable = [&] {
    return known[below(static_cast<std::uint32_t>(known.size()))]->name;
  };
  if (depth == 0) return known.empty() || constants_ || chance(4) ? literal(type) : variable();
  if (!known.empty() && !constants_ && chance(4)) return variable();
  for (int tries = 0; tries < 20; ++tries) {
    std::string made;
    switch (below(12)) {
      case 0:
      case 1:
        if (!constants_ && !in_op_) made = load(type, depth - 1);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        made = binary(type, depth - 1);
        break;
      case 6:
        made = unary(type, depth - 1);
        break;
      case 7:
        made = fmt::format("select({}, {}, {})", expression(Type::Bool, depth - 1),
                           expression(type, depth - 1), expression(type, depth - 1));
        break;
      case 8:
        made = fmt::format("{}({})", name_of(type), expression(any_type(), depth - 1));
        break;
      case 9: {
        if (type == Type::Bool) break;
        const Type from = any_type();
        if (from == Type::Bool || ir::info(from).bytes != ir::info(type).bytes) break;
        made = fmt::format("bitcast<{}>({})", name_of(type), expression(from, depth - 1));
        break;
      }
      case 10:
        if (!constants_) made = call(type, depth - 1);
        break;
      default:
        if (ir::is_float(type) && chance(2)) {
          made = fmt::format("fma({}, {}, {})", expression(type, depth - 1),
                             expression(type, depth - 1), expression(type, depth - 1));
        } else if (type == Type::U32 && !constants_ && !in_op_) {
          static constexpr const char* kIds[] = {
              "invocation.x",     "invocation.y",     "local.x",      "workgroup_id.x",
              "num_workgroups.x", "workgroup_size.x", "invocation.z", "n[1]"};
          const std::uint32_t id = below(8);
          const bool per_workgroup = id >= 2 && id <= 5;
          made = kIds[one_group_fits_ && per_workgroup ? 0 : id];
        } else if (subgroups_ && !constants_ && !in_op_) {
          made = subgroup(type, depth - 1);
        }
        break;
    }
    if (!made.empty()) return made;
  }
  return literal(type);
}

inline std::string ProgramGenerator::load(Type type, unsigned depth) {
  std::vector<const Buffer*> readable;
  for (const Buffer& buffer : buffers_) {
    if (ir::info(buffer.element).loaded == type && buffer.mode != Mode::Atomic && !buffer.blind)
      readable.push_back(&buffer);
  }
  if (readable.empty()) return "";
  const Buffer& buffer = *readable[below(static_cast<std::uint32_t>(readable.size()))];
  if (buffer.mode == Mode::Private) return fmt::format("{}[{}]", buffer.name, slot(buffer));
  if (chance(12)) return fmt::format("{}[{}]", buffer.name, expression(Type::U32, depth));
  return fmt::format("{}[{} % {}]", buffer.name, operand(Type::U32, depth),
                     std::max(buffer.count + below(2), 1u));
}

inline std::string ProgramGenerator::binary(Type type, unsigned depth) {
  for (int tries = 0; tries < 40; ++tries) {
    const auto op = static_cast<ir::BinaryOp>(below(ir::kBinaryOpCount));
    const Type operand = type == Type::Bool || chance(4) ? any_type() : type;
    if (ir::result_type(ir::info(op).rule, operand) != type) continue;
    const std::string a = expression(operand, depth);
    std::string b = expression(operand, depth);
    const bool divides = op == ir::BinaryOp::Div || op == ir::BinaryOp::Mod;
    // A literal zero as a divisor does not validate; a computed one does.
    const bool zero = b.size() > 1 && b[0] == '0' && !(b[1] >= '0' && b[1] <= '9');
    if (divides && ir::kIntegerTypes.has(operand) && zero) b = fmt::format("bit_and({}, {})", a, b);
    if (spellings_ && !ir::info(op).infix.empty() && !chance(6)) {
      return fmt::format("({}) {} ({})", a, ir::info(op).infix, b);
    }
    return fmt::format("{}({}, {})", ir::info(op).name, a, b);
  }
  return "";
}

inline std::string ProgramGenerator::unary(Type type, unsigned depth) {
  for (int tries = 0; tries < 40; ++tries) {
    const auto op = static_cast<ir::UnaryOp>(below(ir::kUnaryOpCount));
    const Type operand = type == Type::Bool || chance(4) ? any_type() : type;
    if (ir::result_type(ir::info(op).rule, operand) != type || is_too_large(op)) continue;
    const bool is_prefix = spellings_ && !ir::info(op).prefix.empty() && !chance(6);
    return fmt::format("{}({})", is_prefix ? ir::info(op).prefix : ir::info(op).name,
                       expression(operand, depth));
  }
  return "";
}

inline std::string ProgramGenerator::call(Type type, unsigned depth) {
  for (const Op& op : ops_) {
    if (op.result != type || chance(3)) continue;
    std::string arguments;
    for (const Type param : op.params) {
      if (!arguments.empty()) arguments += ", ";
      arguments += expression(param, depth);
    }
    return fmt::format("{}({})", op.name, arguments);
  }
  return "";
}

inline std::string ProgramGenerator::subgroup(Type type, unsigned depth) {
  if (type == Type::U64 && chance(2)) {
    return fmt::format("subgroup_ballot({})", expression(Type::Bool, depth));
  }
  if (chance(2)) {
    return fmt::format("subgroup_shuffle({}, {})", expression(type, depth),
                       expression(Type::U32, depth));
  }
  const auto op = static_cast<ir::ReduceOp>(below(ir::kReduceOpCount));
  if (!ir::info(op).operands.has(type)) return "";
  return fmt::format("subgroup_{}({})", ir::info(op).name, expression(type, depth));
}

}  // namespace felsite::test
