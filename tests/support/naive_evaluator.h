// A second evaluator, as plain as possible: every invocation alone, scalar by scalar, over the rows
// of the program, written from the contract. Invocations stop at barriers and go on together. For
// programs whose result does not depend on how invocations interleave between barriers.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "felsite/backend.h"
#include "felsite/program.h"
#include "support/naive_arithmetic.h"

namespace felsite::test {

class NaiveEvaluator {
 public:
  NaiveEvaluator(const ir::Program& program, const std::vector<Bytes>& inputs, Extent3 grid)
      : program_(program), grid_(grid), storage_(program.buffers().size()) {
    std::size_t next = 0;
    for (ir::BufferId id = 0; id < storage_.size(); ++id) {
      const ir::BufferDecl& buffer = program.buffer(id);
      if (ir::takes_caller_bytes(ir::role_of(buffer))) {
        storage_[id] = inputs[next++];
      } else {
        storage_[id].resize(std::size_t{buffer.count} * ir::info(buffer.element).bytes);
      }
    }
  }

  // One iteration; the next one goes on with what it left.
  std::vector<Bytes> run() {
    groups_.clear();
    const auto& size = program_.workgroup_size();
    for (std::uint32_t z = 0; z < grid_[2]; ++z)
      for (std::uint32_t y = 0; y < grid_[1]; ++y)
        for (std::uint32_t x = 0; x < grid_[0]; ++x) add_group({x, y, z}, size);
    bool more = true;
    while (more) {
      for (Group& group : groups_) run_group(group);
      more = false;
      for (Group& group : groups_) {
        for (Invocation& one : group.invocations) {
          if (one.stop == Stop::GridSync) more = true;
          one.stop = one.stop == Stop::GridSync ? Stop::Running : one.stop;
        }
      }
    }
    return results();
  }

  std::vector<Bytes> results() const {
    std::vector<Bytes> list;
    for (ir::BufferId id = 0; id < storage_.size(); ++id) {
      if (ir::gives_result(ir::role_of(program_.buffer(id)))) list.push_back(storage_[id]);
    }
    return list;
  }
  Bytes& storage(std::string_view name) { return storage_[*program_.find_buffer(name)]; }

 private:
  enum class Stop : std::uint8_t { Running, Barrier, GridSync, Done };
  struct Frame {
    ir::NodeId next;
    ir::NodeId begin;
    ir::NodeId end;
    ir::NodeId loop = ir::kNone;
    std::uint32_t trip = 0;
    std::uint32_t to = 0;
  };
  struct Group;
  struct Invocation {
    Group* group;
    Extent3 local;
    std::vector<std::uint64_t> vars;
    std::vector<Frame> frames;
    Stop stop = Stop::Running;
  };
  struct Group {
    Extent3 id;
    std::vector<Bytes> shared;
    std::vector<Invocation> invocations;
  };

  void add_group(Extent3 id, const Extent3& size) {
    Group& group = *groups_.insert(groups_.end(), Group{id, storage_, {}});
    for (ir::BufferId b = 0; b < storage_.size(); ++b) {
      if (program_.buffer(b).access != ir::Access::Workgroup) group.shared[b].clear();
    }
    const Frame entry{program_.entry().begin, program_.entry().begin, program_.entry().end};
    for (std::uint32_t z = 0; z < size[2]; ++z)
      for (std::uint32_t y = 0; y < size[1]; ++y)
        for (std::uint32_t x = 0; x < size[0]; ++x) {
          group.invocations.push_back(
              {nullptr, {x, y, z}, std::vector<std::uint64_t>(program_.vars().size()), {entry}});
        }
  }

  // Until all its invocations are done or at a grid barrier.
  void run_group(Group& group) {
    bool more = true;
    while (more) {
      more = false;
      for (Invocation& one : group.invocations) {
        one.group = &group;
        if (one.stop == Stop::Running) advance(one, one.frames);
      }
      for (Invocation& one : group.invocations) {
        if (one.stop == Stop::Barrier) {
          one.stop = Stop::Running;
          more = true;
        }
      }
    }
  }

