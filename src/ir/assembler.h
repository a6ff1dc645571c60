// Appends rows to an arena. The parser and the builder both create programs through it, so the same
// kernel gives the same rows and the same fingerprint from either.
//
// The assembler resolves names and finds types, and rejects nothing: an unknown name is kept as
// unresolved, an operand of a wrong type gives Type::None, and validation reports both.
#pragma once

#include <array>
#include <memory>
#include <span>
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

  // Appends an expression. Its operands must be the latest rows that are not operands yet, in
  // order. Its type follows from them, but for a literal and the casts, which give their own.
  ExprId append(const Expr& expr, std::span<const ExprId> operands, std::uint32_t at = 0);
  ExprId literal(Literal value, std::uint32_t at = 0) {
    Expr row{.kind = ExprKind::Literal, .type = value.type};
    row.set_literal_bits(value.bits);
    return append(row, {}, at);
  }
  ExprId variable(std::uint32_t ref, std::uint32_t at = 0) {
    return append(Expr{.kind = ExprKind::Var, .ref = ref}, {}, at);
  }
  ExprId load(std::uint32_t buffer, ExprId index) {
    return append(Expr{.kind = ExprKind::Load, .ref = buffer}, std::array{index});
  }
  ExprId buffer_length(std::uint32_t buffer, std::uint32_t at = 0) {
    return append(Expr{.kind = ExprKind::BufLen, .ref = buffer}, {}, at);
  }
  ExprId builtin(ExprKind kind, std::uint8_t axis, std::uint32_t at = 0) {
    return append(Expr{.kind = kind, .aux = axis}, {}, at);
  }
  ExprId binary(BinaryOp op, ExprId a, ExprId b) {
    const Expr row{.kind = ExprKind::Binary, .op = static_cast<std::uint8_t>(op)};
    return append(row, std::array{a, b});
  }
  ExprId select(ExprId condition, ExprId a, ExprId b) {
    return append(Expr{.kind = ExprKind::Select}, std::array{condition, a, b});
  }
  ExprId cast(Type target, ExprId a) {
    return append(Expr{.kind = ExprKind::Cast, .type = target}, std::array{a});
  }
  ExprId bitcast(Type target, ExprId a) {
    return append(Expr{.kind = ExprKind::Bitcast, .type = target}, std::array{a});
  }
  Type type(ExprId id) const { return arena_->exprs[id].type; }

  // Appends a node, whose references, name and expressions are of this program. A node with a body
  // stays open until close(). Returns the variable that it declares by the name `declared`, if any.
  VarId append(Node node, std::uint32_t at = 0, std::string_view declared = {});
  VarId let(std::string_view name, ExprId value, std::uint32_t at = 0) {
    return append(Node{.kind = NodeKind::Let, .args = {value, kNone}}, at, name);
  }
  void store(std::uint32_t buffer, ExprId index, ExprId value, std::uint32_t at = 0) {
    append(Node{.kind = NodeKind::Store, .ref = buffer, .args = {index, value}}, at);
  }
  void open_if(ExprId condition, std::uint32_t at = 0) {
    append(Node{.kind = NodeKind::If, .args = {condition, kNone}}, at);
  }
  void open_else(std::uint32_t at = 0);
  VarId open_loop(std::string_view variable, ExprId from, ExprId to, std::uint32_t at = 0) {
    return append(Node{.kind = NodeKind::Loop, .args = {from, to}}, at, variable);
  }
  void open_block(std::uint32_t at = 0) { plain(NodeKind::Block, at); }
  void open_region(std::string_view name, std::uint32_t at = 0) {
    append(Node{.kind = NodeKind::Region, .name = intern(name)}, at);
  }
  void close();
  void plain(NodeKind kind, std::uint32_t at = 0) { append(Node{.kind = kind}, at); }
  void barrier(Ordering ordering, std::uint32_t at = 0) {
    const auto op = static_cast<std::uint8_t>(ordering);
    append(Node{.kind = NodeKind::Barrier, .op = op}, at);
  }

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

  Type type_of(const Expr& expr, std::span<const ExprId> operands) const;
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
