// Appends rows to an arena. The parser and the builder both create programs through it, so the same
// kernel gives the same rows and the same fingerprint from either.
//
// The assembler resolves names and finds types, and rejects nothing: an unknown name is kept as
// unresolved, an operand of a wrong type gives Type::None, and validation reports both.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "felsite/literal.h"
#include "felsite/program.h"

namespace felsite::ir {

class Assembler {
 public:
  struct Param {
    std::string_view name;
    Type type;
  };

  // What is kept of the text: nothing, the places of rows, or all that formatting needs.
  enum class Positions : std::uint8_t { None, Rows, Text };
  explicit Assembler(Positions positions = Positions::None);

  NameId intern(std::string_view text);
  std::string_view name(NameId id) const { return arena_->names[id]; }

  BufferId add_buffer(BufferDecl buffer, std::uint32_t at = 0);
  // A reference to a buffer, variable or operation; unresolved if there is none with that name.
  std::uint32_t buffer_ref(std::string_view text);
  std::uint32_t variable_ref(std::string_view text);
  std::uint32_t op_ref(std::string_view text);

  // Between open_op and close_op, nodes and expressions belong to the operation's body. Returns the
  // VarId of the first parameter.
  VarId open_op(std::string_view text, std::span<const Param> params, Type result,
                std::uint32_t at);
  void close_op(ExprId result, std::uint32_t at, std::uint32_t end);
  bool has_ops() const { return !arena_->ops.empty(); }

  // Expressions. The operands must be the latest rows that are not operands yet, in order.
  ExprId literal(Literal value, std::uint32_t at = 0);
  ExprId variable(std::uint32_t ref, std::uint32_t at = 0);
  ExprId load(std::uint32_t buffer, ExprId index, std::uint32_t at = 0);
  ExprId buffer_length(std::uint32_t buffer, std::uint32_t at = 0);
  ExprId builtin(ExprKind kind, std::uint8_t axis, std::uint32_t at = 0);
  ExprId binary(BinaryOp op, ExprId a, ExprId b, std::uint32_t at = 0);
  ExprId unary(UnaryOp op, ExprId a, std::uint32_t at = 0);
  ExprId select(ExprId condition, ExprId a, ExprId b, std::uint32_t at = 0);
  ExprId cast(Type target, ExprId a, std::uint32_t at = 0);
  ExprId bitcast(Type target, ExprId a, std::uint32_t at = 0);
  ExprId fma(ExprId a, ExprId b, ExprId c, std::uint32_t at = 0);
  // `operands`: index, expected (CompareExchange only), value.
  ExprId atomic(AtomicOp op, Ordering ordering, std::uint32_t buffer,
                std::span<const ExprId> operands, std::uint32_t at = 0);
  ExprId subgroup_ballot(ExprId condition, std::uint32_t at = 0);
  ExprId subgroup_shuffle(ExprId value, ExprId lane, std::uint32_t at = 0);
  ExprId subgroup_reduce(ReduceOp op, ExprId value, std::uint32_t at = 0);
  ExprId call(std::uint32_t op, std::span<const ExprId> operands, std::uint32_t at = 0);
  // Appends a row like one of another program, with the same kind, operation and axis, and with its
  // type if it names one. `ref` and `operands` are the reference and the operands in this program.
  ExprId append_like(const Expr& like, std::uint32_t ref, std::span<const ExprId> operands,
                     std::uint32_t at = 0);
  Type type(ExprId id) const { return arena_->exprs[id].type; }

  // Nodes. A node with a body stays open until close().
  VarId let(std::string_view name, ExprId value, std::uint32_t at = 0);
  void assign(std::uint32_t variable, ExprId value, std::uint32_t at = 0);
  void store(std::uint32_t buffer, ExprId index, ExprId value, std::uint32_t at = 0);
  void open_if(ExprId condition, std::uint32_t at = 0);
  void open_else(std::uint32_t at = 0);
  VarId open_loop(std::string_view variable, ExprId from, ExprId to, std::uint32_t at = 0);
  void open_block(std::uint32_t at = 0);
  void open_region(std::string_view name, std::uint32_t at = 0);
  void close();
  void plain(NodeKind kind, std::uint32_t at = 0);  // Return
  void barrier(Ordering ordering, std::uint32_t at = 0);
  void indirect_dispatch(std::uint32_t buffer, std::uint32_t offset, std::uint32_t at = 0);
  void async_copy(NodeKind kind, std::uint32_t to, ExprId to_index, std::uint32_t from,
                  ExprId from_index, std::uint32_t count, std::string_view tag,
                  std::uint32_t at = 0);
  void tagged(NodeKind kind, std::string_view tag, std::uint32_t at = 0);  // AsyncWait, Resume
  void trap(ExprId address, std::string_view tag, std::uint32_t at = 0);
  void collective(NodeKind kind, ReduceOp op, std::uint32_t to, std::uint32_t from,
                  std::uint32_t root, std::uint32_t at = 0);

  // Appends a node like one of another program, and opens it if it has a body. Returns the variable
  // that it declares, if any. `like.ref`, `like.ref2` and `like.args` refer to this program;
  // `declared` is the name of the variable, `text` the name or tag of the node.
  VarId append_like(const Node& like, std::string_view declared, std::string_view text,
                    std::uint32_t at = 0);

  // The number of open scopes: 0 at the top level of the entry or of an operation's body.
  std::size_t open_depth() const { return open_nodes_.size(); }
  std::size_t node_count() const { return arena_->nodes.size(); }

  // For programs from text: the position of the last token of the newest node.
  void end_node_at(std::uint32_t at);
  void keep_positions(std::vector<std::uint32_t> line_starts, std::uint32_t program_begin,
                      std::uint32_t program_end);
  // Uses the text positions of another program, which this one is made from.
  void keep_positions(const SourceMap& source);
  // Sets the position of later rows that are appended without one.
  void set_position(std::uint32_t at) { here_ = at; }

  Program finish(std::string_view program_name, Extent3 workgroup_size, FloatMode float_mode);

 private:
  struct Undo {
    NameId name;
    std::uint32_t before;
  };
  // What a name means: a buffer, an operation, and the variable that is visible.
  struct Named {
    std::uint32_t variable = kNone;
    std::uint32_t buffer = kNone;
    std::uint32_t op = kNone;
  };
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  ExprId append(Expr expr, std::uint32_t at);
  NodeId append(Node node, std::uint32_t at);
  void open(NodeId node);
  void open_scope() { scope_starts_.push_back(undo_.size()); }
  void close_scope();
  VarId declare(std::string_view text, Type type, VarKind kind);

  std::unique_ptr<Arena> arena_;
  std::unordered_map<std::string, NameId, NameHash, std::equal_to<>> name_ids_;
  std::vector<Named> named_;  // by NameId
  std::vector<Undo> undo_;
  std::vector<std::size_t> scope_starts_;
  std::vector<NodeId> open_nodes_;
  NodeId just_closed_ = kNone;  // the node whose end `end_node_at` sets
  const Positions positions_;
  std::uint32_t here_ = 0;
};

}  // namespace felsite::ir
