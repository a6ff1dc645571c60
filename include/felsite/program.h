// A program: immutable, flat, cheap to copy.
//
// Expressions are rows in post-order; each is the operand of exactly one other row or node. Nodes
// are rows in pre-order; a node's subtree is the index range [node, node.end). So an analysis is a
// loop over an array, and no recursion follows the depth of a program.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/extent.h"
#include "felsite/ops.h"
#include "felsite/types.h"

namespace felsite::ir {

using ExprId = std::uint32_t;
using NodeId = std::uint32_t;
using BufferId = std::uint32_t;
using VarId = std::uint32_t;
using NameId = std::uint32_t;
using OpId = std::uint32_t;

inline constexpr std::uint32_t kNone = 0xFFFF'FFFFu;
// An unresolved reference keeps its name, so that validation can report it.
inline constexpr std::uint32_t kUnresolved = 0x8000'0000u;
constexpr bool is_resolved(std::uint32_t reference) { return (reference & kUnresolved) == 0; }

enum class ExprKind : std::uint8_t {
  Literal,
  Var,
  Load,
  BufLen,
  InvocationId,
  WorkgroupId,
  LocalId,
  NumWorkgroups,
  WorkgroupSize,
  SubgroupLocalId,
  SubgroupSize,
  Binary,
  Unary,
  Select,
  Cast,
  Bitcast,
  Fma,
  Atomic,
  SubgroupBallot,
  SubgroupShuffle,
  SubgroupReduce,
  Call,
};
inline constexpr std::size_t kExprKindCount = static_cast<std::size_t>(ExprKind::Call) + 1;

// What evaluating an expression again, or somewhere else, could change.
enum class Purity : std::uint8_t {
  Pure,           // a function of its operands and of the invocation's position
  ReadsVariable,  // depends on when: an Assign may come between
  ReadsMemory,    // depends on when: a store may come between
  ReadsLanes,     // depends on which other invocations are active
  ChangesMemory,  // must not be repeated or moved
};

// What a value depends on apart from its operands, and so for whom it is the same.
enum class DependsOn : std::uint8_t {
  Operands,    // nothing else
  Grid,        // the dispatch: sizes and lengths, which the host also knows
  Device,      // the same for the whole grid, but known only to the device
  Workgroup,   // the workgroup's id
  Local,       // the invocation's position in its workgroup
  Invocation,  // the invocation's position in the grid
  Lanes,       // the lanes of its subgroup
  Variable,    // the last assignment
  Memory,      // the last store
};

enum class Names : std::uint8_t { Nothing, Variable, Buffer, Operation };

struct ExprKindInfo {
  ExprKind kind;
  std::string_view name;
  std::uint8_t arity;  // operands; Atomic has one more for CompareExchange, Call as many as it has
  Purity purity;
  DependsOn depends_on;
  Names names;  // what `ref` refers to
};
const ExprKindInfo& info(ExprKind kind);

enum class NodeKind : std::uint8_t {
  Let,
  Assign,
  Store,
  If,
  Loop,
  Return,
  Block,
  Region,
  Barrier,
  IndirectDispatch,
  AsyncLoad,
  AsyncStore,
  AsyncWait,
  Trap,
  Resume,
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
};
inline constexpr std::size_t kNodeKindCount = static_cast<std::size_t>(NodeKind::Broadcast) + 1;

// What a node does to the variable `ref`.
enum class VariableUse : std::uint8_t { None, Declares, Assigns };
// Which memory a node itself reads or writes, apart from the loads and atomics in it.
enum class NodeMemory : std::uint8_t {
  None,
  Buffer,  // `ref`
  Source,  // `ref2`
  Copies,  // the destinations of all copies with its tag
};
// For whom a node orders the memory accesses before and after it.
enum class Orders : std::uint8_t {
  Nothing,
  ByOrdering,  // a barrier: for the workgroup, or for the grid if its ordering says so
  Grid,        // a collective: the whole grid performs it, not one invocation
};

struct NodeKindInfo {
  NodeKind kind;
  std::string_view name;
  std::uint8_t arity;    // expressions it holds
  bool has_body;         // opens a scope
  bool branches;         // its expressions decide whether, or how often, the body runs
  bool ends_invocation;  // nothing after it runs
  bool issues_copy;      // writes `ref` later, where its tag is waited for
  bool allowed_in_op;    // may be in the body of a user-defined operation
  VariableUse variable;  // what happens to `ref`, if that is a variable
  NodeMemory reads;
  NodeMemory writes;
  Orders orders;
};
const NodeKindInfo& info(NodeKind kind);

struct Expr {
  ExprKind kind;
  std::uint8_t op = 0;        // BinaryOp, UnaryOp, AtomicOp or ReduceOp, by kind
  Type type = Type::None;     // of the value; the target of Cast and Bitcast
  std::uint8_t aux = 0;       // axis of an id, Ordering of an atomic
  std::uint32_t ref = kNone;  // VarId, BufferId or OpId, by kind
  // Operands in evaluation order. Literal: low and high word of its bits. Call: first and count of
  // its operands in a side array. Atomic: index, expected (CompareExchange only), value.
  std::array<std::uint32_t, 3> args{kNone, kNone, kNone};

