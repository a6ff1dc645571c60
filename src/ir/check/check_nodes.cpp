// Checks nodes: scopes, stores, tags, placement.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/words.h"
#include "felsite/spelling.h"
#include "ir/check/validation.h"
#include "ir/text/lexer.h"
#include "ir/text/words.h"
#include "ir/walk.h"

namespace felsite::ir {
namespace {

class NodeChecker {
 public:
  NodeChecker(const Program& program, Report& report)
      : program_(program), report_(report), visible_(names_in_use(program), 0) {}

  void run() {
    for (const Node& node : program_.nodes()) {
      if (info(node.kind).issues_copy) copy_tags_.insert(node.name);
      if (node.kind == NodeKind::Trap) trap_tags_.insert(node.name);
    }
    for (OpId id = 0; id < program_.ops().size(); ++id) check_op(id);
    walk(program_.entry(), false);
  }

 private:
  static std::size_t names_in_use(const Program& program) {
    std::size_t most = 0;
    for (const Variable& var : program.vars()) most = std::max<std::size_t>(most, var.name + 1);
    return most;
  }

  void check_op(OpId id);
  void walk(NodeRange range, bool in_op);
  void check(NodeId id, bool in_op);
  void declare(VarId var, NodeId at);
  void leave_scope(std::size_t mark) {
    while (declared_.size() > mark) {
      --visible_[declared_.back()];
      declared_.pop_back();
    }
  }
  bool at_top_level() const { return open_branches_ == 0; }

  void check_assign(NodeId id);
  void check_store(NodeId id);
  void check_indirect(NodeId id);
  void check_async(NodeId id);
  void check_collective(NodeId id);
  void check_tag(NodeId id, const std::unordered_set<NameId>& known, std::string_view what);
  const BufferDecl* buffer(std::uint32_t ref, NodeId at);

