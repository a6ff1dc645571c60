#include "reference/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/errors.h"

namespace felsite::reference {
namespace {

using namespace ir;

std::uint32_t invocations(const Program& program) {
  const auto& size = program.workgroup_size();
  return size[0] * size[1] * size[2];
}

// Whole cache lines of 32-bit lanes, so that vector loops start aligned.
std::uint32_t padded(std::uint32_t lanes) { return (lanes + 15) / 16 * 16; }

std::uint64_t shared_words(const BufferDecl& buffer) {
  return (std::uint64_t{buffer.count} * info(buffer.element).bytes + 7) / 8;
}

}  // namespace

Machine::Machine(const Launch& launch)
    : launch_(launch), lanes_(invocations(launch.program)), stride_(padded(lanes_)) {
  const auto& size = launch.program.workgroup_size();
  for (std::size_t axis = 0; axis < 3; ++axis) local_[axis].resize(lanes_);
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    local_[0][lane] = lane % size[0];
    local_[1][lane] = lane / size[0] % size[1];
    local_[2][lane] = lane / size[0] / size[1];
  }
}

std::uint64_t Machine::group_bytes(const Program& program, const Bytecode& bytecode) {
  const std::uint64_t lanes = padded(invocations(program));
  std::uint64_t bytes = lanes * 4 * (bytecode.units + bytecode.masks + 3) + sizeof(Group);
  for (const BufferDecl& buffer : program.buffers()) {
    if (buffer.access == Access::Workgroup) bytes += shared_words(buffer) * 8;
  }
  return bytes;
}

void Machine::start(Group& group, Extent3 id) const {
  const Bytecode& bytecode = launch_.bytecode;
  group.registers.resize((std::size_t{bytecode.units} * stride_ + 1) / 2);
  group.masks.resize(std::size_t{bytecode.masks} * stride_);
  group.ranges.assign(bytecode.masks, {});
  group.alive.assign(lanes_, 1);
  std::fill_n(group.masks.begin(), lanes_, 1);
  group.ranges[0] = {0, lanes_, true};
  const auto buffers = launch_.program.buffers();
  group.shared.resize(buffers.size());
  for (BufferId buffer = 0; buffer < buffers.size(); ++buffer) {
    if (buffers[buffer].access == Access::Workgroup) {
      group.shared[buffer].assign(shared_words(buffers[buffer]), 0);
    }
  }
  group.copies.clear();
  group.copied_bytes = 0;
  group.calls.clear();
  group.id = id;
  group.next = bytecode.entry;
  group.mask = 0;
}

bool Machine::any_alive(const Group& group) const {
  return std::ranges::find(group.alive, 1u) != group.alive.end();
}

Machine::Memory Machine::memory(Group& group, BufferId id) const {
  const BufferDecl& buffer = launch_.program.buffer(id);
  if (buffer.access == Access::Workgroup) {
    return {reinterpret_cast<std::byte*>(group.shared[id].data()), buffer.count};
  }
  return {launch_.buffers[id].data, launch_.buffers[id].count};
}

// Recomputes the range of a mask after lanes have left it.
void Machine::narrow(Group& group, std::uint32_t number) const {
  const std::uint32_t* active = mask(group, number);
  LaneRange& range = group.ranges[number];
  while (range.begin < range.end && active[range.begin] == 0) ++range.begin;
  while (range.begin < range.end && active[range.end - 1] == 0) --range.end;
  std::uint32_t count = 0;
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) count += active[lane];
  range.full = count == range.end - range.begin;
}

bool Machine::mask_where(Group& group, const Instruction& i, bool wanted) const {
  const LaneRange range = group.ranges[i.a];
  const std::uint32_t* outer = mask(group, i.a);
  const std::uint32_t* condition = words(group, i.c);
  std::uint32_t* inner = mask(group, i.dst);
  const std::uint32_t flip = wanted ? 0 : 1;
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    inner[lane] = outer[lane] & (condition[lane] ^ flip);
  }
  group.ranges[i.dst] = range;
  narrow(group, i.dst);
  group.mask = i.dst;
  return group.ranges[i.dst].begin < group.ranges[i.dst].end;
}

bool Machine::loop_test(Group& group, const Instruction& i) const {
  const LaneRange range = group.ranges[i.dst];
  const std::uint32_t* at = words(group, i.a);
  const std::uint32_t* to = words(group, i.b);
  std::uint32_t* active = mask(group, i.dst);
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    active[lane] &= static_cast<std::uint32_t>(at[lane] < to[lane]);
  }
  narrow(group, i.dst);
  group.mask = i.dst;
  return group.ranges[i.dst].begin < group.ranges[i.dst].end;
}

