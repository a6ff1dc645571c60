// Many iterations over the program in one dispatch of one workgroup.
//
// An iteration ends at a barrier. Between it and the next one the lanes read together whether
// something changed, clear that, and zero workgroup memory for the next iteration; behind it each
// of them knows alike whether there is a next iteration.
#pragma once

#include <functional>

#include "codegen/kernel/trip_counts.h"

namespace felsite::codegen {

class IterationWriter : KernelPart {
 public:
  // `write_program` writes the program from its start to its end, once.
  IterationWriter(const KernelPart& kernel, Variables& variables, TripCounts& trips,
                  std::function<Flow(OpenBlock)> write_program);

  void write();

 private:
  void declare_state();
  void begin();
  Flow write_iteration(OpenBlock block);
  void end_iteration();
  void check_changes();
  Word turn_of_changes();
  template <class Body>
  void each_shared(ir::BufferId buffer, Body body);

  Variables& variables_;
  TripCounts& trips_;
  std::function<Flow(OpenBlock)> write_program_;
  const IterationLoop& loop_;
  // Variables of the entry point, the same in all lanes.
  Id left_ = 0;
  Id ran_ = 0;
  Id goes_on_ = 0;
  Id converged_ = 0;
  Id changes_ = 0;  // workgroup memory: whether the iteration at hand changed something
};

}  // namespace felsite::codegen
