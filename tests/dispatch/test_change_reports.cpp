// Which statements report by themselves whether an iteration changes their buffer.
#include <fmt/format.h>

#include <algorithm>

#include "dispatch/cut/change_reports.h"
#include "dispatch/schedule/routing.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr GridSyncOptions kLine{.one_dimensional = true};

std::string reports_of_program(std::string_view text, const GridSyncOptions& options = kLine) {
  const ir::Program program = valid_program(text);
  const dispatch::ChangeReports reports =
      dispatch::find_change_reports(program, dispatch::changed_buffers(program), options);
  std::string out;
  std::vector<ir::BufferId> reported;
  for (ir::NodeId id = 0; id < program.nodes().size(); ++id) {
    if (!reports.nodes[id]) continue;
    const ir::Node& node = program.node(id);
    const bool is_store = node.kind == ir::NodeKind::Store;
    const ir::BufferId buffer = is_store ? node.ref : program.expr(node.args[0]).ref;
    reported.push_back(buffer);
    out += fmt::format("{}{}", out.empty() ? "" : ", ", program.buffer(buffer).name);
    const ir::NodeId let = reports.before[id];
    if (let != ir::kNone) out += fmt::format(" (was {})", program.var_name(program.node(let).ref));
  }
  std::ranges::sort(reported);
  reported.erase(std::unique(reported.begin(), reported.end()), reported.end());
  CHECK(reported == reports.buffers);
  return out;
}

// "x (was v), y": the buffers whose stores and atomics report, each with the variable that has the
// old value.
std::string reports_of(std::string_view statements, const GridSyncOptions& options = kLine) {
  return reports_of_program(
      fmt::format("program p workgroup(4) {{ readwrite x: u32[]; readwrite y: u32[]; readonly r: "
                  "u32[]; workgroup t: u32[4]; let i = invocation.x; {} }}",
                  statements),
      options);
}

std::string element_reports(std::string_view access, std::string_view type,
                            const GridSyncOptions& options = kLine) {
  return reports_of_program(
      fmt::format("program p workgroup(4) {{ {} x: {}{}; x[invocation.x] = {}(1); }}", access, type,
                  access == "output" ? "[8]" : "[]", type),
      options);
}

std::string nested(int depth, std::string_view statement) {
  std::string text;
  for (int k = 0; k < depth; ++k) text += "{ ";
  text += statement;
  for (int k = 0; k < depth; ++k) text += " }";
  return text;
}

}  // namespace

TEST_CASE("change reports: the only store to a buffer, at the invocation's own place") {
  CHECK(reports_of("x[i] = 1;") == "x");
  CHECK(reports_of("x[invocation.x] = 1;") == "x");
  CHECK(reports_of("let j = i; x[j] = 1;") == "x");
  CHECK(reports_of("y[i] = 1; x[i] = 2;") == "y, x");
  CHECK(reports_of("if i > 3 { x[i] = 1; }") == "x");
  CHECK(reports_of("region \"r\" { gridsync; x[i] = 1; }") == "x");
  CHECK(reports_of("t[local.x] = 1; x[i] = 1;") == "x");
}

TEST_CASE("change reports: not of several stores, nor of one that runs several times") {
  CHECK(reports_of("x[i] = 1; x[i] = 2;") == "");
  CHECK(reports_of("if i > 3 { x[i] = 1; } else { x[i] = 2; }") == "");
  CHECK(reports_of("loop k in 0..2 { x[i] = 1; }") == "");
  CHECK(reports_of("loop a in 0..2 { loop b in 0..2 { } x[i] = 1; }") == "");
  CHECK(reports_of("loop k in 0..2 { } x[i] = 1;") == "x");
  CHECK(reports_of("x[i] = 1; loop k in 0..2 { y[i] = 1; }") == "x");
}

