// Random programs as text. Their result is defined: an invocation writes only its own slots, or by
// one atomic operation that commutes; it reads the slots of others only in a phase, between two
// barriers, in which nobody writes them. The same seed gives the same program everywhere.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "felsite/backend.h"
#include "felsite/ops.h"
#include "support/random.h"

namespace felsite::test {

class ProgramGenerator {
 public:
  using Type = ir::Type;

  // Wide: independent workgroups, and so many of them that it pays to run them in parallel.
  // GridSync: grid barriers in loops and ifs of all kinds, some in several iterations.
  // Text: in all the spellings that the text form has; some invocations may trap.
  // Mistakes: the same with a few wrong types and unknown names; it parses, but may not validate.
  // Few: a few operations on u32, no barriers and no atomics: small enough for brute force.
  enum class Kind : std::uint8_t { Plain, Subgroups, Wide, GridSync, Text, Mistakes, Few };

  explicit ProgramGenerator(std::uint64_t seed, Kind kind = Kind::Plain)
      : random_(seed),
        subgroups_(kind == Kind::Subgroups || kind == Kind::Text || kind == Kind::Mistakes),
        wide_(kind == Kind::Wide),
        grid_sync_(kind == Kind::GridSync),
        spellings_(kind == Kind::Text || kind == Kind::Mistakes),
        mistakes_(kind == Kind::Mistakes),
        few_(kind == Kind::Few) {}

  // Only what one kernel can do on a device with or without these features.
  ProgramGenerator& for_device(bool has_f64, bool has_atomics64, bool has_shared_atomics64) {
    grid_barriers_ = false;
    return with_features(has_f64, has_atomics64, has_shared_atomics64);
  }
  ProgramGenerator& with_features(bool has_f64, bool has_atomics64, bool has_shared_atomics64) {
    f64_ = has_f64;
    wide_atomics_ = has_atomics64;
    shared_wide_atomics_ = has_shared_atomics64;
    return *this;
  }

  std::string text();
  Extent3 grid() const { return grid_; }
  // How it is run: on its grid, in as many iterations.
  const DispatchConfig& config() const { return config_; }
  const std::vector<Bytes>& inputs() const { return inputs_; }

  // An expression of literals only.
  std::string constant_expression(Type type, unsigned depth) {
    constants_ = true;
    return expression(type, depth);
  }

 private:
  enum class Mode : std::uint8_t { Read, Private, Atomic };
  struct Var {
    std::string name;
    Type type;
    bool assignable;
    bool uniform = false;  // over the grid
  };
  struct Buffer {
    std::string name;
    Type element;
    std::uint32_t count;
    bool shared;   // workgroup memory
    bool counter;  // for atomics of all invocations
    Mode mode;
    std::string atomic;
    bool blind = false;  // cannot be read
  };
  using Modes = std::vector<std::pair<Mode, std::string>>;  // of all buffers
  struct Op {
    std::string name;
    std::vector<Type> params;
    Type result;
  };

  std::uint32_t below(std::uint32_t limit) { return random_.below(limit); }
  bool chance(std::uint32_t one_in) { return random_.chance(one_in); }
  bool slips() { return mistakes_ && chance(100); }
  Type any_type() {
    if (few_) return Type::U32;
    const auto type = static_cast<Type>(below(static_cast<std::uint32_t>(Type::None)));
    return type == Type::F64 && !f64_ ? Type::F32 : type;
  }
  bool can_be_atomic(Type type, bool shared) const {
    if (!ir::kIntegerTypes.has(type)) return false;
    return ir::info(type).bytes < 8 || (shared ? shared_wide_atomics_ : wide_atomics_);
  }
  Type any_atomic(bool shared) {
    Type type = any_of(ir::kIntegerTypes);
    while (!can_be_atomic(type, shared)) type = any_of(ir::kIntegerTypes);
    return type;
  }
  Type any_of(ir::TypeSet set) {
    Type type = any_type();
    while (!set.has(type)) type = any_type();
    return type;
  }
  static std::string_view name_of(Type type) { return ir::info(type).name; }
  void line(const std::string& text) { out_.append(2 * depth_, ' ').append(text).append("\n"); }
  std::string fresh(std::string_view prefix) { return fmt::format("{}{}", prefix, next_name_++); }

  void declare(std::string_view words, std::string_view prefix, std::uint32_t count, Mode mode,
               bool shared, bool counter, Type type);
  void random_input(Type type, std::uint32_t count);
  void operation();
  void new_phase(bool whole_grid);
  void barrier(bool whole_grid) {
    line(whole_grid ? "gridsync;" : chance(2) ? "barrier;" : "barrier.seq_cst;");
    new_phase(whole_grid);
  }
  void phases();
  void body(std::uint32_t statements);
  void statement();
  void loop_statement();
  void write();
  void atomic_statement();

