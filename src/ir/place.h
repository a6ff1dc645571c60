// The place of a row as a finding states it: line and column, or a path.
#pragma once

#include <string>
#include <vector>

#include "felsite/finding.h"
#include "felsite/program.h"

namespace felsite::ir {

class Places {
 public:
  explicit Places(const Program& program) : program_(program) {}

  // Each sets the place of a finding.
  void at_node(NodeId id, Finding& finding);
  void at_expr(ExprId id, Finding& finding);
  void at_buffer(BufferId id, Finding& finding) const;
  void at_op(OpId id, Finding& finding) const;
  void at_program(Finding& finding) const;

 private:
  bool from_text(const std::vector<std::uint32_t>& offsets, std::uint32_t id,
                 Finding& finding) const;
  void index();
  std::string path(NodeId id) const;

  const Program& program_;
  // Computed when the first path is needed; most programs have no finding.
  std::vector<NodeId> parent_;
  std::vector<std::uint32_t> position_;  // in its list
  std::vector<NodeId> owner_;            // node of an expression
};

}  // namespace felsite::ir
