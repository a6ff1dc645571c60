#include "ir/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/walk.h"

namespace felsite::ir {
namespace {

// The role of an expression in its node.
std::string_view role_of_arg(NodeKind kind, std::size_t arg) {
  switch (kind) {
    case NodeKind::Let:
    case NodeKind::Assign:
      return "value";
    case NodeKind::Store:
      return arg == 0 ? "index" : "value";
    case NodeKind::If:
      return "condition";
    case NodeKind::Loop:
      return arg == 0 ? "from" : "to";
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore:
      return arg == 0 ? "destination" : "source";
    case NodeKind::Trap:
      return "address";
    case NodeKind::Return:
    case NodeKind::Block:
    case NodeKind::Region:
    case NodeKind::Barrier:
    case NodeKind::IndirectDispatch:
    case NodeKind::AsyncWait:
    case NodeKind::Resume:
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      break;
  }
  return "?";
}

}  // namespace

bool Places::from_text(const std::vector<std::uint32_t>& offsets, std::uint32_t id,
                       Finding& finding) const {
  if (program_.source().empty() || id >= offsets.size()) return false;
  const LineColumn place = line_column(program_.source(), offsets[id]);
  finding.line = place.line;
  finding.column = place.column;
  return true;
}

void Places::index() {
  if (!parent_.empty()) return;
  const std::size_t count = program_.nodes().size();
  parent_.assign(count, kNone);
  position_.assign(count, 0);
  owner_.assign(program_.exprs().size(), kNone);
  const auto number = [&](NodeRange list) {
    std::uint32_t position = 0;
    for (NodeId id = list.begin; id < list.end; id = program_.node(id).end) {
      position_[id] = position++;
    }
  };
  number(program_.entry());
  for (const OpDecl& op : program_.ops()) number(op.body);
  for (Walk walk(program_, {0, static_cast<NodeId>(count)}); walk.next();) {
    if (walk.step() != Walk::Step::Leaf && walk.step() != Walk::Step::Enter) continue;
    const NodeId id = walk.id();
    if (!walk.around().empty()) parent_[id] = walk.around().back();
    number(program_.then_body(id));
    number(program_.else_body(id));
    for (const ExprId row : program_.rows_of_node(id)) owner_[row] = id;
  }
}

std::string Places::path(NodeId id) const {
  std::string text;
  for (; id != kNone; id = parent_[id]) {
    const NodeId parent = parent_[id];
    std::string step;
    if (parent != kNone) {
      const Node& node = program_.node(parent);
      const bool in_else = node.kind == NodeKind::If && id >= node.extra;
      const std::string_view list =
          node.kind != NodeKind::If ? "body" : (in_else ? "else" : "then");
      step = fmt::format(".{}[{}]", list, position_[id]);
    } else {
      std::string root = "entry";
      for (const OpDecl& op : program_.ops()) {
        if (id >= op.body.begin && id < op.body.end) {
          root = fmt::format("op {}", program_.name(op.name));
        }
      }
      step = fmt::format("{}[{}]", root, position_[id]);
    }
    text = step + text;
  }
  return text;
}

void Places::at_node(NodeId id, Finding& finding) {
  if (from_text(program_.source().nodes, id, finding)) return;
  index();
  finding.path = path(id);
}

void Places::at_expr(ExprId id, Finding& finding) {
  if (from_text(program_.source().exprs, id, finding)) return;
  index();
  const NodeId owner = owner_[id];
  if (owner == kNone) {
    for (const OpDecl& op : program_.ops()) {
      if (id <= op.result && op.result != kNone) {
        finding.path = fmt::format("op {}.yield", program_.name(op.name));
        return;
      }
    }
    finding.path = "program";
    return;
  }
  finding.path = path(owner);
  const auto roots = program_.expressions(owner);
  const auto root = std::ranges::find_if(roots, [&](ExprId r) { return r >= id; });
  finding.path += fmt::format(".{}", role_of_arg(program_.node(owner).kind,
                                                 static_cast<std::size_t>(root - roots.begin())));
}

void Places::at_buffer(BufferId id, Finding& finding) const {
  if (from_text(program_.source().buffers, id, finding)) return;
  finding.path = fmt::format("buffer[{}]", id);
}

void Places::at_op(OpId id, Finding& finding) const {
  if (from_text(program_.source().ops, id, finding)) return;
  finding.path = fmt::format("op[{}]", id);
}

void Places::at_program(Finding& finding) const {
  if (program_.source().empty()) {
    finding.path = "program";
    return;
  }
  const LineColumn place = line_column(program_.source(), program_.source().program_begin);
  finding.line = place.line;
  finding.column = place.column;
}

}  // namespace felsite::ir
