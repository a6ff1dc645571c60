#include <algorithm>
#include <unordered_map>

#include "ir/walk.h"
#include "reference/bytecode.h"
#include "reference/register_pool.h"

namespace felsite::reference {
namespace {

using namespace ir;

class Compiler {
 public:
  explicit Compiler(const Program& program)
      : program_(program), var_registers_(program.vars().size(), kNone) {
    ends_before_.reserve(program.nodes().size() + 1);
    ends_before_.push_back(0);
    syncs_before_.reserve(program.nodes().size() + 1);
    syncs_before_.push_back(0);
    for (const Node& node : program.nodes()) {
      const bool ends = info(node.kind).ends_invocation;
      const bool syncs = is_grid_sync(node);
      ends_before_.push_back(ends_before_.back() + (ends ? 1 : 0));
      syncs_before_.push_back(syncs_before_.back() + (syncs ? 1 : 0));
    }
  }

  Bytecode run() {
    for (OpId id = 0; id < program_.ops().size(); ++id) compile_op(id);
    out_.entry = here();
    mask_ = 0;
    compile_nodes(program_.entry());
    emit({.opcode = Opcode::Finish});
    out_.units = registers_.size();
    return std::move(out_);
  }

 private:
  // An operand: its register, and whether it is a temporary that must be released.
  struct Operand {
    std::uint32_t unit;
    std::uint32_t units;
    bool temporary;
  };
  struct OpCode {
    std::uint32_t start;
    std::uint32_t mask;
    Operand result;
  };
  struct Body {
    std::uint32_t outer_mask;
    std::uint32_t mask;
    std::size_t branch;  // the instruction that leaves the current arm, or the head of a loop
    Operand from;        // of a loop: its variable; of an If: its condition
    Operand to;
    std::size_t first_var;
  };

  static std::uint32_t units_of(Type type) { return lane_bytes(type) / 4; }
  std::uint32_t here() const { return static_cast<std::uint32_t>(out_.code.size()); }
  Instruction& emit(const Instruction& instruction) { return out_.code.emplace_back(instruction); }
  // Masks nest like bodies.
  std::uint32_t take_mask() {
    out_.masks = std::max(out_.masks, next_mask_ + 1);
    return next_mask_++;
  }
  Operand take(Type type) { return {registers_.take(units_of(type)), units_of(type), true}; }
  void release(Operand operand) {
    if (operand.temporary) registers_.release(operand.unit, operand.units);
  }
  // A register that the caller may keep and change; a variable's register is copied.
  Operand own(Operand operand, Type type) {
    if (operand.temporary) return operand;
    const Operand copy = take(type);
    emit({.opcode = Opcode::Copy, .type = type, .dst = copy.unit, .a = operand.unit});
    return copy;
  }
  std::uint32_t tag(NameId name) {
    const auto [found, is_new] = tags_.emplace(name, static_cast<std::uint32_t>(out_.tags.size()));
    if (is_new) out_.tags.emplace_back(program_.name(name));
    return found->second;
  }
  void bind(VarId var, Operand operand) {
    var_registers_[var] = operand.unit;
    scope_vars_.push_back({var, operand});
  }
  void close_scope(std::size_t first_var) {
    while (scope_vars_.size() > first_var) {
      const Operand operand = scope_vars_.back().second;
      registers_.release(operand.unit, operand.units);
      scope_vars_.pop_back();
    }
  }
  // Whether invocations may end for good inside the node.
  bool has_end(NodeId node) const {
    return ends_before_[node] != ends_before_[program_.node(node).end];
  }
  // A construct around a grid barrier is cut at its beginning, at its end, and between its trips,
  // as the plan of the grid barriers cuts it: a segment ends there. Only traps make this
  // observable.
  bool is_cut(NodeId node) const {
    return program_.facts().has_trap &&
           syncs_before_[node] != syncs_before_[program_.node(node).end];
  }
  void end_segment() { emit({.opcode = Opcode::GridSync, .b = kNone}); }

