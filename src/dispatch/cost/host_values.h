// What the host knows of a program's values before it runs: those that follow from literals, the
// lengths of buffers, the grid and the workgroup size, and from inputs that the host has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/extent.h"
#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::dispatch {

struct HostFacts {
  std::vector<std::uint64_t> lengths{};  // elements by BufferId; empty if they are not known
  // Bytes of inputs by BufferId; empty where they are not known. What is recorded once and run with
  // other bytes must not depend on them.
  std::span<const ByteSpan> contents{};
  // Ids are those of an invocation in the middle of the grid: for estimates, not for facts.
  bool in_the_middle = false;
};

// Whether it loads a u32 from a fixed place of a buffer that the program only reads: such an
// element is known where the contents are.
bool is_fixed_input(const ir::Program& program, const ir::Expr& expr);

class HostValues {
 public:
  HostValues(const ir::Program& program, HostFacts facts, const Extent3& grid);

  // Absent if the value depends on anything else.
  std::optional<ir::Literal> value(ir::ExprId root) const;
  // For a variable of a loop, and for what is computed from it.
  void set(ir::VarId variable, const std::optional<ir::Literal>& value) {
    variables_[variable] = value;
  }
  // The variable of a declaration, again: what it is computed from has been set meanwhile.
  void declare(const ir::Node& let) {
    if (!is_assigned_[let.ref]) variables_[let.ref] = value(let.args[0]);
  }

 private:
  std::optional<ir::Literal> leaf(const ir::Expr& expr) const;
  std::optional<ir::Literal> loaded(const ir::Expr& load) const;

  const ir::Program& program_;
  const HostFacts facts_;
  const Extent3 grid_;
  std::vector<bool> is_assigned_;                      // by VarId
  std::vector<std::optional<ir::Literal>> variables_;  // by VarId
};

}  // namespace felsite::dispatch
