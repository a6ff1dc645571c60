#include "codegen/kernel/interface.h"

#include <algorithm>

namespace felsite::codegen {
namespace {

using spv::StorageClass;

// The most parameters there can be; which of them are used is known only at the end.
std::size_t most_parameters(const Segment& segment) {
  const auto sized_at_run_time = std::ranges::count_if(
      segment.program.buffers(), [](const ir::BufferDecl& buffer) { return buffer.count == 0; });
  const std::size_t grid = segment.grid_in_parts ? 6 : 3;
  const std::size_t supplied =
      segment.parameters ? segment.program.buffer(*segment.parameters).count : 0;
  return grid + static_cast<std::size_t>(sized_at_run_time) + supplied;
}

}  // namespace

Interface::Interface(Emitter& emitter, const Segment& segment,
                     const std::optional<GridFolding>& folding)
    : e_(emitter),
      program_(segment.program),
      grid_in_parts_(segment.grid_in_parts),
      is_one_workgroup_(segment.one_workgroup.has_value()),
      folding_(folding),
      size_of_module_(segment.program.workgroup_size()),
      bindings_(segment.program.buffers().size(), 0) {
  if (folding_) size_of_module_ = {folding_->lanes, 1, 1};
  for (ir::BufferId id = 0; id < bindings_.size(); ++id) {
    const bool is_memory =
        program_.buffer(id).access != ir::Access::Workgroup && segment.parameters != id;
    if (is_memory) bindings_[id] = next_binding_++;
  }
  const bool fits = most_parameters(segment) * 4 <= e_.mask().limits.push_constant_bytes;
  parameter_storage_ = fits ? StorageClass::PushConstant : StorageClass::StorageBuffer;
}

Id Interface::builtin_variable(Slot slot) {
  struct Row {
    Slot slot;
    spv::BuiltIn what;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {Slot::Invocation, spv::BuiltIn::GlobalInvocationId, "invocation"},
      {Slot::Workgroup, spv::BuiltIn::WorkgroupId, "workgroup_id"},
      {Slot::Local, spv::BuiltIn::LocalInvocationId, "local"},
      {Slot::LocalIndex, spv::BuiltIn::LocalInvocationIndex, "local_index"},
      {Slot::Grid, spv::BuiltIn::NumWorkgroups, "num_workgroups"},
  };
  Id& variable = builtins_[static_cast<std::size_t>(slot)];
  if (variable != 0) return variable;
  SpirvModule& m = e_.module();
  const Row& row = *std::ranges::find(kRows, slot, &Row::slot);
  const Id triple = m.type_vector(e_.type_word(), 3);
  const Id type = slot == Slot::LocalIndex ? e_.type_word() : triple;
  variable = m.variable(StorageClass::Input, m.type_pointer(StorageClass::Input, type));
  m.decorate(variable, spv::Decoration::BuiltIn, {as_operand(row.what)});
  m.name(variable, row.name);
  return variable;
}

// Read once at the start of each function that uses it: nothing changes it.
Word Interface::builtin(Slot slot, std::uint32_t axis) {
  FunctionWriter& f = e_.function();
  Id& known = f.cached(static_cast<std::size_t>(slot) * 3 + axis);
  if (known == 0) {
    Id place = builtin_variable(slot);
    known = f.at_start([&] {
      if (slot != Slot::LocalIndex) {
        const Id pointer = e_.module().type_pointer(StorageClass::Input, e_.type_word());
        place = f.access(pointer, {place, e_.word(axis).id()});
      }
      return f.load(e_.type_word(), {place});
    });
  }
  return e_.as_word(known);
}

// The number of the invocation in a folded grid. A function sees one turn.
Word Interface::number() {
  const Word lane = local_index();
  if (folding_->turns == 1) return lane;
  FunctionWriter& f = e_.function();
  Id& known = f.cached(static_cast<std::size_t>(Slot::Number) * 3);
  if (known == 0) {
    known = f.at_start([&] { return folding_->number(lane, e_.load_word(turn_)).id(); });
  }
  return e_.as_word(known);
}

// Computes an id of a folded grid once in each function.
template <class Compute>
Word Interface::folded(Slot slot, std::uint32_t axis, Compute compute) {
  FunctionWriter& f = e_.function();
  Id& known = f.cached(static_cast<std::size_t>(slot) * 3 + axis);
  if (known == 0) {
    const Word which = number();
    known = f.at_start([&] { return compute(*folding_, which, axis).id(); });
  }
  return e_.as_word(known);
}

Word Interface::invocation(std::uint32_t axis) {
  if (folding_) return folded(Slot::Invocation, axis, invocation_of);
  const Word in_dispatch = builtin(Slot::Invocation, axis);
  if (!grid_in_parts_) return in_dispatch;
  return in_dispatch + parameter({ParameterKind::Base, axis}) * workgroup_size(axis);
}

Word Interface::local(std::uint32_t axis) {
  return folding_ ? folded(Slot::Local, axis, local_of) : builtin(Slot::Local, axis);
}

Word Interface::workgroup(std::uint32_t axis) {
  if (folding_) return folded(Slot::Workgroup, axis, workgroup_of);
  if (is_one_workgroup_) return e_.word(0);
  const Word in_dispatch = builtin(Slot::Workgroup, axis);
  return grid_in_parts_ ? in_dispatch + parameter({ParameterKind::Base, axis}) : in_dispatch;
}

// Where the device itself reads the grid from a buffer, only the device knows it.
Word Interface::grid(std::uint32_t axis) {
  if (is_one_workgroup_) return e_.word(folding_ ? folding_->grid[axis] : 1);
  if (program_.facts().has_indirect_dispatch && !grid_in_parts_) return builtin(Slot::Grid, axis);
  return parameter({ParameterKind::Grid, axis});
}

Id Interface::size_constant() {
  if (size_ != 0) return size_;
  SpirvModule& m = e_.module();
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    size_parts_[axis] = m.spec_constant(e_.type_word(), size_of_module_[axis], axis);
  }
  size_ = m.spec_composite(m.type_vector(e_.type_word(), 3), size_parts_);
  m.decorate(size_, spv::Decoration::BuiltIn, {as_operand(spv::BuiltIn::WorkgroupSize)});
  m.name(size_, "workgroup_size");
  return size_;
}

