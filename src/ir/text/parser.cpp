#include "ir/text/parser.h"

#include <fmt/format.h>

#include <limits>

#include "felsite/text.h"
#include "felsite/validate.h"
#include "ir/assembler.h"
#include "ir/guarded_findings.h"
#include "ir/text/expression_parser.h"
#include "ir/text/words.h"

namespace felsite::ir {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::vector<Comment>* comments)
      : text_(text),
        tokens_(text, comments),
        assembler_(Assembler::Positions::Text),
        expressions_(tokens_, assembler_) {}

  Program parse();

 private:
  // An open body. An `else if` also closes the `else` around it.
  enum class Body : std::uint8_t { Then, Else, ElseIf, Other };

  void header();
  void buffer();
  void op();
  void statements();  // up to the brace or `yield` that ends the entry or an operation
  void statement();
  void keyword_statement(const Word& word, std::uint32_t at);
  void name_statement(std::uint32_t at);
  void close_body();
  void open_body(Body body) {
    const Token brace = tokens_.expect("{", "to open the body");
    bodies_.push_back(body);
    if (bodies_.size() > kMaxNesting) {
      throw SyntaxError{FindingCode::TooDeep, brace.offset,
                        fmt::format("Bodies are nested more than {} deep.", kMaxNesting),
                        "move inner code into an operation, or flatten it."};
    }
  }
  void end_statement() {
    assembler_.end_node_at(tokens_.expect(";", "at the end of the statement").offset);
  }
  Type type(std::string_view what) { return tokens_.expect_word(type_named, what); }
  std::uint32_t buffer_name() {
    return assembler_.buffer_ref(tokens_.expect_name("the name of a buffer").text);
  }
  ExprId index() {
    tokens_.expect("[", "and an index after the buffer's name");
    const ExprId at = expressions_.parse();
    tokens_.expect("]", "after the index");
    return at;
  }
  void async_copy(NodeKind kind, std::uint32_t at);
  void tagged(NodeKind kind, std::uint32_t at);
  void collective(NodeKind kind, std::uint32_t at);
  ReduceOp reduction();
  Ordering ordering();

  std::string_view text_;
  TokenStream tokens_;
  Assembler assembler_;
  ExpressionParser expressions_;
  std::vector<Body> bodies_;
  std::string_view name_;
  Extent3 workgroup_{1, 1, 1};
  FloatMode float_mode_ = FloatMode::Exact;
  std::uint32_t next_binding_ = 0;
  std::uint32_t begin_ = 0;
};

Program Parser::parse() {
  header();
  tokens_.expect("{", "to open the program");
  while (tokens_.now().kind == TokenKind::Name) {
    const Word* word = find_word(tokens_.now().text);
    if (word == nullptr || word->kind != WordKind::Keyword) break;
    const auto keyword = static_cast<Keyword>(word->value);
    if (keyword == Keyword::Op) {
      op();
    } else if (keyword >= Keyword::Output && keyword <= Keyword::Workgroup) {
      // The printer writes buffers first, which would change the meaning of an earlier use.
      if (assembler_.has_ops()) {
        tokens_.fail("an operation or a statement: buffers are declared before operations");
      }
      buffer();
    } else {
      break;
    }
  }
  statements();
  const Token close = tokens_.expect("}", "at the end of the program");
  if (tokens_.now().kind != TokenKind::End) tokens_.fail("the end of the text");
  assembler_.keep_positions(find_line_starts(text_), begin_, close.offset);
  return assembler_.finish(name_, workgroup_, float_mode_);
}

void Parser::header() {
  begin_ = tokens_.expect_keyword(Keyword::Program, "program").offset;
  name_ = tokens_.expect_name("the program's name").text;
  tokens_.expect_keyword(Keyword::Workgroup, "workgroup");
  tokens_.expect("(", "after `workgroup`");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    workgroup_[axis] = tokens_.expect_count("a number of invocations");
    if (axis == 2 || !tokens_.accept(",")) break;
  }
  tokens_.expect(")", "after at most three extents");
  if (tokens_.accept(Keyword::Fast)) float_mode_ = FloatMode::Fast;
}

