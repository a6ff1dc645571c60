// Prints a program as text. It is iterative, so that deep programs print too.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "ir/guarded_findings.h"
#include "ir/text/expression_printer.h"
#include "ir/text/parser.h"
#include "ir/walk.h"

namespace felsite::ir {
namespace {

class Printer {
 public:
  // With comments, `text` is the source of the program.
  Printer(const Program& program, std::string_view text, std::span<const Comment> comments)
      : program_(program),
        text_(text),
        comments_(comments),
        expressions_(program, out_, SIZE_MAX, text) {}

  std::string print();

 private:
  bool formatting() const { return !text_.empty(); }
  // No valid program is deeper; deeper ones must not print quadratically many spaces.
  void line_start() { out_.append(2 * std::min<std::size_t>(depth_, kMaxNesting), ' '); }
  void expr(ExprId id) { expressions_.print(id); }
  template <class... Values>
  void add(fmt::format_string<Values...> text, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
  }
  std::string_view buffer(std::uint32_t ref) const {
    return is_resolved(ref) ? std::string_view(program_.buffer(ref).name)
                            : program_.name(ref & ~kUnresolved);
  }
  void comments_before(std::uint32_t offset);
  void keep_blank_line(std::uint32_t offset);
  void item(const std::vector<std::uint32_t>& offsets, std::size_t index) {
    if (!formatting()) return;
    comments_before(offsets[index]);
    keep_blank_line(offsets[index]);
  }

  void header();
  void buffer_decl(BufferId id, std::uint32_t& next_binding);
  void op(OpId id);
  void body(NodeRange range);
  void begin_node(NodeId id);
  void open_node(NodeId id);
  void leaf(NodeId id);
  bool is_else_if(NodeId id) const;