  // In text_generator.h.
  std::string few_text();
  std::string few_operand();
  std::string few_expression(Type type);
  bool text_statement();
  std::string ordering();
  std::string details();

  // In grid_sync_generator.h.
  void choose_grid_sync_shape();
  void choose_iterations();
  void grid_sequence(unsigned nest);
  void grid_loop(unsigned nest);
  void grid_if(unsigned nest);
  void grid_arm(unsigned nest);
  void early_return();
  void uniform_local();
  static std::string word_of(const Var& var);
  void known_from_the_start();
  void remember();
  void tile();
  void touch();
  void witness();
  void last_witness();
  std::string uniform(unsigned depth);
  bool is_too_large(ir::UnaryOp op) const;
  Modes modes() const;
  void restore(const Modes& before);

  std::string expression(Type type, unsigned depth);
  // The same to the left of an operator.
  std::string operand(Type type, unsigned depth) {
    const std::string text = expression(type, depth);
    return spellings_ ? "(" + text + ")" : text;
  }
  std::string literal(Type type);
  std::string load(Type type, unsigned depth);
  std::string binary(Type type, unsigned depth);
  std::string unary(Type type, unsigned depth);
  std::string call(Type type, unsigned depth);
  std::string subgroup(Type type, unsigned depth);
  std::string slot(const Buffer& buffer) {
    if (few_) return few_operand();
    return buffer.shared ? "lane" : "slot";
  }