void Parser::buffer() {
  const std::uint32_t at = tokens_.now().offset;
  BufferDecl decl;
  decl.access = Access::ReadWrite;
  decl.output = tokens_.accept(Keyword::Output);
  decl.pipeline_live_out = tokens_.accept(Keyword::LiveOut);
  for (const Access access : {Access::ReadOnly, Access::ReadWrite, Access::WriteOnly,
                              Access::Uniform, Access::Workgroup}) {
    if (tokens_.now().kind == TokenKind::Name && tokens_.now().text == to_string(access)) {
      tokens_.take();
      decl.access = access;
      break;
    }
  }
  decl.name = tokens_.expect_name("the name of the buffer").text;
  tokens_.expect(":", "and a type after the buffer's name");
  decl.element = type("the type of the buffer's elements");
  tokens_.expect("[", "and a count, or `[]`, after the element type");
  if (!tokens_.at("]")) decl.count = tokens_.expect_count("a number of elements");
  tokens_.expect("]", "after the count");
  if (decl.access != Access::Workgroup) decl.binding = next_binding_;
  if (tokens_.accept(Keyword::Binding)) {
    tokens_.expect("(", "after `binding`");
    decl.binding = tokens_.expect_count("a binding number");
    tokens_.expect(")", "after the binding number");
  }
  if (decl.access != Access::Workgroup) next_binding_ = decl.binding + 1;
  while (tokens_.accept(Keyword::Hint)) {
    tokens_.expect("(", "after `hint`");
    if (tokens_.now().kind != TokenKind::String) tokens_.fail("a hint in quotes");
    decl.hints.emplace_back(tokens_.take().text);
    tokens_.expect(")", "after the hint");
  }
  tokens_.expect(";", "at the end of the declaration");
  assembler_.add_buffer(std::move(decl), at);
}

void Parser::op() {
  const std::uint32_t at = tokens_.take().offset;
  const std::string_view name = tokens_.expect_name("the operation's name").text;
  tokens_.expect("(", "after the operation's name");
  std::vector<Assembler::Param> params;
  while (!tokens_.accept(")")) {
    if (!params.empty()) tokens_.expect(",", "between parameters");
    const std::string_view param = tokens_.expect_name("a parameter's name").text;
    tokens_.expect(":", "and a type after the parameter's name");
    params.push_back({param, type("the parameter's type")});
  }
  tokens_.expect("->", "and the type of the result");
  const Type result = type("the type of the result");
  assembler_.open_op(name, params, result, at);
  tokens_.expect("{", "to open the operation's body");
  statements();
  const std::uint32_t yield = tokens_.expect_keyword(Keyword::Yield, "yield").offset;
  const ExprId value = expressions_.parse();
  tokens_.expect(";", "after the value");
  const std::uint32_t end = tokens_.expect("}", "at the end of the operation").offset;
  assembler_.close_op(value, yield, end);
}

void Parser::statements() {
  while (true) {
    if (tokens_.now().kind == TokenKind::End) tokens_.fail("a statement or `}`");
    if (tokens_.at("}")) {
      if (bodies_.empty()) return;
      close_body();
    } else if (bodies_.empty() && tokens_.at_keyword(Keyword::Yield)) {
      return;
    } else {
      statement();
    }
  }
}

void Parser::close_body() {
  const std::uint32_t at = tokens_.take().offset;
  if (bodies_.back() == Body::Then && tokens_.accept(Keyword::Else)) {
    assembler_.open_else(tokens_.last_offset());
    if (tokens_.at_keyword(Keyword::If)) {
      bodies_.back() = Body::ElseIf;
      statement();
    } else {
      bodies_.pop_back();
      open_body(Body::Else);
    }
    return;
  }
  do {
    bodies_.pop_back();
    assembler_.close();
    assembler_.end_node_at(at);
  } while (!bodies_.empty() && bodies_.back() == Body::ElseIf);
}

void Parser::statement() {
  const Token token = tokens_.now();
  if (tokens_.at("{")) {
    assembler_.open_block(token.offset);
    open_body(Body::Other);
    return;
  }
  if (token.kind != TokenKind::Name) tokens_.fail("a statement or `}`");
  const Word* word = find_word(token.text);
  if (word != nullptr && word->kind == WordKind::Keyword) {
    const auto keyword = static_cast<Keyword>(word->value);
    if (keyword >= Keyword::Output && keyword <= Keyword::Op && keyword != Keyword::Binding) {
      tokens_.fail("a statement: buffers and operations are declared before the first one");
    }
    tokens_.take();
    keyword_statement(*word, token.offset);
    return;
  }
  name_statement(token.offset);
}