  BinaryOp binary() const { return static_cast<BinaryOp>(op); }
  UnaryOp unary() const { return static_cast<UnaryOp>(op); }
  AtomicOp atomic() const { return static_cast<AtomicOp>(op); }
  ReduceOp reduce() const { return static_cast<ReduceOp>(op); }
  Ordering ordering() const { return static_cast<Ordering>(aux); }
  std::size_t arity() const;  // how many of `args` are operands; for all kinds but Call
  std::uint64_t literal_bits() const { return args[0] | (std::uint64_t{args[1]} << 32); }
  void set_literal_bits(std::uint64_t bits) {
    args = {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), 0};
  }
};
static_assert(sizeof(Expr) == 20);

struct Node {
  NodeKind kind;
  std::uint8_t op = 0;  // ReduceOp of a collective, Ordering of a barrier
  // VarId (Let, Assign, Loop), BufferId (Store, IndirectDispatch, destination)
  std::uint32_t ref = kNone;
  std::uint32_t ref2 = kNone;  // BufferId of the source of a copy or collective
  NameId name = kNone;         // of a Region; the tag of Async*, Trap and Resume
  // If: first node of the else arm. Async: count. Indirect: offset. Broadcast: root.
  std::uint32_t extra = 0;
  std::array<ExprId, 2> args{kNone, kNone};  // expressions in evaluation order
  NodeId end = 0;                            // one past the last node of its subtree

  ReduceOp reduce() const { return static_cast<ReduceOp>(op); }
  Ordering ordering() const { return static_cast<Ordering>(op); }
};
static_assert(sizeof(Node) == 32);

// A barrier of the whole grid.
inline bool is_grid_sync(const Node& node) {
  return node.kind == NodeKind::Barrier && node.ordering() == Ordering::GridSync;
}
// A Let or Assign, which gives the variable the value of an expression. (A Loop counts by itself.)
inline bool sets_variable(const Node& node) {
  return info(node.kind).variable != VariableUse::None && !info(node.kind).has_body;
}
// A node that orders memory for the whole grid: a grid barrier or a collective.
inline bool orders_grid(const Node& node) {
  return is_grid_sync(node) || info(node.kind).orders == Orders::Grid;
}

struct NodeRange {
  NodeId begin = 0;
  NodeId end = 0;
  bool empty() const { return begin == end; }
};

// Consecutive rows of expressions.
class RowRange {
 public:
  class Iterator {
   public:
    explicit Iterator(ExprId row) : row_(row) {}
    ExprId operator*() const { return row_; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    ExprId row_;
  };

  RowRange(ExprId first, ExprId end) : first_(first), end_(end) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  std::size_t size() const { return end_ - first_; }

 private:
  ExprId first_;
  ExprId end_;
};

enum class Access : std::uint8_t { ReadOnly, ReadWrite, WriteOnly, Uniform, Workgroup };
enum class Role : std::uint8_t { Input, InputOutput, Output, Uniform, Shared };

struct BufferDecl {
  std::string name;
  std::uint32_t binding = 0;  // meaningless for Access::Workgroup
  Type element = Type::U32;
  std::uint32_t count = 0;  // 0: sized at run time by the given bytes
  Access access = Access::ReadOnly;
  bool output = false;
  bool pipeline_live_out = false;
  std::vector<std::string> hints = {};

  bool operator==(const BufferDecl&) const = default;
};

std::string_view to_string(Access access);
std::string_view to_string(Role role);
Role role_of(const BufferDecl& buffer);
inline bool takes_caller_bytes(Role role) {
  return role == Role::Input || role == Role::InputOutput || role == Role::Uniform;
}
inline bool gives_result(Role role) { return role == Role::Output || role == Role::InputOutput; }

enum class VarKind : std::uint8_t { Let, Loop, Param };  // loop variables and parameters: read-only

struct Variable {
  NameId name;
  Type type;
  VarKind kind;
  bool assigned;       // some Assign changes it
  std::uint32_t uses;  // how often it is read
};

// A user-defined operation: scalars in, one scalar out, no memory.
struct OpDecl {
  NameId name;
  VarId first_param;
  std::uint32_t param_count;
  Type result_type;
  NodeRange body;
  ExprId result;
};

struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Fingerprint&) const = default;
};
std::string to_string(Fingerprint fingerprint);

