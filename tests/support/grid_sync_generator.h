// The programs with grid barriers of program_generator.h, which includes this.
//
// Which buffers are read, written or counted in is fixed from one barrier to the next. A loop or an
// if may begin and end in the middle of such a phase: its body then ends in the same modes as it
// began with, so that every path through it, around it or past it is one phase.
#pragma once

#include "support/program_generator.h"

namespace felsite::test {

inline void ProgramGenerator::choose_grid_sync_shape() {
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      grid_ = {1, 1, 1};
      break;
    case 3:
    case 4:
    case 5:
      one_group_fits_ = true;
      break;
    case 6:
      if (size_[1] == 1) grid_[0] = 20 + below(30);
      break;
    default:
      break;
  }
}

inline void ProgramGenerator::choose_iterations() {
  config_.grid_override = grid_;
  if (!chance(3)) return;
  config_.fixpoint_iterations = 2 + below(4);
  config_.convergence.kind = static_cast<Convergence::Kind>(below(3));
  if (config_.convergence.kind != Convergence::Kind::Flag) return;
  declare(chance(2) ? "output" : "readwrite", "flag", 1 + below(2), Mode::Atomic, false, true,
          Type::U32);
  config_.convergence.flag = buffers_.back().name;
}

inline ProgramGenerator::Modes ProgramGenerator::modes() const {
  Modes list;
  for (const Buffer& buffer : buffers_) list.emplace_back(buffer.mode, buffer.atomic);
  return list;
}

// A barrier, after which everything is used as it was before.
inline void ProgramGenerator::restore(const Modes& before) {
  const Modes now = modes();
  if (now == before) return;
  bool in_storage = false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    in_storage = in_storage || (!buffers_[i].shared && now[i] != before[i]);
  }
  line(in_storage || chance(2) ? "gridsync;" : "barrier;");
  for (std::size_t i = 0; i < now.size(); ++i) {
    std::tie(buffers_[i].mode, buffers_[i].atomic) = before[i];
  }
}

// A u32 expression that is uniform over the grid.
inline std::string ProgramGenerator::uniform(unsigned depth) {
  std::vector<std::string> known{"n[0]", "n[1]", "n[2]", "n[3]", std::to_string(below(5))};
  for (const Var& var : vars_) {
    if (var.uniform) known.insert(known.end(), 2, var.name);
  }
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode != Mode::Read || buffer.shared) continue;
    known.push_back(fmt::format("u32({}[{}])", buffer.name, below(buffer.count + 1)));
    if (chance(4)) known.push_back(fmt::format("len({})", buffer.name));
  }
  const std::string one = known[below(static_cast<std::uint32_t>(known.size()))];
  if (depth == 0 || chance(2)) return one;
  static constexpr const char* kForms[] = {"({} + {})", "({} ^ {})", "max({}, {})",
                                           "({} / ({} | 1))"};
  return fmt::format(fmt::runtime(kForms[below(4)]), one, uniform(depth - 1));
}

inline void ProgramGenerator::uniform_local() {
  for (const Var& var : vars_) {
    // Loop variables cannot be assigned.
    if (!var.uniform || !var.name.starts_with("u_") || !chance(2)) continue;
    return line(fmt::format("{} = {};", var.name, uniform(2)));
  }
  const std::string name = fresh("u_");
  line(fmt::format("let {} = {};", name, uniform(2)));
  vars_.push_back({name, Type::U32, false, true});
}

// All bits of a variable, folded to a u32.
inline std::string ProgramGenerator::word_of(const Var& var) {
  switch (var.type) {
    case Type::F32:
      return fmt::format("bitcast<u32>({})", var.name);
    case Type::F16:
    case Type::BF16:
      return fmt::format("u32(bitcast<u16>({}))", var.name);
    case Type::F64:
      return fmt::format("(u32(bitcast<u64>({0})) ^ u32(bitcast<u64>({0}) >> 32u64))", var.name);
    case Type::U64:
    case Type::I64:
      return fmt::format("(u32({0}) ^ u32({0} >> 32{1}))", var.name, name_of(var.type));
    case Type::Bool:
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::U32:
    case Type::I32:
    case Type::None:
      break;
  }
  return fmt::format("u32({})", var.name);
}