  Random random_;
  bool subgroups_;
  bool wide_;
  bool grid_sync_;
  bool spellings_;
  bool mistakes_;
  bool few_;
  bool one_group_fits_ = false;  // neither ids of workgroups nor their memory are used
  bool grid_barriers_ = true;
  bool f64_ = true;
  bool wide_atomics_ = true;
  bool shared_wide_atomics_ = true;
  bool constants_ = false;
  bool in_op_ = false;
  std::string out_;
  std::size_t depth_ = 1;
  unsigned loops_ = 0;
  unsigned next_name_ = 0;
  std::vector<Var> vars_;
  std::vector<Buffer> buffers_;
  std::vector<Op> ops_;
  Extent3 size_{1, 1, 1};
  Extent3 grid_{1, 1, 1};
  DispatchConfig config_;
  std::vector<Bytes> inputs_;
};

inline void ProgramGenerator::random_input(Type type, std::uint32_t count) {
  Bytes bytes(std::size_t{count} * ir::info(type).bytes);
  for (std::byte& byte : bytes) {
    const std::uint32_t roll = below(6);
    byte = static_cast<std::byte>(roll == 0   ? 0
                                  : roll == 1 ? 0xFF
                                  : roll == 2 ? below(4)
                                              : below(256));
  }
  inputs_.push_back(std::move(bytes));
}

inline void ProgramGenerator::declare(std::string_view words, std::string_view prefix,
                                      std::uint32_t count, Mode mode, bool shared, bool counter,
                                      Type type) {
  const bool given = words == "readonly" || words == "readwrite";
  const std::string name = fresh(prefix);
  line(fmt::format("{} {}: {}[{}]{};", words, name, name_of(type),
                   given ? "" : std::to_string(count), shared ? "" : details()));
  buffers_.push_back({name, type, count, shared, counter, mode, "", words == "writeonly"});
  if (given) random_input(type, count);
}

inline std::string ProgramGenerator::text() {
  if (few_) return few_text();
  static constexpr Extent3 kSizes[] = {{1, 1, 1},  {4, 1, 1},  {7, 1, 1}, {8, 1, 1},
                                       {16, 1, 1}, {33, 1, 1}, {3, 2, 1}, {2, 2, 3}};
  size_ = kSizes[wide_ ? 1 + below(5) : below(8)];
  grid_ = {wide_ ? 2000 : 1 + below(4), size_[1] > 1 ? 1 + below(2) : 1, 1};
  if (grid_sync_) choose_grid_sync_shape();
  const std::uint32_t lanes = size_[0] * size_[1] * size_[2];
  const std::uint32_t all = lanes * grid_[0] * grid_[1];
  out_ = fmt::format("program generated workgroup({}, {}, {}){} {{\n", size_[0], size_[1], size_[2],
                     spellings_ && chance(5) ? " fast" : "");
  line("uniform n: u32[4];");
  inputs_.push_back(Bytes(16));
  for (std::size_t i = 0; i < 4; ++i) inputs_[0][i * 4] = static_cast<std::byte>(below(4));
  const auto count_of_input = [&] { return grid_sync_ && chance(9) ? 0 : 3 + below(12); };
  for (int i = 0; i < 3; ++i)
    declare("readonly", "in", count_of_input(), Mode::Read, false, false, any_type());
  for (int i = 0; i < 3; ++i) {
    declare("readwrite", "own", all, Mode::Private, false, false,
            chance(2) ? any_of(ir::kIntegerTypes) : any_type());
  }
  for (int i = 0; i < 2; ++i)
    declare("output", "out", all, Mode::Private, false, false, any_type());
  if (!wide_ && chance(2))
    declare("output", "count", 8, Mode::Atomic, false, true, any_atomic(false));
  if (!wide_ && chance(2))
    declare("readwrite", "count", 8, Mode::Atomic, false, true, any_atomic(false));
  if (grid_sync_ && chance(3))
    declare("writeonly", "blind", all, Mode::Private, false, false, any_type());
  if (grid_sync_) {
    line(fmt::format("output witness: u32[{}];", all));
    choose_iterations();
  }
  for (std::uint32_t i = one_group_fits_ ? 0 : below(3); i > 0; --i) {
    declare("workgroup", "shared", lanes, Mode::Private, true, false, any_type());
  }
  if (!one_group_fits_ && chance(3))
    declare("workgroup", "tally", 4, Mode::Atomic, true, true, any_atomic(true));
  for (std::uint32_t i = below(4); i > 0; --i) operation();
  if (size_[1] == 1 && grid_[1] == 1) {
    line("let slot = invocation.x;");
    line("let lane = local.x;");
  } else {
    line("let width = num_workgroups.x * workgroup_size.x;");
    line(
        "let slot = invocation.x + width * (invocation.y + num_workgroups.y * workgroup_size.y * "
        "invocation.z);");
    line("let lane = local.x + workgroup_size.x * (local.y + workgroup_size.y * local.z);");
  }
  vars_ = {{"slot", Type::U32, false}};
  if (!one_group_fits_) vars_.push_back({"lane", Type::U32, false});
  new_phase(true);
  phases();
  return out_ + "}\n";
}

inline void ProgramGenerator::operation() {
  Op op{fresh("op"), {}, any_type()};
  in_op_ = true;
  vars_.clear();
  std::string params;
  for (std::uint32_t i = below(4); i > 0; --i) {
    op.params.push_back(any_type());
    vars_.push_back({fresh("p"), op.params.back(), false});
    params += fmt::format("{}{}: {}", params.empty() ? "" : ", ", vars_.back().name,
                          name_of(op.params.back()));
  }
  line(fmt::format("op {}({}) -> {} {{", op.name, params, name_of(op.result)));
  ++depth_;
  for (std::uint32_t i = below(4); i > 0; --i) statement();
  line(fmt::format("yield {};", expression(op.result, 3)));
  --depth_;
  line("}");
  in_op_ = false;
  vars_.clear();
  ops_.push_back(std::move(op));
}

inline void ProgramGenerator::new_phase(bool whole_grid) {
  static constexpr const char* kCommuting[] = {"add", "sub", "or", "and", "xor", "min", "max"};
  for (Buffer& buffer : buffers_) {
    if (buffer.name.starts_with("in") || buffer.blind || (!whole_grid && !buffer.shared)) continue;
    buffer.mode = chance(2) ? Mode::Read : buffer.counter ? Mode::Atomic : Mode::Private;
    buffer.atomic = kCommuting[below(7)];
  }
}

inline void ProgramGenerator::phases() {
  if (grid_sync_) {
    known_from_the_start();
    grid_sequence(0);
    barrier(true);
    grid_sequence(0);
    last_witness();
  }
  for (std::uint32_t i = grid_sync_ ? 0 : 1 + below(4); i > 0; --i) {
    const std::uint32_t form = below(6);
    const bool whole_grid = grid_barriers_ && !wide_ && chance(2);
    if (form >= 3) {
      for (std::uint32_t k = 1 + below(5); k > 0; --k) statement();
      barrier(whole_grid);
      continue;
    }
    // A uniform loop, if or region, its phases closed by barriers on all sides.
    barrier(whole_grid);
    const std::size_t mark = vars_.size();
    if (form == 0) {
      const std::string trip = fresh("trip");
      line(fmt::format("loop {} in {}..n[{}] {{", trip, below(2), below(4)));
      vars_.push_back({trip, Type::U32, false});
    } else {
      line(form == 1 ? fmt::format("if n[{}] > {} {{", below(4), below(3)) : "region \"part\" {");
    }
    ++depth_;
    for (std::uint32_t k = 1 + below(2); k > 0; --k) {
      for (std::uint32_t j = 1 + below(3); j > 0; --j) statement();
      barrier(whole_grid);
    }
    --depth_;
    vars_.resize(mark);
    line("}");
    barrier(whole_grid);
  }
  for (std::uint32_t k = 1 + below(4); k > 0; --k) statement();
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode != Mode::Private || buffer.shared) continue;
    line(
        fmt::format("{}[slot] = {};", buffer.name, expression(ir::info(buffer.element).loaded, 3)));
  }
}

