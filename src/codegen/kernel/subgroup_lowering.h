// Subgroup operations: native where the device's subgroups are those of the IR, which are
// consecutive invocations, and otherwise through workgroup memory, where all invocations meet.
#pragma once

#include <span>

#include "codegen/kernel/variables.h"

namespace felsite::codegen {

class SubgroupLowering : KernelPart {
 public:
  SubgroupLowering(const KernelPart& kernel, Variables& variables)
      : KernelPart(kernel), variables_(variables) {}

  // The place of the invocation in its subgroup.
  Word own_lane();
  Value ballot(Flag condition);
  Value shuffle(const Value& value, Word lane);
  Value reduce(ir::ReduceOp op, const Value& value);

 private:
  bool is_native() const { return plan_.subgroups == Subgroups::Native; }
  Value native_ballot(Flag condition);
  Value native_shuffle(const Value& value, Word lane);
  Value native_reduce(ir::ReduceOp op, const Value& value);
  Value emulated_ballot(Flag condition);
  Value emulated_shuffle(const Value& value, Word lane);
  Value emulated_reduce(ir::ReduceOp op, const Value& value);
  void exchange(const Value& value);
  Value exchanged(ir::Type type, Word invocation);
  Value lane_value(const Value& value, Word lane);
  template <class Body>
  void each_lane(Body body);

  Variables& variables_;
  Id exchange_memory_ = 0;  // workgroup memory, two words for each invocation
};

}  // namespace felsite::codegen
