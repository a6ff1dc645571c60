// The trips that loops make, counted on the device: what iterations take of a driver's loop budget.
//
// The driver counts the trips of several lanes that go together: a trip that one of them makes
// counts for all. So a loop costs, per entry, the most trips that any lane has ever made in it, and
// one more for the test that ends it; an inner loop, as often as the outer one could have entered
// it. Costs stop at a number that no budget reaches.
#pragma once

#include <utility>
#include <vector>

#include "codegen/kernel/variables.h"

namespace felsite::codegen {

class TripCounts : KernelPart {
 public:
  TripCounts(const KernelPart& kernel, Variables& variables)
      : KernelPart(kernel), variables_(variables) {}

  // Writes the body of a loop, in which `count_open_loops` counts it too.
  template <class Body>
  Flow in_loop(ir::NodeId node, Word from, Word index, Body body) {
    open_loops_.push_back({node, from, index});
    Flow flow = body();
    open_loops_.pop_back();
    return flow;
  }
  // Writes a function: it is in no loop of its caller.
  template <class Body>
  Flow in_function(Body body) {
    const std::vector<OpenLoop> of_caller = std::exchange(open_loops_, {});
    Flow flow = body();
    open_loops_ = of_caller;
    return flow;
  }

  void begin();
  void count(ir::NodeId loop, Word from, Word to);
  // Counts the loops that a return leaves.
  void count_open_loops();
  // Publishes the counts to the workgroup.
  void share();
  // What one iteration costs.
  Word cost_of_iteration();

 private:
  struct OpenLoop {
    ir::NodeId node;
    Word from;
    Word index;
  };

  Word cost_of(ir::NodeRange range, bool in_region);
  Word cost_of_node(ir::NodeId id, bool in_region);
  Word trips_of_loop(ir::NodeId id);

  Variables& variables_;
  std::vector<OpenLoop> open_loops_;  // in the function that is being written
  // The most trips at a time of each counted loop: of this invocation, what it has published of
  // them, and of the workgroup.
  std::vector<Id> counts_;
  std::vector<Id> published_;
  Id shared_ = 0;
};

}  // namespace felsite::codegen
