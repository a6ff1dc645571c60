// What a device provides, and all that a new kind of backend has to bring: memory, kernels, and a
// way to run submissions. Every call of felsite/backend.h is built on it once, in
// src/dispatch/facade: grid barriers, fixpoints, the host split, resident handles, static uploads,
// recordings, recovery, telemetry and the context of errors.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/host_memory.h"
#include "dispatch/contract/kernel_owner.h"
#include "dispatch/forms/submission_schedule.h"
#include "dispatch/schedule/binding_plan.h"
#include "felsite/device_profile.h"
#include "felsite/figures.h"

namespace felsite::dispatch {

inline constexpr std::chrono::nanoseconds kNoTimeout = std::chrono::nanoseconds::max();

// Memory of the device. It is freed when its last user drops it.
class Allocation {
 public:
  virtual ~Allocation() = default;
  virtual std::uint64_t bytes() const = 0;
  // What debuggers show.
  virtual void set_label(std::string_view /*label*/) const {}
};
using SharedAllocation = std::shared_ptr<Allocation>;

struct MemoryRange {
  SharedAllocation memory;  // null: nothing is bound
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A kernel that is ready to run on the device.
class CompiledKernel {
 public:
  struct Use {
    ir::BufferId buffer = 0;
    bool is_written = false;
  };
  virtual ~CompiledKernel() = default;
  // The buffers that take part; one that is only declared needs no memory.
  virtual std::vector<Use> uses() const = 0;
};
using SharedCompiledKernel = std::shared_ptr<const CompiledKernel>;

// A program with the memory that it works on, checked.
struct PlacedStep {
  ir::ValidProgram program;  // with the workgroup size and float mode that run
  DispatchConfig config{};
  BindingPlan bindings{};
  std::optional<Extent3> grid{};      // absent: the program's IndirectDispatch reads it
  bool host_reads_grid = false;       // when its turn comes, because it cannot run otherwise
  std::vector<MemoryRange> memory{};  // by BufferId
  std::vector<ir::BufferId> lent{};   // those of bytes of the caller, in the order of the bindings
  std::string name{};
  std::uint32_t caller_step = 0;  // its position among the caller's steps, for errors
};

// Where memory is bound for a range: devices bind memory from multiples of an alignment on.
inline MemoryRange bound_memory(const MemoryRange& range, const DeviceProfile& device) {
  const std::uint64_t start = range.offset % binding_alignment(device);
  return {range.memory, range.offset - start, range.bytes + start};
}

// Steps that run as one iteration of several.
struct PlacedBlock {
  std::vector<PlacedStep> steps;
  std::vector<SharedCompiledKernel> kernels{};  // by step
  BlockRepeat repeat{};
  std::optional<MemoryRange> flag{};
};

class Recorded;

// A stage that a run has to make when its turn comes: the grid of its step, which earlier stages
// may write, has to be known. Everything before it must have ended.
struct LateStage {
  MemoryRange words;  // that the grid is read from
  // A submission of one stage, without fills, uploads and reads. It runs again for equal words. To
  // be called without a lock that `write` or `read` takes: it may evict what others upload.
  std::function<Result<std::shared_ptr<Recorded>>(ByteSpan words)> record;
};

// A schedule with what it names.
struct PlacedStage {
  SubmissionStage stage;
  std::optional<LateStage> late{};              // instead of the schedule and its kernels
  std::vector<SharedCompiledKernel> kernels{};  // by Schedule::kernels
  std::vector<MemoryRange> memory{};            // of the caller's buffers among Schedule::buffers
};

// Work in order: fills, uploads, steps, reads.
struct Submission {
  struct Fill {
    MemoryRange target;
    std::byte value{};
  };
  std::string name{};
  std::vector<Fill> fills{};
  std::vector<MemoryRange> uploads{};  // their bytes come with each run
  // What runs, for a device without grid barriers: schedules. A device that has them runs the
  // programs and their iterations itself, and takes the blocks instead.
  std::vector<PlacedStage> stages{};
  std::vector<HostLoop> loops{};
  std::vector<PlacedBlock> blocks{};
  // What each block does, as far as that is known beforehand; a run fills in the rest.
  std::vector<BlockTiming> block_timings{};
  std::uint32_t step_count = 0;  // the caller's
  std::vector<MemoryRange> reads{};
  bool is_one_program = false;  // one step with all its iterations, not one of a caller's steps
  bool is_alone = false;        // no other work uses any of its memory
  bool is_measured = false;     // with the device's clock, where it has one
  std::uint64_t own_bytes = 0;  // of memory that only this submission uses
};

// A submission that can run again and again: one run at a time, for one thread at a time.
class Recorded {
 public:
  virtual ~Recorded() = default;
  virtual bool uses(const Allocation& memory) const = 0;
  virtual bool uses(const CompiledKernel& kernel) const = 0;
  // The size of all memory that only this recording uses.
  virtual std::uint64_t own_bytes() const = 0;
  virtual std::vector<std::uint64_t> read_sizes() const = 0;
  // After a run: the bytes of a read.
  virtual Result<void> read(std::size_t index, std::span<std::byte> bytes) const = 0;
};

// Work that was started. Whoever destroys it before its end gives it up: nobody waits, and what it
// uses stays until it has ended.
class Run {
 public:
  virtual ~Run() = default;
  // Whether `wait` would return without waiting. Also goes on with work that the host has to
  // submit in pieces.
  virtual bool advance() = 0;
  // Called once. Waits, and gives the error that a kernel reported: its context has the caller's
  // step, and the segment if the program was cut. `stop`: another thread may set it, which ends the
  // wait soon. The timing has the iterations of one program, and of each block.
  virtual Result<DispatchTiming> wait(std::chrono::nanoseconds timeout,
                                      const base::StopFlag* stop) = 0;
  // After a wait that failed: the work goes on, and the recording cannot run again.
  virtual bool was_given_up() const { return false; }
};

struct WriteRange {
  MemoryRange target;
  ByteSpan bytes;
};
struct ReadRange {
  MemoryRange source;
  std::span<std::byte> bytes;
};

// One open device. Thread-safe. All of it is lost with the device, and a recovery opens another.
class Service {
 public:
  virtual ~Service() = default;

