// Atomics and barriers: the scopes and semantics they need, and no more.
#include "codegen/kernel/buffers.h"
#include "codegen/values/float_bits.h"

namespace felsite::codegen {
namespace {

using ir::AtomicOp;
using ir::Ordering;
using ir::Type;
using spv::StorageClass;

constexpr auto kAcquire = spv::MemorySemanticsMask::Acquire;
constexpr auto kRelease = spv::MemorySemanticsMask::Release;
constexpr auto kAcquireRelease = spv::MemorySemanticsMask::AcquireRelease;

}  // namespace

Word Buffers::atomic_scope(const Storage& s) const {
  const bool in_workgroup = s.storage == StorageClass::Workgroup;
  return in_workgroup ? e_.word(as_operand(spv::Scope::Workgroup)) : e_.grid_scope();
}

std::uint32_t Buffers::memory_classes() const {
  auto classes = as_operand(spv::MemorySemanticsMask::UniformMemory);
  if (use_.workgroup_memory) classes |= as_operand(spv::MemorySemanticsMask::WorkgroupMemory);
  return classes;
}

// Sequential consistency is not in Vulkan; acquire and release together are the most there is.
Word Buffers::atomic_semantics(Ordering ordering) const {
  std::uint32_t order = 0;
  std::uint32_t visibility = 0;
  const auto available = as_operand(spv::MemorySemanticsMask::MakeAvailable);
  const auto visible = as_operand(spv::MemorySemanticsMask::MakeVisible);
  switch (ordering) {
    case Ordering::Relaxed:
    case Ordering::GridSync:
      return e_.word(0);
    case Ordering::Acquire:
      order = as_operand(kAcquire);
      visibility = visible;
      break;
    case Ordering::Release:
      order = as_operand(kRelease);
      visibility = available;
      break;
    case Ordering::AcqRel:
    case Ordering::SeqCst:
      order = as_operand(kAcquireRelease);
      visibility = available | visible;
      break;
  }
  if (!e_.has(Feature::MemoryModel)) visibility = 0;
  return e_.word(order | memory_classes() | visibility);
}

// If the workgroup is one subgroup, a driver need not stop and resume the workgroup.
void Buffers::barrier() {
  const Word workgroup = e_.word(as_operand(spv::Scope::Workgroup));
  const Word waits = use_.one_subgroup ? e_.word(as_operand(spv::Scope::Subgroup)) : workgroup;
  std::uint32_t semantics = as_operand(kAcquireRelease) | memory_classes();
  if (e_.has(Feature::MemoryModel)) {
    semantics |= as_operand(spv::MemorySemanticsMask::MakeAvailable) |
                 as_operand(spv::MemorySemanticsMask::MakeVisible);
  }
  e_.function().control_barrier({waits.id(), workgroup.id(), e_.word(semantics).id()});
}

void Buffers::store_zeros(std::span<const ir::BufferId> buffers) {
  if (buffers.empty()) return;
  const Word first = interface_.local_index();
  const Word stride = interface_.workgroup_invocations();
  for (const ir::BufferId id : buffers) {
    const Storage& s = storage(id);
    const Id zero = e_.module().constant_null(s.unit_type);
    const auto units = as_operand(units_for(s.layout, program_.buffer(id).count));
    e_.repeat(first, e_.word(units), stride, [&](Word unit) { store_unit(s, unit, zero); });
  }
}

void Buffers::zero_workgroup_memory(std::span<const ir::BufferId> buffers) {
  store_zeros(buffers);
  if (!buffers.empty()) barrier();
}

// The device's addition of floats may round or flush differently, so the sum is computed here and
// exchanged, again until no other invocation interferes.
Id Buffers::add_float_exactly(const Storage& s, Word index, const Value& value) {
  const Id place = pointer(s, index);
  const Word scope = atomic_scope(s);
  const Word relaxed = e_.word(0);
  const Id seen = e_.function().local(e_.type_word());
  const Id first = e_.function().atomic_load(e_.type_word(), {place, scope.id(), relaxed.id()});
  e_.store(seen, first);

  Word before;
  Word found;
  e_.function().do_while(
      [&] {
        before = e_.load_word(seen);
        const Value old = value_from_bits(e_, Type::F32, before);
        const Value sum = lower_binary(ir::BinaryOp::Add, old, value);
        found = e_.as_word(e_.function().atomic(AtomicOp::CompareExchange, false, e_.type_word(),
                                                {place, scope.id(), relaxed.id(), relaxed.id(),
                                                 word_bits_of_value(sum).id(), before.id()}));
        e_.store(seen, found.id());
      },
      [&] { return (!(found == before)).id; });
  // A driver with a loop budget may have left before the exchange.
  if (e_.mask().loop_budget != 0) {
    e_.when(found != before, [&] { interface_.report_loop_budget(); });
  }
  return value_from_bits(e_, Type::F32, before).id();
}

Id Buffers::atomic_unchecked(AtomicOp op, Ordering ordering, const Storage& s, Word index,
                             const std::optional<Value>& expected, const Value& value) {
  const Word scope = atomic_scope(s);
  const Word semantics = atomic_semantics(ordering);
  SpirvModule& m = e_.module();
  if (is_wide_integer(value.type)) m.need(spv::Capability::Int64Atomics);
  if (value.type == Type::F32) {
    if (e_.exact()) return add_float_exactly(s, index, value);
    m.need(spv::Capability::AtomicFloat32AddEXT);
    m.need_extension("SPV_EXT_shader_atomic_float_add");
    return e_.function().atomic_add_float(
        s.unit_type, {pointer(s, index), scope.id(), semantics.id(), value.id()});
  }
  const Id place = pointer(s, index);
  if (op != AtomicOp::CompareExchange) {
    return e_.function().atomic(op, is_signed(value.type), s.unit_type,
                                {place, scope.id(), semantics.id(), value.id()});
  }
  // A failed exchange only reads: it cannot release.
  const bool acquires = ordering != Ordering::Relaxed && ordering != Ordering::Release;
  const Word failed = atomic_semantics(acquires ? Ordering::Acquire : Ordering::Relaxed);
  return e_.function().atomic(
      op, false, s.unit_type,
      {place, scope.id(), semantics.id(), failed.id(), value.id(), expected->id()});
}

Value Buffers::atomic(AtomicOp op, Ordering ordering, ir::BufferId buffer, Word index,
                      const std::optional<Value>& expected, const Value& value, IndexBound bound) {
  const Storage& s = storage(buffer);
  const auto as_value = [&](Id id) -> Value {
    if (value.type == Type::F32) return {value.type, e_.as_float(id)};
    if (is_wide_integer(value.type)) return {value.type, e_.as_wide(id)};
    return {value.type, e_.as_word(id)};
  };
  const auto act = [&] { return atomic_unchecked(op, ordering, s, index, expected, value); };
  if (!needs_check(s, bound, AccessKind::Atomic)) return as_value(act());
  const Id type = e_.type_of(value.type);
  const Id zero = lower_literal(e_, value.type, 0).id();
  return as_value(
      e_.function().value_when((index < interface_.length(buffer)).id, type, zero, act));
}

}  // namespace felsite::codegen
