// The checks of validation, and the report that they add to.
#pragma once

#include <string>
#include <vector>

#include "felsite/text.h"
#include "felsite/validate.h"
#include "ir/place.h"

namespace felsite::ir {

class Report {
 public:
  explicit Report(const Program& program) : program_(program), places_(program) {}

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

  // Reports an expression of another type, but none that has no type: its mistake has been
  // reported.
  void expect(ExprId id, Type expected, std::string_view what);

  bool empty() const { return findings_.empty() && suppressed_ == 0; }
  // Further findings are only counted, so callers need not compute their texts.
  bool full() const { return findings_.size() >= kMaxFindings; }
  std::string shown(ExprId id) const { return full() ? "" : print(program_, id); }
  // "Did you mean" costs more than the rest of a finding, and nobody reads it among so many.
  bool wants_hint() const { return findings_.size() < 100; }
  Findings finish() &&;

 private:
  Finding* add(FindingCode code, std::string& message, std::string& fix);

  const Program& program_;
  Places places_;
  Findings findings_;
  std::size_t suppressed_ = 0;
};

// The checks in their order, one per file. Limits come first, since the others rely on them.
void check_limits(const Program& program, Report& report);
void check_declarations(const Program& program, Report& report);
void check_expressions(const Program& program, Report& report);
void check_nodes(const Program& program, Report& report);
void check_uniformity(const Program& program, Report& report);

// How many validations this process has done, for tests that a program is validated once.
std::uint64_t validation_count();

// The candidates of "Did you mean" for an unknown buffer.
std::vector<std::string_view> buffer_names(const Program& program);

}  // namespace felsite::ir
