// What a builder has recorded, and how it becomes a program.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "felsite/builder.h"

namespace felsite::ir {

struct Builder::State {
  using ScopeId = std::uint32_t;

  // An expression as recorded: operands are indices of others, which may be shared. References are
  // kUnresolved if they belong to another builder.
  struct Recorded {
    Expr row;
    bool changeable = false;  // reads something that a later statement may change
    bool bound = false;       // becomes a variable where it was made
    std::uint32_t uses = 0;
    ScopeId scope = 0;
    std::uint32_t position = 0;  // statements in its scope when it was made
  };

  struct Statement {
    Node node;  // its name or tag is in `texts`
    ScopeId body = kNone;
    ScopeId otherwise = kNone;
  };

  struct Scope {
    std::vector<Statement> statements;
  };

  struct RecordedVar {
    std::string name;
    bool mutable_ = false;
    bool named = false;  // some expression or statement refers to it
  };

  struct RecordedOp {
    std::string name;
    std::vector<Param> params;
    Type result_type;
    std::vector<std::uint32_t> param_vars;
    ScopeId body;
    std::uint32_t result;
  };

  std::string name;
  Extent3 workgroup_size{1, 1, 1};
  FloatMode float_mode = FloatMode::Exact;
  std::vector<BufferDecl> buffers;
  std::uint32_t next_binding = 0;
  std::vector<RecordedOp> ops;
  std::vector<Recorded> exprs;
  std::vector<std::uint32_t> call_operands;
  std::vector<RecordedVar> vars;
  std::vector<std::string> texts;
  std::vector<Scope> scopes;
  ScopeId entry = 0;
  ScopeId current = 0;

  std::uint32_t add(const Expr& row);
  void add(const Node& node, ScopeId body = kNone, ScopeId otherwise = kNone) {
    scopes[current].statements.push_back({node, body, otherwise});
  }
  std::uint32_t add_var(std::string var_name) {
    vars.push_back({.name = std::move(var_name)});
    return static_cast<std::uint32_t>(vars.size() - 1);
  }
  std::uint32_t text(std::string value) {
    texts.push_back(std::move(value));
    return static_cast<std::uint32_t>(texts.size() - 1);
  }
  std::uint32_t position() const {
    return static_cast<std::uint32_t>(scopes[current].statements.size());
  }
  ScopeId open_scope() {
    scopes.emplace_back();
    return static_cast<ScopeId>(scopes.size() - 1);
  }
  std::span<const std::uint32_t> operands(const Expr& row) const;

  Program emit() const;
};

}  // namespace felsite::ir