TEST_CASE("change reports: not of a place that others may store to") {
  for (const char* index : {"0", "i + 1", "local.x", "invocation.y", "r[i]", "workgroup_id.x"}) {
    CAPTURE(index);
    CHECK(reports_of(fmt::format("x[{}] = 1;", index)) == "");
  }
  CHECK(reports_of("let j = i; j = 3; x[j] = 1;") == "");
  CHECK(reports_of("let j = i + 1; x[j] = 1;") == "");
}

TEST_CASE("change reports: not where something else changes the buffer") {
  CHECK(reports_of("x[i] = 1; atomic_add(x[i], 1);") == "");
  CHECK(reports_of("x[i] = atomic_add(x[i], 1);") == "");
  CHECK(reports_of("x[i] = atomic_add(y[i], 1);") == "x");
  CHECK(reports_of("x[i] = 1; all_reduce.add(x);") == "");
  CHECK(reports_of("all_gather(x, r); x[i] = 1;") == "");
  CHECK(reports_of("x[i] = 1; async_store(x[0], t[0], 1, q); async_wait(q);") == "");
  CHECK(reports_of("x[i] = 1; async_store(y[0], t[0], 1, q); async_wait(q);") == "x");
}

TEST_CASE("change reports: atomics that all go one way, at any place and any number of times") {
  for (const char* op : {"atomic_or", "atomic_and", "atomic_min", "atomic_max"}) {
    CAPTURE(op);
    CHECK(reports_of(fmt::format("{}(x[r[i]], r[0]);", op)) == "x");
    CHECK(reports_of(fmt::format("let old = {}(x[0], i); y[i] = old;", op)) == "x, y");
    CHECK(reports_of(fmt::format("loop k in 0..r[i] {{ {0}(x[k], 1); }} {0}(x[i], 2);", op)) ==
          "x, x");
    CHECK(reports_of(fmt::format("{0}(x[i], 1); gridsync; {0}(x[0], 2);", op)) == "x, x");
    CHECK(reports_of(fmt::format("{}.acq_rel(x[i], 1);", op)) == "x");
    CHECK(reports_of(fmt::format("{}(x[i], 1);", op), {.one_dimensional = false}) == "x");
  }
  for (const char* type : {"i32", "u64", "i64"}) {
    CAPTURE(type);
    CHECK(reports_of_program(fmt::format("program p workgroup(4) {{ readwrite x: {0}[]; "
                                         "atomic_max(x[invocation.x], {0}(1)); }}",
                                         type)) == "x");
  }
}

TEST_CASE("change reports: not of atomics that can bring an element back to an old value") {
  for (const char* change : {"atomic_add(x[i], 1);", "atomic_sub(x[i], 1);", "atomic_xor(x[i], 1);",
                             "atomic_exchange(x[i], 1);", "atomic_compare_exchange(x[i], 1, 2);"}) {
    CAPTURE(change);
    CHECK(reports_of(change) == "");
  }
  CHECK(reports_of("atomic_or(x[i], 1); atomic_and(x[i], 2);") == "");
  CHECK(reports_of("atomic_min(x[i], 1); atomic_max(x[i], 2);") == "");
  CHECK(reports_of("atomic_or(x[i], 1); x[i] = 0;") == "");
  CHECK(reports_of("x[i] = 0; atomic_or(x[i], 1);") == "");
  CHECK(reports_of("atomic_or(x[i], 1); all_reduce.add(x);") == "");
  // Only a statement of its own has a place for the report.
  CHECK(reports_of("y[i] = atomic_or(x[i], 1);") == "y");
  CHECK(reports_of("let v = 1 + atomic_or(x[i], 1);") == "");
  CHECK(reports_of("atomic_or(x[i], atomic_or(y[i], 1));") == "x");
  CHECK(reports_of("atomic_or(t[local.x], 1); atomic_or(x[i], 1);") == "x");
}