void Parser::name_statement(std::uint32_t at) {
  const bool bare = tokens_.next_is("(") || tokens_.next_is(".");
  if (bare) {
    // An atomic or a call used as a statement: a Let that nothing can refer to.
    const ExprId value = expressions_.parse();
    assembler_.let("_", value, at);
    end_statement();
    return;
  }
  const std::string_view name = tokens_.now().text;
  if (!tokens_.next_is("[") && !tokens_.next_is("=")) tokens_.fail("a statement");
  tokens_.expect_name("a statement");
  if (tokens_.at("[")) {
    const std::uint32_t target = assembler_.buffer_ref(name);
    const ExprId element = index();
    tokens_.expect("=", "and a value to store");
    assembler_.store(target, element, expressions_.parse(), at);
  } else {
    tokens_.take();
    const std::uint32_t variable = assembler_.variable_ref(name);
    const ExprId value = expressions_.parse();
    assembler_.append(Node{.kind = NodeKind::Assign, .ref = variable, .args = {value, kNone}}, at);
  }
  end_statement();
}

ReduceOp Parser::reduction() {
  tokens_.expect(".", "and an operation, as in `all_reduce.add(…)`");
  return tokens_.expect_word(reduce_op_named, "an operation: add, mul, min, max, and, or, xor");
}

Ordering Parser::ordering() {
  if (!tokens_.accept(".")) return Ordering::AcqRel;
  return tokens_.expect_word(ordering_named, "an ordering: acquire, release, acq_rel or seq_cst");
}

void Parser::async_copy(NodeKind kind, std::uint32_t at) {
  tokens_.expect("(", "after the copy's name");
  const std::uint32_t to = buffer_name();
  const ExprId to_index = index();
  tokens_.expect(",", "between destination and source");
  const std::uint32_t from = buffer_name();
  const ExprId from_index = index();
  tokens_.expect(",", "and a count after the source");
  const std::uint32_t count = tokens_.expect_count("a number of elements");
  tokens_.expect(",", "and a tag after the count");
  const Token tag = tokens_.expect_name("a tag");
  tokens_.expect(")", "after the tag");
  assembler_.append(Node{.kind = kind,
                         .ref = to,
                         .ref2 = from,
                         .name = assembler_.intern(tag.text),
                         .extra = count,
                         .args = {to_index, from_index}},
                    at);
}

void Parser::tagged(NodeKind kind, std::uint32_t at) {
  tokens_.expect("(", "and a tag");
  const NameId name = assembler_.intern(tokens_.expect_name("a tag").text);
  tokens_.expect(")", "after the tag");
  assembler_.append(Node{.kind = kind, .name = name}, at);
}

void Parser::collective(NodeKind kind, std::uint32_t at) {
  const bool reduces = kind == NodeKind::AllReduce || kind == NodeKind::ReduceScatter;
  const ReduceOp op = reduces ? reduction() : ReduceOp::Add;
  tokens_.expect("(", "after the collective's name");
  const std::uint32_t to = buffer_name();
  std::uint32_t from = kNone;
  std::uint32_t root = 0;
  if (kind == NodeKind::AllGather || kind == NodeKind::ReduceScatter) {
    tokens_.expect(",", "between destination and source");
    from = buffer_name();
  } else if (kind == NodeKind::Broadcast) {
    tokens_.expect(",", "and the rank that sends");
    root = tokens_.expect_count("a rank");
  }
  tokens_.expect(")", "after the buffers");
  assembler_.append(Node{.kind = kind,
                         .op = static_cast<std::uint8_t>(op),
                         .ref = to,
                         .ref2 = from,
                         .extra = root},
                    at);
}