  virtual const DeviceProfile& profile() const = 0;
  virtual std::string feature_key() const = 0;
  virtual bool is_lost() const { return false; }
  // Called with the error of each call that failed on it.
  virtual void note(const Error& /*error*/) {}
  // The errors of calls that find the device lost, and of work that gets no time at all.
  virtual Error lost_error() const;
  virtual Error timeout_error() const { return base::timeout_error(); }
  // Its work runs while somebody waits for it, and ends with the wait. An asynchronous dispatch
  // then has a thread that waits.
  virtual bool runs_in_wait() const { return false; }
  // Asked where the profile has grid barriers: whether all workgroups of the grid can wait at one.
  virtual bool keeps_grid(const ir::ValidProgram& /*program*/, const Extent3& /*grid*/) const {
    return true;
  }
  // Bytes that can still be allocated, as far as that is known without trying.
  virtual std::uint64_t memory_left() const { return UINT64_MAX; }
  // Bytes of host memory that results may take.
  virtual std::uint64_t host_memory_limit() const { return base::default_memory_limit(); }
  // Bytes of memory that recordings may keep while they do not run.
  virtual std::uint64_t idle_memory_limit() const { return UINT64_MAX; }

  // DeviceOutOfMemory has the sizes in its context. `owner` and `label` say what it is for.
  virtual Result<SharedAllocation> allocate(std::uint64_t bytes, std::string_view owner,
                                            std::string_view label) = 0;
  // The caller's bytes as memory that kernels only read, without a copy; none where the device
  // cannot, or it does not pay.
  virtual std::optional<MemoryRange> borrow(ByteSpan /*bytes*/, std::string_view /*owner*/,
                                            std::string_view /*label*/) {
    return std::nullopt;
  }
  // Work that starts later sees the bytes.
  virtual Result<void> write(std::span<const WriteRange> writes) = 0;
  // What finished work left there.
  virtual Result<void> read(std::span<const ReadRange> reads) = 0;

  virtual Result<SharedCompiledKernel> compile(const codegen::Segment& segment) = 0;
  // An owner of the kernels that are compiled within its scope; null where kernels have none.
  virtual std::unique_ptr<KernelOwner> new_owner() { return nullptr; }
  // Before an owner is destroyed: drops each kernel that nobody else uses, and calls `dropped` with
  // it.
  using OnDropped = std::function<void(const CompiledKernel&)>;
  virtual void release(KernelOwner& /*owner*/, const OnDropped& /*dropped*/) {}

  virtual Result<std::shared_ptr<Recorded>> record(Submission submission) = 0;
  // `uploads`: the bytes of Submission::uploads, which are read before it returns. Memory that work
  // given up still uses delays it, within the timeout. After an error the recording cannot run
  // again.
  virtual Result<std::unique_ptr<Run>> start(const std::shared_ptr<Recorded>& recorded,
                                             std::span<const ByteSpan> uploads,
                                             std::chrono::nanoseconds timeout) = 0;

  // Waits for all that was started.
  virtual Result<void> wait_for_all() { return {}; }
  // The same, but returns too when the device is lost, and does not fail: then a caller may reuse
  // memory that kernels read.
  virtual void wait_until_idle() noexcept {}
  // Before it is closed: waits for work that was given up, for a while.
  virtual void drain() {}
  // Writes what is kept for the next process.
  virtual void save() {}

  virtual PipelineCacheSnapshot pipeline_cache() const { return {}; }
  // The figures of its memory and of its work.
  virtual void report(MetricSnapshot& /*figures*/) const {}
};

// Opens the device: at the beginning, and again for each recovery.
using OpenService = std::function<Result<std::shared_ptr<Service>>()>;

struct BackendSettings {
  std::string id;
  OpenService open;
  // Static uploads that nobody holds may keep so many bytes.
  std::uint64_t static_budget = std::uint64_t{256} << 20;
};

}  // namespace felsite::dispatch
