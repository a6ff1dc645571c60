// Runs bytecode for one workgroup at a time, all its invocations in lock step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "felsite/error.h"
#include "reference/bytecode.h"

namespace felsite::reference {

// The memory behind a buffer: `count` elements at `data`.
struct BufferView {
  std::byte* data = nullptr;
  std::uint64_t count = 0;
};

struct OutOfBounds {
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t atomics = 0;

  void add(const OutOfBounds& more) {
    loads += more.loads;
    stores += more.stores;
    atomics += more.atomics;
  }
};

// What all workgroups of a dispatch share.
struct Launch {
  const ir::Program& program;
  const Bytecode& bytecode;
  std::span<const BufferView> buffers;  // by BufferId; each group has its own workgroup buffers
  Extent3 grid;
  std::uint32_t subgroup_width;
  base::Deadline deadline;
  const base::StopFlag* stop = nullptr;
};

// The active lanes: a range that contains them all, and whether it contains no others.
struct LaneRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool full = false;
};

// An asynchronous copy that was issued and not yet waited for.
struct PendingCopy {
  std::uint32_t lane;
  std::uint32_t tag;
  ir::BufferId destination;
  std::uint32_t index;
  ir::Type element;
  std::vector<std::byte> payload;
};

// The whole state of a workgroup; it survives a grid barrier unchanged.
struct Group {
  std::vector<std::uint64_t> registers;  // 64-bit words, so that every register is aligned
  std::vector<std::uint32_t> masks;
  std::vector<LaneRange> ranges;  // by mask
  std::vector<std::uint32_t> alive;
  std::vector<std::vector<std::uint64_t>> shared;  // by BufferId, for workgroup buffers
  std::vector<PendingCopy> copies;
  std::size_t copied_bytes = 0;
  std::vector<std::uint32_t> calls;  // return addresses
  Extent3 id{};
  std::uint32_t next = 0;  // instruction
  std::uint32_t mask = 0;
};

enum class Stop : std::uint8_t {
  Done,
  GridSync,  // at instruction group.next - 1
  Failed,    // see Machine::error
};

// Whether `a` has the lower linear index: along x, then y, then z of the whole grid.
inline bool comes_before(const TrapInfo& a, const TrapInfo& b) {
  return std::lexicographical_compare(a.invocation.rbegin(), a.invocation.rend(),
                                      b.invocation.rbegin(), b.invocation.rend());
}

class Machine {
 public:
  explicit Machine(const Launch& launch);

  // Places a workgroup at the start of the program.
  void start(Group& group, Extent3 id) const;
  // Runs until the workgroup is done, reaches the end of a segment, or runs out of time. An
  // invocation that traps ends, and the others continue.
  Stop run(Group& group);
  bool any_alive(const Group& group) const;

  const OutOfBounds& out_of_bounds() const { return out_of_bounds_; }
  const Error& error() const { return error_; }
  // The trap with the lowest linear index of its invocation.
  const std::optional<TrapInfo>& trap() const { return trap_; }
  // The size of one Group in bytes.
  static std::uint64_t group_bytes(const ir::Program& program, const Bytecode& bytecode);

 private:
  struct Memory {
    std::byte* data;
    std::uint64_t count;
  };

  std::byte* reg(Group& group, std::uint32_t unit) const {
    return reinterpret_cast<std::byte*>(group.registers.data()) + std::size_t{unit} * stride_ * 4;
  }
  // Of 32 bits per lane: indices, addresses and conditions.
  std::uint32_t* words(Group& group, std::uint32_t unit) const {
    return reinterpret_cast<std::uint32_t*>(reg(group, unit));
  }
  std::uint32_t* mask(Group& group, std::uint32_t number) const {
    return group.masks.data() + std::size_t{number} * stride_;
  }
  Memory memory(Group& group, ir::BufferId id) const;
  template <class Visit>
  void each_active(Group& group, Visit visit) const;

  void narrow(Group& group, std::uint32_t number) const;
  bool mask_where(Group& group, const Instruction& i, bool wanted) const;
  bool loop_test(Group& group, const Instruction& i) const;
  void loop_next(Group& group, const Instruction& i) const;
  void end_active(Group& group) const;
  void builtin(Group& group, const Instruction& i) const;
  void constant(Group& group, const Instruction& i) const;
  void copy(Group& group, const Instruction& i, bool masked) const;
  void load(Group& group, const Instruction& i);
  void store(Group& group, const Instruction& i);
  void atomic(Group& group, const Instruction& i);
  void ballot(Group& group, const Instruction& i) const;
  void shuffle(Group& group, const Instruction& i) const;
  void reduce(Group& group, const Instruction& i) const;
  bool issue_copy(Group& group, const Instruction& i);
  void wait_copies(Group& group, const Instruction& i);
  void note_trap(Group& group, const Instruction& i);
  bool out_of_time(std::size_t lanes);

  const Launch& launch_;
  std::uint32_t lanes_;
  std::uint32_t stride_;  // lanes, padded
  std::array<std::vector<std::uint32_t>, 3> local_;
  OutOfBounds out_of_bounds_;
  Error error_;
  std::optional<TrapInfo> trap_;
  std::uint64_t work_since_clock_ = 0;
};

// Calls visit(lane) for the lanes of the current mask, in order.
template <class Visit>
void Machine::each_active(Group& group, Visit visit) const {
  const LaneRange range = group.ranges[group.mask];
  const std::uint32_t* active = mask(group, group.mask);
  for (std::uint32_t lane = range.begin; lane < range.end; ++lane) {
    if (active[lane] != 0) visit(lane);
  }
}

// Element access by type, shared by loads, stores and atomics (memory_access.cpp).
using LoadKernel = std::uint64_t (*)(std::byte* result, const std::uint32_t* index,
                                     const std::uint32_t* mask, LaneRange range,
                                     const std::byte* data, std::uint64_t count);
using StoreKernel = std::uint64_t (*)(const std::byte* value, const std::uint32_t* index,
                                      const std::uint32_t* mask, LaneRange range, std::byte* data,
                                      std::uint64_t count);
using AtomicKernel = std::uint64_t (*)(std::byte* result, const std::uint32_t* index,
                                       const std::byte* operand, const std::byte* expected,
                                       const std::uint32_t* mask, LaneRange range, std::byte* data,
                                       std::uint64_t count);
// The kernels return the number of accesses past the end.
LoadKernel load_kernel(ir::Type element);
StoreKernel store_kernel(ir::Type element);
AtomicKernel atomic_kernel(ir::AtomicOp op, ir::Type element);

}  // namespace felsite::reference