TEST_CASE("change reports: the grid must be a line") {
  CHECK(reports_of("x[i] = 1;", {.one_dimensional = false}) == "");
  const auto with_size = [](std::string_view size) {
    return reports_of_program(fmt::format(
        "program p workgroup({}) {{ readwrite x: u32[]; x[invocation.x] = 1; }}", size));
  };
  CHECK(with_size("4") == "x");
  CHECK(with_size("4, 2") == "");
  CHECK(with_size("4, 1, 2") == "");
}

TEST_CASE("change reports: of types whose values are their bytes") {
  for (const char* type : {"u32", "i32", "u64", "i64"}) {
    CAPTURE(type);
    CHECK(element_reports("readwrite", type) == "x");
    CHECK(element_reports("output", type) == "x");
  }
  // A caller's float may be a number that is flushed, or another NaN.
  for (const char* type : {"f32", "f64"}) {
    CAPTURE(type);
    CHECK(element_reports("readwrite", type) == "");
    CHECK(element_reports("output", type) == "x");
    CHECK(element_reports("output", type, {.one_dimensional = true, .fresh_outputs = false}) == "");
  }
  for (const char* type : {"f16", "bf16", "bool"}) {
    CAPTURE(type);
    CHECK(element_reports("output", type) == "");
  }
  for (const char* type : {"u8", "i8", "u16", "i16"}) {
    CAPTURE(type);
    const std::string_view value = type[0] == 'u' ? "1" : "1i32";
    CHECK(reports_of_program(
              fmt::format("program p workgroup(4) {{ readwrite x: {}[]; x[invocation.x] = {}; }}",
                          type, value)) == "");
  }
}

TEST_CASE("change reports: a caller's floats and bools may have other bytes than are stored") {
  const auto are_bytes = [](ir::Type element, bool output, bool fresh_outputs) {
    ir::BufferDecl buffer;
    buffer.element = element;
    buffer.access = ir::Access::ReadWrite;
    buffer.output = output;
    return dispatch::values_are_bytes(buffer, fresh_outputs);
  };
  using enum ir::Type;
  for (const ir::Type type : {U8, I8, U16, I16, U32, I32, U64, I64}) {
    CAPTURE(ir::info(type).name);
    CHECK(are_bytes(type, false, true));
    CHECK(are_bytes(type, true, false));
  }
  for (const ir::Type type : {Bool, F16, BF16, F32, F64}) {
    CAPTURE(ir::info(type).name);
    CHECK_FALSE(are_bytes(type, false, true));
    CHECK_FALSE(are_bytes(type, true, false));
    CHECK(are_bytes(type, true, true));
  }
}

TEST_CASE("change reports: a variable that has the old value saves a load") {
  CHECK(reports_of("let v = x[i]; x[i] = v + 1;") == "x (was v)");
  CHECK(reports_of("let v = x[i]; if v > 3 { x[i] = 1; }") == "x (was v)");
  CHECK(reports_of("if i > 3 { let v = x[i]; x[i] = v + 1; }") == "x (was v)");
  CHECK(reports_of("if i > 3 { let v = x[i]; } x[i] = 1;") == "x");
  CHECK(reports_of("{ let v = x[i]; } { x[i] = 1; }") == "x");
  CHECK(reports_of("if i > 3 { let v = x[i]; } else { x[i] = 1; }") == "x");
  CHECK(reports_of("if i > 3 { } else { let v = x[i]; x[i] = 1; }") == "x (was v)");
  CHECK(reports_of("let v = x[i]; v = 3; x[i] = v;") == "x");
  CHECK(reports_of("let v = x[i + 1]; x[i] = v;") == "x");
  CHECK(reports_of("let v = x[i] + 1; x[i] = v;") == "x");
  CHECK(reports_of("let v = y[i]; x[i] = v;") == "x");
  CHECK(reports_of("x[i] = 1; let v = x[i];") == "x");
}

TEST_CASE("change reports: a store in 200 bodies reports, a deeper one has no room to") {
  CHECK(reports_of(nested(200, "x[i] = 1;")) == "x");
  CHECK(reports_of(nested(201, "x[i] = 1;")) == "");
}
