// Asynchronous copies: a device has none, so the payload is captured in variables of the
// invocation where it is issued, and written where it is waited for.
#pragma once

#include <array>
#include <vector>

#include "codegen/kernel/variables.h"

namespace felsite::codegen {

class AsyncCopies : KernelPart {
 public:
  AsyncCopies(const KernelPart& kernel, Variables& variables)
      : KernelPart(kernel), variables_(variables) {}

  // Declares a place for each copy statement, with nothing in flight.
  void declare();
  void issue(ir::NodeId id, Word to, Word from);
  void wait(ir::NodeId id);

 private:
  // A copy statement: what it captured, and where that will go.
  struct Copy {
    ir::NameId tag = 0;
    ir::NodeId node = 0;
    ir::Type type = ir::Type::None;
    bool is_pair = false;
    Id part_type = 0;
    Id part_pointer = 0;
    Id pending = 0;
    Id index = 0;
    std::array<Id, 2> payload{};
  };

  template <class Body>
  void each_element(std::uint32_t count, Body body);

  Variables& variables_;
  std::vector<Copy> copies_;  // by tag, then in program order
};

}  // namespace felsite::codegen