// Locals whose values differ between invocations, so that much lives across barriers.
inline void ProgramGenerator::known_from_the_start() {
  for (std::uint32_t k = 2 + below(4); k > 0; --k) {
    const Type type = any_type();
    const std::string name = fresh("w");
    std::string value = fmt::format("slot * {} + {}", 1 + below(1000), below(7));
    if (chance(2)) {
      const std::string loaded = load(any_type(), 1);
      if (!loaded.empty()) value = loaded;
    }
    line(fmt::format("let {} = {}({});", name, name_of(type), value));
    vars_.push_back({name, type, true});
    if (chance(3)) remember();
    if (chance(2)) tile();
  }
}

// A local that is never assigned, of memory that may change.
inline void ProgramGenerator::remember() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode == Mode::Atomic || buffer.blind || buffer.name.starts_with("in") || chance(2))
      continue;
    const std::string index = buffer.mode == Mode::Private ? slot(buffer)
                              : chance(2)                  ? std::to_string(below(buffer.count))
                                          : fmt::format("({} + {}) % {}", slot(buffer),
                                                        below(buffer.count), buffer.count);
    const std::string name = fresh("r");
    // An atomic on the own slot can be remembered as well, and must not be run again.
    const bool counts = buffer.mode == Mode::Private && !buffer.shared &&
                        can_be_atomic(buffer.element, false) && chance(2);
    line(counts ? fmt::format("let {} = atomic_add({}[slot], {}(slot + 3));", name, buffer.name,
                              name_of(buffer.element))
                : fmt::format("let {} = {}[{}];", name, buffer.name, index));
    vars_.push_back({name, ir::info(buffer.element).loaded, false});
    return;
  }
}

// Workgroup memory takes something that only this lane knows, or gives it to another.
inline void ProgramGenerator::tile() {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.shared || buffer.counter || chance(3)) continue;
    if (buffer.mode == Mode::Private) {
      const Var& var = vars_[below(static_cast<std::uint32_t>(vars_.size()))];
      return line(fmt::format("{}[lane] = {}({} ^ slot);", buffer.name, name_of(buffer.element),
                              word_of(var)));
    }
    const std::string name = fresh("r");
    line(fmt::format("let {} = {}[(lane + {}) % {}];", name, buffer.name, below(buffer.count),
                     buffer.count));
    vars_.push_back({name, ir::info(buffer.element).loaded, false});
    return;
  }
}

// Assigns to a local: always, for some invocations, or as often as each has it.
inline void ProgramGenerator::touch() {
  for (int tries = 0; tries < 8; ++tries) {
    const Var& var = vars_[below(static_cast<std::uint32_t>(vars_.size()))];
    if (!var.assignable) continue;
    const std::string value = fmt::format("{}({} ^ {})", name_of(var.type), word_of(var),
                                          chance(2) ? "slot" : expression(Type::U32, 2));
    switch (below(3)) {
      case 0:
        return line(fmt::format("{} = {};", var.name, value));
      case 1:
        return line(fmt::format("if slot % 3 == {} {{ {} = {}; }}", below(3), var.name, value));
      default:
        return line(
            fmt::format("loop {} in 0..slot % 3 {{ {} = {}; }}", fresh("k"), var.name, value));
    }
  }
}

// Stores the current value of some earlier variable.
inline void ProgramGenerator::witness() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode != Mode::Private || buffer.shared || chance(3)) continue;
    const Var& var = vars_[below(static_cast<std::uint32_t>(vars_.size()))];
    return line(fmt::format("{}[slot] = {}({});", buffer.name, name_of(buffer.element), var.name));
  }
}

// Folds every visible local into the witness.
inline void ProgramGenerator::last_witness() {
  line("let known = 0;");
  for (const Buffer& buffer : buffers_) {
    if (!buffer.shared || buffer.counter) continue;
    vars_.push_back({fresh("r"), ir::info(buffer.element).loaded, false});
    line(fmt::format("let {} = {}[lane];", vars_.back().name, buffer.name));
  }
  for (const Var& var : vars_) line(fmt::format("known = known * 31 + {};", word_of(var)));
  line("witness[slot] = known;");
}

