// Asynchronous copies: captured where they are issued, written where they are waited for.
#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "reference/machine.h"

namespace felsite::reference {

// The overhead of a copy in flight apart from its payload; it also bounds many small copies.
constexpr std::size_t kCopyOverhead = 2 * sizeof(PendingCopy);

// Captures the payload now. Elements past the end of the source are zeros; elements past the end of
// the destination are never written, so they are not captured either.
bool Machine::issue_copy(Group& group, const Instruction& i) {
  constexpr std::size_t kMaxCaptured = std::size_t{256} << 20;
  const Memory to = memory(group, i.b);
  const Memory from = memory(group, i.d);
  const std::uint32_t* to_index = words(group, i.a);
  const std::uint32_t* from_index = words(group, i.c);
  const std::size_t bytes = ir::info(i.type).bytes;
  bool fits = true;
  each_active(group, [&](std::uint32_t lane) {
    const std::uint64_t room = to_index[lane] < to.count ? to.count - to_index[lane] : 0;
    const std::uint64_t count = std::min<std::uint64_t>(i.imm.bits, room);
    const std::uint64_t there = from_index[lane] < from.count ? from.count - from_index[lane] : 0;
    out_of_bounds_.loads += i.imm.bits > there ? i.imm.bits - there : 0;
    out_of_bounds_.stores += i.imm.bits - count;
    if (count == 0) return;
    group.copied_bytes += count * bytes + kCopyOverhead;
    if (group.copied_bytes > kMaxCaptured) {
      fits = false;
      return;
    }
    PendingCopy copy{lane, i.e, i.b, to_index[lane], i.type, {}};
    copy.payload.resize(count * bytes);
    const std::uint64_t readable = std::min(count, there);
    if (readable > 0) {
      std::memcpy(copy.payload.data(), from.data + from_index[lane] * bytes, readable * bytes);
    }
    group.copies.push_back(std::move(copy));
  });
  if (!fits) {
    error_ =
        base::out_of_memory("A workgroup has more than 256 MiB of asynchronous copies in flight.",
                            "wait for copies before issuing more.");
    error_.context.requested = group.copied_bytes;
    error_.context.available = kMaxCaptured;
  }
  return fits;
}

void Machine::wait_copies(Group& group, const Instruction& i) {
  const LaneRange range = group.ranges[group.mask];
  const std::uint32_t* active = mask(group, group.mask);
  std::erase_if(group.copies, [&](const PendingCopy& copy) {
    const bool mine = copy.tag == i.e && copy.lane >= range.begin && copy.lane < range.end &&
                      active[copy.lane] != 0;
    if (!mine) return false;
    // Goes through a lane as a load and a store would: floats in memory become canonical.
    std::byte* to = memory(group, copy.destination).data;
    const std::size_t bytes = ir::info(copy.element).bytes;
    for (std::size_t at = 0; at < copy.payload.size(); at += bytes) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, copy.payload.data() + at, bytes);
      std::uint64_t lane = 0;
      lane_from_bits(copy.element, bits, &lane);
      bits = bits_from_lane(copy.element, &lane);
      std::memcpy(to + copy.index * bytes + at, &bits, bytes);
    }
    group.copied_bytes -= copy.payload.size() + kCopyOverhead;
    return true;
  });
}

}  // namespace felsite::reference
