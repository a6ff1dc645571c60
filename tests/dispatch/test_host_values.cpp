// What the host knows of a program's variables before it runs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dispatch/cost/host_values.h"
#include "ir/text/literal_text.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// The buffers x: u32[], n: u32[] and s: u32[12] in workgroup memory; each variable with its value.
std::string known(std::string_view body, std::vector<std::uint64_t> lengths = {20, 7, 12}) {
  const ir::ValidProgram program = valid_program(
      fmt::format("program p workgroup(4, 2) {{ readwrite x: u32[]; readonly n: u32[];"
                  " workgroup s: u32[12]; {} }}",
                  body));
  dispatch::HostValues values(program, {.lengths = std::move(lengths)}, {5, 3, 1});
  std::string text;
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind != ir::NodeKind::Let) continue;
    const auto value = values.value(node.args[0]);
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = ", program.var_name(node.ref));
    if (value) {
      ir::print_literal(*value, text);
    } else {
      text += '?';
    }
  }
  return text;
}

}  // namespace

TEST_CASE("host values: literals, lengths, the grid and the workgroup size") {
  CHECK(
      known("let a = 3 + 4; let b = len(x); let c = num_workgroups.x; let d = workgroup_size.y;") ==
      "a = 7, b = 20, c = 5, d = 2");
  CHECK(known("let a = len(s); let b = len(x);", {}) == "a = 12, b = ?");
}

TEST_CASE("host values: what is computed from known values is known") {
  CHECK(known("let a = len(x) / 3; let b = max(a, len(n)) * num_workgroups.y;") == "a = 6, b = 21");
  CHECK(known("let a = select(len(x) > 8, 1, 2); let b = f32(a) + 0.5;") == "a = 1, b = 1.5");
}

TEST_CASE("host values: memory, ids, assigned variables and loops are not known") {
  CHECK(known("let a = n[0]; let b = a + 1; let c = invocation.x; let d = workgroup_id.x;") ==
        "a = ?, b = ?, c = ?, d = ?");
  CHECK(known("let a = 3; a = 4; let b = a + 1;") == "a = 3, b = ?");
  CHECK(known("loop k in 0..4 { let a = k; let b = 2; }") == "a = ?, b = 2");
}

TEST_CASE("host values: an input at a fixed place is known where its bytes are") {
  const std::vector<std::uint32_t> words{5, 6};
  const auto bytes = std::as_bytes(std::span(words));
  const auto value = [&](std::string_view expression, bool is_known = true) {
    const ir::ValidProgram program = valid_program(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[]; readonly n: u32[]; uniform u: "
                    "u32[2]; readonly h: u16[]; let a = {}; }}",
                    expression));
    const std::vector<ByteSpan> contents(is_known ? 4 : 0, ByteSpan(bytes));
    const dispatch::HostValues values(program, {.contents = contents}, {5, 3, 1});
    const auto found = values.value(program.node(program.entry().begin).args[0]);
    return found ? fmt::format("{}", found->bits) : "?";
  };
  CHECK(value("u[1]") == "6");
  CHECK(value("n[0] * 2") == "10");
  CHECK(value("u[1]", false) == "?");
  CHECK(value("n[2]") == "?");             // past the end
  CHECK(value("x[0]") == "?");             // it may change
  CHECK(value("n[invocation.x]") == "?");  // its place is not fixed
  CHECK(value("h[0]") == "?");             // not a u32
}

TEST_CASE("host values: for estimates, ids are those of an invocation in the middle") {
  const ir::ValidProgram program = valid_program(
      "program p workgroup(4, 2) { readwrite x: u32[]; let a = invocation.x; let b = local.x; let "
      "c = workgroup_id.y; let d = invocation.y * 2; }");
  const dispatch::HostValues values(program, {.in_the_middle = true}, {5, 3, 1});
  std::string text;
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    text += fmt::format("{} ", values.value(program.node(id).args[0])->bits);
  }
  CHECK(text == "10 2 1 6 ");
}
