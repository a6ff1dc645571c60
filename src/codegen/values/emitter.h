// What every lowering needs at hand: the module, the mask, the function being written, and the
// types and constants of the device.
#pragma once

#include <spirv/unified1/GLSL.std.450.h>

#include <bit>
#include <concepts>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>

#include "codegen/spirv/function_writer.h"
#include "codegen/spirv/spirv_module.h"
#include "codegen/values/values.h"
#include "felsite/capabilities.h"
#include "felsite/types.h"

namespace felsite::codegen {

// Functions that the lowering adds to the module, since their bodies are too long to repeat: one
// for each kind and type in use.
enum class Helper : std::uint8_t {
  Divide,
  SquareRoot,
  FusedMultiplyAdd,
  DivideWide,
  ModuloWide,
  UnpackHalf,
  PackHalf,
  RoundHalf,
  NarrowDouble,  // by the precision
  WideToFloat,
  FloatToWide,
  Function,  // the transcendental ones, from here on by UnaryOp
};

class Emitter {
 public:
  Emitter(const Capabilities& mask, bool exact, bool names);

  const Capabilities& mask() const { return mask_; }
  bool has(Feature feature) const { return mask_.has(feature); }
  // Whether floats give the bits of the reference; else they are the device's.
  bool exact() const { return exact_; }
  SpirvModule& module() { return module_; }
  FunctionWriter& function() { return *function_; }

  Id type_void() { return module_.type_void(); }
  Id type_bool() { return types_.boolean; }
  Id type_word() { return types_.word; }
  Id type_signed_word() { return module_.type_int(32); }
  Id type_float() {
    if (types_.single == 0) types_.single = module_.type_float(32);
    return types_.single;
  }
  Id type_double();
  Id type_wide();             // native
  Id type_word_pair();        // a vector: how a pair is handed to and from a function or a bitcast
  Id type_of(ir::Type type);  // of the one value that holds it; of a pair, its vector

  Flag flag(bool value) {
    return {this, module_.constant(value), value ? Flag::Known::True : Flag::Known::False};
  }
  Word word(std::uint32_t value) { return {this, 0, value}; }
  Word grid_scope();  // of memory that the invocations of one dispatch share
  Wide wide(std::uint64_t value);
  Float number(float value) {
    return {this, module_.constant(type_float(), std::bit_cast<std::uint32_t>(value))};
  }
  Double number(double value) {
    return {this, module_.constant(type_double(), std::bit_cast<std::uint64_t>(value))};
  }
  Flag as_flag(Id id) { return {this, id}; }
  Word as_word(Id id) { return {this, id, 0}; }
  Wide as_wide(Id native) { return {this, native, {}, {}, {}}; }
  Float as_float(Id id) { return {this, id}; }
  Double as_double(Id id) { return {this, id}; }

  Id emit(InstructionWriter::Instruction what, Id type, std::initializer_list<Id> operands) {
    return (function_->*what)(type, operands);
  }
  // A float operation that must stay as it is written.
  Id emit_float(InstructionWriter::Instruction what, Id type, std::initializer_list<Id> operands);
  Id glsl(GLSLstd450 instruction, Id type, std::initializer_list<Id> operands);
  Id load(Id type, Id pointer) { return function_->load(type, {pointer}); }
  Word load_word(Id pointer) { return as_word(load(type_word(), pointer)); }
  Flag load_flag(Id pointer) { return as_flag(load(type_bool(), pointer)); }
  void store(Id pointer, Id value) { function_->store({pointer, value}); }

  // Writes `body()` under the condition.
  template <class Body>
  void when(Flag condition, Body body) {
    function_->when(condition.id, body);
  }
  // Writes `body(Word index)`, or `body(OpenBlock, Word index)` if it may return, for index from,
  // from + step, ... below `to`. Gives the index it ended with.
  template <class Body>
  Word repeat(Word from, Word to, Word step, Body body) {
    const auto write_body = [&](OpenBlock block, Id index) -> Flow {
      if constexpr (std::invocable<Body&, OpenBlock, Word>) {
        return body(std::move(block), as_word(index));
      } else {
        body(as_word(index));
        return block;
      }
    };
    return as_word(function_->repeat_counted(
        type_word(), [&] { return from.id(); }, [&](Id index) { return (as_word(index) < to).id; },
        [&] { return step.id(); }, write_body));
  }
  // Writes `body(OpenBlock)`, repeated as long as the flag in the variable holds.
  template <class Body>
  void repeat_while(Id variable, Body body) {
    function_->repeat_while([&] { return load(type_bool(), variable); }, body);
  }

  // Writes a function. `body(FunctionWriter&, OpenBlock)` ends its last block.
  template <class Body>
  Id write_function(std::string_view name, Id result_type, std::span<const Id> types, Body body) {
    FunctionWriter function(module_, result_type, types);
    module_.name(function.id(), name);
    FunctionWriter* const caller = std::exchange(function_, &function);
    body(function, function.start());
    function.finish();
    function_ = caller;
    return function.id();
  }

  // Calls the helper, whose body is written at its first call: `body(FunctionWriter&)` gives the
  // result's id. `variant` tells helpers of one kind apart.
  template <class Body>
  Id call_helper(Helper kind, std::uint32_t variant, const char* name, Id result_type,
                 std::initializer_list<Id> types, std::initializer_list<Id> arguments, Body body) {
    Id& known = helpers_[static_cast<std::uint32_t>(kind) << 16 | variant];
    if (known == 0) {
      known = write_function(name, result_type, types, [&](FunctionWriter& f, OpenBlock block) {
        f.emit_return(std::move(block), body(f));
      });
    }
    return function_->call(result_type, {known}, arguments);
  }

 private:
  Capabilities mask_;
  bool exact_;
  SpirvModule module_;
  FunctionWriter* function_ = nullptr;
  struct {
    Id boolean = 0, word = 0, single = 0;
  } types_;  // asked for so often that they are kept at hand
  std::unordered_map<std::uint32_t, Id> helpers_;
};

}  // namespace felsite::codegen