  void compile_op(OpId id);
  void compile_nodes(NodeRange range);
  void compile_leaf(NodeId id);
  void open(NodeId id);
  void open_else();
  void close(NodeId id);
  Operand compile_expr(ExprId root);
  Operand compile_row(ExprId id, std::span<const Operand> args);
  void compile_call(ExprId id, std::span<const Operand> args, Operand dst);

  const Program& program_;
  Bytecode out_;
  RegisterPool registers_;
  std::vector<std::uint32_t> var_registers_;
  std::vector<std::pair<VarId, Operand>> scope_vars_;
  std::vector<OpCode> ops_;
  std::vector<Body> open_;
  std::vector<Operand> operands_;
  std::uint32_t mask_ = 0;  // the current one
  std::uint32_t next_mask_ = 1;
  std::vector<std::uint32_t> ends_before_;   // by NodeId: returns and traps
  std::vector<std::uint32_t> syncs_before_;  // by NodeId: grid barriers
  std::unordered_map<NameId, std::uint32_t> tags_;
};

// Operations cannot recurse, so each keeps its own registers and masks.
void Compiler::compile_op(OpId id) {
  const OpDecl& op = program_.ops()[id];
  OpCode code{.start = here(), .mask = take_mask(), .result = {}};
  mask_ = code.mask;
  for (VarId param = op.first_param; param < op.first_param + op.param_count; ++param) {
    var_registers_[param] = take(program_.var(param).type).unit;
  }
  emit({.opcode = Opcode::UseMask, .dst = code.mask});
  compile_nodes(op.body);
  code.result = own(compile_expr(op.result), op.result_type);
  emit({.opcode = Opcode::Return});
  scope_vars_.clear();
  registers_.forget_free();
  next_mask_ = out_.masks;
  ops_.push_back(code);
}

Compiler::Operand Compiler::compile_expr(ExprId root) {
  // Rows are in post-order, so a stack of operands is enough.
  const std::size_t base = operands_.size();
  for (const ExprId row : program_.rows(root)) {
    const std::size_t count = program_.operands(row).size();
    const auto args = std::span(operands_).last(count);
    const Operand result = compile_row(row, args);
    for (const Operand arg : args) release(arg);
    operands_.resize(operands_.size() - count);
    operands_.push_back(result);
  }
  const Operand result = operands_.back();
  operands_.resize(base);
  return result;
}

// The result takes a register before the operands are released, so the two never overlap.
Compiler::Operand Compiler::compile_row(ExprId id, std::span<const Operand> args) {
  const Expr& e = program_.expr(id);
  if (e.kind == ExprKind::Var) return {var_registers_[e.ref], units_of(e.type), false};
  const Operand dst = take(e.type);
  const Type first = args.empty() ? Type::None : program_.expr(program_.operands(id)[0]).type;
  const auto start = [&](Opcode opcode) -> Instruction& {
    Instruction& i = emit({.opcode = opcode, .type = e.type, .from = first, .dst = dst.unit});
    if (!args.empty()) i.a = args[0].unit;
    if (args.size() > 1) i.b = args[1].unit;
    if (args.size() > 2) i.c = args[2].unit;
    return i;
  };
  switch (e.kind) {
    case ExprKind::Literal: {
      Instruction& i = start(Opcode::Constant);
      lane_from_bits(e.type, e.literal_bits(), &i.imm.bits);
      break;
    }
    case ExprKind::Load: {
      Instruction& i = start(Opcode::Load);
      i.b = e.ref;
      i.type = program_.buffer(e.ref).element;
      break;
    }
    case ExprKind::BufLen:
      start(Opcode::Length).b = e.ref;
      break;
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize: {
      Instruction& i = start(Opcode::Builtin);
      i.op = static_cast<std::uint8_t>(e.kind);
      i.axis = e.aux;
      break;
    }
    case ExprKind::Binary:
      start(Opcode::Binary).imm.binary = binary_kernel(e.binary(), first);
      break;
    case ExprKind::Unary:
      start(Opcode::Unary).imm.unary = unary_kernel(e.unary(), first);
      break;
    case ExprKind::Select:
      start(Opcode::Ternary).imm.ternary = select_kernel(e.type);
      break;
    case ExprKind::Cast:
      start(Opcode::Unary).imm.unary = cast_kernel(first, e.type);
      break;
    case ExprKind::Bitcast:
      start(Opcode::Unary).imm.unary = bitcast_kernel(first, e.type);
      break;
    case ExprKind::Fma:
      start(Opcode::Ternary).imm.ternary = fma_kernel(e.type);
      break;
    case ExprKind::Atomic: {
      const bool compares = e.atomic() == AtomicOp::CompareExchange;
      Instruction& i = start(Opcode::Atomic);
      i.op = e.op;
      i.b = e.ref;
      i.c = args.back().unit;
      i.d = compares ? args[1].unit : 0;
      break;
    }
    case ExprKind::SubgroupBallot:
      start(Opcode::Ballot);
      break;
    case ExprKind::SubgroupShuffle:
      start(Opcode::Shuffle);
      break;
    case ExprKind::SubgroupReduce:
      start(Opcode::Reduce).imm.binary = reduce_kernel(e.reduce(), e.type);
      break;
    case ExprKind::Call:
      compile_call(id, args, dst);
      break;
    case ExprKind::Var:
      break;
  }
  return dst;
}

void Compiler::compile_call(ExprId id, std::span<const Operand> args, Operand dst) {
  const Expr& e = program_.expr(id);
  const OpDecl& decl = program_.ops()[e.ref];
  const OpCode& code = ops_[e.ref];
  for (std::uint32_t i = 0; i < decl.param_count; ++i) {
    const VarId param = decl.first_param + i;
    emit({.opcode = Opcode::Copy,
          .type = program_.var(param).type,
          .dst = var_registers_[param],
          .a = args[i].unit});
  }
  emit({.opcode = Opcode::MaskCopy, .dst = code.mask, .a = mask_});
  emit({.opcode = Opcode::Call, .jump = code.start});
  emit({.opcode = Opcode::UseMask, .dst = mask_});
  emit({.opcode = Opcode::Copy, .type = e.type, .dst = dst.unit, .a = code.result.unit});
}

void Compiler::compile_nodes(NodeRange range) {
  for (ir::Walk walk(program_, range); walk.next();) {
    switch (walk.step()) {
      case ir::Walk::Step::Leaf:
        compile_leaf(walk.id());
        break;
      case ir::Walk::Step::Enter:
        open(walk.id());
        break;
      case ir::Walk::Step::Else:
        open_else();
        break;
      case ir::Walk::Step::Leave:
        close(walk.id());
        break;
    }
  }
}

void Compiler::open(NodeId id) {
  const Node& node = program_.node(id);
  Body frame{.outer_mask = mask_,
             .mask = mask_,
             .branch = 0,
             .from = {},
             .to = {},
             .first_var = scope_vars_.size()};
  if (node.kind == NodeKind::If) {
    // The condition is needed again for the else arm.
    frame.from = own(compile_expr(node.args[0]), Type::Bool);
    frame.mask = take_mask();
    if (is_cut(id)) end_segment();
    frame.branch = out_.code.size();
    emit({.opcode = Opcode::MaskThen, .dst = frame.mask, .a = mask_, .c = frame.from.unit});
  } else if (node.kind == NodeKind::Loop) {
    const Operand from = compile_expr(node.args[0]);
    // The bound must survive the body, whatever the body assigns.
    frame.to = own(compile_expr(node.args[1]), Type::U32);
    frame.from = own(from, Type::U32);
    var_registers_[node.ref] = frame.from.unit;
    frame.mask = take_mask();
    if (is_cut(id)) end_segment();
    emit({.opcode = Opcode::MaskCopy, .dst = frame.mask, .a = mask_});
    frame.branch = out_.code.size();
    emit({.opcode = Opcode::LoopTest, .dst = frame.mask, .a = frame.from.unit, .b = frame.to.unit});
  }
  mask_ = frame.mask;
  open_.push_back(frame);
}

void Compiler::open_else() {
  Body& top = open_.back();
  close_scope(top.first_var);
  out_.code[top.branch].jump = here();
  top.branch = out_.code.size();
  emit({.opcode = Opcode::MaskElse, .dst = top.mask, .a = top.outer_mask, .c = top.from.unit});
}

void Compiler::close(NodeId id) {
  const Body& top = open_.back();
  const Node& node = program_.node(id);
  close_scope(top.first_var);
  if (node.kind == NodeKind::Loop) {
    if (is_cut(id)) end_segment();
    emit({.opcode = Opcode::LoopNext,
          .dst = top.mask,
          .a = top.from.unit,
          .jump = static_cast<std::uint32_t>(top.branch)});
  }
  if (info(node.kind).branches) {
    out_.code[top.branch].jump = here();
    emit({.opcode = has_end(id) ? Opcode::MaskAlive : Opcode::UseMask, .dst = top.outer_mask});
    if (is_cut(id)) end_segment();
    --next_mask_;
    release(top.from);
    if (node.kind == NodeKind::Loop) release(top.to);
  }
  mask_ = top.outer_mask;
  open_.pop_back();
}

void Compiler::compile_leaf(NodeId id) {
  const Node& node = program_.node(id);
  switch (node.kind) {
    case NodeKind::Let: {
      const Type type = program_.expr(node.args[0]).type;
      bind(node.ref, own(compile_expr(node.args[0]), type));
      return;
    }
    case NodeKind::Assign: {
      const Operand value = compile_expr(node.args[0]);
      emit({.opcode = Opcode::MaskedCopy,
            .type = program_.expr(node.args[0]).type,
            .dst = var_registers_[node.ref],
            .a = value.unit});
      return release(value);
    }
    case NodeKind::Store: {
      const Operand index = compile_expr(node.args[0]);
      const Operand value = compile_expr(node.args[1]);
      emit({.opcode = Opcode::Store,
            .type = program_.buffer(node.ref).element,
            .a = index.unit,
            .b = node.ref,
            .c = value.unit});
      release(index);
      return release(value);
    }
    case NodeKind::Return:
      emit({.opcode = Opcode::End});
      return;
    case NodeKind::Barrier:
      // Invocations run in lock step, so a workgroup barrier needs no instruction.
      if (is_grid_sync(node)) end_segment();
      return;
    case NodeKind::AllReduce:
    case NodeKind::Broadcast:
      // With one rank this is the identity, at the place of a grid barrier.
      return end_segment();
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
      emit({.opcode = Opcode::GridSync, .b = node.ref, .c = node.ref2});
      return;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore: {
      const Operand to = compile_expr(node.args[0]);
      const Operand from = compile_expr(node.args[1]);
      emit({.opcode = Opcode::AsyncIssue,
            .type = program_.buffer(node.ref).element,
            .a = to.unit,
            .b = node.ref,
            .c = from.unit,
            .d = node.ref2,
            .e = tag(node.name),
            .imm = {.bits = node.extra}});
      release(to);
      return release(from);
    }
    case NodeKind::AsyncWait:
      emit({.opcode = Opcode::AsyncWait, .e = tag(node.name)});
      return;
    case NodeKind::Trap: {
      const Operand address = compile_expr(node.args[0]);
      emit({.opcode = Opcode::Trap, .a = address.unit, .e = tag(node.name)});
      return release(address);
    }
    case NodeKind::IndirectDispatch:  // read before the program starts
    case NodeKind::Resume:
    case NodeKind::If:
    case NodeKind::Loop:
    case NodeKind::Block:
    case NodeKind::Region:
      return;
  }
}

}  // namespace

Bytecode compile(const ir::ValidProgram& program) { return Compiler(program).run(); }

}  // namespace felsite::reference
