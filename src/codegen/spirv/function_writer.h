// One SPIR-V function in the making: its blocks, in the structured forms that SPIR-V asks for.
#pragma once

#include <array>
#include <cassert>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/spirv/instruction_writer.h"

namespace felsite::codegen {

// Values that are read once, at the start of a function that uses them.
inline constexpr std::size_t kCachedValues = 18;

// Says that control reaches the place where a function is being written. The instruction that ends
// the block consumes it: no block is ended twice, and none is left without an end.
class OpenBlock {
 public:
  OpenBlock(OpenBlock&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  OpenBlock& operator=(OpenBlock&& other) noexcept {
    assert(!held_);
    held_ = std::exchange(other.held_, false);
    return *this;
  }
  ~OpenBlock() { assert(!held_ || std::uncaught_exceptions() != 0); }

 private:
  friend class FunctionWriter;
  OpenBlock() = default;
  void consume() {
    assert(held_);
    held_ = false;
  }

  bool held_ = true;
};

// Of something that was written: none where control never comes to its end.
using Flow = std::optional<OpenBlock>;

class FunctionWriter : public InstructionWriter {
 public:
  FunctionWriter(SpirvModule& module, Id result_type, std::span<const Id> param_types);

  Id id() const { return id_; }
  Id param(std::size_t index) const { return params_[index]; }

  // About how long the body will be: a long one is then not moved as it grows.
  void expect_words(std::size_t words) { body_.reserve(words); }

  // A variable of this function.
  Id local(Id type);

  // The first block of the body; asked for once.
  OpenBlock start() { return {}; }
  void emit_return(OpenBlock block) { terminate(block, spv::Op::OpReturn, {}); }
  void emit_return(OpenBlock block, Id value) { terminate(block, spv::Op::OpReturnValue, {value}); }

  // Both ways of a branch; the second one may be missing. Each takes its block and gives what
  // comes out of it.
  template <class Then, class Else>
  Flow branch(OpenBlock block, Id condition, bool has_else, Then then, Else otherwise);

  // What follows always comes out again, so nobody has to hold the block meanwhile.

  // Writes `body()` under the condition.
  template <class Body>
  void when(Id condition, Body body);
  // The value of `body()` under the condition, else `otherwise`.
  template <class Body>
  Id value_when(Id condition, Id type, Id otherwise, Body body);
  template <class Then, class Else>
  void either(Id condition, Then then, Else otherwise);
  // Writes `body(OpenBlock)`, repeated while `test()` holds.
  template <class Test, class Body>
  void repeat_while(Test test, Body body);
  // Writes `body()`, repeated as long as `test()`, behind it, holds.
  template <class Body, class Test>
  void do_while(Body body, Test test);
  // Writes `body(OpenBlock, index)`, repeated while `test(index)` holds, and gives the index. The
  // bounds are asked for where they are needed: what they declare stands there.
  template <class From, class Test, class Step, class Body>
  Id repeat_counted(Id type, From from, Test test, Step step, Body body);

  Id& cached(std::size_t slot) { return cached_[slot]; }
  Id& parameter(std::size_t index) {
    if (index >= parameters_.size()) parameters_.resize(index + 1);
    return parameters_[index];
  }

  // Hands the function over to the module.
  void finish();

 private:
  struct LoopBlocks {
    Id header, test, inside, next, merge;
  };
  LoopBlocks new_loop() {
    return {module_.new_id(), module_.new_id(), module_.new_id(), module_.new_id(),
            module_.new_id()};
  }
  // `at_header()` writes what the header begins with, `step()` what stands before its repetition.
  template <class AtHeader, class Test, class Body, class Step>
  void write_loop(const LoopBlocks& loop, AtHeader at_header, Test test, Body body, Step step);

  // The forms above begin and end each block themselves.
  void begin(Id label) {
    body_.add(spv::Op::OpLabel, {label});
    block_ = label;
  }
  void go_to(Id target) { body_.add(spv::Op::OpBranch, {target}); }
  void fork(Id condition, Id if_true, Id if_false) {
    body_.add(spv::Op::OpBranchConditional, {condition, if_true, if_false});
  }
  void fork_to(Id merge, Id condition, Id if_true, Id if_false) {
    body_.add(spv::Op::OpSelectionMerge, {merge, 0});
    fork(condition, if_true, if_false);
  }
  void terminate(OpenBlock& block, spv::Op op, Operands operands) {
    block.consume();
    body_.add(op, operands);
  }
  // Gives whether control comes to the end of `body(OpenBlock)`, which then goes on at `next`.
  template <class Body>
  bool write_block(Id label, Id next, Body& body) {
    begin(label);
    Flow end = body(OpenBlock());
    if (end) terminate(*end, spv::Op::OpBranch, {next});
    return end.has_value();
  }