inline void ProgramGenerator::body(std::uint32_t statements) {
  const std::size_t mark = vars_.size();
  ++depth_;
  for (std::uint32_t i = 0; i < statements; ++i) statement();
  --depth_;
  vars_.resize(mark);
}

inline void ProgramGenerator::write() {
  std::vector<const Buffer*> open;
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode == Mode::Private) open.push_back(&buffer);
  }
  if (open.empty()) return;
  const Buffer& buffer = *open[below(static_cast<std::uint32_t>(open.size()))];
  const Type loaded = ir::info(buffer.element).loaded;
  if (can_be_atomic(buffer.element, buffer.shared) && !wide_ && !few_ && !buffer.blind &&
      chance(3) && !buffer.name.starts_with("shared")) {
    // An atomic on the own slot: its old value is defined too.
    const std::string name = fresh("old");
    const bool compares = chance(4);
    const std::string more = compares ? expression(loaded, 1) + ", " : "";
    const std::string value = expression(loaded, 2);
    const std::string operation = compares    ? "compare_exchange"
                                  : chance(3) ? "exchange"
                                              : buffer.atomic;
    line(fmt::format("let {} = atomic_{}{}({}[slot], {}{});", name, operation, ordering(),
                     buffer.name, more, value));
    vars_.push_back({name, loaded, true});
    return;
  }
  const Type given = chance(3) ? buffer.element : loaded;
  const std::string place = slot(buffer);
  line(fmt::format("{}[{}] = {};", buffer.name, place, expression(given, 4)));
}

inline void ProgramGenerator::atomic_statement() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.mode != Mode::Atomic || chance(2)) continue;
    line(fmt::format("atomic_{}{}({}[{} % {}], {});", buffer.atomic, ordering(), buffer.name,
                     operand(Type::U32, 2), buffer.count + 1, expression(buffer.element, 2)));
    return;
  }
}

inline void ProgramGenerator::loop_statement() {
  const std::string name = fresh("k");
  if (few_) {
    const std::string from = few_operand();
    line(fmt::format("loop {} in {}..{} {{", name, from, few_operand()));
  } else {
    const std::uint32_t from = below(3);
    line(fmt::format("loop {} in {}..{} {{", name, from,
                     chance(2) ? std::to_string(from + below(4)) : operand(Type::U32, 2) + " % 5"));
  }
  vars_.push_back({name, Type::U32, false});
  ++loops_;
  body(1 + below(3));
  --loops_;
  vars_.pop_back();
  line("}");
}

inline void ProgramGenerator::statement() {
  if (spellings_ && !in_op_ && text_statement()) return;
  const bool deep = depth_ > 4;
  switch (below(in_op_ ? 7 : 11)) {
    case 0:
    case 1: {
      const Type type = any_type();
      const std::string name = fresh("v");
      line(fmt::format("let {} = {};", name, expression(type, 4)));
      vars_.push_back({name, type, true});
      return;
    }
    case 2:
    case 3:
      for (std::size_t tries = 0; tries < 5 && !vars_.empty(); ++tries) {
        const Var& var = vars_[below(static_cast<std::uint32_t>(vars_.size()))];
        if (!var.assignable) continue;
        line(fmt::format("{} = {};", slips() ? "nosuch" : var.name, expression(var.type, 4)));
        return;
      }
      return;
    case 4:
      if (deep) return;
      line(fmt::format("if {} {{", expression(Type::Bool, 3)));
      body(1 + below(3));
      if (chance(2)) {
        line(chance(3) ? fmt::format("}} else if {} {{", expression(Type::Bool, 2)) : "} else {");
        body(below(3));
      }
      line("}");
      return;
    case 5:
      if (!deep && loops_ < 2) loop_statement();
      return;
    case 6:
      if (deep) return;
      line(chance(2) ? "{" : "region \"r\" {");
      body(1 + below(2));
      line("}");
      return;
    case 7:
      return atomic_statement();
    case 8:
      if (!chance(4)) return write();
      line(fmt::format("if {} {{ return; }}", expression(Type::Bool, 3)));
      return;
    default:
      return write();
  }
}

}  // namespace felsite::test

#include "support/expression_generator.h"  // IWYU pragma: export
#include "support/grid_sync_generator.h"   // IWYU pragma: export
#include "support/text_generator.h"        // IWYU pragma: export
