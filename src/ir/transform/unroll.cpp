#include "ir/transform/unroll.h"

#include <algorithm>
#include <string>

#include "ir/transform/rewriter.h"

namespace felsite::ir {
namespace {

// An ending that makes the name of any variable one that no variable has.
std::string unused_ending(const Program& program, std::string ending) {
  const auto has_ending = [&](const Variable& variable) {
    return program.name(variable.name).ends_with(ending);
  };
  while (std::ranges::any_of(program.vars(), has_ending)) ending += '_';
  return ending;
}

class Unroller {
 public:
  Unroller(const ValidProgram& program, std::span<const std::uint32_t> copies)
      : program_(program),
        copies_(copies),
        rewriter_(program),
        to_(rewriter_.to()),
        of_trip_(unused_ending(program, "_trip")),
        of_first_(unused_ending(program, "_first")) {}

  ValidProgram run() {
    rewriter_.copier().rewrite = [this](NodeId id) {
      return copies_[id] > 1 && program_.node(id).kind == NodeKind::Loop && unroll(id);
    };
    return rewriter_.rewrite();
  }

 private:
  bool unroll(NodeId loop) {
    const Expr& from = program_.expr(program_.node(loop).args[0]);
    const Expr& to = program_.expr(program_.node(loop).args[1]);
    if (from.kind != ExprKind::Literal || to.kind != ExprKind::Literal) return false;
    const std::uint32_t begin = from.args[0];
    const std::uint32_t count = std::max(to.args[0], begin) - begin;
    const std::uint32_t trips = count / copies_[loop];
    if (trips == 0) return false;
    if (trips > 1) write_loop(loop, begin, trips);  // a single trip needs no loop
    for (std::uint32_t done = trips > 1 ? trips * copies_[loop] : 0; done < count; ++done) {
      write_copy(loop, [&] { return word(begin + done); });
    }
    return true;
  }

  // A loop counts by one, so the index of the first copy is computed from the number of the trip.
  void write_loop(NodeId loop, std::uint32_t begin, std::uint32_t trips) {
    const std::uint32_t copies = copies_[loop];
    const std::string name(program_.var_name(program_.node(loop).ref));
    const ExprId from = word(begin / copies);
    const ExprId to = word(begin / copies + trips);
    const VarId trip = to_.open_loop(is_read(loop) ? name + of_trip_ : name, from, to);
    VarId first = kNone;
    if (is_read(loop)) {
      const ExprId scaled = with(BinaryOp::Mul, to_.variable(trip), copies);
      first = to_.let(name + of_first_, plus(scaled, begin % copies));
    }
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      write_copy(loop, [&] { return plus(to_.variable(first), copy); });
    }
    to_.close();
  }

  // Each copy is a block, since it declares the same variables and may end with a return.
  template <class Index>
  void write_copy(NodeId loop, Index index) {
    const VarId variable = program_.node(loop).ref;
    rewriter_.copier().set_position(loop);
    to_.open_block();
    if (is_read(loop)) {
      const VarId declared = to_.let(program_.var_name(variable), index());
      rewriter_.copier().map_variable(variable, declared);
    }
    rewriter_.copier().nodes(program_.then_body(loop));
    to_.close();
  }

  bool is_read(NodeId loop) const { return program_.var(program_.node(loop).ref).uses != 0; }
  ExprId word(std::uint32_t value) { return to_.literal(literal(value)); }
  ExprId with(BinaryOp op, ExprId a, std::uint32_t b) { return to_.binary(op, a, word(b)); }
  ExprId plus(ExprId a, std::uint32_t b) { return b == 0 ? a : with(BinaryOp::Add, a, b); }

  const ValidProgram& program_;
  const std::span<const std::uint32_t> copies_;
  Rewriter rewriter_;
  Assembler& to_;
  const std::string of_trip_;
  const std::string of_first_;
};

}  // namespace

ValidProgram unrolled(const ValidProgram& program, std::span<const std::uint32_t> copies) {
  return Unroller(program, copies).run();
}

}  // namespace felsite::ir