  const Program& program_;
  Report& report_;
  std::vector<std::uint32_t> visible_;  // visible declarations, by NameId
  std::vector<NameId> declared_;
  std::size_t open_branches_ = 0;  // bodies around the node that may run never or repeatedly
  std::vector<std::size_t> scope_marks_;
  std::unordered_set<NameId> copy_tags_;
  std::unordered_set<NameId> trap_tags_;
};

const BufferDecl* NodeChecker::buffer(std::uint32_t ref, NodeId at) {
  if (is_resolved(ref)) return &program_.buffer(ref);
  const std::string_view name = program_.name(ref & ~kUnresolved);
  report_.node(FindingCode::UnknownBuffer, at,
               fmt::format("There is no buffer `{}`.{}", name.substr(0, 60),
                           report_.wants_hint() ? did_you_mean(name, buffer_names(program_)) : ""),
               "declare the buffer, or correct its name.");
  return nullptr;
}

void NodeChecker::declare(VarId var, NodeId at) {
  const NameId name = program_.var(var).name;
  const std::string_view text = program_.name(name);
  if (text == "_") return;
  if (!is_usable_name(text)) {
    report_.node(FindingCode::BadName, at,
                 fmt::format("`{}` cannot name a variable.", text.substr(0, 60)),
                 "use letters, digits and `_`, not starting with a digit, and no reserved word.");
  }
  if (visible_[name] != 0) {
    report_.node(FindingCode::Shadowing, at,
                 fmt::format("A variable `{}` is visible here already.", text),
                 "choose another name, or assign to the existing one without `let`.");
  }
  ++visible_[name];
  declared_.push_back(name);
}

void NodeChecker::check_op(OpId id) {
  const OpDecl& op = program_.ops()[id];
  for (std::uint32_t i = 0; i < op.param_count; ++i) {
    const NameId name = program_.var(op.first_param + i).name;
    if (visible_[name] != 0 || !is_usable_name(program_.name(name))) {
      report_.op(
          FindingCode::BadName, id,
          fmt::format("`{}` cannot name parameter {}.", program_.name(name).substr(0, 60), i + 1),
          "give each parameter a usable name of its own.");
    }
    ++visible_[name];
    declared_.push_back(name);
  }
  walk(op.body, true);
  leave_scope(0);
  if (op.result != kNone) report_.expect(op.result, op.result_type, "The value of the operation");
}

void NodeChecker::walk(NodeRange range, bool in_op) {
  NodeId after_return = kNone;  // where the statement list of the latest Return continues
  for (Walk walk(program_, range); walk.next();) {
    const NodeId id = walk.id();
    const Node& node = program_.node(id);
    switch (walk.step()) {
      case Walk::Step::Leaf:
      case Walk::Step::Enter:
        if (after_return == id) {
          report_.node(FindingCode::AfterReturn, id,
                       "This code can never run: `return` stands before it.",
                       "delete it, or put the `return` under a condition.");
        }
        check(id, in_op);
        if (node.kind == NodeKind::Return) after_return = id + 1;
        if (walk.step() == Walk::Step::Leaf) break;
        if (info(node.kind).branches) ++open_branches_;
        scope_marks_.push_back(declared_.size());
        if (info(node.kind).variable == VariableUse::Declares) declare(node.ref, id);
        break;
      case Walk::Step::Else:
        leave_scope(scope_marks_.back());
        after_return = kNone;
        break;
      case Walk::Step::Leave:
        leave_scope(scope_marks_.back());
        scope_marks_.pop_back();
        if (info(node.kind).branches) --open_branches_;
        after_return = kNone;
        break;
    }
  }
}

void NodeChecker::check(NodeId id, bool in_op) {
  const Node& node = program_.node(id);
  if (in_op && !info(node.kind).allowed_in_op) {
    report_.node(FindingCode::NotAllowedInOp, id,
                 fmt::format("{} is not allowed in an operation, which only computes values.",
                             info(node.kind).name),
                 "move it into the program's statements.");
    return;
  }
  switch (node.kind) {
    case NodeKind::Let:
      return declare(node.ref, id);
    case NodeKind::Assign:
      return check_assign(id);
    case NodeKind::Store:
      return check_store(id);
    case NodeKind::If:
      return report_.expect(node.args[0], Type::Bool, "A condition");
    case NodeKind::Loop:
      report_.expect(node.args[0], Type::U32, "A loop bound");
      return report_.expect(node.args[1], Type::U32, "A loop bound");
    case NodeKind::Barrier:
      if (!info(node.ordering()).on_barrier) {
        report_.node(FindingCode::BadOrdering, id,
                     fmt::format("`{}` is no ordering of a barrier.", info(node.ordering()).name),
                     "use acquire, release, acq_rel or seq_cst.");
      }
      return;
    case NodeKind::IndirectDispatch:
      return check_indirect(id);
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore:
      return check_async(id);
    case NodeKind::AsyncWait:
      return check_tag(id, copy_tags_, "asynchronous copy");
    case NodeKind::Trap:
      report_.expect(node.args[0], Type::U32, "The address of a trap");
      return check_tag(id, trap_tags_, "trap");
    case NodeKind::Resume:
      return check_tag(id, trap_tags_, "trap");
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      return check_collective(id);
    case NodeKind::Region: {
      const std::string_view name = program_.name(node.name);
      if (name.find_first_of("\"\n") != std::string_view::npos ||
          find_bad_byte(name) != std::string_view::npos) {
        report_.node(
            FindingCode::BadName, id,
            "A region's name holds a quote, a line break, a NUL or bytes that are not UTF-8.",
            "use plain words.");
      }
      return;
    }
    case NodeKind::Return:
    case NodeKind::Block:
      return;
  }
}

void NodeChecker::check_assign(NodeId id) {
  const Node& node = program_.node(id);
  if (!is_resolved(node.ref)) {
    const std::string_view name = program_.name(node.ref & ~kUnresolved);
    std::vector<std::string_view> names;
    for (const NameId visible :
         std::span(declared_).last(std::min(declared_.size(), kMaxCandidates))) {
      if (report_.wants_hint()) names.push_back(program_.name(visible));
    }
    report_.node(FindingCode::UnknownVariable, id,
                 fmt::format("No variable `{}` is visible here.{}", name.substr(0, 60),
                             did_you_mean(name, names)),
                 "declare it with `let` in this scope or an outer one.");
    return;
  }
  const Variable& var = program_.var(node.ref);
  if (var.kind != VarKind::Let) {
    report_.node(FindingCode::AssignToLoopVariable, id,
                 fmt::format("`{}` is a {} and cannot be assigned.", program_.name(var.name),
                             var.kind == VarKind::Loop ? "loop variable" : "parameter"),
                 "copy it into a variable of its own with `let`.");
  }
  if (var.type != Type::None) {
    report_.expect(node.args[0], var.type,
                   fmt::format("A value for `{}`", program_.name(var.name)));
  }
}

void NodeChecker::check_store(NodeId id) {
  const Node& node = program_.node(id);
  report_.expect(node.args[0], Type::U32, "An index");
  const BufferDecl* target = buffer(node.ref, id);
  if (target == nullptr) return;
  if (target->access == Access::ReadOnly || target->access == Access::Uniform) {
    report_.node(
        FindingCode::BadAccess, id,
        fmt::format("`{}` is {} and cannot be written.", target->name, to_string(target->access)),
        "declare it readwrite, or store elsewhere.");
  }
  // A narrow element takes its own type, or the type of its loads, which is truncated.
  if (program_.expr(node.args[1]).type != target->element) {
    report_.expect(node.args[1], info(target->element).loaded,
                   fmt::format("A value for `{}`", target->name));
  }
  const Expr& index = program_.expr(node.args[0]);
  if (index.kind == ExprKind::Literal && target->count != 0 &&
      index.literal_bits() >= target->count) {
    report_.node(FindingCode::IndexOutOfRange, id,
                 fmt::format("Index {} is past the {} of `{}`.", index.literal_bits(),
                             base::counted(target->count, "element"), target->name),
                 "use an index below the count; past the end a store does nothing.");
  }
}

void NodeChecker::check_indirect(NodeId id) {
  const Node& node = program_.node(id);
  if (id != program_.entry().begin) {
    report_.node(FindingCode::BadIndirectDispatch, id,
                 "The grid is read before anything runs, so this must be the first statement.",
                 "move it to the start of the program, and keep only one.");
  }
  const BufferDecl* grid = buffer(node.ref, id);
  if (grid == nullptr) return;
  if (grid->element != Type::U32 || !takes_caller_bytes(role_of(*grid))) {
    report_.node(
        FindingCode::BadIndirectDispatch, id,
        fmt::format("`{}` cannot hold a grid: it must be a u32 buffer with the caller's bytes.",
                    grid->name),
        "declare it `readonly … : u32[]`.");
  } else if (grid->count != 0 && std::uint64_t{node.extra} + 3 > grid->count) {
    report_.node(FindingCode::IndexOutOfRange, id,
                 fmt::format("The three words at {} are past the {} of `{}`.", node.extra,
                             base::counted(grid->count, "element"), grid->name),
                 "use an offset of at most the count minus 3.");
  }
}

void NodeChecker::check_async(NodeId id) {
  const Node& node = program_.node(id);
  report_.expect(node.args[0], Type::U32, "An index");
  report_.expect(node.args[1], Type::U32, "An index");
  if (node.extra == 0 || node.extra > kMaxAsyncCount) {
    report_.node(FindingCode::BadAsync, id,
                 fmt::format("A copy of {} is not between 1 and {}.",
                             base::counted(node.extra, "element"), kMaxAsyncCount),
                 "let each invocation copy its share.");
  }
  check_tag(id, copy_tags_, "asynchronous copy");
  const BufferDecl* to = buffer(node.ref, id);
  const BufferDecl* from = buffer(node.ref2, id);
  if (to == nullptr || from == nullptr) return;
  const bool load = node.kind == NodeKind::AsyncLoad;
  const BufferDecl& shared = load ? *to : *from;
  const BufferDecl& storage = load ? *from : *to;
  const bool accessible =
      load ? storage.access != Access::WriteOnly
           : storage.access == Access::ReadWrite || storage.access == Access::WriteOnly;
  if (shared.access != Access::Workgroup || storage.access == Access::Workgroup || !accessible ||
      to->element != from->element) {
    report_.node(
        FindingCode::BadAsync, id,
        fmt::format("Cannot copy `{}` ({} {}) to `{}` ({} {}).", from->name,
                    to_string(from->access), info(from->element).name, to->name,
                    to_string(to->access), info(to->element).name),
        load ? "async_load copies from a readable buffer to a workgroup buffer of the same type."
             : "async_store copies from a workgroup buffer to a writable buffer of the same type.");
  }
}

void NodeChecker::check_tag(NodeId id, const std::unordered_set<NameId>& known,
                            std::string_view what) {
  const NameId tag = program_.node(id).name;
  const std::string_view name = program_.name(tag);
  if (!is_usable_name(name)) {
    report_.node(FindingCode::BadName, id, fmt::format("`{}` cannot be a tag.", name.substr(0, 60)),
                 "use letters, digits and `_`, not starting with a digit, and no reserved word.");
  }
  if (!known.contains(tag)) {
    std::vector<std::string_view> names;
    if (report_.wants_hint()) {
      for (const NameId other : known) names.push_back(program_.name(other));
    }
    std::ranges::sort(names);
    report_.node(FindingCode::UnknownTag, id,
                 fmt::format("No {} carries the tag `{}`.{}", what, name.substr(0, 60),
                             did_you_mean(name, names)),
                 "use the tag of one that does.");
  }
}

void NodeChecker::check_collective(NodeId id) {
  const Node& node = program_.node(id);
  if (!at_top_level()) {
    report_.node(FindingCode::BadCollective, id,
                 fmt::format("{} concerns the whole grid and is not allowed under `if` or `loop`.",
                             info(node.kind).name),
                 "move it to the top level of the program.");
  }
  const BufferDecl* to = buffer(node.ref, id);
  const bool has_source = info(node.kind).reads == NodeMemory::Source;
  const BufferDecl* from = has_source ? buffer(node.ref2, id) : to;
  if (to == nullptr || from == nullptr) return;
  const bool reduces = node.kind == NodeKind::AllReduce || node.kind == NodeKind::ReduceScatter;
  const bool in_place = !has_source;
  const bool writable =
      to->access == Access::ReadWrite || (!in_place && to->access == Access::WriteOnly);
  const bool readable = from->access != Access::WriteOnly && from->access != Access::Workgroup;
  if (!writable || !readable || to->element != from->element ||
      (reduces && !info(node.reduce()).operands.has(to->element))) {
    report_.node(
        FindingCode::BadCollective, id,
        fmt::format("{} cannot work from `{}` ({} {}) to `{}` ({} {}).", info(node.kind).name,
                    from->name, to_string(from->access), info(from->element).name, to->name,
                    to_string(to->access), info(to->element).name),
        "use storage buffers of one element type that the operation is defined on, the destination "
        "writable.");
  }
}

}  // namespace

void check_nodes(const Program& program, Report& report) { NodeChecker(program, report).run(); }

}  // namespace felsite::ir