void Parser::keyword_statement(const Word& word, std::uint32_t at) {
  switch (static_cast<Keyword>(word.value)) {
    case Keyword::Let: {
      const std::string_view name = tokens_.expect_name("the variable's name").text;
      tokens_.expect("=", "and a value");
      const ExprId value = expressions_.parse();
      assembler_.let(name, value, at);
      break;
    }
    case Keyword::If: {
      const ExprId condition = expressions_.parse();
      assembler_.open_if(condition, at);
      open_body(Body::Then);
      return;
    }
    case Keyword::Loop: {
      const std::string_view name = tokens_.expect_name("the loop variable's name").text;
      tokens_.expect_keyword(Keyword::In, "in");
      const ExprId from = expressions_.parse();
      tokens_.expect("..", "between the bounds");
      const ExprId to = expressions_.parse();
      assembler_.open_loop(name, from, to, at);
      open_body(Body::Other);
      return;
    }
    case Keyword::Region: {
      if (tokens_.now().kind != TokenKind::String) tokens_.fail("the region's name in quotes");
      assembler_.open_region(tokens_.take().text, at);
      open_body(Body::Other);
      return;
    }
    case Keyword::Return:
      assembler_.plain(NodeKind::Return, at);
      break;
    case Keyword::Barrier:
      assembler_.barrier(ordering(), at);
      break;
    case Keyword::GridSync:
      assembler_.barrier(Ordering::GridSync, at);
      break;
    case Keyword::IndirectDispatch: {
      tokens_.expect("(", "after `indirect_dispatch`");
      const std::uint32_t buffer = buffer_name();
      tokens_.expect("[", "and an offset after the buffer's name");
      const std::uint32_t offset = tokens_.expect_count("an offset");
      tokens_.expect("]", "after the offset");
      tokens_.expect(")", "after the buffer");
      assembler_.append(Node{.kind = NodeKind::IndirectDispatch, .ref = buffer, .extra = offset},
                        at);
      break;
    }
    case Keyword::AsyncLoad:
      async_copy(NodeKind::AsyncLoad, at);
      break;
    case Keyword::AsyncStore:
      async_copy(NodeKind::AsyncStore, at);
      break;
    case Keyword::AsyncWait:
      tagged(NodeKind::AsyncWait, at);
      break;
    case Keyword::Resume:
      tagged(NodeKind::Resume, at);
      break;
    case Keyword::Trap: {
      tokens_.expect("(", "after `trap`");
      const ExprId address = expressions_.parse();
      tokens_.expect(",", "and a tag after the address");
      const Token name = tokens_.expect_name("a tag");
      tokens_.expect(")", "after the tag");
      assembler_.append(Node{.kind = NodeKind::Trap,
                             .name = assembler_.intern(name.text),
                             .args = {address, kNone}},
                        at);
      break;
    }
    case Keyword::AllReduce:
      collective(NodeKind::AllReduce, at);
      break;
    case Keyword::AllGather:
      collective(NodeKind::AllGather, at);
      break;
    case Keyword::ReduceScatter:
      collective(NodeKind::ReduceScatter, at);
      break;
    case Keyword::Broadcast:
      collective(NodeKind::Broadcast, at);
      break;
    case Keyword::Program:
    case Keyword::Fast:
    case Keyword::Output:
    case Keyword::LiveOut:
    case Keyword::ReadOnly:
    case Keyword::ReadWrite:
    case Keyword::WriteOnly:
    case Keyword::Uniform:
    case Keyword::Workgroup:
    case Keyword::Binding:
    case Keyword::Hint:
    case Keyword::Op:
    case Keyword::Yield:
    case Keyword::Else:
    case Keyword::In:
    case Keyword::True:
    case Keyword::False:
    case Keyword::Inf:
    case Keyword::Nan:
      throw SyntaxError{FindingCode::Syntax, at,
                        fmt::format("Expected a statement, found `{}`.", word.text),
                        "write a statement or `}` here."};
  }
  end_statement();
}

Findings one_finding(std::string_view text, const SyntaxError& error) {
  SourceMap map;
  map.line_starts = std::make_shared<const std::vector<std::uint32_t>>(
      find_line_starts(text.substr(0, error.offset)));
  const LineColumn place = line_column(map, error.offset);
  return {Finding{error.code, place.line, place.column, {}, error.message, error.fix}};
}

}  // namespace

std::expected<Program, Findings> parse_with_comments(std::string_view text,
                                                     std::vector<Comment>* comments) {
  try {
    // Offsets have 32 bits. So do expression ids, and every expression has at least one character.
    static_assert(kMaxTextBytes < kUnresolved);
    if (text.size() > kMaxTextBytes) {
      throw SyntaxError{FindingCode::BadEncoding, 0,
                        fmt::format("The text is longer than {} MiB.", kMaxTextBytes >> 20),
                        "split the program."};
    }
    if (const std::size_t bad = find_bad_byte(text); bad != std::string_view::npos) {
      throw SyntaxError{FindingCode::BadEncoding, static_cast<std::uint32_t>(bad),
                        fmt::format("Byte {:#04x} is not valid UTF-8 text.",
                                    static_cast<unsigned char>(text[bad])),
                        "save the file as UTF-8 text without NUL bytes."};
    }
    return Parser(text, comments).parse();
  } catch (const SyntaxError& error) {
    return std::unexpected(one_finding(text, error));
  }
}

std::expected<Program, Findings> parse(std::string_view text) {
  using Outcome = std::expected<Program, Findings>;
  return guarded_findings<Outcome>([&] { return parse_with_comments(text, nullptr); });
}

}  // namespace felsite::ir
