#include "felsite/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <tuple>

#include "ir/check/validation.h"
#include "ir/guarded_findings.h"
#include "ir/text/words.h"
#include "ir/walk.h"

namespace felsite::ir {

Finding* Report::add(FindingCode code, std::string& message, std::string& fix) {
  if (full()) {
    ++suppressed_;
    return nullptr;
  }
  findings_.push_back({code, 0, 0, {}, std::move(message), std::move(fix)});
  return &findings_.back();
}

void Report::expect(ExprId id, Type expected, std::string_view what) {
  const Type given = program_.expr(id).type;
  if (given == expected || given == Type::None) return;
  expr(FindingCode::TypeMismatch, id,
       fmt::format("{} must be {}, but `{}` is {}.", what, info(expected).name, shown(id),
                   info(given).name),
       fmt::format("cast it: `{}({})`.", info(expected).name, shown(id)));
}

Findings Report::finish() && {
  // Sorted by position in the text; findings of a built program keep the order they were made in.
  std::vector<std::size_t> order(findings_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(findings_[i].line, findings_[i].column, i);
  });
  Findings sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(findings_[i]));
  if (suppressed_ > 0) {
    Finding more{FindingCode::TooManyFindings,
                 0,
                 0,
                 {},
                 fmt::format("{} further findings are not listed.", suppressed_),
                 "fix the ones above and validate again."};
    places_.at_program(more);
    sorted.push_back(std::move(more));
  }
  return sorted;
}

std::vector<std::string_view> buffer_names(const Program& program) {
  std::vector<std::string_view> names;
  for (const BufferDecl& buffer : program.buffers()) names.push_back(buffer.name);
  return names;
}

void check_limits(const Program& program, Report& report) {
  if (program.nodes().size() > kMaxNodes) {
    report.program(FindingCode::TooManyNodes,
                   fmt::format("The program has {} nodes; at most {} are allowed.",
                               program.nodes().size(), kMaxNodes),
                   "split it into several programs, or put repeated code into loops.");
  }
  const NodeRange all{0, static_cast<NodeId>(program.nodes().size())};
  for (Walk walk(program, all); walk.next();) {
    if (walk.step() == Walk::Step::Enter && walk.around().size() == kMaxNesting) {
      report.node(FindingCode::TooDeep, walk.id(),
                  fmt::format("Bodies are nested more than {} deep.", kMaxNesting),
                  "move inner code into an operation, or flatten it.");
    }
  }
  std::vector<std::uint32_t> depth(program.exprs().size(), 1);
  for (ExprId id = 0; id < depth.size(); ++id) {
    for (const ExprId operand : program.operands(id)) {
      depth[id] = std::max(depth[id], depth[operand] + 1);
    }
    if (depth[id] == kMaxExprDepth + 1) {
      report.expr(FindingCode::TooDeep, id,
                  fmt::format("An expression is more than {} operations deep.", kMaxExprDepth),
                  "bind parts of it with `let`.");
    }
  }
}

namespace {

std::atomic<std::uint64_t> validations = 0;

Findings check_all(const Program& program) {
  Report report(program);
  check_limits(program, report);
  // The other checks are linear only within the limits.
  if (!report.empty()) return std::move(report).finish();
  check_declarations(program, report);
  check_expressions(program, report);
  check_nodes(program, report);
  check_uniformity(program, report);
  return std::move(report).finish();
}

}  // namespace

std::uint64_t validation_count() { return validations; }

Findings validate(const Program& program) {
  ++validations;
  return guarded_findings<Findings>([&] { return check_all(program); });
}

std::expected<ValidProgram, Findings> validated(Program program) {
  if (!ValidProgram::is_known(program)) {
    if (Findings findings = validate(program); !findings.empty()) {
      return std::unexpected(std::move(findings));
    }
  }
  return ValidProgram(std::move(program));
}

Result<ValidProgram> require_valid(Program program) {
  const std::string name(program.name());
  auto valid = validated(std::move(program));
  if (!valid) return std::unexpected(to_error(valid.error(), name));
  return *std::move(valid);
}

}  // namespace felsite::ir
