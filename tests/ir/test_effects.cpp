// What nodes do to memory: reads, writes and atomics of every kind of node.
#include <fmt/format.h>

#include "ir/analysis/effects.h"
#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::nth_node;
using felsite::test::parsed;

namespace {

Program kernel_on_buffers(std::string_view body) {
  return parsed(fmt::format(R"(program p workgroup(4) {{
    readwrite a: u32[]; readwrite b: u32[]; readwrite c: u32[]; workgroup s: u32[4];
    op twice(x: u32) -> u32 {{ yield x + x; }}
    {} }})",
                            body));
}

std::string show(const Program& program, const Effects& effects) {
  std::string text;
  const auto list = [&](std::string_view what, const std::vector<BufferId>& buffers) {
    if (buffers.empty()) return;
    text += fmt::format("{}{}:", text.empty() ? "" : " ", what);
    for (const BufferId id : buffers) text += program.buffer(id).name;
  };
  list("reads", effects.reads);
  list("writes", effects.writes);
  list("atomics", effects.atomics);
  return text;
}

// Of one node, with everything nested in it.
Effects effects_of(const Program& program, NodeId node) {
  return effects_of(program, NodeRange{node, program.node(node).end});
}

// The effects of a body as text, such as "reads:ab writes:c".
std::string effects(std::string_view body) {
  const Program program = kernel_on_buffers(body);
  return show(program, effects_of(program, program.entry()));
}

}  // namespace

TEST_CASE("effects: of the nodes that touch no memory") {
  CHECK(effects("let x = local.x + 1; x = x * 2;") == "");
  CHECK(effects("barrier; gridsync;") == "");
  CHECK(effects("trap(1, t); resume(t);") == "");
  CHECK(effects("return;") == "");
  CHECK(effects("if true { } loop i in 0..4 { } { } region \"r\" { }") == "");
  CHECK(effects("let x = twice(local.x);") == "");
}

TEST_CASE("effects: the length of a buffer is not a read of it") {
  CHECK(effects("let x = len(a);") == "");
  CHECK(effects("b[len(a)] = len(c);") == "writes:b");
}

TEST_CASE("effects: a store writes its buffer and reads what its operands load") {
  CHECK(effects("a[0] = 1;") == "writes:a");
  CHECK(effects("a[b[0]] = c[1];") == "reads:bc writes:a");
  CHECK(effects("a[0] = a[1];") == "reads:a writes:a");
  CHECK(effects("s[0] = 1;") == "writes:s");
}

TEST_CASE("effects: loads count wherever an expression stands") {
  CHECK(effects("let x = a[0];") == "reads:a");
  CHECK(effects("let x = 1; x = a[0];") == "reads:a");
  CHECK(effects("if a[0] == 1 { }") == "reads:a");
  CHECK(effects("loop i in a[0]..b[0] { }") == "reads:ab");
  CHECK(effects("trap(a[0], t);") == "reads:a");
  CHECK(effects("let x = select(a[0] == 1, 2, 3);") == "reads:a");
  CHECK(effects("let x = twice(1 + a[b[0]]);") == "reads:ab");
  CHECK(effects("let x = subgroup_add(a[0]);") == "reads:a");
}

TEST_CASE("effects: an atomic is neither a read nor a write, its operands may be reads") {
  CHECK(effects("atomic_add(a[0], 1);") == "atomics:a");
  CHECK(effects("atomic_add(a[b[0]], c[0]);") == "reads:bc atomics:a");
  CHECK(effects("let x = atomic_compare_exchange(a[0], b[0], c[0]);") == "reads:bc atomics:a");
  CHECK(effects("a[0] = atomic_max(a[0], a[1]);") == "reads:a writes:a atomics:a");
  CHECK(effects("atomic_or(s[0], 1);") == "atomics:s");
}

TEST_CASE("effects: nested nodes belong to the node around them") {
  const Program program = kernel_on_buffers(R"(
    if a[0] == 0 { loop i in 0..4 { b[i] = 1; } } else { region "r" { { let x = c[0]; } } }
    s[0] = 1;)");
  const auto of = [&](NodeKind kind) {
    return show(program, effects_of(program, nth_node(program, kind)));
  };
  CHECK(of(NodeKind::If) == "reads:ac writes:b");
  CHECK(of(NodeKind::Loop) == "writes:b");
  CHECK(of(NodeKind::Region) == "reads:c");
  CHECK(of(NodeKind::Block) == "reads:c");
  CHECK(show(program, effects_of(program, nth_node(program, NodeKind::Store, 1))) == "writes:s");
  CHECK(show(program, effects_of(program, program.else_body(nth_node(program, NodeKind::If)))) ==
        "reads:c");
}

TEST_CASE("effects: an empty range has none") {
  const Program program = kernel_on_buffers("a[0] = 1;");
  CHECK(effects_of(program, NodeRange{}) == Effects{});
}

TEST_CASE("effects: each buffer is listed once, in the order of declaration") {
  const Program program =
      kernel_on_buffers("c[0] = a[0]; b[0] = c[0]; c[0] = a[1]; a[0] = b[0] + a[2] + c[0];");
  const Effects all = effects_of(program, program.entry());
  CHECK(all.reads == std::vector<BufferId>{0, 1, 2});
  CHECK(all.writes == std::vector<BufferId>{0, 1, 2});
  CHECK(all.atomics.empty());
}

TEST_CASE("effects: an asynchronous copy reads where it is issued and writes where it is awaited") {
  const Program program = kernel_on_buffers(R"(
    async_load(s[b[0]], a[0], 2, inward);
    async_wait(inward);
    async_store(c[0], s[0], 2, out);
    async_wait(out);)");
  const auto at = [&](NodeId offset) {
    return show(program, effects_of(program, program.entry().begin + offset));
  };
  CHECK(at(0) == "reads:ab");
  CHECK(at(1) == "writes:s");
  CHECK(at(2) == "reads:s");
  CHECK(at(3) == "writes:c");
}

TEST_CASE("effects: a wait writes the destinations of all copies with its tag, and of no other") {
  const Program program = kernel_on_buffers(R"(
    if true { async_store(b[0], s[0], 1, t); } else { async_store(c[0], s[0], 1, u); }
    async_store(a[0], s[0], 1, t);
    async_wait(t);)");
  CHECK(show(program, effects_of(program, nth_node(program, NodeKind::AsyncWait))) == "writes:ab");
}

TEST_CASE("effects: collectives") {
  CHECK(effects("all_reduce.add(a);") == "reads:a writes:a");
  CHECK(effects("broadcast(b, 1);") == "reads:b writes:b");
  CHECK(effects("all_gather(a, b);") == "reads:b writes:a");
  CHECK(effects("reduce_scatter.min(c, a);") == "reads:a writes:c");
}

TEST_CASE("effects: an indirect dispatch reads its grid") {
  CHECK(effects("indirect_dispatch(a[1]);") == "reads:a");
}

TEST_CASE("effects: names that mean nothing are left out") {
  CHECK(effects("nothing[0] = nowhere[1]; atomic_add(nobody[0], a[0]);") == "reads:a");
  CHECK(effects("async_load(nothing[0], nowhere[0], 1, t); async_wait(t);") == "");
  CHECK(effects("all_gather(nothing, a); async_wait(never_issued);") == "reads:a");
}