  void enter(std::vector<Frame>& frames, ir::NodeRange range) {
    if (!range.empty()) frames.push_back({range.begin, range.begin, range.end});
  }

  void advance(Invocation& one, std::vector<Frame>& frames) {
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next == frame.end) {
        if (frame.loop == ir::kNone || ++frame.trip >= frame.to) {
          frames.pop_back();
          continue;
        }
        one.vars[program_.node(frame.loop).ref] = frame.trip;
        frame.next = frame.begin;
        continue;
      }
      const ir::NodeId id = frame.next;
      const ir::Node& node = program_.node(id);
      frame.next = node.end;
      switch (node.kind) {
        case ir::NodeKind::Let:
        case ir::NodeKind::Assign:
          one.vars[node.ref] = eval(one, node.args[0]);
          break;
        case ir::NodeKind::Store: {
          const auto index = static_cast<std::uint32_t>(eval(one, node.args[0]));
          const std::uint64_t value = eval(one, node.args[1]);
          write(one, node.ref, index, value);
          break;
        }
        case ir::NodeKind::If:
          enter(frames,
                eval(one, node.args[0]) != 0 ? program_.then_body(id) : program_.else_body(id));
          break;
        case ir::NodeKind::Loop: {
          const auto from = static_cast<std::uint32_t>(eval(one, node.args[0]));
          const auto to = static_cast<std::uint32_t>(eval(one, node.args[1]));
          if (from >= to) break;
          const ir::NodeRange body = program_.then_body(id);
          one.vars[node.ref] = from;
          frames.push_back({body.begin, body.begin, body.end, id, from, to});
          break;
        }
        case ir::NodeKind::Block:
        case ir::NodeKind::Region:
          enter(frames, program_.then_body(id));
          break;
        case ir::NodeKind::Return:
          frames.clear();
          break;
        case ir::NodeKind::Barrier:
          one.stop = node.ordering() == ir::Ordering::GridSync ? Stop::GridSync : Stop::Barrier;
          return;
        case ir::NodeKind::IndirectDispatch:
        case ir::NodeKind::AsyncLoad:
        case ir::NodeKind::AsyncStore:
        case ir::NodeKind::AsyncWait:
        case ir::NodeKind::Trap:
        case ir::NodeKind::Resume:
        case ir::NodeKind::AllReduce:
        case ir::NodeKind::AllGather:
        case ir::NodeKind::ReduceScatter:
        case ir::NodeKind::Broadcast:
          FAIL("not for this evaluator: " << ir::info(node.kind).name);
      }
    }
    if (&frames == &one.frames) one.stop = Stop::Done;
  }

  Bytes& memory(Invocation& one, ir::BufferId buffer) {
    return program_.buffer(buffer).access == ir::Access::Workgroup ? one.group->shared[buffer]
                                                                   : storage_[buffer];
  }

  // The element's own bits, canonical; nothing past the end.
  std::optional<std::uint64_t> read(Invocation& one, ir::BufferId buffer, std::uint32_t index) {
    const ir::Type type = program_.buffer(buffer).element;
    const std::size_t size = ir::info(type).bytes;
    const Bytes& bytes = memory(one, buffer);
    if (index >= bytes.size() / size) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + index * size, size);
    if (type == ir::Type::Bool) return bits != 0;
    return ir::is_float(type) ? truth::canonical(bits, type) : bits;
  }

  void write(Invocation& one, ir::BufferId buffer, std::uint32_t index, std::uint64_t bits) {
    const std::size_t size = ir::info(program_.buffer(buffer).element).bytes;
    Bytes& bytes = memory(one, buffer);
    if (index < bytes.size() / size) std::memcpy(bytes.data() + index * size, &bits, size);
  }

  std::uint64_t atomic(Invocation& one, const ir::Expr& expr) {
    const auto index = static_cast<std::uint32_t>(eval(one, expr.args[0]));
    const bool compares = expr.atomic() == ir::AtomicOp::CompareExchange;
    const std::uint64_t first = eval(one, expr.args[1]);
    const std::uint64_t value = compares ? eval(one, expr.args[2]) : first;
    const auto old = read(one, expr.ref, index);
    if (!old) return 0;
    if (!compares || *old == first)
      write(one, expr.ref, index, naive::atomic(expr.atomic(), expr.type, *old, value));
    return *old;
  }

  std::uint64_t call(Invocation& one, ir::ExprId id) {
    const ir::OpDecl& op = program_.ops()[program_.expr(id).ref];
    std::vector<std::uint64_t> arguments;
    for (const ir::ExprId operand : program_.operands(id)) arguments.push_back(eval(one, operand));
    for (std::uint32_t i = 0; i < op.param_count; ++i) one.vars[op.first_param + i] = arguments[i];
    std::vector<Frame> frames;
    enter(frames, op.body);
    advance(one, frames);
    return eval(one, op.result);
  }

  std::uint64_t eval(Invocation& one, ir::ExprId id) {
    const ir::Expr& expr = program_.expr(id);
    const auto size = program_.workgroup_size()[expr.aux % 3];
    const auto type = [&](int i) {
      return program_.expr(expr.args[static_cast<std::size_t>(i)]).type;
    };
    switch (expr.kind) {
      case ir::ExprKind::Literal:
        return expr.literal_bits();
      case ir::ExprKind::Var:
        return one.vars[expr.ref];
      case ir::ExprKind::Load: {
        const auto index = static_cast<std::uint32_t>(eval(one, expr.args[0]));
        const auto bits = read(one, expr.ref, index);
        return bits ? truth::cast(program_.buffer(expr.ref).element, expr.type, *bits) : 0;
      }
      case ir::ExprKind::BufLen:
        return memory(one, expr.ref).size() / ir::info(program_.buffer(expr.ref).element).bytes;
      case ir::ExprKind::InvocationId:
        return one.group->id[expr.aux] * size + one.local[expr.aux];
      case ir::ExprKind::WorkgroupId:
        return one.group->id[expr.aux];
      case ir::ExprKind::LocalId:
        return one.local[expr.aux];
      case ir::ExprKind::NumWorkgroups:
        return grid_[expr.aux];
      case ir::ExprKind::WorkgroupSize:
        return size;
      case ir::ExprKind::Binary: {
        const std::uint64_t a = eval(one, expr.args[0]);
        return naive::binary(expr.binary(), type(0), a, eval(one, expr.args[1]));
      }
      case ir::ExprKind::Unary:
        return naive::unary(expr.unary(), type(0), eval(one, expr.args[0]));
      case ir::ExprKind::Select: {
        const std::uint64_t condition = eval(one, expr.args[0]);
        const std::uint64_t a = eval(one, expr.args[1]);
        const std::uint64_t b = eval(one, expr.args[2]);
        return condition != 0 ? a : b;
      }
      case ir::ExprKind::Cast:
        return truth::cast(type(0), expr.type, eval(one, expr.args[0]));
      case ir::ExprKind::Bitcast: {
        const std::uint64_t bits = eval(one, expr.args[0]);
        return ir::is_float(expr.type) ? truth::canonical(bits, expr.type) : bits;
      }
      case ir::ExprKind::Fma: {
        const std::uint64_t a = eval(one, expr.args[0]);
        const std::uint64_t b = eval(one, expr.args[1]);
        return naive::fma(expr.type, a, b, eval(one, expr.args[2]));
      }
      case ir::ExprKind::Atomic:
        return atomic(one, expr);
      case ir::ExprKind::Call:
        return call(one, id);
      case ir::ExprKind::SubgroupLocalId:
      case ir::ExprKind::SubgroupSize:
      case ir::ExprKind::SubgroupBallot:
      case ir::ExprKind::SubgroupShuffle:
      case ir::ExprKind::SubgroupReduce:
        FAIL("not for this evaluator: " << ir::info(expr.kind).name);
    }
    return 0;
  }

  const ir::Program& program_;
  Extent3 grid_;
  std::vector<Bytes> storage_;
  std::vector<Group> groups_;
};

}  // namespace felsite::test