Word Interface::workgroup_size(std::uint32_t axis) {
  if (folding_) return e_.word(folding_->size[axis]);
  size_constant();
  return e_.as_word(size_parts_[axis]);
}

Word Interface::workgroup_invocations() {
  size_constant();
  SpirvModule& m = e_.module();
  const Id plane = m.spec_product(e_.type_word(), size_parts_[0], size_parts_[1]);
  return e_.as_word(m.spec_product(e_.type_word(), plane, size_parts_[2]));
}

Word Interface::length(ir::BufferId buffer) {
  const std::uint32_t count = program_.buffer(buffer).count;
  return count != 0 ? e_.word(count) : parameter({ParameterKind::Length, buffer});
}

Word Interface::parameter(Parameter wanted) {
  SpirvModule& m = e_.module();
  auto found = std::ranges::find(parameters_, wanted);
  if (found == parameters_.end()) found = parameters_.insert(found, wanted);
  const auto index = static_cast<std::uint32_t>(found - parameters_.begin());
  if (parameter_block_ == 0) parameter_block_ = m.new_id();
  FunctionWriter& f = e_.function();
  Id& known = f.parameter(index);
  if (known == 0) {
    const Id pointer = m.type_pointer(parameter_storage_, e_.type_word());
    known = f.at_start([&] {
      const Id place = f.access(pointer, {parameter_block_, e_.word(0).id(), e_.word(index).id()});
      return f.load(e_.type_word(), {place});
    });
  }
  return e_.as_word(known);
}

Id Interface::status_word(Word index) {
  SpirvModule& m = e_.module();
  if (status_ == 0) status_ = m.new_id();
  const Id pointer = m.type_pointer(StorageClass::StorageBuffer, e_.type_word());
  return e_.function().access(pointer, {status_, e_.word(0).id(), index.id()});
}

Word Interface::status_length() {
  if (status_ == 0) status_ = e_.module().new_id();
  return e_.as_word(e_.function().array_length(e_.type_word(), {status_, 0}));
}

// Gives what was there before.
Word Interface::raise_status(Word index, Word key) {
  return e_.as_word(
      e_.function().atomic(ir::AtomicOp::Max, false, e_.type_word(),
                           {status_word(index), e_.grid_scope().id(), e_.word(0).id(), key.id()}));
}

// Atomic, since several invocations may set it to one value.
void Interface::set_status(Word index, Word value) {
  e_.function().atomic_store(
      {status_word(index), e_.grid_scope().id(), e_.word(0).id(), value.id()});
}

