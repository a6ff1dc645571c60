// Random programs as text: valid ones, and ones that parse but have wrong types and unknown names.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/ops.h"
#include "felsite/types.h"

namespace felsite::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  bool chance(std::uint32_t one_in) { return below(one_in) == 0; }
  template <class Items>
  const auto& pick(const Items& items) {
    return items[below(static_cast<std::uint32_t>(std::size(items)))];
  }

 private:
  std::mt19937_64 engine_;
};

// FELSITE_TEST_SEED if set, else a new seed for each run. Tests print it when they fail.
inline std::uint64_t run_seed() {
  if (const char* text = std::getenv("FELSITE_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  static const std::uint64_t seed = std::random_device{}();
  return seed;
}

class ProgramWriter {
 public:
  // `slips`: one in so many choices of type or name is wrong; 0 for a valid program.
  ProgramWriter(Random& random, std::uint32_t slips) : random_(random), slips_(slips) {}

  std::string write() {
    out_ = fmt::format("program generated workgroup({}, {}){} {{\n", 1 + random_.below(64),
                       1 + random_.below(4), random_.chance(5) ? " fast" : "");
    for (const ir::Type type : kTypes) {
      const std::string_view name = ir::info(type).name;
      out_ += fmt::format("  readwrite rw_{}: {}[16];\n  workgroup wg_{}: {}[8];\n", name, name,
                          name, name);
    }
    out_ += "  readonly source: u32[] binding(40) hint(\"random\");\n  output narrow: i8[4];\n";
    const std::uint32_t ops = random_.below(3);
    for (std::uint32_t i = 0; i < ops; ++i) op(i);
    vars_.clear();
    in_op_ = false;
    line(1, "let first = 1;");
    body(1, 2 + random_.below(8));
    if (random_.chance(2)) out_ += "  return;\n";
    return out_ + "}\n";
  }

 private:
  struct Var {
    std::string name;
    ir::Type type;
    bool assignable;
  };
  static constexpr ir::Type kTypes[] = {ir::Type::Bool, ir::Type::U32, ir::Type::I32,
                                        ir::Type::U64,  ir::Type::I64, ir::Type::F16,
                                        ir::Type::BF16, ir::Type::F32, ir::Type::F64};

  ir::Type any_type() { return random_.pick(kTypes); }
  bool slip() { return slips_ != 0 && random_.chance(slips_); }

  void line(std::size_t depth, std::string_view text) {
    out_.append(2 * depth, ' ');
    out_ += text;
    out_ += '\n';
  }

  void op(std::uint32_t index) {
    in_op_ = true;
    const ir::Type param = any_type();
    const ir::Type result = any_type();
    vars_ = {{"x", param, false}, {"n", ir::Type::U32, false}};
    line(1, fmt::format("op op{}(x: {}, n: u32) -> {} {{", index, ir::info(param).name,
                        ir::info(result).name));
    body(2, random_.below(3));
    line(2, fmt::format("yield {};", expr(result, 3)));
    line(1, "}");
    ops_.push_back({param, result});
  }

  void body(std::size_t depth, std::uint32_t statements) {
    const std::size_t mark = vars_.size();
    for (std::uint32_t i = 0; i < statements; ++i) statement(depth);
    vars_.resize(mark);
  }

  void statement(std::size_t depth) {
    const bool deep = depth > 5;
    switch (random_.below(in_op_ ? 6 : 12)) {
      case 0:
      case 1: {
        const ir::Type type = any_type();
        const std::string name = fmt::format("v{}", next_name_++);
        line(depth, fmt::format("let {} = {};", name, expr(type, 4)));
        vars_.push_back({name, type, true});
        return;
      }
      case 2:
        for (const Var& var : vars_) {
          if (!var.assignable) continue;
          line(depth, fmt::format("{} = {};", slip() ? "nosuch" : var.name, expr(var.type, 3)));
          return;
        }
        return;
      case 3:
        if (deep) return;
        line(depth, fmt::format("if {} {{", expr(ir::Type::Bool, 3)));
        body(depth + 1, random_.below(3));
        while (random_.chance(3)) {
          line(depth, fmt::format("}} else if {} {{", expr(ir::Type::Bool, 2)));
          body(depth + 1, random_.below(3));
        }
        if (random_.chance(2)) {
          line(depth, "} else {");
          body(depth + 1, random_.below(3));
        }
        line(depth, "}");
        return;
      case 4: {
        if (deep) return;
        const std::string name = fmt::format("trip{}", next_name_++);
        line(depth, fmt::format("loop {} in {}..{} {{", name, expr(ir::Type::U32, 2),
                                expr(ir::Type::U32, 2)));
        vars_.push_back({name, ir::Type::U32, false});
        body(depth + 1, random_.below(3));
        vars_.pop_back();
        line(depth, "}");
        return;
      }
      case 5:
        if (deep) return;
        line(depth, random_.chance(2) ? "{" : "region \"some part\" {");
        body(depth + 1, random_.below(3));
        line(depth, "}");
        return;
      case 6:
      case 7: {
        const ir::Type type = any_type();
        line(depth, fmt::format("{}[({}) & 7] = {};", buffer(type), expr(ir::Type::U32, 2),
                                expr(type, 4)));
        return;
      }
      case 8:
        line(depth, fmt::format("narrow[{}] = {};", random_.below(4), expr(ir::Type::I32, 2)));
        return;
      case 9:
        line(depth, fmt::format("atomic_max.acq_rel(rw_i64[{}], {});", random_.below(16),
                                expr(ir::Type::I64, 2)));
        return;
      case 10:
        if (depth == 1) line(depth, random_.chance(2) ? "barrier.seq_cst;" : "gridsync;");
        return;
      default:
        line(depth, fmt::format("trap({}, stop);", expr(ir::Type::U32, 2)));
        return;
    }
  }

  std::string buffer(ir::Type type) {
    if (slip()) return "nosuch";
    return fmt::format("{}_{}", random_.chance(3) ? "wg" : "rw", ir::info(type).name);
  }

  std::string literal(ir::Type type) {
    const auto& row = ir::info(type);
    switch (row.kind) {
      case ir::TypeClass::Bool:
        return random_.chance(2) ? "true" : "false";
      case ir::TypeClass::Unsigned:
        return fmt::format("{}{}", 1 + random_.below(1000), row.name);
      case ir::TypeClass::Signed:
        return fmt::format("{}{}", static_cast<int>(random_.below(2000)) * 2 - 1999, row.name);
      case ir::TypeClass::Float:
        if (random_.chance(8)) {
          return fmt::format("{}inf{}", random_.chance(2) ? "-" : "",
                             type == ir::Type::F32 ? "" : fmt::format("_{}", row.name));
        }
        return fmt::format("{}{}.{}e-{}{}", random_.chance(3) ? "-" : "", random_.below(100),
                           random_.below(1000), random_.below(4), row.name);
      case ir::TypeClass::None:
        break;
    }
    return "0";
  }

  std::string leaf(ir::Type type) {
    std::vector<std::string> choices{literal(type)};
    for (const Var& var : vars_) {
      if (var.type == type) choices.push_back(var.name);
    }
    if (slip()) choices.assign(1, "nosuch");
    if (type == ir::Type::U32 && !in_op_) {
      for (const char* id : {"invocation.x", "local.y", "workgroup_id.z", "num_workgroups.x",
                             "workgroup_size.y", "subgroup_lane", "subgroup_size", "len(source)"}) {
        choices.emplace_back(id);
      }
    }
    return random_.pick(choices);
  }

  std::string expr(ir::Type type, std::uint32_t depth) {
    if (slip()) type = any_type();
    if (depth == 0 || random_.chance(5)) return leaf(type);
    const auto sub = [&](ir::Type t) { return expr(t, depth - 1); };
    for (int tries = 0; tries < 8; ++tries) {
      switch (random_.below(in_op_ ? 6 : 9)) {
        case 0:
        case 1:
        case 2: {
          const auto op = static_cast<ir::BinaryOp>(random_.below(ir::kBinaryOpCount));
          const ir::BinaryOpInfo& row = ir::info(op);
          const ir::Type operand = any_type();
          if (ir::result_type(row.rule, operand) != type) continue;
          const std::string a = sub(operand);
          const std::string b = sub(operand);
          if (row.infix.empty() || random_.chance(6))
            return fmt::format("{}({}, {})", row.name, a, b);
          return fmt::format("({}) {} ({})", a, row.infix, b);
        }
        case 3: {
          const auto op = static_cast<ir::UnaryOp>(random_.below(ir::kUnaryOpCount));
          const ir::UnaryOpInfo& row = ir::info(op);
          const ir::Type operand = any_type();
          if (ir::result_type(row.rule, operand) != type) continue;
          const std::string a = sub(operand);
          return row.prefix.empty() ? fmt::format("{}({})", row.name, a)
                                    : fmt::format("{}({})", row.prefix, a);
        }
        case 4:
          return fmt::format("select({}, {}, {})", sub(ir::Type::Bool), sub(type), sub(type));
        case 5:
          for (std::size_t i = 0; i < ops_.size(); ++i) {
            if (ops_[i].second != type) continue;
            return fmt::format("op{}({}, {})", i, sub(ops_[i].first), sub(ir::Type::U32));
          }
          return fmt::format("{}({})", ir::info(type).name, sub(any_type()));
        case 6:
          return fmt::format("{}[{}]", buffer(type), sub(ir::Type::U32));
        case 7:
          if (type == ir::Type::U64) return fmt::format("subgroup_ballot({})", sub(ir::Type::Bool));
          if (type == ir::Type::I32)
            return fmt::format("atomic_add(rw_i32[{}], {})", random_.below(16), sub(type));
          return fmt::format("subgroup_shuffle({}, {})", sub(type), sub(ir::Type::U32));
        default:
          if (type == ir::Type::F64) return fmt::format("bitcast<f64>({})", sub(ir::Type::U64));
          if (ir::kFloatTypes.has(type)) {
            return fmt::format("fma({}, {}, {})", sub(type), sub(type), sub(type));
          }
          return fmt::format("subgroup_{}({})", type == ir::Type::Bool ? "xor" : "min", sub(type));
      }
    }
    return leaf(type);
  }

  Random& random_;
  std::uint32_t slips_;
  std::string out_;
  std::vector<Var> vars_;
  std::vector<std::pair<ir::Type, ir::Type>> ops_;
  std::uint32_t next_name_ = 0;
  bool in_op_ = false;
};

inline std::string random_program(Random& random) { return ProgramWriter(random, 0).write(); }
inline std::string random_wrong_program(Random& random) {
  return ProgramWriter(random, 12).write();
}

}  // namespace felsite::testing