inline void ProgramGenerator::early_return() {
  const std::uint32_t all = size_[0] * size_[1] * size_[2] * grid_[0] * grid_[1];
  switch (below(3)) {
    case 0:  // can be evaluated again at any time
      return line(fmt::format("if slot >= {} {{ return; }}", all - below(all / 2 + 1)));
    case 1:
      return line(fmt::format("if slot % {} == {} && {} {{ return; }}", 2 + below(3), below(2),
                              expression(Type::Bool, 2)));
    default:  // depends on what may change later
      return line(fmt::format("if {} % 5 == {} {{ return; }}", expression(Type::U32, 2), below(5)));
  }
}

// A body that may or may not be run, and ends as it began.
inline void ProgramGenerator::grid_arm(unsigned nest) {
  const Modes before = modes();
  const std::size_t mark = vars_.size();
  ++depth_;
  grid_sequence(nest + 1);
  restore(before);
  if (chance(2)) statement();
  --depth_;
  vars_.resize(mark);
}

inline void ProgramGenerator::grid_loop(unsigned nest) {
  const std::string trip = fresh("trip");
  const std::string from = chance(3) ? uniform(1) + " % 3" : std::to_string(below(2));
  std::string to = chance(3) ? std::to_string(below(4)) : uniform(1) + " % 4";
  // The bound may also be in a buffer that the loop itself changes: it is taken once.
  Buffer* changed = nullptr;
  for (Buffer& buffer : buffers_) {
    const bool is_own = buffer.name.starts_with("own") || buffer.name.starts_with("out");
    if (is_own && buffer.mode == Mode::Read && chance(4)) changed = &buffer;
  }
  if (changed != nullptr) to = fmt::format("u32({}[{}]) % 4", changed->name, below(2));
  line(fmt::format("loop {} in {}..{} {{", trip, from, to));
  vars_.push_back({trip, Type::U32, false, true});
  if (changed != nullptr) {
    const Modes before = modes();
    ++depth_;
    line("gridsync;");
    changed->mode = Mode::Private;
    line(fmt::format("{}[slot] = {}(slot * 5 + {});", changed->name, name_of(changed->element),
                     trip));
    restore(before);
    --depth_;
  }
  grid_arm(nest);
  vars_.pop_back();
  line("}");
}

inline void ProgramGenerator::grid_if(unsigned nest) {
  static constexpr const char* kConditions[] = {"{} > {}", "{} % 2 == {} % 2", "{} != {}"};
  line("if " + fmt::format(fmt::runtime(kConditions[below(3)]), uniform(1), uniform(0)) + " {");
  grid_arm(nest);
  if (chance(2)) {
    line("} else {");
    grid_arm(nest);
  }
  line("}");
}

inline void ProgramGenerator::grid_sequence(unsigned nest) {
  for (std::uint32_t k = (nest == 0 ? 2 : 1) + below(3); k > 0; --k) {
    switch (below(nest < 2 ? 16 : 12)) {
      case 0:
        uniform_local();
        break;
      case 1:
        if (chance(3)) early_return();
        break;
      case 2:
        barrier(false);
        break;
      case 3:
        if (chance(4)) line("gridsync;");  // with the next one, two in a row
        [[fallthrough]];
      case 4:
      case 5:
      case 6:
        barrier(true);
        if (chance(2)) witness();
        break;
      case 7:
        witness();
        tile();
        remember();
        break;
      case 8:
      case 9:
        touch();
        touch();
        break;
      case 10:
      case 11:
        for (std::uint32_t j = 1 + below(3); j > 0; --j) statement();
        break;
      case 12:
      case 13:
        grid_loop(nest);
        break;
      case 14:
        grid_if(nest);
        break;
      default: {
        line(chance(2) ? "{" : "region \"part\" {");
        const std::size_t mark = vars_.size();
        ++depth_;
        grid_sequence(nest + 1);
        --depth_;
        vars_.resize(mark);
        line("}");
        break;
      }
    }
  }
}

}  // namespace felsite::test