// The complement of the linear index. A grid in one workgroup never has an index that is too large.
Word Interface::status_key() {
  const Word width = grid(0) * workgroup_size(0);
  const Word height = grid(1) * workgroup_size(1);
  const Word row = height * invocation(2) + invocation(1);
  const Word index = width * row + invocation(0);
  if (is_one_workgroup_) return ~index;
  const Flag is_far = mul_high(height, invocation(2)) != 0U || row < invocation(1) ||
                      mul_high(width, row) != 0U || index < invocation(0) ||
                      index >= ~StatusWords::kFarKey;
  return select(is_far, e_.word(StatusWords::kFarKey), ~index);
}

// An invocation lower than all that reported before writes its whole report; any other never
// counts.
template <class More>
Id Interface::write_report(const char* name, std::span<const Id> params, More more) {
  return e_.write_function(name, e_.type_void(), params, [&](FunctionWriter& f, OpenBlock block) {
    const Word length = status_length();
    const Id closed_word = status_word(length - StatusWords::kClosedFromEnd);
    Flag counts = e_.load_word(closed_word) == 0U;
    if (closed_ != 0) counts = counts && !e_.load_flag(closed_);
    e_.when(counts, [&] {
      const Word key = status_key();
      const Word before = raise_status(e_.word(StatusWords::kKey), key);
      e_.when(before < key, [&] {
        set_status(length - StatusWords::kTakenFromEnd, e_.word(1));
        set_status(e_.word(StatusWords::kWidth), grid(0) * workgroup_size(0));
        set_status(e_.word(StatusWords::kHeight), grid(1) * workgroup_size(1));
        more(f, key);
      });
    });
    f.emit_return(std::move(block));
  });
}

void Interface::report_loop_budget() {
  if (budget_function_ == 0) {
    budget_function_ = write_report("report_loop_budget", {}, [](FunctionWriter&, Word) {});
  }
  e_.function().call(e_.type_void(), {budget_function_});
}

void Interface::report_trap(std::uint32_t tag, Word address) {
  if (trap_function_ == 0) {
    const std::array params{e_.type_word(), e_.type_word()};
    trap_function_ = write_report("report_trap", params, [&](FunctionWriter& f, Word key) {
      raise_status(e_.as_word(f.param(0)) + StatusWords::kTags, key);
      for (std::uint32_t digit = 0; digit < StatusWords::kDigits; ++digit) {
        const Word value = (e_.as_word(f.param(1)) >> (digit * StatusWords::kDigitBits)) &
                           (StatusWords::kDigitValues - 1);
        raise_status(value + (StatusWords::kAddress + digit * StatusWords::kDigitValues), key);
      }
    });
  }
  e_.function().call(e_.type_void(), {trap_function_, e_.word(tag).id(), address.id()});
}

// A barrier stands before this and before the next report, so the load need not be atomic.
Flag Interface::has_report() {
  const Id place = status_word(e_.word(StatusWords::kKey));
  const auto shared = as_operand(spv::MemoryAccessMask::NonPrivatePointer);
  const Id key = e_.has(Feature::MemoryModel) ? e_.function().load(e_.type_word(), {place, shared})
                                              : e_.load(e_.type_word(), place);
  return e_.as_word(key) != 0U;
}

namespace {

// A block of one array of words, in a variable whose id is in use already. `words`: none if the
// length is that of what is bound.
void declare_word_block(Emitter& e, Id variable, StorageClass storage,
                        std::optional<std::size_t> words, const char* name) {
  SpirvModule& m = e.module();
  const Id array = words ? m.new_type_array(e.type_word(), e.word(as_operand(*words)).id())
                         : m.new_type_runtime_array(e.type_word());
  m.variable_as(variable, storage, m.type_pointer(storage, m.new_block(array, 4, name)));
  m.name(variable, name);
}

}  // namespace

void Interface::finish(Kernel& kernel) {
  size_constant();  // the module's workgroup size, used in it or not
  if (parameter_block_ != 0) {
    declare_word_block(e_, parameter_block_, parameter_storage_, parameters_.size(), "parameters");
    if (parameter_storage_ == StorageClass::StorageBuffer) {
      kernel.parameter_binding = next_binding_++;
      e_.module().bind(parameter_block_, *kernel.parameter_binding);
      e_.module().decorate(parameter_block_, spv::Decoration::NonWritable);
    }
  }
  if (status_ != 0) {
    declare_word_block(e_, status_, StorageClass::StorageBuffer, std::nullopt, "status");
    kernel.status_binding = next_binding_++;
    e_.module().bind(status_, *kernel.status_binding);
  }
  kernel.parameters = std::move(parameters_);
  kernel.workgroup_size = size_of_module_;
}

}  // namespace felsite::codegen
