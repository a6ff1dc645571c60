// The loops of the program, which a driver's loop budget may cut short, and their trips, counted on
// the device: what iterations take of the budget.
//
// The driver counts the trips of several lanes that go together: a trip that one of them makes
// counts for all. So a loop costs, per entry, the most trips that any lane has ever made in it, and
// one more for the test that ends it; an inner loop, as often as the outer one could have entered
// it. A loop that a return may leave counts as one that makes all its trips. Costs stop at a number
// that no budget reaches.
#pragma once

#include <vector>

#include "codegen/kernel/variables.h"

namespace felsite::codegen {

class TripCounts : KernelPart {
 public:
  TripCounts(const KernelPart& kernel, Variables& variables)
      : KernelPart(kernel), variables_(variables) {}

  // Writes a loop of the program: counted, and checked behind its end.
  template <class Body>
  void repeat(ir::NodeId loop, Word from, Word to, Body body) {
    count(loop, from, to);
    check_loop_ended(e_.repeat(from, to, e_.word(1), body), to);
  }

  // Before the first iteration.
  void begin();
  // Behind an iteration: publishes the counts to the workgroup.
  void share();
  // Behind the barrier after that: whether one more fits the budget, where this many ran.
  Flag fits_another(Word ran);

 private:
  void count(ir::NodeId loop, Word from, Word to);
  Word cost_of_iteration();
  Word cost_of(ir::NodeRange range, bool in_region);
  Word cost_of_node(ir::NodeId id, bool in_region);
  Word trips_of_loop(ir::NodeId id);

  Variables& variables_;
  // The most trips at a time of each counted loop: of this invocation, what it has published of
  // them, and of the workgroup.
  std::vector<Id> counts_;
  std::vector<Id> published_;
  Id shared_ = 0;
};

}  // namespace felsite::codegen
