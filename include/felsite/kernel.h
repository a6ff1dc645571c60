// A program lowered for a device: SPIR-V words, and as plain data what a runtime has to bind and
// pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/capabilities.h"
#include "felsite/error.h"
#include "felsite/extent.h"
#include "felsite/validate.h"

namespace felsite::codegen {

inline constexpr std::uint64_t kBoundBytesOfEmpty = 8;

// One storage buffer of descriptor set 0. The bound range starts at element 0 and holds only the
// elements, padded to a multiple of four bytes. For an empty buffer it has kBoundBytesOfEmpty, or
// is the null descriptor if the kernel needs robust access.
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
  Base,      // workgroups along the axis `ref` before the first one of this dispatch
};

// One u32 of the parameter block; the i-th is at byte 4 * i.
struct Parameter {
  ParameterKind kind;
  std::uint32_t ref;
  bool operator==(const Parameter&) const = default;
};

// Invocations report traps and exceeded loop budgets in the status buffer, whose words are zero
// before each run. Of all reports, the one with the lowest linear index counts, which is x + width
// * (y + height * z) over the whole grid. Each invocation has a key, the complement of its index,
// and only ever raises words to it, so the order of the reports does not matter. An address is
// stored digit by digit: each digit has one word for every value, and the word that holds the
// winning key gives the digit.
struct StatusWords {
  static constexpr std::uint32_t kKey = 0;     // zero: nothing was reported
  static constexpr std::uint32_t kWidth = 1;   // invocations along x
  static constexpr std::uint32_t kHeight = 2;  // and along y
  static constexpr std::uint32_t kAddress = 3;
  static constexpr std::uint32_t kDigitBits = 4;
  static constexpr std::uint32_t kDigits = 32 / kDigitBits;
  static constexpr std::uint32_t kDigitValues = 1 << kDigitBits;
  // One for each of Kernel::trap_tags. If none of them holds the key, a loop budget was exceeded.
  static constexpr std::uint32_t kTags = kAddress + kDigits * kDigitValues;
  // The key of every invocation whose index does not fit.
  static constexpr std::uint32_t kFarKey = 1;
  // At the end of the binding, after any number of other words: one that becomes 1 with the first
  // report, and one that, if not zero, says that reports come too late to count.
  static constexpr std::uint32_t kTakenFromEnd = 2;
  static constexpr std::uint32_t kClosedFromEnd = 1;
};

struct Kernel {
  std::vector<std::uint32_t> words;
  std::vector<BufferBinding> buffers;
  std::optional<std::uint32_t> status_binding;
  std::vector<Parameter> parameters;
  // Parameters are push constants at offset 0, or, when they exceed what the device takes, a
  // separate storage buffer.
  std::optional<std::uint32_t> parameter_binding;
  // The defaults of the specialization constants 0, 1 and 2. A smaller size may be specialized. A
  // larger one must be lowered again (Program::with_workgroup_size), since proofs rely on the
  // extents.
  Extent3 workgroup_size{1, 1, 1};
  // The size cannot be specialized at all: subgroups, a loop budget, workgroup memory that the
  // program fills itself, or the grid in one workgroup were planned for it.
  bool workgroup_size_is_fixed = false;
  // The module relies on robustBufferAccess2 to keep accesses past the end harmless.
  bool needs_robust_access2 = false;
  std::uint32_t shared_bytes = 0;
  std::vector<std::string> trap_tags;

  // The number of its status words, without those at the end of the binding.
  std::uint32_t status_words() const {
    if (trap_tags.empty()) return StatusWords::kAddress;
    return StatusWords::kTags + static_cast<std::uint32_t>(trap_tags.size());
  }
};

struct LowerOptions {
  bool names = true;  // OpName, and OpLine for programs that came from text
  std::string source_name = "program.fels";
};

// Runs many iterations of a program in one dispatch of one workgroup.
struct IterationLoop {
  // A readwrite u32[3] of the program that serves only this purpose. [0]: iterations that may still
  // run, counted down; zero once an iteration was the last because nothing changed. [1]: iterations
  // that ran, counted up. [2]: becomes 1 when an iteration was the last because nothing changed; a
  // dispatch that finds it set does nothing. On a driver with a loop budget the kernel ends early,
  // with iterations left, before the budget can be exceeded.
  ir::BufferId control = 0;
  // A u32 buffer that is zeroed before each iteration; an iteration that leaves it zero is the
  // last. Without it all iterations run.
  std::optional<ir::BufferId> changed;
  // The most iterations in one dispatch, so that a display or a watchdog survives it.
  std::uint32_t most = UINT32_MAX;
};

// The whole grid as one workgroup: its invocations lie side by side, or several to a lane. Grid
// barriers become workgroup barriers.
struct OneWorkgroup {
  Extent3 grid{1, 1, 1};                    // of the program, in workgroups of its own size
  std::optional<IterationLoop> iterations;  // absent: one iteration
};

// A program, or a part of one, that runs as one kernel.
struct Segment {
  ir::ValidProgram program;
  // A readonly u32 buffer of fixed count. Its elements, which are read at literal indices only, are
  // parameters instead of memory (ParameterKind::Variable with the index).
  std::optional<ir::BufferId> parameters;
  // The grid runs as several dispatches because one dispatch takes fewer workgroups. Ids then count
  // from ParameterKind::Base, and the grid may be as large as ids can count.
  bool grid_in_parts = false;
  std::optional<OneWorkgroup> one_workgroup;

  Segment(ir::ValidProgram whole) : program(std::move(whole)) {}
};

// Fails with UnsupportedFeature for what the mask lacks (naming feature and place) and for modules
// over a limit (with limit and request).
Result<Kernel> lower(const Segment& segment, const Capabilities& mask,
                     const LowerOptions& options = {});

}  // namespace felsite::codegen
