// What each part of the writer of a kernel has at hand.
#pragma once

#include <functional>

#include "codegen/kernel/buffers.h"
#include "codegen/kernel/interface.h"
#include "codegen/plan/plan.h"
#include "codegen/values/value.h"

namespace felsite::codegen {

class KernelPart {
 public:
  KernelPart(Emitter& emitter, Interface& interface, Buffers& buffers, const Segment& segment,
             const Plan& plan, const LowerOptions& options)
      : e_(emitter),
        interface_(interface),
        buffers_(buffers),
        segment_(segment),
        program_(segment.program),
        plan_(plan) {
    if (options.names && !program_.source().empty()) {
      source_file_ = e_.module().source_file(options.source_name);
    }
  }

 protected:
  // Names the line of the source for what follows.
  void mark_line(ir::NodeId id) {
    if (source_file_ == 0) return;
    const ir::LineColumn at = ir::line_column(program_.source(), program_.source().nodes[id]);
    e_.function().line(source_file_, at.line, at.column);
  }
  // A driver with a loop budget may leave a loop before its last trip.
  void check_loop_ended(Word index, Word to) {
    if (!plan_.loops.checked) return;
    e_.when(index < to, [&] { interface_.report_loop_budget(); });
  }

  Emitter& e_;
  Interface& interface_;
  Buffers& buffers_;
  const Segment& segment_;
  const ir::Program& program_;
  const Plan& plan_;

 private:
  Id source_file_ = 0;
};

// Writes the statements of a range, for parts that come to some in the middle of their work.
using WriteStatements = std::function<Flow(OpenBlock, ir::NodeRange)>;

}  // namespace felsite::codegen
