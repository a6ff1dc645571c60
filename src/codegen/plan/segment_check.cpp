// Checks what a segment says beside its program, which validation does not know.
#include <fmt/format.h>

#include <algorithm>

#include "arithmetic/fold.h"
#include "base/errors.h"
#include "base/try.h"
#include "codegen/plan/plan.h"
#include "ir/analysis/effects.h"

namespace felsite::codegen {
namespace {

using ir::ExprKind;
using ir::NodeKind;

std::unexpected<Error> refuse(const ir::Program& program, std::string message, std::string fix) {
  Error error = base::make_error(ErrorCode::InvalidProgram, std::move(message), std::move(fix),
                                 program.name());
  return std::unexpected(std::move(error));
}

// Finds literals as the writer does: by constant folding, and through names for them.
class ParameterReads {
 public:
  ParameterReads(const ir::Program& program, ir::BufferId parameters)
      : program_(program), parameters_(parameters), names_(program.vars().size()) {}

  Result<void> check() {
    const ir::NodeRange entry = program_.entry();
    for (ir::NodeId id = entry.begin; id < entry.end; ++id) {
      const ir::Node& node = program_.node(id);
      const ir::NodeMemory reads = ir::info(node.kind).reads;
      const bool is_read_whole = (reads == ir::NodeMemory::Source && node.ref2 == parameters_) ||
                                 (reads == ir::NodeMemory::Buffer && node.ref == parameters_);
      if (is_read_whole) return refuse_read();
      for (const ir::ExprId root : program_.expressions(id)) {
        FELSITE_TRY(const auto value, visit(root));
        const bool names_it = node.kind == NodeKind::Let && !program_.var(node.ref).assigned;
        if (names_it) names_[node.ref] = value;
      }
    }
    return {};
  }

 private:
  using Known = std::optional<ir::Literal>;

  Result<Known> visit(ir::ExprId root) {
    for (const ir::ExprId id : program_.rows(root)) {
      const ir::Expr& expr = program_.expr(id);
      const std::size_t first = stack_.size() - program_.operands(id).size();
      const std::span<const Known> operands = std::span(stack_).subspan(first);
      if (expr.kind == ExprKind::Load && expr.ref == parameters_ && !operands[0]) {
        return refuse_read();
      }
      Known value = expr.kind == ExprKind::Var ? names_[expr.ref] : folded(id, operands);
      stack_.resize(first);
      stack_.push_back(value);
    }
    const Known result = stack_.back();
    stack_.pop_back();
    return result;
  }

  Known folded(ir::ExprId id, std::span<const Known> operands) const {
    std::vector<ir::Literal> literals;
    for (const Known& operand : operands) {
      if (!operand) return std::nullopt;
      literals.push_back(*operand);
    }
    return arithmetic::fold(program_, id, literals);
  }

  std::unexpected<Error> refuse_read() const {
    return refuse(program_,
                  fmt::format("`{}` holds the segment's parameters and is read other than at "
                              "literal indices.",
                              program_.buffer(parameters_).name),
                  "read each parameter at its own literal index.");
  }

  const ir::Program& program_;
  const ir::BufferId parameters_;
  std::vector<Known> names_;  // by VarId: names for literals
  std::vector<Known> stack_;
};

Result<void> check_parameters(const ir::Program& program, ir::BufferId parameters) {
  if (parameters >= program.buffers().size()) {
    return refuse(program, "The segment's parameters are no buffer of the program.",
                  "name one of its buffers.");
  }
  const ir::BufferDecl& buffer = program.buffer(parameters);
  const bool is_constant =
      buffer.access == ir::Access::ReadOnly || buffer.access == ir::Access::Uniform;
  if (!is_constant || buffer.element != ir::Type::U32 || buffer.count == 0) {
    return refuse(program, fmt::format("`{}` cannot hold the segment's parameters.", buffer.name),
                  "declare it as readonly or uniform, of u32, with a fixed count.");
  }
  return ParameterReads(program, parameters).check();
}

bool is_word_storage(const ir::BufferDecl& buffer) {
  return buffer.element == ir::Type::U32 &&
         (buffer.access == ir::Access::ReadWrite || buffer.access == ir::Access::WriteOnly);
}

Result<void> check_iterations(const Segment& segment, const IterationLoop& iterations) {
  const ir::Program& program = segment.program;
  const std::size_t buffers = program.buffers().size();
  if (iterations.control >= buffers || (iterations.changed && *iterations.changed >= buffers)) {
    return refuse(program, "A buffer of the iterations is no buffer of the program.",
                  "name one of its buffers.");
  }
  const ir::BufferDecl& control = program.buffer(iterations.control);
  const ir::Effects effects = ir::effects_of(program, program.entry());
  bool is_used =
      iterations.changed == iterations.control || segment.parameters == iterations.control;
  for (const auto* list : {&effects.reads, &effects.writes, &effects.atomics}) {
    is_used = is_used || std::ranges::binary_search(*list, iterations.control);
  }
  if (is_used || control.access != ir::Access::ReadWrite || control.element != ir::Type::U32 ||
      control.count != 3) {
    return refuse(program, fmt::format("`{}` cannot control the iterations.", control.name),
                  "declare a readwrite u32[3] that nothing else uses.");
  }
  if (!iterations.changed || is_word_storage(program.buffer(*iterations.changed))) return {};
  return refuse(program,
                fmt::format("`{}` cannot tell whether an iteration changed something.",
                            program.buffer(*iterations.changed).name),
                "use a u32 buffer that the program can write.");
}

Result<void> check_one_workgroup(const Segment& segment) {
  if (segment.grid_in_parts) {
    return refuse(segment.program, "A grid in parts is not one workgroup.",
                  "ask for one or the other.");
  }
  if (std::ranges::count(segment.one_workgroup->grid, 0U) != 0) {
    return refuse(segment.program, "A grid without workgroups cannot run as one.",
                  "give each axis at least one workgroup.");
  }
  const auto& iterations = segment.one_workgroup->iterations;
  return iterations ? check_iterations(segment, *iterations) : Result<void>{};
}

}  // namespace

Result<void> check_segment(const Segment& segment) {
  if (segment.one_workgroup) {
    FELSITE_CHECK(check_one_workgroup(segment));
  }
  if (!segment.parameters) return {};
  return check_parameters(segment.program, *segment.parameters);
}

}  // namespace felsite::codegen
