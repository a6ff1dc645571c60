// A program lowered for a device: SPIR-V words, and beside them, as plain data, what a runtime has
// to bind and to pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/capabilities.h"
#include "felsite/error.h"
#include "felsite/validate.h"

namespace felsite::codegen {

// One storage buffer of descriptor set 0. The bound range starts at element 0, and holds the
// elements and nothing else, but for what pads it to a multiple of four bytes. For an empty buffer
// it is eight bytes, or, where the kernel needs robust access, the null descriptor.
struct BufferBinding {
  ir::BufferId buffer = 0;
  std::uint32_t binding = 0;
  bool written = false;
  bool operator==(const BufferBinding&) const = default;
};

enum class ParameterKind : std::uint8_t {
  Grid,      // workgroups along the axis `ref`
  Length,    // elements of the buffer `ref`
  Variable,  // the element `ref` of Segment::parameters
  Base,      // workgroups along the axis `ref` before the first of this dispatch
};

// One u32 of the parameter block; the i-th stands at byte 4 * i.
struct Parameter {
  ParameterKind kind;
  std::uint32_t ref;
  bool operator==(const Parameter&) const = default;
};

// What invocations report, traps and exceeded loop budgets, goes into the status buffer: words that
// are zeros before each run. Of all that report, the one with the lowest linear index counts, which
// is x + width * (y + height * z) over the whole grid. Each has a key, the complement of its index,
// and raises words to it, never lowers one: so it does not matter in which order they come. An
// address is kept as its digits, each of which has a word for every value; where the key that
// counts stands, there is the digit.
struct StatusWords {
  static constexpr std::uint32_t kKey = 0;     // zero: nothing was reported
  static constexpr std::uint32_t kWidth = 1;   // invocations along x
  static constexpr std::uint32_t kHeight = 2;  // and along y
  static constexpr std::uint32_t kAddress = 3;
  static constexpr std::uint32_t kDigitBits = 4;
  static constexpr std::uint32_t kDigits = 32 / kDigitBits;
  static constexpr std::uint32_t kDigitValues = 1 << kDigitBits;
  // One for each of Kernel::trap_tags; a key in none of them reports an exceeded loop budget.
  static constexpr std::uint32_t kTags = kAddress + kDigits * kDigitValues;
  // The key of every invocation whose index does not fit.
  static constexpr std::uint32_t kFarKey = 1;
  // At the end of the binding, behind any number of other words: one that becomes 1 with the first
  // report, and one that tells, if it is not zero, that reports come too late to count.
  static constexpr std::uint32_t kTakenFromEnd = 2;
  static constexpr std::uint32_t kClosedFromEnd = 1;
};

struct Kernel {
  std::vector<std::uint32_t> words;
  std::vector<BufferBinding> buffers;
  std::optional<std::uint32_t> status_binding;
  std::vector<Parameter> parameters;
  // Where the parameters are: push constants at offset 0, or, when they exceed what the device
  // takes, a storage buffer of their own.
  std::optional<std::uint32_t> parameter_binding;
  // The defaults of the specialization constants 0, 1 and 2. A smaller size may be specialized, a
  // larger one must be lowered anew (Program::with_workgroup_size): proofs count on the extents.
  std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
  // Not even a smaller one: subgroups, a loop budget, workgroup memory that the program fills by
  // itself, or the grid in one workgroup were reckoned with this size.
  bool workgroup_size_is_fixed = false;
  // The module counts on robustBufferAccess2 to keep accesses past the end harmless.
  bool needs_robust_access2 = false;
  std::uint32_t shared_bytes = 0;
  std::vector<std::string> trap_tags;

  // Of its status, without those at the end of the binding.
  std::uint32_t status_words() const {
    if (trap_tags.empty()) return StatusWords::kAddress;
    return StatusWords::kTags + static_cast<std::uint32_t>(trap_tags.size());
  }
};

struct LowerOptions {
  bool names = true;  // OpName, and OpLine for programs that came from text
  std::string source_name = "program.fels";
};

// Many iterations over a program in one dispatch of one workgroup.
struct IterationLoop {
  // A readwrite u32[4] of the program, for this alone. [0]: iterations that may still run, counted
  // down; zero once an iteration was the last because nothing changed. [1]: iterations that ran,
  // counted up. [2]: becomes 1 when an iteration was the last because nothing changed; a dispatch
  // that finds it set does nothing. [3]: loop trips that one invocation has spent in this dispatch,
  // at most, if the driver has a loop budget; the kernel ends early, with iterations left, before
  // the budget can be exceeded.
  ir::BufferId control = 0;
  // A u32 buffer that is zeroed before each iteration; an iteration that leaves it zero is the
  // last. Without it all iterations run.
  std::optional<ir::BufferId> changed;
  // In one dispatch, so that a display or a watchdog survives it.
  std::uint32_t most = UINT32_MAX;
};

// The whole grid as one workgroup: its invocations stand side by side in it, or a few to a lane.
// Grid barriers are workgroup barriers then.
struct OneWorkgroup {
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // of the program, in workgroups of its own size
  std::optional<IterationLoop> iterations;     // absent: one iteration
};

// A program, or a part of one, that runs as one kernel.
struct Segment {
  ir::ValidProgram program;
  // A readonly u32 buffer of fixed count. Its elements, read at literal indices only, are no memory
  // but parameters (ParameterKind::Variable with the index).
  std::optional<ir::BufferId> parameters;
  // The grid runs as several dispatches, because it has more workgroups than one takes. Ids then
  // count from ParameterKind::Base on, and the grid may be as large as ids can count.
  bool grid_in_parts = false;
  std::optional<OneWorkgroup> one_workgroup;

  Segment(ir::ValidProgram whole) : program(std::move(whole)) {}
};

// UnsupportedFeature for what the mask lacks (naming feature and place) and for modules over a
// limit (with limit and request).
Result<Kernel> lower(const Segment& segment, const Capabilities& mask,
                     const LowerOptions& options = {});

}  // namespace felsite::codegen