void Machine::loop_next(Group& group, const Instruction& i) const {
  const LaneRange range = group.ranges[i.dst];
  const std::uint32_t* active = mask(group, i.dst);
  std::uint32_t* at = words(group, i.a);
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) at[lane] += active[lane];
}

void Machine::end_active(Group& group) const {
  std::uint32_t* active = mask(group, group.mask);
  each_active(group, [&](std::uint32_t lane) {
    group.alive[lane] = 0;
    active[lane] = 0;
  });
  group.ranges[group.mask] = {0, 0, true};
}

void Machine::builtin(Group& group, const Instruction& i) const {
  std::uint32_t* out = words(group, i.dst);
  const LaneRange range = group.ranges[group.mask];
  const std::uint32_t size = launch_.program.workgroup_size()[i.axis];
  const auto fill = [&](std::uint32_t value) {
    std::fill(out + range.begin, out + range.end, value);
  };
  const auto kind = static_cast<ExprKind>(i.op);
  if (kind == ExprKind::WorkgroupId) return fill(group.id[i.axis]);
  if (kind == ExprKind::NumWorkgroups) return fill(launch_.grid[i.axis]);
  if (kind == ExprKind::WorkgroupSize) return fill(size);
  if (kind == ExprKind::SubgroupSize) return fill(launch_.subgroup_width);
  const std::uint32_t base = kind == ExprKind::InvocationId ? group.id[i.axis] * size : 0;
  const std::uint32_t* local = local_[i.axis].data();
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    out[lane] =
        kind == ExprKind::SubgroupLocalId ? lane % launch_.subgroup_width : base + local[lane];
  }
}

void Machine::constant(Group& group, const Instruction& i) const {
  const LaneRange range = group.ranges[group.mask];
  if (lane_bytes(i.type) == 8) {
    auto* out = reinterpret_cast<std::uint64_t*>(reg(group, i.dst));
    std::fill(out + range.begin, out + range.end, i.imm.bits);
  } else {
    std::uint32_t* out = words(group, i.dst);
    std::fill(out + range.begin, out + range.end, static_cast<std::uint32_t>(i.imm.bits));
  }
}

void Machine::copy(Group& group, const Instruction& i, bool masked) const {
  const LaneRange range = group.ranges[group.mask];
  const std::size_t bytes = lane_bytes(i.type);
  std::byte* to = reg(group, i.dst);
  const std::byte* from = reg(group, i.a);
  if (!masked || range.full) {
    std::memcpy(to + range.begin * bytes, from + range.begin * bytes,
                (range.end - range.begin) * bytes);
    return;
  }
  each_active(group, [&](std::uint32_t lane) {
    std::memcpy(to + lane * bytes, from + lane * bytes, bytes);
  });
}

void Machine::load(Group& group, const Instruction& i) {
  const Memory from = memory(group, i.b);
  out_of_bounds_.loads +=
      load_kernel(i.type)(reg(group, i.dst), words(group, i.a), mask(group, group.mask),
                          group.ranges[group.mask], from.data, from.count);
}

void Machine::store(Group& group, const Instruction& i) {
  const Memory to = memory(group, i.b);
  out_of_bounds_.stores +=
      store_kernel(i.type)(reg(group, i.c), words(group, i.a), mask(group, group.mask),
                           group.ranges[group.mask], to.data, to.count);
}

void Machine::atomic(Group& group, const Instruction& i) {
  const Memory at = memory(group, i.b);
  out_of_bounds_.atomics += atomic_kernel(static_cast<AtomicOp>(i.op), i.type)(
      reg(group, i.dst), words(group, i.a), reg(group, i.c), reg(group, i.d),
      mask(group, group.mask), group.ranges[group.mask], at.data, at.count);
}

// Lanes are numbered along x, then y, then z, so the first active lane is the lowest.
void Machine::note_trap(Group& group, const Instruction& i) {
  const std::uint32_t lane = group.ranges[group.mask].begin;
  const std::uint32_t* address = words(group, i.a);
  TrapInfo info{.tag = launch_.bytecode.tags[i.e], .address = address[lane], .invocation = {}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    info.invocation[axis] =
        group.id[axis] * launch_.program.workgroup_size()[axis] + local_[axis][lane];
  }
  if (!trap_ || comes_before(info, *trap_)) trap_ = std::move(info);
}

