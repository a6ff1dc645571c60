// Validation of statements: access, placement, tags, copies, collectives.
#include <doctest/doctest.h>

#include <string>

#include "support/fels_text.h"

namespace {

using namespace felsite;
using test::around;
using test::first_message;
using test::found;

std::string with(std::string_view buffers, std::string_view statements) {
  return fmt::format("program p workgroup(8) {{ {}\n{} }}", buffers, statements);
}

TEST_CASE("validation: F015 stores and loads against the access") {
  CHECK(found(around("r[0] = 1;")) == "F015@3:1");
  CHECK(found(around("n[0] = 1;")) == "F015@3:1");
  CHECK(found(with("writeonly w: u32[4];", "w[0] = w[1];")) == "F015@2:8");
  CHECK(found(with("writeonly w: u32[4];", "w[0] = len(w);")) == "valid");
  CHECK(found(around("b[0] = 1; t[0] = 1; b[1] = n[0] + r[0];")) == "valid");
  CHECK(first_message(around("r[0] = 1;")) == "`r` is readonly and cannot be written.");
}

TEST_CASE("validation: a narrow element takes its own type and the type its loads give") {
  for (const std::string_view type : {"u8", "u16"}) {
    const std::string buffer = fmt::format("readwrite w: {}[4];", type);
    CHECK(found(with(buffer, "w[0] = w[1] + 1;")) == "valid");
    CHECK(found(with(buffer, fmt::format("w[0] = 7{};", type))) == "valid");
    CHECK(found(with(buffer, "w[0] = 1i32;")) == "F012@2:8");
  }
  for (const std::string_view type : {"i8", "i16"}) {
    const std::string buffer = fmt::format("readwrite w: {}[4];", type);
    CHECK(found(with(buffer, "w[0] = w[1] + 1i32;")) == "valid");
    CHECK(found(with(buffer, "w[0] = 1;")) == "F012@2:8");
  }
}

TEST_CASE("validation: F016 atomics and the access of their buffer") {
  CHECK(found(around("atomic_add(r[0], 1);")) == "F016@3:1");
  CHECK(found(around("atomic_add(n[0], 1);")) == "F016@3:1");
  CHECK(found(with("output writeonly w: u32[4];", "atomic_add(w[0], 1);")) == "F016@2:1");
  CHECK(found(with("output o: u32[4];", "atomic_add(o[0], 1);")) == "valid");
  CHECK(found(around("atomic_add(b[0], 1); atomic_add(t[0], 1);")) == "valid");
}

TEST_CASE("validation: F016 every atomic on every element type") {
  for (const ir::TypeInfo& type : ir::kTypes) {
    if (type.type == ir::Type::None) continue;
    for (std::size_t i = 0; i < ir::kAtomicOpCount; ++i) {
      const ir::AtomicOpInfo& row = ir::info(static_cast<ir::AtomicOp>(i));
      const bool integer =
          type.name == "u32" || type.name == "i32" || type.name == "u64" || type.name == "i64";
      const bool allowed = integer || (type.name == "f32" && row.name == "atomic_add");
      const std::string value = type.name == "bool" ? "true" : fmt::format("1{}", type.name);
      const bool three = row.op == ir::AtomicOp::CompareExchange;
      const std::string text = with(
          fmt::format("readwrite w: {}[4];", type.name),
          fmt::format("{}(w[0], {}{}{});", row.name, value, three ? ", " : "", three ? value : ""));
      INFO(text);
      CHECK(found(text) == (allowed ? "valid" : "F016@2:1"));
    }
  }
}

TEST_CASE("validation: F017 orderings of barriers and atomics") {
  CHECK(found(around("barrier.relaxed;")) == "F017@3:1");
  CHECK(found(around("atomic_add.gridsync(b[0], 1);")) == "F017@3:1");
  for (const std::string_view order : {"acquire", "release", "acq_rel", "seq_cst"}) {
    CHECK(found(around(fmt::format("barrier.{}; atomic_add.{}(b[0], 1);", order, order))) ==
          "valid");
  }
  CHECK(found(around("atomic_add.relaxed(b[0], 1);")) == "valid");
}

TEST_CASE("validation: F018 loop variables and parameters are read-only") {
  CHECK(found(around("loop i in 0..4 {\ni = 1; }")) == "F018@4:1");
  CHECK(found("program p workgroup(1) { op f(x: u32) -> u32 {\nx = 1; yield x; } f(1); }") ==
        "F018@2:1");
  CHECK(first_message(around("loop i in 0..4 { i = 1; }")) ==
        "`i` is a loop variable and cannot be assigned.");
  CHECK(found(around("loop i in 0..4 { let k = i; k = k + 1; }")) == "valid");
}

TEST_CASE("validation: F021 statements after return") {
  CHECK(found(around("return;\nb[0] = 1;")) == "F021@4:1");
  CHECK(found(around("return;\nb[0] = 1;\nb[1] = 1;")) == "F021@4:1");
  CHECK(found(around("if true { return;\nb[0] = 1; }")) == "F021@4:1");
  CHECK(found(around("if true { } else { return;\n{ } }")) == "F021@4:1");
  CHECK(found(around("loop i in 0..4 { return;\nreturn; }")) == "F021@4:1");
  CHECK(found(around("if true { return; } else { return; } b[0] = 1;")) == "valid");
  CHECK(found(around("if true { return; } b[0] = 1; return;")) == "valid");
}

TEST_CASE("validation: F022 constant indices") {
  CHECK(found(around("b[16] = 1;")) == "F022@3:1");
  CHECK(found(around("b[15] = 1;")) == "valid");
  CHECK(found(around("atomic_add(b[16], 1);")) == "F022@3:1");
  CHECK(found(around("t[64] = 1;")) == "F022@3:1");
  CHECK(found(around("f[4294967295] = 1.0;")) == "valid");   // sized by the caller
  CHECK(found(around("b[0] = b[4294967295];")) == "valid");  // a load past the end gives zero
  CHECK(found(around("b[8 + 8] = 1;")) == "valid");          // not a literal
  CHECK(found(with("readonly g: u32[5];", "indirect_dispatch(g[2]);")) == "valid");
  CHECK(found(with("readonly g: u32[5];", "indirect_dispatch(g[3]);")) == "F022@2:1");
  CHECK(found(with("readonly g: u32[5];", "indirect_dispatch(g[4294967295]);")) == "F022@2:1");
  CHECK(found(with("readonly g: u32[];", "indirect_dispatch(g[4294967295]);")) == "valid");
}

TEST_CASE("validation: F023 integer division by a literal zero") {
  CHECK(found(around("b[0] = r[0] / 0;")) == "F023@3:13");
  CHECK(found(around("b[0] = r[0] % 0;")) == "F023@3:13");
  CHECK(found(around("s[0] = s[0] / 0i32;")) == "F023@3:13");
  CHECK(found(around("let x = 1u64 / 0u64; let y = 1i64 % 0x0i64;")) == "F023@3:14 F023@3:35");
  CHECK(found(around("f[0] = f[0] / 0.0;")) == "valid");
  CHECK(found(around("b[0] = r[0] / (1 - 1);")) == "valid");
  CHECK(found(around("b[0] = 0 / r[0];")) == "valid");
}

TEST_CASE("validation: F027 arguments of operations") {
  const std::string op = "op f(x: u32, y: u32) -> u32 { yield x + y; }";
  CHECK(found(with(op, "f(1);")) == "F027@2:1");
  CHECK(found(with(op, "f();")) == "F027@2:1");
  CHECK(found(with(op, "f(1, 2, 3);")) == "F027@2:1");
  CHECK(found(with(op, "f(1, 2);")) == "valid");
  CHECK(first_message(with(op, "f(1);")) == "`f` takes 2 arguments, 1 given.");
}

TEST_CASE("validation: F028 recursion") {
  CHECK(found(with("op f() -> u32 {\nyield f(); }", "f();")) == "F028@2:7");
  CHECK(found(with("op f(x: u32) -> u32 {\nlet y = f(x); yield y; }", "f(1);")) == "F028@2:9");
  CHECK(found(with("op f() -> u32 { yield 1; } op g() -> u32 { yield f() + f(); }", "g();")) ==
        "valid");
}

TEST_CASE("validation: F029 what an operation must not do") {
  const auto op = [](std::string_view body, std::string_view result = "1") {
    return found(
        fmt::format("program p workgroup(8) {{ readwrite b: u32[4]; workgroup t: u32[4]; "
                    "op f() -> u32 {{\n{}\nyield {}; }} f(); }}",
                    body, result));
  };
  for (const std::string_view statement :
       {"b[0] = 1;", "return;", "barrier;", "gridsync;", "async_load(t[0], b[0], 1, q);",
        "trap(0, q);", "all_reduce.add(b);", "broadcast(b, 0);", "indirect_dispatch(b[0]);"}) {
    INFO(statement);
    CHECK(op(statement) == "F029@2:1");
  }
  for (const std::string_view value :
       {"b[0]", "len(b)", "invocation.x", "local.x", "workgroup_id.x", "num_workgroups.x",
        "workgroup_size.x", "subgroup_lane", "subgroup_size", "atomic_add(b[0], 1)",
        "subgroup_add(1)", "subgroup_shuffle(1, 0)", "u32(subgroup_ballot(true))"}) {
    INFO(value);
    CHECK(op("", value).starts_with("F029@3:"));
  }
  CHECK(op("let x = 1; x = 2; if x > 1 { { x = 3; } } loop i in 0..x { region \"r\" { } }", "7") ==
        "valid");
}

TEST_CASE("validation: F030 indirect dispatch") {
  CHECK(found(around("b[0] = 1;\nindirect_dispatch(r[0]);")) == "F030@4:1");
  CHECK(found(around("indirect_dispatch(r[0]);\nindirect_dispatch(r[0]);")) == "F030@4:1");
  CHECK(found(around("if true {\nindirect_dispatch(r[0]); }")) == "F030@4:1");
  CHECK(found(around("indirect_dispatch(f[0]);")) == "F030@3:1");
  CHECK(found(around("indirect_dispatch(t[0]);")) == "F030@3:1");
  CHECK(found(with("output o: u32[4];", "indirect_dispatch(o[0]);")) == "F030@2:1");
  CHECK(found(around("indirect_dispatch(r[0]); b[0] = 1;")) == "valid");
  CHECK(found(around("indirect_dispatch(n[1]);")) == "valid");
  CHECK(found("program p workgroup(1) { readonly r: u32[]; op g() -> u32 { let x = 1; yield x; } "
              "indirect_dispatch(r[0]); }") == "valid");
}

TEST_CASE("validation: F031 asynchronous copies") {
  CHECK(found(around(
            "async_load(t[0], r[0], 1, q); async_store(b[0], t[0], 1024, q); async_wait(q);")) ==
        "valid");
  CHECK(found(around("async_load(t[0], n[0], 4, q);")) == "valid");
  CHECK(found(around("async_load(b[0], r[0], 1, q);")) == "F031@3:1");
  CHECK(found(around("async_load(t[0], t[0], 1, q);")) == "F031@3:1");
  CHECK(found(around("async_load(t[0], f[0], 1, q);")) == "F031@3:1");
  CHECK(found(around("async_store(t[0], b[0], 1, q);")) == "F031@3:1");
  CHECK(found(around("async_store(r[0], t[0], 1, q);")) == "F031@3:1");
  CHECK(found(around("async_load(t[0], r[0], 0, q);")) == "F031@3:1");
  CHECK(found(around("async_load(t[0], r[0], 1025, q);")) == "F031@3:1");
  CHECK(found(with("workgroup t: u32[4]; writeonly w: u32[4];", "async_load(t[0], w[0], 1, q);")) ==
        "F031@2:1");
  CHECK(found(with("workgroup t: u32[4]; writeonly w: u32[4];",
                   "async_store(w[0], t[0], 1, q);")) == "valid");
}

TEST_CASE("validation: F032 tags of copies and of traps are apart") {
  CHECK(found(around("async_wait(q);")) == "F032@3:1");
  CHECK(found(around("resume(q);")) == "F032@3:1");
  CHECK(found(around("trap(0, q);\nasync_wait(q);")) == "F032@4:1");
  CHECK(found(around("async_load(t[0], r[0], 1, q);\nresume(q);")) == "F032@4:1");
  CHECK(found(around("resume(q); trap(0, q);")) == "valid");
  CHECK(found(around("if true { async_load(t[0], r[0], 1, q); } async_wait(q);")) == "valid");
  CHECK(first_message(around("async_load(t[0], r[0], 1, fetch); async_wait(fech);")) ==
        "No asynchronous copy carries the tag `fech`. Did you mean `fetch`?");
}

TEST_CASE("validation: F033 collectives stand at the top and on fitting buffers") {
  CHECK(found(around(
            "all_reduce.add(b); all_gather(b, r); reduce_scatter.max(b, r); broadcast(b, 0);")) ==
        "valid");
  CHECK(found(around("{ region \"r\" { all_reduce.add(b); } }")) == "valid");
  CHECK(found(around("if true {\nall_reduce.add(b); }")) == "F033@4:1");
  CHECK(found(around("loop i in 0..4 { {\nbroadcast(b, 0); } }")) == "F033@4:1");
  CHECK(found(around("all_reduce.add(r);")) == "F033@3:1");
  CHECK(found(around("all_reduce.add(t);")) == "F033@3:1");
  CHECK(found(around("all_reduce.and(f);")) == "F033@3:1");
  CHECK(found(around("all_gather(b, f);")) == "F033@3:1");
  CHECK(found(around("all_gather(b, t);")) == "F033@3:1");
  CHECK(found(around("broadcast(n, 0);")) == "F033@3:1");
  CHECK(found(with("writeonly w: u32[4]; readonly r: u32[];", "all_gather(w, r);")) == "valid");
  CHECK(found(with("writeonly w: u32[4];", "all_reduce.add(w);")) == "F033@2:1");
  CHECK(found(with("readwrite w: u8[4];", "all_reduce.add(w);")) == "F033@2:1");
}

TEST_CASE("validation: F036 counts what it does not list") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "x = 1;";
  CHECK(test::findings_of(around(text)).size() == 1000);
  const ir::Findings findings = test::findings_of(around(text + "x = 1; x = 1;"));
  REQUIRE(findings.size() == 1001);
  CHECK(findings.back().code == ir::FindingCode::TooManyFindings);
  CHECK(findings.back().message == "2 further findings are not listed.");
  CHECK(findings.back().line == 1);
}

}  // namespace
