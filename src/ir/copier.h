// Copies rows of a program into another one that is being assembled: whole statements with all that
// is nested in them, or single expressions. What is copied finds its buffers, variables and
// operations under the numbers they have there, and keeps its place in the text.
#pragma once

#include <functional>
#include <vector>

#include "ir/assembler.h"

namespace felsite::ir {

class Copier {
 public:
  explicit Copier(const Program& from);

  // What follows goes there. Operations have to be copied anew, buffers and variables to be mapped
  // as far as they are used. One copier for many small targets costs what is copied, no more.
  void write_to(Assembler& target);

  // Where the source's buffers and variables are in the copy. Variables that copied statements
  // declare are noted by the copier itself.
  void map_buffer(BufferId from, BufferId to) { buffers_[from] = to; }
  void map_variable(VarId from, VarId to) { vars_[from] = to; }
  VarId variable(VarId from) const { return vars_[from]; }
  BufferId buffer(BufferId from) const { return from == kNone ? kNone : buffers_[from]; }

  // Declares the operations that these nodes and expressions call, with those that they call in
  // turn. To be called before the first statement.
  void need_ops(NodeRange nodes);
  void need_ops(ExprId root);
  void copy_ops();

  ExprId expression(ExprId root);
  void nodes(NodeRange range);
  void node(NodeId id) { nodes({id, from_.node(id).end}); }

  // Statements that are written in another way: true if that was done.
  std::function<bool(NodeId)> instead;
  // Expressions that are written in another way: which they are, and what appends the row that
  // stands in their place. Within one that is replaced nobody is asked.
  std::function<bool(ExprId)> is_replaced;
  std::function<ExprId(ExprId)> replacement;

 private:
  bool is_instead(NodeId id);
  void append(NodeId id);
  std::vector<ExprId> replaced_in(ExprId root) const;
  std::uint32_t reference(const Expr& expr) const;
  std::uint32_t at_expr(ExprId id) const;
  std::uint32_t at_node(NodeId id) const;

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
