#include "codegen/kernel/buffers.h"

#include "codegen/values/float_bits.h"
#include "ir/analysis/workgroup_memory.h"

namespace felsite::codegen {
namespace {

using ir::Type;
using spv::StorageClass;

bool is_narrow_integer(Type type) { return ir::kNarrowTypes.has(type); }

// A narrow element within its word.
struct Place {
  Word unit;
  Word shift;
};

Place place_in_word(Layout layout, Word index) {
  const std::uint32_t per_word = info(layout).elements_in_unit;
  const std::uint32_t log2 = per_word == 4 ? 2 : 1;
  return {index >> log2, (index & (per_word - 1)) << (5 - log2)};
}

std::uint32_t element_mask(Type element) { return ir::info(element).bytes == 1 ? 0xFFU : 0xFFFFU; }

// Cut to the element's bits, or extended from them by its sign.
Word cut(Type element, Word word) { return word & element_mask(element); }
Word extended(Type element, Word word) {
  if (!is_signed(element)) return cut(element, word);
  const std::uint32_t unused = ir::info(element).bytes == 1 ? 24 : 16;
  return signed_shift_right(word << unused, unused);
}

}  // namespace

Buffers::Buffers(Emitter& emitter, Interface& interface, const ir::Program& program, MemoryUse use)
    : e_(emitter),
      interface_(interface),
      program_(program),
      use_(std::move(use)),
      roomy_(ir::workgroup_bytes(program).roomy <= emitter.mask().limits.shared_bytes),
      storages_(program.buffers().size()) {}

const Buffers::Storage& Buffers::storage(ir::BufferId buffer) {
  Storage& storage = storages_[buffer];
  if (storage.variable == 0) {
    const ir::BufferDecl& declared = program_.buffer(buffer);
    storage.layout = layout_of(declared, e_.mask(), e_.exact(), roomy_);
    storage.unit_type = unit_type(storage.layout);
    if (declared.access == ir::Access::Workgroup) {
      declare_workgroup(buffer, storage);
    } else {
      declare_storage(buffer, storage);
    }
    e_.module().name(storage.variable, declared.name);
  }
  return storage;
}

Id Buffers::unit_type(Layout layout) {
  SpirvModule& m = e_.module();
  switch (layout) {
    case Layout::Words:
    case Layout::Pairs:
    case Layout::InWords8:
    case Layout::InWords16:
      return e_.type_word();
    case Layout::Floats:
      return e_.type_float();
    case Layout::Wides:
      return e_.type_wide();
    case Layout::Bytes:
      m.need(spv::Capability::StorageBuffer8BitAccess);
      if (m.version() < 0x0001'0500) m.need_extension("SPV_KHR_8bit_storage");
      return m.type_uint(8);
    case Layout::Halves:
      m.need(spv::Capability::StorageBuffer16BitAccess);
      return m.type_uint(16);
  }
  return e_.type_word();
}

void Buffers::declare_storage(ir::BufferId buffer, Storage& s) {
  SpirvModule& m = e_.module();
  const ir::BufferDecl& declared = program_.buffer(buffer);
  const bool written = use_.written[buffer];
  const Id array = m.new_type_runtime_array(s.unit_type);
  const Id block = m.new_block(array, info(s.layout).unit_bytes, declared.name);
  s.variable = m.variable(s.storage, m.type_pointer(s.storage, block));
  s.pointer_type = m.type_pointer(s.storage, s.unit_type);
  m.bind(s.variable, interface_.binding(buffer));
  if (!written) m.decorate(s.variable, spv::Decoration::NonWritable);
  // What one invocation writes must become visible to another that reads it: that is said per
  // access in Vulkan's memory model, and per variable in the older one.
  if (written && use_.invocations_communicate) {
    if (e_.has(Feature::MemoryModel)) {
      s.memory_operands = as_operand(spv::MemoryAccessMask::NonPrivatePointer);
    } else {
      m.decorate(s.variable, spv::Decoration::Coherent);
    }
  }
}

void Buffers::declare_workgroup(ir::BufferId buffer, Storage& s) {
  SpirvModule& m = e_.module();
  s.storage = StorageClass::Workgroup;
  s.is_block = false;
  const auto units = as_operand(units_for(s.layout, program_.buffer(buffer).count));
  shared_bytes_ += units * info(s.layout).unit_bytes;
  const Id array = m.type_array(s.unit_type, e_.word(units).id());
  s.variable = m.variable(s.storage, m.type_pointer(s.storage, array));
  s.pointer_type = m.type_pointer(s.storage, s.unit_type);
  if (e_.has(Feature::MemoryModel)) {
    s.memory_operands = as_operand(spv::MemoryAccessMask::NonPrivatePointer);
  }
}

Id Buffers::workgroup_words(std::uint32_t count, const char* name) {
  SpirvModule& m = e_.module();
  shared_bytes_ += count * 4;
  const Id array = m.type_array(e_.type_word(), e_.word(count).id());
  const Id variable =
      m.variable(StorageClass::Workgroup, m.type_pointer(StorageClass::Workgroup, array));
  m.name(variable, name);
  return variable;
}

Id Buffers::workgroup_word(Id array, Word index) {
  const Id pointer = e_.module().type_pointer(StorageClass::Workgroup, e_.type_word());
  return e_.function().access(pointer, {array, index.id()});
}

Word Buffers::load_workgroup_word(Id array, Word index) {
  const Id from = workgroup_word(array, index);
  if (!e_.has(Feature::MemoryModel)) return e_.load_word(from);
  return e_.as_word(e_.function().load(
      e_.type_word(), {from, as_operand(spv::MemoryAccessMask::NonPrivatePointer)}));
}

void Buffers::store_workgroup_word(Id array, Word index, Word value) {
  const Id to = workgroup_word(array, index);
  if (!e_.has(Feature::MemoryModel)) return e_.store(to, value.id());
  e_.function().store({to, value.id(), as_operand(spv::MemoryAccessMask::NonPrivatePointer)});
}

void Buffers::publish_workgroup_word(Id array, Word index, Word value) {
  const Id to = workgroup_word(array, index);
  const Word scope = e_.word(as_operand(spv::Scope::Workgroup));
  e_.function().atomic_store({to, scope.id(), e_.word(0).id(), value.id()});
}

Id Buffers::pointer(const Storage& s, Word unit) {
  if (!s.is_block) return e_.function().access(s.pointer_type, {s.variable, unit.id()});
  return e_.function().access(s.pointer_type, {s.variable, e_.word(0).id(), unit.id()});
}

Id Buffers::load_unit(const Storage& s, Word unit) {
  const Id from = pointer(s, unit);
  if (s.memory_operands == 0) return e_.load(s.unit_type, from);
  return e_.function().load(s.unit_type, {from, s.memory_operands});
}

void Buffers::store_unit(const Storage& s, Word unit, Id value) {
  const Id to = pointer(s, unit);
  if (s.memory_operands == 0) {
    e_.store(to, value);
  } else {
    e_.function().store({to, value, s.memory_operands});
  }
}

Value Buffers::load_unchecked(const Storage& s, Type element, Word index) {
  if (s.layout == Layout::Floats) return {element, e_.as_float(load_unit(s, index))};
  if (s.layout == Layout::Wides || s.layout == Layout::Pairs) {
    Wide loaded;
    if (s.layout == Layout::Wides) {
      loaded = e_.as_wide(load_unit(s, index));
    } else {
      const Word unit = index << 1;
      const Word low = e_.as_word(load_unit(s, unit));
      loaded = wide(low, e_.as_word(load_unit(s, unit + 1U)));
    }
    return element == Type::F64 ? value_from_bits(e_, element, loaded) : Value(element, loaded);
  }
  Word word;
  if (s.layout == Layout::Words) {
    word = e_.as_word(load_unit(s, index));
  } else if (s.layout == Layout::Bytes || s.layout == Layout::Halves) {
    word = e_.as_word(e_.function().convert_integer(e_.type_word(), {load_unit(s, index)}));
    if (is_signed(element)) word = extended(element, word);
  } else {
    const Place place = place_in_word(s.layout, index);
    word = extended(element, e_.as_word(load_unit(s, place.unit)) >> place.shift);
  }
  if (element == Type::Bool) return {element, word != 0U};
  if (ir::is_float(element)) return value_from_bits(e_, element, word);
  return {ir::info(element).loaded, word};
}

// Other invocations may change the neighbours in the word meanwhile, so the element's bits are
// cleared and set atomically. Several invocations that store one value leave that value.
void Buffers::store_in_word(const Storage& s, Type element, Word index, Word stored) {
  const Place place = place_in_word(s.layout, index);
  const Id to = pointer(s, place.unit);
  const Word mask = e_.word(element_mask(element)) << place.shift;
  const Word scope = atomic_scope(s);
  const Word relaxed = e_.word(0);
  e_.function().atomic(ir::AtomicOp::And, false, e_.type_word(),
                       {to, scope.id(), relaxed.id(), (~mask).id()});
  e_.function().atomic(ir::AtomicOp::Or, false, e_.type_word(),
                       {to, scope.id(), relaxed.id(), (cut(element, stored) << place.shift).id()});
}

void Buffers::store_unchecked(const Storage& s, Type element, Word index, const Value& value) {
  if (s.layout == Layout::Floats) return store_unit(s, index, value.id());
  if (s.layout == Layout::Wides || s.layout == Layout::Pairs) {
    const Wide stored = element == Type::F64 ? wide_bits_of_value(value) : value.wide();
    if (s.layout == Layout::Wides) return store_unit(s, index, stored.native);
    const Word unit = index << 1;
    store_unit(s, unit, stored.low.id());
    return store_unit(s, unit + 1U, stored.high.id());
  }
  Word word;
  if (element == Type::Bool) {
    word = zero_or_one(value.flag());
  } else {
    word = ir::is_float(element) ? word_bits_of_value(value) : value.word();
  }
  if (s.layout == Layout::Words) {
    const bool narrow = is_narrow_integer(element);
    return store_unit(s, index, (narrow ? extended(element, word) : word).id());
  }
  if (s.layout == Layout::Bytes || s.layout == Layout::Halves) {
    return store_unit(s, index, e_.function().convert_integer(s.unit_type, {word.id()}));
  }
  store_in_word(s, element, index, word);
}

bool Buffers::needs_check(const Storage& s, IndexBound bound, AccessKind kind) {
  const bool whole_units = info(s.layout).elements_in_unit == 1 && info(s.layout).unit_bytes >= 4;
  const bool is_robust = s.is_block && whole_units && e_.has(Feature::RobustAccess2);
  const AccessCheck check = choose_access_check(bound, kind, is_robust);
  relies_on_robust_access_ = relies_on_robust_access_ || check == AccessCheck::Device;
  return check == AccessCheck::Emitted;
}

// Even an empty buffer has an element 0; what it holds is not used then.
Value Buffers::load(ir::BufferId buffer, Word index, IndexBound bound) {
  const Storage& s = storage(buffer);
  const Type element = program_.buffer(buffer).element;
  const AccessKind kind = use_.written[buffer] ? AccessKind::LoadOfChanged : AccessKind::Load;
  if (!needs_check(s, bound, kind)) return load_unchecked(s, element, index);
  const Flag inside = index < interface_.length(buffer);
  const Value loaded = load_unchecked(s, element, select(inside, index, e_.word(0)));
  return lower_select(inside, loaded, lower_literal(e_, loaded.type, 0));
}

void Buffers::store(ir::BufferId buffer, Word index, const Value& value, IndexBound bound) {
  const Storage& s = storage(buffer);
  const Type element = program_.buffer(buffer).element;
  if (!needs_check(s, bound, AccessKind::Store)) return store_unchecked(s, element, index, value);
  e_.when(index < interface_.length(buffer), [&] { store_unchecked(s, element, index, value); });
}

void Buffers::finish(Kernel& kernel) const {
  for (ir::BufferId id = 0; id < storages_.size(); ++id) {
    if (storages_[id].variable == 0 || !storages_[id].is_block) continue;
    kernel.buffers.push_back({id, interface_.binding(id), use_.written[id]});
  }
  kernel.needs_robust_access2 = relies_on_robust_access_;
  kernel.shared_bytes = shared_bytes_;
}

}  // namespace felsite::codegen
