#include "codegen/kernel/subgroup_lowering.h"

namespace felsite::codegen {

using ir::ReduceOp;
using ir::Type;

namespace {

Value combined(ReduceOp op, const Value& a, const Value& b) {
  const ir::ReduceOpInfo& info = ir::info(op);
  return lower_binary(a.type == Type::Bool ? info.on_bools : info.combine, a, b);
}

bool has_two_words(Type type) { return ir::info(type).bytes == 8; }

// What another lane sees of a value, whatever holds its type: a word, or 64 bits.
Word word_of(const Value& value) {
  if (value.type == Type::Bool) return zero_or_one(value.flag());
  return ir::is_float(value.type) ? bits(value.real()) : value.word();
}
Wide wide_of(const Value& value) {
  return value.type == Type::F64 ? bits(value.real64()) : value.wide();
}
Value value_of(Type type, Word word) {
  if (type == Type::Bool) return {type, word != 0U};
  return ir::is_float(type) ? Value(type, float_from_bits(word)) : Value(type, word);
}
Value value_of(Type type, Wide both) {
  return type == Type::F64 ? Value(type, double_from_bits(both)) : Value(type, both);
}

}  // namespace

Word SubgroupLowering::own_lane() {
  return modulo(interface_.local_index(), e_.word(e_.mask().subgroup_size));
}

Value SubgroupLowering::ballot(Flag condition) {
  return is_native() ? native_ballot(condition) : emulated_ballot(condition);
}

Value SubgroupLowering::shuffle(const Value& value, Word lane) {
  return is_native() ? native_shuffle(value, lane) : emulated_shuffle(value, lane);
}

Value SubgroupLowering::reduce(ReduceOp op, const Value& value) {
  return is_native() ? native_reduce(op, value) : emulated_reduce(op, value);
}

Value SubgroupLowering::native_ballot(Flag condition) {
  e_.module().need(spv::Capability::GroupNonUniform);
  e_.module().need(spv::Capability::GroupNonUniformBallot);
  const Word scope = e_.word(as_operand(spv::Scope::Subgroup));
  const Id type = e_.module().type_vector(e_.type_word(), 4);
  const Id votes = e_.function().group_ballot(type, {scope.id(), condition.id});
  return {Type::U64, wide_from_vector(e_, votes)};
}

// The value of an active lane. Words are shuffled, whatever holds the type.
Value SubgroupLowering::lane_value(const Value& value, Word lane) {
  e_.module().need(spv::Capability::GroupNonUniformShuffle);
  const Word scope = e_.word(as_operand(spv::Scope::Subgroup));
  const auto shuffled = [&](Word word) {
    return e_.as_word(
        e_.function().group_shuffle(e_.type_word(), {scope.id(), word.id(), lane.id()}));
  };
  if (!has_two_words(value.type)) return value_of(value.type, shuffled(word_of(value)));
  const Wide both = wide_of(value);
  const Word low = shuffled(low_word(both));
  return value_of(value.type, wide(low, shuffled(high_word(both))));
}

Value SubgroupLowering::native_shuffle(const Value& value, Word lane) {
  const Wide active = native_ballot(e_.flag(true)).wide();
  const Flag in_range = lane < e_.mask().subgroup_size;
  const Word safe = select(in_range, lane, e_.word(0));
  const Flag readable = in_range && ((low_word(active >> safe) & 1U) != 0U);
  return lower_select(readable, lane_value(value, safe), lower_literal(e_, value.type, 0));
}

// Words are reduced by one instruction, everything else lane by lane, which for floats is the order
// that the IR demands.
Value SubgroupLowering::native_reduce(ReduceOp op, const Value& value) {
  const Type type = value.type;
  const bool is_word = type == Type::U32 || type == Type::I32 || type == Type::Bool;
  if (is_word && e_.has(Feature::SubgroupArithmetic)) {
    e_.module().need(spv::Capability::GroupNonUniform);
    e_.module().need(spv::Capability::GroupNonUniformArithmetic);
    const Word scope = e_.word(as_operand(spv::Scope::Subgroup));
    const Word operand = word_of(value);
    const Id result =
        e_.function().group_reduce(op, is_signed(type), e_.type_word(), {scope.id(), operand.id()});
    return value_of(type, e_.as_word(result));
  }
  const Wide active = native_ballot(e_.flag(true)).wide();
  const Slot sum = variables_.new_slot(type, false);
  const Id begun = e_.function().local(e_.type_bool());
  e_.store(begun, e_.flag(false).id);
  variables_.store(sum, value);
  const Word width = e_.word(e_.mask().subgroup_size);
  const Word ended = e_.repeat(e_.word(0), width, e_.word(1), [&](Word lane) {
    const Flag is_active = (low_word(active >> lane) & 1U) != 0U;
    // An inactive lane may not be read, so this lane's own value is read instead, and not used.
    const Value next = lane_value(value, select(is_active, lane, own_lane()));
    const Flag first = !e_.load_flag(begun);
    const Value so_far = variables_.load(sum, type);
    const Value extended = lower_select(first, next, combined(op, so_far, next));
    variables_.store(sum, lower_select(is_active, extended, so_far));
    e_.store(begun, (!first || is_active).id);
  });
  check_loop_ended(ended, width);
  return variables_.load(sum, type);
}

// Puts the value of each invocation into workgroup memory. All invocations reach this together.
void SubgroupLowering::exchange(const Value& value) {
  if (exchange_memory_ == 0) {
    std::uint32_t invocations = 1;
    for (const std::uint32_t extent : program_.workgroup_size()) invocations *= extent;
    exchange_memory_ = buffers_.workgroup_words(invocations * 2, "exchange");
  }
  Word low;
  Word high = e_.word(0);
  if (has_two_words(value.type)) {
    const Wide both = wide_of(value);
    low = low_word(both);
    high = high_word(both);
  } else {
    low = word_of(value);
  }
  const Word place = interface_.local_index() << 1;
  buffers_.barrier();  // what was exchanged before has been read
  buffers_.store_workgroup_word(exchange_memory_, place, low);
  buffers_.store_workgroup_word(exchange_memory_, place + 1U, high);
  buffers_.barrier();
}

Value SubgroupLowering::exchanged(Type type, Word invocation) {
  const Word place = invocation << 1;
  const Word low = buffers_.load_workgroup_word(exchange_memory_, place);
  if (!has_two_words(type)) return value_of(type, low);
  return value_of(type, wide(low, buffers_.load_workgroup_word(exchange_memory_, place + 1U)));
}

// Writes `body(lane, invocation)` for the lanes of the subgroup: the last one of a workgroup may be
// short.
template <class Body>
void SubgroupLowering::each_lane(Body body) {
  const Word base = interface_.local_index() - own_lane();
  const Word left = interface_.workgroup_invocations() - base;
  const Word width = min(e_.word(e_.mask().subgroup_size), left);
  const Word ended =
      e_.repeat(e_.word(0), width, e_.word(1), [&](Word lane) { body(lane, base + lane); });
  check_loop_ended(ended, width);
}

Value SubgroupLowering::emulated_ballot(Flag condition) {
  exchange({Type::Bool, condition});
  const Slot votes = variables_.new_slot(Type::U64, false);
  variables_.store(votes, lower_literal(e_, Type::U64, 0));
  each_lane([&](Word lane, Word invocation) {
    const Flag vote = exchanged(Type::Bool, invocation).flag();
    const Wide bit = widen(zero_or_one(vote)) << lane;
    variables_.store(votes, {Type::U64, variables_.load(votes, Type::U64).wide() | bit});
  });
  return variables_.load(votes, Type::U64);
}

Value SubgroupLowering::emulated_shuffle(const Value& value, Word lane) {
  exchange(value);
  const Word base = interface_.local_index() - own_lane();
  const Flag in_range = lane < e_.mask().subgroup_size;
  const Word source = base + select(in_range, lane, e_.word(0));
  const Flag readable = in_range && source < interface_.workgroup_invocations();
  const Word safe = select(readable, source, base);
  return lower_select(readable, exchanged(value.type, safe), lower_literal(e_, value.type, 0));
}

Value SubgroupLowering::emulated_reduce(ReduceOp op, const Value& value) {
  exchange(value);
  const Slot sum = variables_.new_slot(value.type, false);
  variables_.store(sum, value);
  each_lane([&](Word lane, Word invocation) {
    const Value next = exchanged(value.type, invocation);
    const Value so_far = variables_.load(sum, value.type);
    variables_.store(sum, lower_select(lane == 0U, next, combined(op, so_far, next)));
  });
  return variables_.load(sum, value.type);
}

}  // namespace felsite::codegen
