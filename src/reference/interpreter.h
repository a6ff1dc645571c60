// The oracle: runs a program on the CPU, with exact values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "felsite/error.h"
#include "felsite/reference_options.h"
#include "felsite/validate.h"
#include "reference/machine.h"

namespace felsite::reference {

struct RunOptions {
  Extent3 grid{1, 1, 1};
  // Runs only these workgroups of the grid, from `base` on. Not across a grid barrier.
  std::optional<Extent3> part{};
  Extent3 base{};
  ReferenceOptions reference;
  base::Deadline deadline;
  const base::StopFlag* stop = nullptr;  // raised by another thread: the run ends soon
};

struct RunStats {
  OutOfBounds out_of_bounds;
  unsigned threads = 1;
};

// A program that is prepared to run any number of times.
class Interpreter {
 public:
  explicit Interpreter(const ir::ValidProgram& program);

  // `buffers` is indexed by BufferId; entries for workgroup buffers are ignored. After an error the
  // contents of written buffers are unspecified.
  Result<RunStats> run(std::span<const BufferView> buffers, const RunOptions& options) const;

  // DeviceOutOfMemory if the workgroups that a run must keep at the same time do not fit.
  Result<void> check_memory(const Extent3& grid, std::uint64_t limit) const;

  const ir::ValidProgram& program() const { return program_; }

 private:
  bool keeps_every_group() const;  // across a grid barrier
  Result<RunStats> run_all_at_once(const Launch& launch, const RunOptions& options) const;
  Result<RunStats> run_one_by_one(const Launch& launch, const RunOptions& options) const;
  Result<RunStats> run_in_parallel(const Launch& launch, const RunOptions& options,
                                   unsigned threads) const;

  ir::ValidProgram program_;
  Bytecode bytecode_;
  std::uint64_t work_per_lane_;
};

}  // namespace felsite::reference