enum class FloatMode : std::uint8_t { Exact, Fast };

// Facts that need no walk over the program.
struct Facts {
  bool has_barrier = false;
  bool has_grid_sync = false;
  bool has_atomics = false;
  bool has_indirect_dispatch = false;
  bool has_subgroup_ops = false;
  bool has_async = false;
  bool has_trap = false;
  bool has_collectives = false;
  bool has_calls = false;
};

// Where each row was in the text, as byte offsets; all empty for a built program.
struct SourceMap {
  std::vector<std::uint32_t> exprs;
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> node_ends;  // of the last token: where a trailing comment may follow
  std::vector<std::uint32_t> else_arms;  // of the `else` keyword, by node; 0 if there is none
  std::vector<std::uint32_t> buffers;
  std::vector<std::uint32_t> ops;
  std::vector<std::uint32_t> op_results;
  std::vector<std::uint32_t> op_ends;  // the closing brace of an operation
  std::uint32_t program_begin = 0;     // the word `program`
  std::uint32_t program_end = 0;       // the closing brace
  // Shared with the programs that are made from this one; null for a built program.
  std::shared_ptr<const std::vector<std::uint32_t>> line_starts;
  bool empty() const { return line_starts == nullptr; }
};

struct LineColumn {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
LineColumn line_column(const SourceMap& map, std::uint32_t offset);

// The shared, immutable storage behind a Program.
struct Arena {
  std::vector<Expr> exprs;
  std::vector<ExprId> call_operands;
  std::vector<Node> nodes;
  std::vector<Variable> vars;
  std::vector<std::string> names;
  std::vector<BufferDecl> buffers;
  std::vector<OpDecl> ops;
  NodeRange entry;
  Facts facts;
  SourceMap source;
};

class Program {
 public:
  Program();  // the empty program: no name, no buffers, no nodes; does not validate
  Program(std::string name, Extent3 workgroup_size, FloatMode float_mode,
          std::shared_ptr<const Arena> arena);

  std::string_view name() const { return header_->name; }
  const Extent3& workgroup_size() const { return header_->workgroup_size; }
  FloatMode float_mode() const { return header_->float_mode; }
  Fingerprint fingerprint() const { return header_->fingerprint; }

  const Facts& facts() const { return arena_->facts; }
  std::span<const BufferDecl> buffers() const { return arena_->buffers; }
  std::span<const Variable> vars() const { return arena_->vars; }
  std::span<const OpDecl> ops() const { return arena_->ops; }
  std::span<const Node> nodes() const { return arena_->nodes; }
  std::span<const Expr> exprs() const { return arena_->exprs; }
  NodeRange entry() const { return arena_->entry; }
  const SourceMap& source() const { return arena_->source; }

  const Node& node(NodeId id) const { return arena_->nodes[id]; }
  const Expr& expr(ExprId id) const { return arena_->exprs[id]; }
  const BufferDecl& buffer(BufferId id) const { return arena_->buffers[id]; }
  const Variable& var(VarId id) const { return arena_->vars[id]; }
  std::string_view name(NameId id) const { return arena_->names[id]; }
  std::string_view var_name(VarId id) const { return name(var(id).name); }

  // The operands of an expression, and the expressions of a node, in evaluation order.
  std::span<const ExprId> operands(ExprId id) const;
  std::span<const ExprId> expressions(NodeId id) const;
  // The rows of the tree under `root`, operands first.
  ExprId first_row(ExprId root) const;
  RowRange rows(ExprId root) const { return {first_row(root), root + 1}; }
  // The rows of all expressions of a node, in evaluation order.
  RowRange rows_of_node(NodeId id) const;

  // The bodies of a node. An If has a then body and an else body; Loop, Block and Region have a
  // then body.
  NodeRange then_body(NodeId id) const;
  NodeRange else_body(NodeId id) const;

  std::optional<BufferId> find_buffer(std::string_view name) const;

  // The same program with another workgroup size; the arena is shared.
  Program with_workgroup_size(Extent3 size) const;
  Program with_float_mode(FloatMode mode) const;

  std::size_t storage_bytes() const;

 private:
  friend class ValidProgram;

  struct Header {
    Header(std::string its_name, Extent3 size, FloatMode mode, Fingerprint print)
        : name(std::move(its_name)), workgroup_size(size), float_mode(mode), fingerprint(print) {}

    std::string name;
    Extent3 workgroup_size;
    FloatMode float_mode;
    Fingerprint fingerprint;
    // Validation has passed. All copies of a program share this, so none is validated again.
    mutable std::atomic<bool> is_valid = false;
  };
  std::shared_ptr<const Header> header_;
  std::shared_ptr<const Arena> arena_;
};

}  // namespace felsite::ir
