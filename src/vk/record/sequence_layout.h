// From a sequence to what is recorded: in which order, with which barriers, through which staging
// memory. Plain data; the recorder only follows it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/align.h"
#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/schedule/grid.h"
#include "vk/record/sequence.h"

namespace felsite::vk {

enum class CommandKind : std::uint8_t {
  EarlierWork,  // what other submissions did to the same buffers; records nothing
  Fill,
  CopyIn,  // from staging memory into a buffer
  Kernel,
  CopyOut,  // from a buffer into staging memory
  Close,    // ends the reports of a run: if it reported something, later reports do not count
  Host,     // accesses of the host after all commands so far; records nothing
};

struct Command {
  CommandKind kind;
  std::uint32_t index = 0;  // among the fills, uploads, kernel steps of the section, or reads
};

// Where the blocks of one kernel step are in the control buffer.
struct ControlBlocks {
  std::optional<std::uint64_t> status;
  std::uint64_t status_range = 0;  // as bound
  // One for each part that the grid runs in; none where parameters are push constants.
  std::vector<std::uint64_t> parameters;
};

// Whether something was reported, and whether later reports still count.
inline constexpr std::uint64_t kReportBytes = 8;
inline std::uint64_t status_bytes(const codegen::Kernel& kernel) {
  return std::uint64_t{4} * kernel.status_words() + kReportBytes;
}

inline constexpr std::uint64_t kNotStaged = UINT64_MAX;

struct SequenceLayout {
  dispatch::SequencePlan plan;
  dispatch::BarrierPlan barriers;
  std::array<std::vector<Command>, 3> commands;  // by section, as the steps of the plan

  std::vector<ControlBlocks> prefix_control;
  std::vector<ControlBlocks> repeated_control;
  std::uint64_t control_bytes = 0;
  // Offset in the control buffer of the words that the status buffers of all repeated steps share
  // as their end, so that a report of one run closes the next runs; absent: each step has its own.
  std::optional<std::uint64_t> reports;

  std::vector<std::uint64_t> upload_offsets;  // in the upload staging buffer, or kNotStaged
  std::uint64_t upload_bytes = 0;
  std::vector<std::uint64_t> read_offsets;  // in the readback staging buffer, or kNotStaged
  std::uint64_t read_bytes = 0;

  // Whether the block is submitted run by run, and the host polls Sequence::watch in between.
  bool watched = false;
};

SequenceLayout lay_out(const Sequence& sequence, const Device& device);

// The step's parameters in that part.
std::vector<std::uint32_t> parameters_of(const KernelStep& step, const dispatch::GridPart& part);

}  // namespace felsite::vk
