// Converts values of all types to the words of a spill and back, bit for bit.
#include <algorithm>

#include "dispatch/cut/segment_writer.h"

namespace felsite::dispatch {

using ir::BinaryOp;
using ir::ExprId;
using ir::kNone;
using ir::Type;
using ir::VarId;

std::uint32_t SegmentWriter::words_per_spill(bool per_workgroup) const {
  return dispatch::words_per_spill(d_.options.spread, per_workgroup,
                                   per_workgroup ? d_.values.group_words : d_.values.spill_words);
}

ir::BufferId SegmentWriter::spill_of(const SpilledValue& slot, std::uint32_t word_in_value) const {
  const std::uint32_t number = (slot.word + word_in_value) / words_per_spill(slot.per_workgroup);
  return spills_[slot.per_workgroup ? 1 : 0][number];
}

// Words of one kind lie side by side for all invocations, or for all workgroups.
ExprId SegmentWriter::place_of(const SpilledValue& slot, std::uint32_t word_in_value) {
  const std::uint32_t row = (slot.word + word_in_value) % words_per_spill(slot.per_workgroup);
  const VarId mine = slot.per_workgroup ? group_ : lane_;
  if (row == 0) return var(mine);
  const ExprId before = with(BinaryOp::Mul, var(slot.per_workgroup ? groups_ : lanes_), row);
  return out().binary(BinaryOp::Add, before, var(mine));
}

ExprId SegmentWriter::spilled_word(const SpilledValue& slot, std::uint32_t word_in_value) {
  return out().load(spill_of(slot, word_in_value), place_of(slot, word_in_value));
}

ExprId SegmentWriter::spilled_value(VarId variable) {
  const SpilledValue& slot = d_.values.slots[d_.values.slot_of[variable]];
  const Type type = program_.var(variable).type;
  if (type == Type::Bool) {
    const ExprId bit = with(BinaryOp::BitAnd, spilled_word(slot, 0), 1u << slot.bit);
    return with(BinaryOp::Ne, bit, 0);
  }
  if (ir::info(type).bytes == 8) {
    const ExprId low = out().cast(Type::U64, spilled_word(slot, 0));
    const ExprId high = out().cast(Type::U64, spilled_word(slot, 1));
    const ExprId shifted =
        out().binary(BinaryOp::Shl, high, out().literal(ir::literal(std::uint64_t{32})));
    const ExprId both = out().binary(BinaryOp::BitOr, low, shifted);
    return type == Type::U64 ? both : out().bitcast(type, both);
  }
  const ExprId bits = spilled_word(slot, 0);
  if (type == Type::U32) return bits;
  if (type == Type::I32 || type == Type::F32) return out().bitcast(type, bits);
  if (ir::kNarrowTypes.has(type)) return out().cast(type, bits);
  return out().cast(type, out().bitcast(Type::F32, bits));  // f32 holds every f16 and bf16
}

ExprId SegmentWriter::zero_of(Type type) { return out().literal({type, 0}); }

// A value of four bytes or fewer as a word.
ExprId SegmentWriter::bits_of(VarId variable) {
  const Type type = program_.var(variable).type;
  const ExprId value = var(copier_.variable(variable));
  if (type == Type::U32) return value;
  if (type == Type::I32 || type == Type::F32) return out().bitcast(Type::U32, value);
  if (ir::kNarrowTypes.has(type)) return out().cast(Type::U32, value);
  return out().bitcast(Type::U32, out().cast(Type::F32, value));
}

void SegmentWriter::store_words(const SpilledValue& slot) {
  const Type type = program_.var(slot.variable).type;
  if (ir::info(type).bytes < 8) {
    const ExprId place = place_of(slot, 0);
    out().store(spill_of(slot, 0), place, bits_of(slot.variable));
    return;
  }
  const auto as_u64 = [&] {
    const ExprId value = var(copier_.variable(slot.variable));
    return type == Type::U64 ? value : out().bitcast(Type::U64, value);
  };
  const ExprId low = place_of(slot, 0);
  out().store(spill_of(slot, 0), low, out().cast(Type::U32, as_u64()));
  const ExprId high = place_of(slot, 1);
  const ExprId whole = as_u64();
  const ExprId shifted =
      out().binary(BinaryOp::Shr, whole, out().literal(ir::literal(std::uint64_t{32})));
  out().store(spill_of(slot, 1), high, out().cast(Type::U32, shifted));
}

// Stores all bools that share a word at once; other bits of the word stay.
void SegmentWriter::store_bits(std::span<const SpilledValue> slots) {
  const SpilledValue& first = slots.front();
  std::uint32_t mask = 0;
  for (const SpilledValue& slot : slots) mask |= 1u << slot.bit;
  const ExprId place = place_of(first, 0);
  ExprId bits = with(BinaryOp::BitAnd, spilled_word(first, 0), ~mask);
  for (const SpilledValue& slot : slots) {
    ExprId bit = kNone;
    if (slot.variable == SpilledValue::kRunning) {
      bit = word(1u << slot.bit);
    } else {
      const ExprId condition = var(copier_.variable(slot.variable));
      const ExprId set = word(1u << slot.bit);
      bit = out().select(condition, set, word(0));
    }
    bits = out().binary(BinaryOp::BitOr, bits, bit);
  }
  out().store(spill_of(first, 0), place, bits);
}

void SegmentWriter::store_spills() {
  std::vector<SpilledValue> bits;
  const bool is_last = cut().next.kind == NextSegment::Kind::End;
  if (d_.values.tracks_running && segment_ == 0 && !is_last) {
    bits.push_back(d_.values.slots.front());
  }
  for (const VarId v : values().stored) {
    const SpilledValue& slot = d_.values.slots[d_.values.slot_of[v]];
    if (slot.bit == kNone) {
      store_words(slot);
    } else {
      bits.push_back(slot);
    }
  }
  const auto by_word = [](const SpilledValue& a, const SpilledValue& b) {
    return std::pair(a.per_workgroup, a.word) < std::pair(b.per_workgroup, b.word);
  };
  std::ranges::stable_sort(bits, by_word);
  for (std::size_t i = 0; i < bits.size();) {
    std::size_t end = i + 1;
    while (end < bits.size() && !by_word(bits[i], bits[end])) ++end;
    store_bits(std::span(bits).subspan(i, end - i));
    i = end;
  }
}

void SegmentWriter::mark_returned() {
  const SpilledValue& running = d_.values.slots.front();
  const ExprId place = place_of(running, 0);
  const ExprId rest = with(BinaryOp::BitAnd, spilled_word(running, 0), ~(1u << running.bit));
  out().store(spill_of(running, 0), place, rest);
}

}  // namespace felsite::dispatch