// The cost of an instruction depends on its lanes, of which a workgroup may have 65 536, and a
// program may be long without a loop. So the amount of work decides when to check the clock, not
// the trips.
bool Machine::out_of_time(std::size_t lanes) {
  constexpr std::uint64_t kWorkBetweenClockReads = 1 << 18;
  work_since_clock_ += lanes + 16;
  if (work_since_clock_ < kWorkBetweenClockReads) return false;
  work_since_clock_ = 0;
  auto reason = base::reason_to_end(launch_.deadline, launch_.stop);
  if (!reason) return false;
  error_ = std::move(*reason);
  return true;
}

Stop Machine::run(Group& group) {
  const Instruction* const code = launch_.bytecode.code.data();
  std::uint32_t at = group.next;
  while (true) {
    const Instruction& i = code[at++];
    const LaneRange range = group.ranges[group.mask];
    const std::size_t count = range.end - range.begin;
    if (out_of_time(count)) return Stop::Failed;
    const auto lanes = [&](std::uint32_t unit, Type type) {
      return reg(group, unit) + std::size_t{range.begin} * lane_bytes(type);
    };
    switch (i.opcode) {
      case Opcode::Unary:
        i.imm.unary(lanes(i.dst, i.type), lanes(i.a, i.from), count);
        break;
      case Opcode::Binary:
        i.imm.binary(lanes(i.dst, i.type), lanes(i.a, i.from), lanes(i.b, i.from), count);
        break;
      case Opcode::Ternary:
        i.imm.ternary(lanes(i.dst, i.type), lanes(i.a, i.from), lanes(i.b, i.type),
                      lanes(i.c, i.type), count);
        break;
      case Opcode::Constant:
        constant(group, i);
        break;
      case Opcode::Copy:
      case Opcode::MaskedCopy:
        copy(group, i, i.opcode == Opcode::MaskedCopy);
        break;
      case Opcode::Builtin:
        builtin(group, i);
        break;
      case Opcode::Length: {
        auto* out = reinterpret_cast<std::uint32_t*>(lanes(i.dst, Type::U32));
        std::fill_n(out, count, static_cast<std::uint32_t>(memory(group, i.b).count));
        break;
      }
      case Opcode::Load:
        load(group, i);
        break;
      case Opcode::Store:
        store(group, i);
        break;
      case Opcode::Atomic:
        atomic(group, i);
        break;
      case Opcode::Ballot:
        ballot(group, i);
        break;
      case Opcode::Shuffle:
        shuffle(group, i);
        break;
      case Opcode::Reduce:
        reduce(group, i);
        break;
      case Opcode::MaskThen:
      case Opcode::MaskElse:
        if (!mask_where(group, i, i.opcode == Opcode::MaskThen)) at = i.jump;
        break;
      case Opcode::MaskCopy: {
        const LaneRange from = group.ranges[i.a];
        std::copy(mask(group, i.a) + from.begin, mask(group, i.a) + from.end,
                  mask(group, i.dst) + from.begin);
        group.ranges[i.dst] = from;
        break;
      }
      case Opcode::MaskAlive: {
        std::uint32_t* active = mask(group, i.dst);
        const LaneRange outer = group.ranges[i.dst];
        for (std::uint32_t lane = outer.begin; lane < outer.end; ++lane) {
          active[lane] &= group.alive[lane];
        }
        narrow(group, i.dst);
        group.mask = i.dst;
        break;
      }
      case Opcode::UseMask:
        group.mask = i.dst;
        break;
      case Opcode::LoopTest:
        if (!loop_test(group, i)) at = i.jump;
        break;
      case Opcode::LoopNext:
        loop_next(group, i);
        at = i.jump;
        break;
      case Opcode::Call:
        group.calls.push_back(at);
        at = i.jump;
        break;
      case Opcode::Return:
        at = group.calls.back();
        group.calls.pop_back();
        break;
      case Opcode::End:
        end_active(group);
        break;
      case Opcode::Finish:
        group.next = at - 1;
        return Stop::Done;
      case Opcode::AsyncIssue:
        if (!issue_copy(group, i)) return Stop::Failed;
        break;
      case Opcode::AsyncWait:
        wait_copies(group, i);
        break;
      case Opcode::Trap:
        if (count > 0) {
          note_trap(group, i);
          end_active(group);
        }
        break;
      case Opcode::GridSync:
        group.next = at;
        return Stop::GridSync;
    }
  }
}

}  // namespace felsite::reference
