// What every lowering needs at hand: the module, the mask, the function being written, and the
// types and constants of the device.
#pragma once

#include <spirv/unified1/GLSL.std.450.h>

#include <bit>
#include <initializer_list>
#include <span>
#include <unordered_map>

#include "codegen/spirv/function_writer.h"
#include "codegen/spirv/spirv_module.h"
#include "codegen/values/values.h"
#include "felsite/capabilities.h"
#include "felsite/types.h"

namespace felsite::codegen {

// Functions of the module that programs do not declare: the expansions too long to repeat. One for
// each kind and type that is used.
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
  // Sets the function that is written, and gives the one that was.
  FunctionWriter* write_to(FunctionWriter* function) { return std::exchange(function_, function); }

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
  void store(Id pointer, Id value) { function_->store({pointer, value}); }

  // Runs `body` in a block of its own, under the condition.
  template <class Body>
  void when(Flag condition, Body body) {
    const Id then = module_.new_id();
    const Id merge = module_.new_id();
    function_->branch_if(condition.id, then, merge, merge);
    function_->begin(then);
    body();
    if (function_->open()) function_->branch(merge);
    function_->begin(merge);
  }
  // The value of `body` under the condition, else `otherwise`.
  template <class Body>
  Id value_when(Flag condition, Id type, Id otherwise, Body body) {
    const Id before = function_->block();
    const Id then = module_.new_id();
    const Id merge = module_.new_id();
    function_->branch_if(condition.id, then, merge, merge);
    function_->begin(then);
    const Id value = body();
    const Id after = function_->block();
    function_->branch(merge);
    function_->begin(merge);
    return function_->phi(type, {value, after, otherwise, before});
  }
  // `body(Word index)` for index from, from + step, ... below `to`. Gives the index it ended with.
  template <class Body>
  Word repeat(Word from, Word to, Word step, Body body) {
    const Id before = function_->block();
    const Id header = module_.new_id();
    const Id test = module_.new_id();
    const Id inside = module_.new_id();
    const Id next = module_.new_id();
    const Id merge = module_.new_id();
    const Id index = module_.new_id();
    const Id stepped = module_.new_id();
    // Constants are declared before the loop refers to them.
    const Id from_id = from.id();
    function_->branch(header);
    function_->begin(header);
    function_->phi_as(index, type_word(), {from_id, before, stepped, next});
    function_->loop_merge(merge, next);
    function_->branch(test);
    function_->begin(test);
    const Flag goes_on = as_word(index) < to;
    function_->leave_unless(goes_on.id, inside, merge);
    function_->begin(inside);
    body(as_word(index));
    if (function_->open()) function_->branch(next);
    function_->begin(next);
    function_->add_as(stepped, type_word(), {index, step.id()});
    function_->branch(header);
    function_->begin(merge);
    return as_word(index);
  }

  // `body()` as long as the flag in the variable holds.
  template <class Body>
  void repeat_while(Id variable, Body body) {
    const Id header = module_.new_id();
    const Id test = module_.new_id();
    const Id inside = module_.new_id();
    const Id next = module_.new_id();
    const Id merge = module_.new_id();
    function_->branch(header);
    function_->begin(header);
    function_->loop_merge(merge, next);
    function_->branch(test);
    function_->begin(test);
    function_->leave_unless(load(type_bool(), variable), inside, merge);
    function_->begin(inside);
    body();
    function_->branch(next);
    function_->begin(next);
    function_->branch(header);
    function_->begin(merge);
  }

  // Calls the helper, whose body is written at its first call: `body(FunctionWriter&)` gives the
  // result's id. `variant` tells helpers of one kind apart.
  template <class Body>
  Id call_helper(Helper kind, std::uint32_t variant, const char* name, Id result_type,
                 std::initializer_list<Id> types, std::initializer_list<Id> arguments, Body body) {
    Id& known = helpers_[static_cast<std::uint32_t>(kind) << 16 | variant];
    if (known == 0) known = write_helper(name, result_type, types, body);
    return function_->call(result_type, {known}, arguments);
  }

 private:
  template <class Body>
  Id write_helper(const char* name, Id result_type, std::initializer_list<Id> types, Body body) {
    FunctionWriter helper(module_, result_type, std::span(types.begin(), types.size()));
    module_.name(helper.id(), name);
    FunctionWriter* const caller = write_to(&helper);
    helper.give_back(body(helper));
    helper.finish();
    write_to(caller);
    return helper.id();
  }

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
