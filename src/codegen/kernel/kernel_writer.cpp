#include "codegen/kernel/kernel_writer.h"

#include <utility>

#include "codegen/kernel/iteration_writer.h"

namespace felsite::codegen {

using ir::NodeKind;

KernelWriter::KernelWriter(const KernelPart& kernel)
    : KernelPart(kernel),
      variables_(kernel),
      expressions_(kernel, variables_, statement_writer()),
      copies_(kernel, variables_),
      traps_(kernel),
      trips_(kernel, variables_),
      regions_(kernel, variables_, expressions_, traps_, trips_, statement_writer()) {}

WriteStatements KernelWriter::statement_writer() {
  return
      [this](OpenBlock block, ir::NodeRange range) { return statements(std::move(block), range); };
}

Id KernelWriter::write() {
  return e_.write_function(program_.name(), e_.type_void(), {},
                           [&](FunctionWriter& main, OpenBlock block) {
                             constexpr std::size_t kWordsForRow = 6;
                             main.expect_words(program_.exprs().size() * kWordsForRow);
                             if (Flow end = write_entry(std::move(block)))
                               main.emit_return(std::move(*end));
                           });
}

Flow KernelWriter::write_entry(OpenBlock block) {
  variables_.declare_turn();
  traps_.declare();
  if (segment_.one_workgroup && segment_.one_workgroup->iterations) {
    IterationWriter(*this, variables_, trips_, [this](OpenBlock inside) {
      return write_program(std::move(inside));
    }).write();
    return block;
  }
  buffers_.zero_workgroup_memory(plan_.zeroed);
  return write_program(std::move(block));
}

// The program from its start to its end, once.
Flow KernelWriter::write_program(OpenBlock block) {
  if (program_.facts().has_async) copies_.declare();
  if (!plan_.regions.needed) return statements(std::move(block), plan_.nodes);
  regions_.write(plan_.nodes);
  return block;
}

// What follows a construct that control never leaves is not written.
Flow KernelWriter::statements(OpenBlock block, ir::NodeRange range) {
  Flow flow = std::move(block);
  for (ir::NodeId id = range.begin; id < range.end && flow; id = program_.node(id).end) {
    flow = statement(std::move(*flow), id);
  }
  return flow;
}

Flow KernelWriter::statement(OpenBlock block, ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const ir::NodeKindInfo& facts = ir::info(node.kind);
  if (!facts.has_body || facts.branches) mark_line(id);  // a block writes nothing itself
  switch (node.kind) {
    case NodeKind::Let:
      let(id);
      break;
    case NodeKind::Assign:
      variables_.assign(node.ref, expressions_.evaluate(node.args[0]));
      break;
    case NodeKind::Store: {
      const Value index = expressions_.evaluate(node.args[0]);
      const Value value = expressions_.evaluate(node.args[1]);
      buffers_.store(node.ref, index.word(), value, plan_.bounds.nodes[id]);
      break;
    }
    case NodeKind::If:
      return branch(std::move(block), id);
    case NodeKind::Loop:
      return loop(std::move(block), id);
    case NodeKind::Return:
      leave(std::move(block));
      return std::nullopt;
    case NodeKind::Block:
    case NodeKind::Region:
      return statements(std::move(block), program_.then_body(id));
    case NodeKind::Barrier:
      traps_.write_barrier(id);
      break;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore: {
      const Word to = expressions_.evaluate(node.args[0]).word();
      copies_.issue(id, to, expressions_.evaluate(node.args[1]).word());
      break;
    }
    case NodeKind::AsyncWait:
      copies_.wait(id);
      break;
    case NodeKind::Trap:
      traps_.report(program_.name(node.name), expressions_.evaluate(node.args[0]).word());
      leave(std::move(block));
      return std::nullopt;
    case NodeKind::IndirectDispatch:  // a matter of how the kernel is launched
    case NodeKind::Resume:            // a mark for the host
      break;
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      break;  // refused by check_requirements
  }
  return block;
}

void KernelWriter::let(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const Id next = e_.module().next_id();
  Operand operand = expressions_.evaluate_operand(node.args[0]);
  const bool is_value = operand.value && !program_.var(node.ref).assigned;
  if (is_value && e_.module().names_kept() && operand.value->id() >= next) {
    e_.module().name(operand.value->id(), program_.var_name(node.ref));
  }
  variables_.bind(node.ref, std::move(operand));
}

Flow KernelWriter::branch(OpenBlock block, ir::NodeId id) {
  traps_.end_segment_at(id);
  const Value condition = expressions_.evaluate(program_.node(id).args[0]);
  const ir::NodeRange otherwise = program_.else_body(id);
  Flow flow = e_.function().branch(
      std::move(block), condition.id(), !otherwise.empty(),
      [&](OpenBlock inside) { return statements(std::move(inside), program_.then_body(id)); },
      [&](OpenBlock inside) {
        Flow end;
        traps_.write_otherwise(id, [&] { end = statements(std::move(inside), otherwise); });
        return end;
      });
  if (flow) traps_.end_segment_at(id);
  return flow;
}

Flow KernelWriter::loop(OpenBlock block, ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const Word from = expressions_.evaluate(node.args[0]).word();
  const Word to = expressions_.evaluate(node.args[1]).word();
  traps_.end_segment_at(id);
  trips_.repeat(id, from, to, [&](OpenBlock inside, Word index) {
    if (e_.module().names_kept()) e_.module().name(index.id(), program_.var_name(node.ref));
    variables_.bind(node.ref, {ir::Type::U32, index});
    Flow flow = statements(std::move(inside), program_.then_body(id));
    if (flow) traps_.end_segment_at(id);
    return flow;
  });
  traps_.end_segment_at(id);
  return block;
}

// A region says to its caller that the invocation has returned.
void KernelWriter::leave(OpenBlock block) {
  if (plan_.regions.needed) {
    e_.function().emit_return(std::move(block), e_.flag(false).id);
  } else {
    e_.function().emit_return(std::move(block));
  }
}

}  // namespace felsite::codegen
