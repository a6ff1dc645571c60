// Copies rows of a program into another one that is being assembled: whole statements with
// everything nested in them, or single expressions. Copied rows refer to the buffers, variables and
// operations of the new program, and keep their positions in the text.
#pragma once

#include <functional>
#include <vector>

#include "ir/assembler.h"

namespace felsite::ir {

class Copier {
 public:
  explicit Copier(const Program& from);

  // Sets the target of the copies that follow. Operations must be copied again for it, and the
  // buffers and variables in use mapped again. Using one copier for many small targets costs only
  // what is copied.
  void write_to(Assembler& target);

  // Maps the source's buffers and variables to those of the copy. The copier itself maps variables
  // that copied statements declare.
  void map_buffer(BufferId from, BufferId to) { buffers_[from] = to; }
  void map_variable(VarId from, VarId to) { vars_[from] = to; }
  VarId variable(VarId from) const { return vars_[from]; }
  BufferId buffer(BufferId from) const { return from == kNone ? kNone : buffers_[from]; }

  // Declares the operations that these nodes and expressions call, directly or indirectly. Must be
  // called before the first statement.
  void collect_ops(NodeRange nodes);
  void collect_ops(ExprId root);
  void copy_ops();

  ExprId expression(ExprId root);
  void nodes(NodeRange range);
  void node(NodeId id) { nodes({id, from_.node(id).end}); }

  // Writes a statement in another form, and returns whether it did.
  std::function<bool(NodeId)> rewrite;
  // Expressions that are written in another form: `is_replaced` selects them, `replacement` appends
  // the row that replaces one. Neither is asked about rows inside a replaced expression.
  std::function<bool(ExprId)> is_replaced;
  std::function<ExprId(ExprId)> replacement;

 private:
  bool is_rewritten(NodeId id);
  void append(NodeId id);
  std::vector<ExprId> replaced_in(ExprId root) const;
  std::uint32_t reference(const Expr& expr) const;
  std::uint32_t at_expr(ExprId id) const {
    return from_.source().empty() ? 0 : from_.source().exprs[id];
  }
  std::uint32_t at_node(NodeId id) const {
    return from_.source().empty() ? 0 : from_.source().nodes[id];
  }

  const Program& from_;
  Assembler* to_ = nullptr;
  std::vector<std::uint32_t> buffers_;
  std::vector<std::uint32_t> vars_;
  std::vector<std::uint32_t> ops_;
  std::vector<bool> is_needed_;
  std::vector<OpId> needed_ops_;
  std::vector<ExprId> pending_;  // copied rows that are not yet operands
};

}  // namespace felsite::ir