  const Program& program_;
  std::string_view text_;
  std::span<const Comment> comments_;
  std::string out_;
  ExpressionPrinter expressions_;
  std::size_t depth_ = 0;
};

// Prints the comments before `offset` that are not printed yet. A comment that followed an item is
// put after the line just printed, the others on their own lines.
void Printer::comments_before(std::uint32_t offset) {
  bool may_trail = true;
  while (!comments_.empty() && comments_.front().offset < offset) {
    const Comment& comment = comments_.front();
    if (!comment.own_line && may_trail && !out_.empty()) {
      out_.pop_back();
      add("  {}\n", comment.text);
    } else {
      keep_blank_line(comment.offset);
      line_start();
      add("{}\n", comment.text);
    }
    may_trail = false;
    comments_ = comments_.subspan(1);
  }
}

void Printer::keep_blank_line(std::uint32_t offset) {
  if (out_.empty() || out_.ends_with("\n\n") || out_.ends_with("{\n")) return;
  int newlines = 0;
  for (std::size_t at = offset; at > 0 && newlines < 2; --at) {
    const char c = text_[at - 1];
    if (c == '\n') ++newlines;
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') break;
  }
  if (newlines == 2) out_ += '\n';
}

std::string Printer::print() {
  header();
  ++depth_;
  std::uint32_t next_binding = 0;
  for (BufferId id = 0; id < program_.buffers().size(); ++id) buffer_decl(id, next_binding);
  for (OpId id = 0; id < program_.ops().size(); ++id) op(id);
  if (!formatting() && !program_.buffers().empty() && !program_.entry().empty()) out_ += '\n';
  body(program_.entry());
  if (formatting()) comments_before(program_.source().program_end);
  --depth_;
  out_ += "}\n";
  if (formatting()) comments_before(static_cast<std::uint32_t>(text_.size()));
  return std::move(out_);
}

void Printer::header() {
  if (formatting()) {
    comments_before(program_.source().program_begin);
    keep_blank_line(program_.source().program_begin);
  }
  const auto& size = program_.workgroup_size();
  add("program {} workgroup({}", program_.name(), size[0]);
  if (size[1] != 1 || size[2] != 1) add(", {}", size[1]);
  if (size[2] != 1) add(", {}", size[2]);
  out_ += program_.float_mode() == FloatMode::Fast ? ") fast {\n" : ") {\n";
}

void Printer::buffer_decl(BufferId id, std::uint32_t& next_binding) {
  item(program_.source().buffers, id);
  const BufferDecl& decl = program_.buffer(id);
  line_start();
  if (decl.output) out_ += "output ";
  if (decl.pipeline_live_out) out_ += "live_out ";
  const bool implied = (decl.output || decl.pipeline_live_out) && decl.access == Access::ReadWrite;
  if (!implied) add("{} ", to_string(decl.access));
  add("{}: {}[", decl.name, info(decl.element).name);
  if (decl.count != 0) add("{}", decl.count);
  out_ += ']';
  const bool shared = decl.access == Access::Workgroup;
  if (decl.binding != (shared ? 0 : next_binding)) add(" binding({})", decl.binding);
  if (!shared) next_binding = decl.binding + 1;
  for (const std::string& hint : decl.hints) add(" hint(\"{}\")", hint);
  out_ += ";\n";
}

void Printer::op(OpId id) {
  item(program_.source().ops, id);
  const OpDecl& decl = program_.ops()[id];
  if (!formatting() && !out_.ends_with("{\n")) out_ += '\n';
  line_start();
  add("op {}(", program_.name(decl.name));
  for (VarId param = decl.first_param; param < decl.first_param + decl.param_count; ++param) {
    if (param != decl.first_param) out_ += ", ";
    add("{}: {}", program_.var_name(param), info(program_.var(param).type).name);
  }
  add(") -> {} {{\n", info(decl.result_type).name);
  ++depth_;
  body(decl.body);
  item(program_.source().op_results, id);
  line_start();
  out_ += "yield ";
  expr(decl.result);
  out_ += ";\n";
  if (formatting()) comments_before(program_.source().op_ends[id]);
  --depth_;
  line_start();
  out_ += "}\n";
}

// Whether the else arm is a single If: `else if`.
bool Printer::is_else_if(NodeId id) const {
  const NodeRange arm = program_.else_body(id);
  return !arm.empty() && program_.node(arm.begin).kind == NodeKind::If &&
         program_.node(arm.begin).end == arm.end;
}

void Printer::body(NodeRange range) {
  bool chained = false;  // the next node is the If of an `else if`
  for (Walk walk(program_, range); walk.next();) {
    const NodeId id = walk.id();
    switch (walk.step()) {
      case Walk::Step::Leaf:
        begin_node(id);
        leaf(id);
        break;
      case Walk::Step::Enter:
        if (!chained) begin_node(id);
        chained = false;
        open_node(id);
        ++depth_;
        break;
      case Walk::Step::Else:
        if (formatting()) comments_before(program_.source().else_arms[id]);
        --depth_;
        line_start();
        chained = is_else_if(id);
        out_ += chained ? "} else " : "} else {\n";
        if (!chained) ++depth_;
        break;
      case Walk::Step::Leave:
        if (is_else_if(id)) break;  // its else arm has closed the brace
        if (formatting()) comments_before(program_.source().node_ends[id]);
        --depth_;
        line_start();
        out_ += "}\n";
        break;
    }
  }
}

void Printer::begin_node(NodeId id) {
  item(program_.source().nodes, id);
  line_start();
}

void Printer::open_node(NodeId id) {
  const Node& node = program_.node(id);
  if (node.kind == NodeKind::If) {
    out_ += "if ";
    expr(node.args[0]);
    out_ += ' ';
  } else if (node.kind == NodeKind::Loop) {
    add("loop {} in ", program_.var_name(node.ref));
    expr(node.args[0]);
    out_ += "..";
    expr(node.args[1]);
    out_ += ' ';
  } else if (node.kind == NodeKind::Region) {
    add("region \"{}\" ", program_.name(node.name));
  }
  out_ += "{\n";
}

void Printer::leaf(NodeId id) {
  const Node& node = program_.node(id);
  const auto element = [&](std::uint32_t ref, ExprId index) {
    add("{}[", buffer(ref));
    expr(index);
    out_ += ']';
  };
  const auto copy = [&](std::string_view word) {
    add("{}(", word);
    element(node.ref, node.args[0]);
    out_ += ", ";
    element(node.ref2, node.args[1]);
    add(", {}, {})", node.extra, program_.name(node.name));
  };
  const auto collective = [&](std::string_view word) {
    out_ += word;
    const bool reduces = node.kind == NodeKind::AllReduce || node.kind == NodeKind::ReduceScatter;
    if (reduces) add(".{}", info(node.reduce()).name);
    add("({}", buffer(node.ref));
    if (node.ref2 != kNone) add(", {}", buffer(node.ref2));
    if (node.kind == NodeKind::Broadcast) add(", {}", node.extra);
    out_ += ')';
  };
  switch (node.kind) {
    case NodeKind::Let: {
      const ExprKind value = program_.expr(node.args[0]).kind;
      const bool bare = program_.var_name(node.ref) == "_" &&
                        (value == ExprKind::Atomic || value == ExprKind::Call);
      if (!bare) add("let {} = ", program_.var_name(node.ref));
      expr(node.args[0]);
      break;
    }
    case NodeKind::Assign:
      out_ += is_resolved(node.ref) ? program_.var_name(node.ref)
                                    : program_.name(node.ref & ~kUnresolved);
      out_ += " = ";
      expr(node.args[0]);
      break;
    case NodeKind::Store:
      element(node.ref, node.args[0]);
      out_ += " = ";
      expr(node.args[1]);
      break;
    case NodeKind::Return:
      out_ += "return";
      break;
    case NodeKind::Barrier:
      out_ += is_grid_sync(node) ? "gridsync" : "barrier";
      if (!is_grid_sync(node) && node.ordering() != Ordering::AcqRel) {
        add(".{}", info(node.ordering()).name);
      }
      break;
    case NodeKind::IndirectDispatch:
      add("indirect_dispatch({}[{}])", buffer(node.ref), node.extra);
      break;
    case NodeKind::AsyncLoad:
      copy("async_load");
      break;
    case NodeKind::AsyncStore:
      copy("async_store");
      break;
    case NodeKind::AsyncWait:
      add("async_wait({})", program_.name(node.name));
      break;
    case NodeKind::Trap:
      out_ += "trap(";
      expr(node.args[0]);
      add(", {})", program_.name(node.name));
      break;
    case NodeKind::Resume:
      add("resume({})", program_.name(node.name));
      break;
    case NodeKind::AllReduce:
      collective("all_reduce");
      break;
    case NodeKind::AllGather:
      collective("all_gather");
      break;
    case NodeKind::ReduceScatter:
      collective("reduce_scatter");
      break;
    case NodeKind::Broadcast:
      collective("broadcast");
      break;
    case NodeKind::If:
    case NodeKind::Loop:
    case NodeKind::Block:
    case NodeKind::Region:
      break;
  }
  out_ += ";\n";
}

}  // namespace

std::string print(const Program& program) { return Printer(program, {}, {}).print(); }

std::string print(const Program& program, ExprId expr, std::size_t limit) {
  std::string out;
  ExpressionPrinter(program, out, limit).print(expr);
  return out;
}

std::expected<std::string, Findings> format(std::string_view text) {
  using Outcome = std::expected<std::string, Findings>;
  return guarded_findings<Outcome>([&]() -> Outcome {
    std::vector<Comment> comments;
    FELSITE_TRY(auto program, parse_with_comments(text, &comments));
    std::string formatted = Printer(program, text, comments).print();
    // The result replaces the text, so it must be readable again.
    if (formatted.size() > kMaxTextBytes) {
      return std::unexpected(
          Findings{Finding{FindingCode::BadEncoding,
                           1,
                           1,
                           {},
                           fmt::format("In canonical form the text would be longer than {} MiB.",
                                       kMaxTextBytes >> 20),
                           "split the program, or shorten its comments."}});
    }
    return formatted;
  });
}

}  // namespace felsite::ir
