// What the host knows of a program's values before it runs: those that follow from literals, the
// lengths of buffers, the grid and the workgroup size.
#pragma once

#include <optional>
#include <vector>

#include "felsite/extent.h"
#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::dispatch {

class HostValues {
 public:
  // `lengths`: elements by BufferId; empty if they are not known.
  HostValues(const ir::Program& program, std::vector<std::uint64_t> lengths, const Extent3& grid);

  // Absent if the value depends on anything else.
  std::optional<ir::Literal> value(ir::ExprId root) const;
  // For a variable of a loop, and for what is computed from it.
  void set(ir::VarId variable, const std::optional<ir::Literal>& value) {
    variables_[variable] = value;
  }

 private:
  std::optional<ir::Literal> leaf(const ir::Expr& expr) const;

  const ir::Program& program_;
  const std::vector<std::uint64_t> lengths_;
  const Extent3 grid_;
  std::vector<std::optional<ir::Literal>> variables_;  // by VarId
};

}  // namespace felsite::dispatch