  Id id_;
  std::vector<Id> params_;
  Instructions head_;
  Instructions variables_;
  Id entry_;
  Id first_;  // where the body starts
  Id block_;  // the one that is being written
  std::array<Id, kCachedValues> cached_{};
  std::vector<Id> parameters_;  // of the kernel, as far as this function read them
};

template <class Then, class Else>
Flow FunctionWriter::branch(OpenBlock block, Id condition, bool has_else, Then then,
                            Else otherwise) {
  const Id then_block = module_.new_id();
  const Id merge = module_.new_id();
  const Id else_block = has_else ? module_.new_id() : merge;
  fork_to(merge, condition, then_block, else_block);
  block.consume();
  const bool then_falls_through = write_block(then_block, merge, then);
  const bool falls_through =
      !has_else || write_block(else_block, merge, otherwise) || then_falls_through;
  begin(merge);
  if (falls_through) return OpenBlock();
  body_.add(spv::Op::OpUnreachable, {});
  return std::nullopt;
}

template <class Body>
void FunctionWriter::when(Id condition, Body body) {
  const Id then = module_.new_id();
  const Id merge = module_.new_id();
  fork_to(merge, condition, then, merge);
  begin(then);
  body();
  go_to(merge);
  begin(merge);
}

template <class Body>
Id FunctionWriter::value_when(Id condition, Id type, Id otherwise, Body body) {
  const Id before = block_;
  Id value = 0;
  Id after = 0;
  when(condition, [&] {
    value = body();
    after = block_;
  });
  return emit(spv::Op::OpPhi, type, {value, after, otherwise, before});
}

template <class Then, class Else>
void FunctionWriter::either(Id condition, Then then, Else otherwise) {
  const Id then_block = module_.new_id();
  const Id else_block = module_.new_id();
  const Id merge = module_.new_id();
  fork_to(merge, condition, then_block, else_block);
  begin(then_block);
  then();
  go_to(merge);
  begin(else_block);
  otherwise();
  go_to(merge);
  begin(merge);
}

template <class AtHeader, class Test, class Body, class Step>
void FunctionWriter::write_loop(const LoopBlocks& loop, AtHeader at_header, Test test, Body body,
                                Step step) {
  go_to(loop.header);
  begin(loop.header);
  at_header();
  body_.add(spv::Op::OpLoopMerge, {loop.merge, loop.next, 0});
  go_to(loop.test);
  begin(loop.test);
  fork(test(), loop.inside, loop.merge);
  write_block(loop.inside, loop.next, body);
  begin(loop.next);
  step();
  go_to(loop.header);
  begin(loop.merge);
}

template <class Test, class Body>
void FunctionWriter::repeat_while(Test test, Body body) {
  write_loop(
      new_loop(), [] {}, test, body, [] {});
}

template <class From, class Test, class Step, class Body>
Id FunctionWriter::repeat_counted(Id type, From from, Test test, Step step, Body body) {
  const Id before = block_;
  const LoopBlocks loop = new_loop();
  const Id index = module_.new_id();
  const Id stepped = module_.new_id();
  const Id first = from();
  write_loop(
      loop,
      [&] {
        body_.add(spv::Op::OpPhi, {type, index, first, before, stepped, loop.next});
      },
      [&] { return test(index); }, [&](OpenBlock block) { return body(std::move(block), index); },
      [&] {
        body_.add(spv::Op::OpIAdd, {type, stepped, index, step()});
      });
  return index;
}

template <class Body, class Test>
void FunctionWriter::do_while(Body body, Test test) {
  const Id header = module_.new_id();
  const Id inside = module_.new_id();
  const Id next = module_.new_id();
  const Id merge = module_.new_id();
  go_to(header);
  begin(header);
  body_.add(spv::Op::OpLoopMerge, {merge, next, 0});
  go_to(inside);
  begin(inside);
  body();
  go_to(next);
  begin(next);
  fork(test(), header, merge);
  begin(merge);
}

}  // namespace felsite::codegen
