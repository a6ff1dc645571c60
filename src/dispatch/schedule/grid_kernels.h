// The small programs that the runtime itself runs between the segments of a plan: they compare,
// gate, count and find the way on.
#pragma once

#include "felsite/error.h"
#include "felsite/program.h"

namespace felsite::dispatch {

inline constexpr std::uint32_t kGridKernelSize =
    64;  // invocations of a workgroup, but for the ways

// now: u32[], before: u32[], changed: u32[1]. Where the two differ, `before` becomes `now`, and
// `changed` is set.
const Result<ir::Program>& compare_program();
// words: u32[], any: u32[1]. `any` is set if one of the words is not zero.
const Result<ir::Program>& any_program();
// words: u32[]. All become zero.
const Result<ir::Program>& clear_program();
// word: u32[1], shapes: u32[], gates: u32[]. The gates become the shapes if the word is not zero,
// else zero.
const Result<ir::Program>& gate_program();

// Between two runs of a block of iterations. c: u32[] of places `p[1]` words apart: the first
// counts iterations that ran, the second is what the last iteration of the block left, and then
// come the conditions of its `p[0]` iterations, at most kGridKernelSize. Counts the iterations,
// lets the first one of the next run go by the second place, and clears the others. p are
// parameters.
const Result<ir::Program>& advance_program();

// What a walk on the device knows, as words of one buffer.
struct WayWords {
  static constexpr std::uint32_t kRunning = 0;     // zero once all is done
  static constexpr std::uint32_t kIterations = 1;  // that ran
  static constexpr std::uint32_t kConverged = 2;   // the last one changed nothing
  static constexpr std::uint32_t kLaunches = 3;    // segments that ran
  static constexpr std::uint32_t kFirstFree = 4;
};

// The parameters of the programs below, p. A gate is `words` words at `at`; it is opened by copying
// as many words from `shape` on out of the shapes.
struct WayParameters {
  enum Word : std::uint32_t {
    Kind,
    SelfAt,
    SelfWords,
    YesAt,
    YesWords,
    YesShape,
    NoAt,
    NoWords,
    NoShape,
    TripAt,
    EndAt,
    ChoiceAt,
    Launches,
    Bound,
    ChangedAt,
    Count,
  };
};

// p, shapes: u32[], c: u32[]. Closes its own gate and opens the one of the segment that follows, as
// NextSegment says; Kind is NextSegment::Kind as a number.
const Result<ir::Program>& way_program();

enum class IterationEnd : std::uint8_t { Counted, Changed, Flag };
// The same at the end of an iteration: opens the first segment's gate for another one, or ends the
// run. With IterationEnd::Flag it has a fourth buffer, flag: u32[].
const Result<ir::Program>& iteration_end_program(IterationEnd end);

}  // namespace felsite::dispatch
