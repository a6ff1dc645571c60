// Barriers behind divergent returns, and several invocations in a lane.
//
// Every invocation of a workgroup has to reach a barrier, also one that has returned. So the entry
// is cut at its barriers into regions, each a function that says whether the invocation still runs.
// The entry point calls them one after the other as long as that is so, and all lanes go through
// the barriers together. A condition or bound around a barrier is the same for all invocations that
// run, but only they can compute it: they publish it through workgroup memory.
//
// A lane with several invocations calls each region for one after the other. What outlives a region
// has a place for each of them.
#pragma once

#include "codegen/kernel/expression_writer.h"
#include "codegen/kernel/trap_reports.h"
#include "codegen/kernel/trip_counts.h"

namespace felsite::codegen {

class RegionWriter : KernelPart {
 public:
  RegionWriter(const KernelPart& kernel, Variables& variables, ExpressionWriter& expressions,
               TrapReports& traps, TripCounts& trips, WriteStatements write_statements)
      : KernelPart(kernel),
        variables_(variables),
        expressions_(expressions),
        traps_(traps),
        trips_(trips),
        write_statements_(std::move(write_statements)) {}

  void write(ir::NodeRange range);

 private:
  void write_region(ir::NodeRange range);
  void write_barrier_construct(ir::NodeId id);
  void start_running();
  template <class Body>
  void while_running(Body body);
  Id running();
  Word agreed(ir::ExprId root);
  Word word_of(ir::ExprId root);
  Word word_at_turn(ir::ExprId root);

  Variables& variables_;
  ExpressionWriter& expressions_;
  TrapReports& traps_;
  TripCounts& trips_;
  WriteStatements write_statements_;
  Id running_ = 0;      // whether the invocation has not returned yet
  Id agreed_word_ = 0;  // workgroup memory for what running invocations publish
};

}  // namespace felsite::codegen
