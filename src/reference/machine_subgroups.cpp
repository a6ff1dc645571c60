// Operations between the lanes of a subgroup, which are consecutive invocations in linear local
// order.
#include <algorithm>
#include <cstring>

#include "reference/machine.h"

namespace felsite::reference {

void Machine::ballot(Group& group, const Instruction& i) const {
  auto* out = reinterpret_cast<std::uint64_t*>(reg(group, i.dst));
  const std::uint32_t* condition = words(group, i.a);
  const std::uint32_t width = launch_.subgroup_width;
  std::uint64_t votes = 0;
  std::uint32_t subgroup = ir::kNone;
  each_active(group, [&](std::uint32_t lane) {
    if (lane / width != subgroup) {
      subgroup = lane / width;
      votes = 0;
      const std::uint32_t end = std::min(lanes_, (subgroup + 1) * width);
      for (std::uint32_t other = subgroup * width; other < end; ++other) {
        if (mask(group, group.mask)[other] != 0 && other >= group.ranges[group.mask].begin &&
            other < group.ranges[group.mask].end && condition[other] != 0) {
          votes |= std::uint64_t{1} << (other % width);
        }
      }
    }
    out[lane] = votes;
  });
}

void Machine::shuffle(Group& group, const Instruction& i) const {
  const std::size_t bytes = lane_bytes(i.type);
  std::byte* out = reg(group, i.dst);
  const std::byte* value = reg(group, i.a);
  const std::uint32_t* source = words(group, i.b);
  const std::uint32_t width = launch_.subgroup_width;
  const LaneRange range = group.ranges[group.mask];
  const std::uint32_t* active = mask(group, group.mask);
  each_active(group, [&](std::uint32_t lane) {
    const std::uint32_t from = lane / width * width + source[lane] % width;
    const bool readable =
        source[lane] < width && from >= range.begin && from < range.end && active[from] != 0;
    if (readable) {
      std::memcpy(out + lane * bytes, value + from * bytes, bytes);
    } else {
      std::memset(out + lane * bytes, 0, bytes);
    }
  });
}

void Machine::reduce(Group& group, const Instruction& i) const {
  const std::size_t bytes = lane_bytes(i.type);
  std::byte* out = reg(group, i.dst);
  const std::byte* value = reg(group, i.a);
  const std::uint32_t width = launch_.subgroup_width;
  // Combines in lane order: the last active lane holds the result so far, which then goes to all of
  // them.
  std::uint32_t last = ir::kNone;
  each_active(group, [&](std::uint32_t lane) {
    if (last == ir::kNone || lane / width != last / width) {
      std::memcpy(out + lane * bytes, value + lane * bytes, bytes);
    } else {
      i.imm.binary(out + lane * bytes, out + last * bytes, value + lane * bytes, 1);
    }
    last = lane;
  });
  const LaneRange range = group.ranges[group.mask];
  const std::uint32_t* active = mask(group, group.mask);
  last = ir::kNone;
  for (std::uint32_t lane = range.end; lane-- > range.begin;) {
    if (active[lane] == 0) continue;
    if (last == ir::kNone || lane / width != last / width) {
      last = lane;
    } else {
      std::memcpy(out + lane * bytes, out + last * bytes, bytes);
    }
  }
}

}  // namespace felsite::reference
