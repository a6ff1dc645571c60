// The checks of validation, and the list they report to.
#pragma once

#include <string>
#include <vector>

#include "felsite/validate.h"
#include "ir/place.h"

namespace felsite::ir {

class Report {
 public:
  explicit Report(const Program& program) : places_(program) {}

  void node(FindingCode code, NodeId id, std::string message, std::string fix) {
    if (Finding* f = add(code, message, fix)) places_.at_node(id, *f);
  }
  void expr(FindingCode code, ExprId id, std::string message, std::string fix) {
    if (Finding* f = add(code, message, fix)) places_.at_expr(id, *f);
  }
  void buffer(FindingCode code, BufferId id, std::string message, std::string fix) {
    if (Finding* f = add(code, message, fix)) places_.at_buffer(id, *f);
  }
  void op(FindingCode code, OpId id, std::string message, std::string fix) {
    if (Finding* f = add(code, message, fix)) places_.at_op(id, *f);
  }
  void program(FindingCode code, std::string message, std::string fix) {
    if (Finding* f = add(code, message, fix)) places_.at_program(*f);
  }

  bool empty() const { return findings_.empty() && suppressed_ == 0; }
  // Further findings are only counted, so a caller need not work out what they would say.
  bool full() const { return findings_.size() >= kMaxFindings; }
  // "Did you mean" costs more than the rest of a finding; among so many nobody reads it.
  bool wants_hint() const { return findings_.size() < 100; }
  Findings finish() &&;

 private:
  Finding* add(FindingCode code, std::string& message, std::string& fix);

  Places places_;
  Findings findings_;
  std::size_t suppressed_ = 0;
};

// In this order; each is one file. Limits come first: the others rely on them.
void check_limits(const Program& program, Report& report);
void check_declarations(const Program& program, Report& report);
void check_expressions(const Program& program, Report& report);
void check_nodes(const Program& program, Report& report);
void check_uniformity(const Program& program, Report& report);

// "`name`. Did you mean `nome`?" parts for names that mean nothing.
std::vector<std::string_view> buffer_names(const Program& program);

}  // namespace felsite::ir
