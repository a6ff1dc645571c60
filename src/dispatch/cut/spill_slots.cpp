#include "dispatch/cut/spill_slots.h"

#include <algorithm>
#include <queue>

namespace felsite::dispatch {
namespace {

struct Place {
  std::uint32_t word = 0;
  std::uint32_t bit = ir::kNone;
};

// The slots of one size, for invocations or for workgroups.
class Places {
 public:
  Place take(std::uint32_t begin, std::uint32_t end, std::uint32_t words, std::uint32_t& next_word,
             bool is_bit) {
    while (!taken_.empty() && taken_.top().end <= begin) {
      free_.push_back(taken_.top().place);
      taken_.pop();
    }
    if (free_.empty()) add(words, next_word, is_bit);
    const Place place = free_.back();
    free_.pop_back();
    taken_.push({end, place});
    return place;
  }

 private:
  struct Taken {
    std::uint32_t end;
    Place place;
    bool operator>(const Taken& other) const { return end > other.end; }
  };

  void add(std::uint32_t words, std::uint32_t& next_word, bool is_bit) {
    if (!is_bit) {
      free_.push_back({next_word, ir::kNone});
    } else {
      for (std::uint32_t bit = 32; bit-- > 0;) free_.push_back({next_word, bit});
    }
    next_word += words;
  }

  std::priority_queue<Taken, std::vector<Taken>, std::greater<>> taken_;
  std::vector<Place> free_;
};

}  // namespace

SpillLayout lay_out_spills(std::vector<SpillRange> ranges) {
  // A value that a segment last reads at its beginning frees its slot for one stored at its end.
  std::ranges::stable_sort(ranges, {}, &SpillRange::begin);
  SpillLayout layout;
  Places places[2][3];
  for (const SpillRange& range : ranges) {
    const bool is_bit = range.type == ir::Type::Bool;
    const std::uint32_t words = !is_bit && ir::info(range.type).bytes == 8 ? 2 : 1;
    const std::size_t size = is_bit ? 0 : words;
    std::uint32_t& next = range.per_workgroup ? layout.group_words : layout.lane_words;
    const Place place =
        places[range.per_workgroup ? 1 : 0][size].take(range.begin, range.end, words, next, is_bit);
    layout.slots.push_back({range.variable, place.word, place.bit, range.per_workgroup});
  }
  return layout;
}

SpillSpread effective_spread(const GridSyncPlan& plan, const SpillSpread& allowed) {
  std::uint64_t group_bytes = std::uint64_t{plan.group_words} * 4;
  for (const ir::BufferId id : plan.kept) {
    const ir::BufferDecl& buffer = plan.program.buffer(id);
    group_bytes =
        std::max<std::uint64_t>(group_bytes, buffer.count * ir::info(buffer.element).bytes);
  }
  return {allowed.lane_words < plan.spill_words ? allowed.lane_words : 0,
          allowed.group_bytes < group_bytes ? allowed.group_bytes : 0};
}

std::uint32_t words_per_spill(const SpillSpread& spread, bool per_workgroup, std::uint32_t words) {
  const std::uint32_t limit = per_workgroup ? spread.group_bytes : spread.lane_words;
  if (limit == 0) return words;
  return std::min(words, per_workgroup ? std::max(limit / 4, 1u) : limit);
}

std::vector<KeptPart> kept_parts(const ir::BufferDecl& buffer, const SpillSpread& spread) {
  constexpr std::uint32_t kMaxParts = 64;
  const auto element = static_cast<std::uint32_t>(ir::info(buffer.element).bytes);
  std::uint32_t each = spread.group_bytes == 0 ? buffer.count : spread.group_bytes / element;
  each = std::max({each, buffer.count / kMaxParts + (buffer.count % kMaxParts != 0 ? 1 : 0), 1u});
  std::vector<KeptPart> parts;
  for (std::uint64_t first = 0; first < buffer.count; first += each) {
    const auto from = static_cast<std::uint32_t>(first);
    parts.push_back({from, std::min(each, buffer.count - from)});
  }
  return parts;
}

}  // namespace felsite::dispatch
