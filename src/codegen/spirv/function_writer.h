// One SPIR-V function in the making. It writes what it is told, block after block.
#pragma once

#include <array>
#include <cassert>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "codegen/spirv/spirv_module.h"

namespace felsite::codegen {

// Values that are read once, at the start of a function that uses them.
inline constexpr std::size_t kCachedValues = 18;

class FunctionWriter {
 public:
  FunctionWriter(SpirvModule& module, Id result_type, std::span<const Id> param_types);

  Id id() const { return id_; }
  Id param(std::size_t index) const { return params_[index]; }

  // About how long the body will be: a long one is then not moved as it grows.
  void expect_words(std::size_t words) { body_.reserve(words); }

  // A variable of this function.
  Id local(Id type);

  // An instruction with a result, here or at the start of the function.
  Id emit(spv::Op op, Id type, std::initializer_list<std::uint32_t> operands) {
    return emit_into(at_start_ ? prologue_ : body_, op, type, operands, {});
  }
  Id emit(spv::Op op, Id type, std::initializer_list<std::uint32_t> first,
          std::span<const std::uint32_t> rest) {
    return emit_into(body_, op, type, first, rest);
  }
  Id emit_at_start(spv::Op op, Id type, std::initializer_list<std::uint32_t> operands) {
    return emit_into(prologue_, op, type, operands, {});
  }
  // All that `body` emits, at the start of the function.
  template <class Body>
  auto at_start(Body body) {
    const bool before = std::exchange(at_start_, true);
    const auto result = body();
    at_start_ = before;
    return result;
  }
  // With a result whose id is known before: it is referred to ahead of its place.
  void emit_as(Id result, spv::Op op, Id type, std::initializer_list<std::uint32_t> operands) {
    assert(open_);
    body_.add_with_result(op, type, result, operands, {});
  }
  // Values and the blocks they come from, in turns.
  void phi(Id type, Id result, std::initializer_list<Id> sources) {
    emit_as(result, spv::Op::OpPhi, type, sources);
  }
  // An instruction without one.
  void act(spv::Op op, std::initializer_list<std::uint32_t> operands) {
    assert(open_);
    body_.add(op, operands);
  }

  // The block that is being written; after a terminator there is none until `begin`.
  bool open() const { return open_; }
  Id block() const { return block_; }
  void begin(Id label);
  void branch(Id target) { terminate(spv::Op::OpBranch, {target}); }
  // Both ways, with the place where they meet again.
  void branch_if(Id condition, Id if_true, Id if_false, Id merge);
  // Out of a loop's condition: the merge block belongs to the loop.
  void leave_unless(Id condition, Id body, Id merge) {
    terminate(spv::Op::OpBranchConditional, {condition, body, merge});
  }
  void loop_merge(Id merge, Id continue_target) {
    act(spv::Op::OpLoopMerge, {merge, continue_target, 0});
  }
  void give_back() { terminate(spv::Op::OpReturn, {}); }
  void give_back(Id value) { terminate(spv::Op::OpReturnValue, {value}); }
  void unreachable() { terminate(spv::Op::OpUnreachable, {}); }
  void line(Id file, std::uint32_t line, std::uint32_t column) {
    if (open_) body_.add(spv::Op::OpLine, {file, line, column});
  }

  Id& cached(std::size_t slot) { return cached_[slot]; }
  Id& parameter(std::size_t index) {
    if (index >= parameters_.size()) parameters_.resize(index + 1);
    return parameters_[index];
  }

  // Hands the function over to the module.
  void finish();

 private:
  Id emit_into(Instructions& where, spv::Op op, Id type, std::initializer_list<std::uint32_t> first,
               std::span<const std::uint32_t> rest);
  void terminate(spv::Op op, std::initializer_list<std::uint32_t> operands) {
    act(op, operands);
    open_ = false;
  }

  SpirvModule& module_;
  Id id_;
  std::vector<Id> params_;
  Instructions head_;
  Instructions variables_;
  Instructions prologue_;
  Instructions body_;
  Id entry_;
  Id first_;  // where the body starts
  Id block_;
  bool open_ = true;
  bool at_start_ = false;
  std::array<Id, kCachedValues> cached_{};
  std::vector<Id> parameters_;  // of the kernel, as far as this function read them
};

}  // namespace felsite::codegen
