// One SPIR-V function in the making. It writes what it is told, block after block.
#pragma once

#include <array>
#include <cassert>
#include <span>
#include <vector>

#include "codegen/spirv/instruction_writer.h"

namespace felsite::codegen {

// Values that are read once, at the start of a function that uses them.
inline constexpr std::size_t kCachedValues = 18;

class FunctionWriter : public InstructionWriter {
 public:
  FunctionWriter(SpirvModule& module, Id result_type, std::span<const Id> param_types);

  Id id() const { return id_; }
  Id param(std::size_t index) const { return params_[index]; }

  // About how long the body will be: a long one is then not moved as it grows.
  void expect_words(std::size_t words) { body_.reserve(words); }

  // A variable of this function.
  Id local(Id type);

  // Values and the blocks they come from, in turns.
  Id phi(Id type, Operands sources) { return emit(spv::Op::OpPhi, type, sources); }
  // With a result that is referred to ahead of its place.
  void phi_as(Id result, Id type, Operands sources) {
    body_.add_with_result(spv::Op::OpPhi, type, result, sources, {});
  }
  void add_as(Id result, Id type, Operands ab) {
    body_.add_with_result(spv::Op::OpIAdd, type, result, ab, {});
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
    body_.add(spv::Op::OpLoopMerge, {merge, continue_target, 0});
  }
  void give_back() { terminate(spv::Op::OpReturn, {}); }
  void give_back(Id value) { terminate(spv::Op::OpReturnValue, {value}); }
  void unreachable() { terminate(spv::Op::OpUnreachable, {}); }

  Id& cached(std::size_t slot) { return cached_[slot]; }
  Id& parameter(std::size_t index) {
    if (index >= parameters_.size()) parameters_.resize(index + 1);
    return parameters_[index];
  }

  // Hands the function over to the module.
  void finish();

 private:
  void terminate(spv::Op op, std::initializer_list<std::uint32_t> operands) {
    assert(open_);
    body_.add(op, operands);
    open_ = false;
  }

  Id id_;
  std::vector<Id> params_;
  Instructions head_;
  Instructions variables_;
  Id entry_;
  Id first_;  // where the body starts
  Id block_;
  bool open_ = true;
  std::array<Id, kCachedValues> cached_{};
  std::vector<Id> parameters_;  // of the kernel, as far as this function read them
};

}  // namespace felsite::codegen
