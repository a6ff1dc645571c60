// Validation of declarations, names and types: each code with its place, and its right counterpart.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "felsite/builder.h"
#include "support/fels_text.h"

namespace {

using namespace felsite;
using test::around;
using test::first_message;
using test::found;

// A program of declarations that start on line 2 and one statement.
std::string declare(std::string_view declarations, std::string_view size = "1") {
  return fmt::format("program p workgroup({}) {{\n{}\nreturn; }}", size, declarations);
}

TEST_CASE("validation: F004 a program needs a statement") {
  CHECK(found("program p workgroup(1) { }") == "F004@1:1");
  CHECK(found("\n  program p workgroup(1) { readonly a: u32[]; }") == "F004@2:3");
  CHECK(found("program p workgroup(1) { {} }") == "valid");
  CHECK(found("program p workgroup(1) { op f() -> u32 { let x = 1; yield x; } }") == "F004@1:1");
}

TEST_CASE("validation: the empty program has findings and no place in a text") {
  const ir::Findings findings = ir::validate(ir::Program());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].code == ir::FindingCode::BadName);
  CHECK(findings[1].code == ir::FindingCode::EmptyProgram);
  CHECK(findings[0].line == 0);
  CHECK(findings[0].path == "program");
}

TEST_CASE("validation: F005 names") {
  CHECK(found("program _ workgroup(1) { return; }") == "F005@1:1");
  CHECK(found(declare("readonly _: u32[];")) == "F005@2:1");
  CHECK(found(declare("op select(x: u32) -> u32 { yield x; }")) == "F005@2:1");
  CHECK(found(declare("op f(x: u32, x: u32) -> u32 { yield x; }")) == "F005@2:1");
  CHECK(found(declare("op f(_: u32) -> u32 { yield 1; }")) == "F005@2:1");
  CHECK(found(around("trap(0, _);")) == "F005@3:1");
  CHECK(found(declare("op f(x: u32, y: u32) -> u32 { yield x; }")) == "valid");
}

TEST_CASE("validation: F005 text in hints and regions that could not be read back") {
  for (const std::string bad : {"a\"b", "a\nb", "\xFF", "\xC3"}) {
    ir::Builder k("p", {1});
    k.declare({.name = "a", .hints = {bad}});
    k.region(bad, [&] { k.return_(); });
    const ir::Findings findings = ir::validate(k.build_unvalidated());
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].code == ir::FindingCode::BadName);
    CHECK(findings[0].path == "buffer[0]");
    CHECK(findings[1].code == ir::FindingCode::BadName);
    CHECK(findings[1].path == "entry[0]");
  }
}

TEST_CASE("validation: F006 two buffers or two operations of one name") {
  CHECK(found(declare("readonly a: u32[];\nreadonly a: f32[];")) == "F006@3:1");
  CHECK(found(declare("op f() -> u32 { yield 1; }\nop f() -> u32 { yield 2; }")) == "F006@3:1");
  CHECK(found(declare("readonly f: u32[];\nop f() -> u32 { yield 1; }")) == "valid");
}

TEST_CASE("validation: F007 two buffers with one binding") {
  CHECK(found(declare(
            "readonly a: u32[] binding(1); readonly b: u32[] binding(0);\nreadonly c: u32[];")) ==
        "F007@3:1");
  CHECK(first_message(declare("readonly a: u32[]; readonly b: u32[] binding(0);")) ==
        "Binding 0 of `b` is taken by `a`.");
  CHECK(found(declare("workgroup a: u32[1]; workgroup b: u32[1]; readonly c: u32[];")) == "valid");
}

TEST_CASE("validation: F008 unknown buffers, with a suggestion") {
  CHECK(found(around("bb[0] = 1;")) == "F008@3:1");
  CHECK(found(around("b[0] = rr[0];")) == "F008@3:8");
  CHECK(found(around("b[0] = len(q);")) == "F008@3:8");
  CHECK(found(around("atomic_add(zz[0], 1);")) == "F008@3:1");
  CHECK(found(around("all_reduce.add(zz);")) == "F008@3:1");
  CHECK(found(around("async_load(zz[0], r[0], 1, q);")) == "F008@3:1");
  CHECK(found(around("async_load(t[0], zz[0], 1, q);")) == "F008@3:1");
  CHECK(first_message("program p workgroup(1) { readwrite values: u32[]; valeus[0] = 1; }") ==
        "There is no buffer `valeus`. Did you mean `values`?");
  CHECK(first_message("program p workgroup(1) { readwrite values: u32[]; q[0] = 1; }") ==
        "There is no buffer `q`.");
}

TEST_CASE("validation: F009 unknown variables: never declared, not yet, no longer") {
  CHECK(found(around("b[0] = x;")) == "F009@3:8");
  CHECK(found(around("x = 1;")) == "F009@3:1");
  CHECK(found(around("b[0] = x;\nlet x = 1;")) == "F009@3:8");
  CHECK(found(around("{ let x = 1; }\nb[0] = x;")) == "F009@4:8");
  CHECK(found(around("if true { let x = 1; } else {\nb[0] = x; }")) == "F009@4:8");
  CHECK(found(around("loop i in 0..4 { }\nb[0] = i;")) == "F009@4:8");
  CHECK(found(around("let x = x;")) == "F009@3:9");
  CHECK(found(around("loop i in 0..i { }")) == "F009@3:14");
  CHECK(found(around("let x = 1; { b[0] = x; x = 2; }")) == "valid");
  CHECK(first_message(around("let total = 1; b[0] = totl;")) ==
        "No variable `totl` is visible here. Did you mean `total`?");
  CHECK(first_message(around("b[0] = r;")) == "`r` is a buffer, not a variable.");
}

TEST_CASE("validation: F009 an operation does not see the variables of the program") {
  CHECK(found("program p workgroup(1) { op f() -> u32 {\nyield x; }\nlet x = 1; f(); }") ==
        "F009@2:7");
}

TEST_CASE("validation: F010 unknown operations, also where an argument is unknown too") {
  CHECK(found(around("b[0] = nosuch(1);")) == "F010@3:8");
  CHECK(found(around("b[0] = nosuch(alas);")) == "F010@3:8 F009@3:15");
  CHECK(first_message(around("b[0] = popcont(1);")) ==
        "There is no operation `popcont`. Did you mean `popcount`?");
  CHECK(found("program p workgroup(1) { op f() -> u32 {\nyield g(); } op g() -> u32 { yield 1; } "
              "f(); }") == "F010@2:7");
}

TEST_CASE("validation: F011 shadowing") {
  CHECK(found(around("let x = 1;\nlet x = 2;")) == "F011@4:1");
  CHECK(found(around("let x = 1;\n{ let x = 2; }")) == "F011@4:3");
  CHECK(found(around("loop i in 0..4 {\nloop i in 0..4 { } }")) == "F011@4:1");
  CHECK(found(around("loop i in 0..4 {\nlet i = 1; }")) == "F011@4:1");
  CHECK(found("program p workgroup(1) { op f(x: u32) -> u32 {\nlet x = 1; yield x; } f(1); }") ==
        "F011@2:1");
  CHECK(found(around("{ let x = 1; } { let x = 2; } if true { let x = 3; } else { let x = 4; }")) ==
        "valid");
  CHECK(found("program p workgroup(1) { op f(x: u32) -> u32 { yield x; } let x = 1; f(x); }") ==
        "valid");
}

TEST_CASE("validation: F012 operands of different types") {
  CHECK(found(around("b[0] = 1 + 1i32;")) == "F012@3:10");
  CHECK(found(around("b[0] = 1 << 1u64;")) == "F012@3:10");
  CHECK(found(around("b[0] = min(1, 1.0);")) == "F012@3:8");
  CHECK(found(around("let x = 1.0 == 1;")) == "F012@3:13");
  CHECK(found(around("let x = select(true, 1, 1.0);")) == "F012@3:9");
  CHECK(found(around("let x = fma(1.0, 1.0, 1f16);")) == "F012@3:9");
  CHECK(first_message(around("b[0] = r[0] + 1.5;")) == "`r[0]` is u32, but `1.5` is f32.");
}

TEST_CASE("validation: F012 a value of the wrong type for its place") {
  CHECK(found(around("b[0] = 1.5;")) == "F012@3:8");
  CHECK(found(around("b[1i32] = 1;")) == "F012@3:3");
  CHECK(found(around("b[0] = r[1.5];")) == "F012@3:10");
  CHECK(found(around("if 1 { }")) == "F012@3:4");
  CHECK(found(around("loop i in 0i32..4 { }")) == "F012@3:11");
  CHECK(found(around("loop i in 0..4.5 { }")) == "F012@3:14");
  CHECK(found(around("let x = 1; x = 1.5;")) == "F012@3:16");
  CHECK(found(around("b[0] = select(1, 2, 3);")) == "F012@3:15");
  CHECK(found(around("let x = subgroup_ballot(1);")) == "F012@3:25");
  CHECK(found(around("let x = subgroup_shuffle(1.0, 1.0);")) == "F012@3:31");
  CHECK(found(around("atomic_add(b[0], 1i32);")) == "F012@3:18");
  CHECK(found(around("trap(1.5, t);")) == "F012@3:6");
  CHECK(found(around("async_load(t[1.5], r[true], 1, q);")) == "F012@3:14 F012@3:22");
  CHECK(found("program p workgroup(1) { op f(x: u32) -> f32 {\nyield x; } f(\n1.5); }") ==
        "F012@2:7 F012@3:1");
}

TEST_CASE("validation: F013 operations on types they do not have") {
  CHECK(found(around("let x = 1.5 % 1.5;")) == "F013@3:13");
  CHECK(found(around("let x = 1.5 & 1.5;")) == "F013@3:13");
  CHECK(found(around("let x = ~1.5;")) == "F013@3:9");
  CHECK(found(around("let x = !1;")) == "F013@3:9");
  CHECK(found(around("let x = true + true;")) == "F013@3:14");
  CHECK(found(around("let x = true < true;")) == "F013@3:14");
  CHECK(found(around("let x = 1 && 2;")) == "F013@3:11");
  CHECK(found(around("let x = sin(1f64);")) == "F013@3:9");
  CHECK(found(around("let x = sqrt(1);")) == "F013@3:9");
  CHECK(found(around("let x = abs(1);")) == "F013@3:9");
  CHECK(found(around("let x = unpack4_low(1u64);")) == "F013@3:9");
  CHECK(found(around("let x = 1u8 + 1u8;")) == "F013@3:13");
  CHECK(found(around("let x = subgroup_and(1.5);")) == "F013@3:9");
  CHECK(found(around("let x = subgroup_add(true);")) == "F013@3:9");
  CHECK(found(around("let x = fma(1, 2, 3);")) == "F013@3:9");
  CHECK(found(around("let x = true == false; let y = sqrt(1f64); let z = abs(1i64);")) == "valid");
  CHECK(first_message(around("let x = 1.5 % 1.5;")) == "`mod` is not defined on f32.");
}

TEST_CASE("validation: the typing rule of every operation, over every type") {
  // From the language: which types an operation takes, by the kind of its name.
  const auto allowed = [](std::string_view name, ir::Type type) {
    const bool is_bool = type == ir::Type::Bool;
    const bool integer = type == ir::Type::U32 || type == ir::Type::I32 || type == ir::Type::U64 ||
                         type == ir::Type::I64;
    const bool narrow = type >= ir::Type::U8 && type <= ir::Type::I16;
    const bool is_float = type >= ir::Type::F16 && type <= ir::Type::F64;
    const auto any = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (narrow) return false;
    if (any({"and", "or", "not"})) return is_bool;
    if (any({"eq", "ne"})) return true;
    if (is_bool) return false;
    if (any({"add", "sub", "mul", "div", "lt", "gt", "le", "ge", "min", "max", "negate"}))
      return true;
    if (any({"abs", "sign"})) return is_float || type == ir::Type::I32 || type == ir::Type::I64;
    if (name.starts_with("unpack")) return type == ir::Type::U32;
    if (any({"floor", "ceil", "round", "trunc", "sqrt", "inverse_sqrt", "reciprocal", "is_nan",
             "is_inf", "is_finite"})) {
      return is_float;
    }
    if (any({"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2",
             "log", "log2"})) {
      return is_float && type != ir::Type::F64;
    }
    return integer;
  };
  for (const ir::TypeInfo& row : ir::kTypes) {
    if (row.type == ir::Type::None) continue;
    const std::string value = row.type == ir::Type::Bool ? "true" : fmt::format("1{}", row.name);
    const auto check = [&](std::string_view name, const std::string& call) {
      INFO(call);
      CHECK(found(around(fmt::format("let x = {};", call))) ==
            (allowed(name, row.type) ? "valid" : "F013@3:9"));
    };
    for (std::size_t i = 0; i < ir::kBinaryOpCount; ++i) {
      const std::string_view name = ir::info(static_cast<ir::BinaryOp>(i)).name;
      check(name, fmt::format("{}({}, {})", name, value, value));
    }
    for (std::size_t i = 0; i < ir::kUnaryOpCount; ++i) {
      const std::string_view name = ir::info(static_cast<ir::UnaryOp>(i)).name;
      check(name, fmt::format("{}({})", name, value));
    }
  }
}

TEST_CASE("validation: F014 bitcasts between all pairs of types need one width and no bool") {
  for (const ir::TypeInfo& from : ir::kTypes) {
    for (const ir::TypeInfo& to : ir::kTypes) {
      if (from.type == ir::Type::None || to.type == ir::Type::None) continue;
      const bool fits =
          from.bytes == to.bytes && from.type != ir::Type::Bool && to.type != ir::Type::Bool;
      CHECK(found(around(fmt::format("let x = bitcast<{}>({}(1));", to.name, from.name))) ==
            (fits ? "valid" : "F014@3:9"));
      CHECK(found(around(fmt::format("let x = {}({}(1));", to.name, from.name))) == "valid");
    }
  }
}

TEST_CASE("validation: F024 workgroup sizes") {
  CHECK(found(declare("", "0")) == "F024@1:1");
  CHECK(found(declare("", "1, 0, 1")) == "F024@1:1");
  CHECK(found(declare("", "65536")) == "valid");
  CHECK(found(declare("", "65537")) == "F024@1:1");
  CHECK(found(declare("", "256, 256")) == "valid");
  CHECK(found(declare("", "256, 256, 2")) == "F024@1:1");
  CHECK(found(declare("", "4294967295, 4294967295, 4294967295")) == "F024@1:1");
  CHECK(found(declare("", "65536, 65536, 0")) == "F024@1:1");
}

TEST_CASE("validation: F025 buffers that nothing sizes, and too much workgroup memory") {
  CHECK(found(declare("output a: u32[];")) == "F025@2:1");
  CHECK(found(declare("writeonly a: u32[];")) == "F025@2:1");
  CHECK(found(declare("live_out a: u32[];")) == "F025@2:1");
  CHECK(found(declare("workgroup a: u32[];")) == "F025@2:1");
  CHECK(found(declare("readonly a: u32[]; readwrite b: u32[]; uniform c: u32[];")) == "valid");
  CHECK(found(declare("workgroup a: u32[262144];")) == "valid");
  CHECK(found(declare("workgroup a: u32[262144];\nworkgroup b: u8[1];")) == "F025@3:1");
  CHECK(found(declare("workgroup a: f64[4294967295];")) == "F025@2:1");
}

TEST_CASE("validation: F026 outputs must be writable") {
  CHECK(found(declare("output readonly a: u32[4];")) == "F026@2:1");
  CHECK(found(declare("output uniform a: u32[4];")) == "F026@2:1");
  CHECK(found(declare("live_out workgroup a: u32[4];")) == "F026@2:1");
  CHECK(found(declare("output live_out a: u32[4]; output writeonly b: u32[4];")) == "valid");
}

TEST_CASE("validation: five mistakes come in one run, in the order of the text") {
  CHECK(found("program p workgroup(0) {\n"
              "  readonly a: u32[];\n"
              "  output o: u32[];\n"
              "  let x = 1 + 1.5;\n"
              "  a[0] = y;\n"
              "  if x { }\n"
              "  return;\n"
              "  o[0] = 1 / 0;\n"
              "}\n") == "F024@1:1 F025@3:3 F012@4:13 F015@5:3 F009@5:10 F021@8:3 F023@8:12");
}

TEST_CASE("validation: one mistake is reported once, not again where its value is used") {
  CHECK(found(around("let x = nosuch;\nlet y = x + 1; b[0] = -y; if x { } loop i in x..y { }")) ==
        "F009@3:9");
  CHECK(found(around("b[nosuch] = sin(1.0 + 1);")) == "F009@3:3 F012@3:21");
}

TEST_CASE("validation: every finding has a place, a message and a fix that are sentences") {
  const std::string text = around(
      "let x = 1 + 1.5; nosuch[0] = y; b[99] = 1; loop i in 0..4 { i = 1; } f(); r[0] = 1 / 0; "
      "if local.x == 0 { barrier; } async_wait(q); atomic_add(r[0], 1); return; return;");
  const ir::Findings findings = test::findings_of(text);
  CHECK(findings.size() >= 11);
  for (const ir::Finding& finding : findings) {
    INFO(ir::to_string(finding));
    CHECK(finding.line == 3);
    CHECK(finding.column > 0);
    CHECK((finding.message.ends_with('.') || finding.message.ends_with('?')));
    CHECK(finding.fix.ends_with('.'));
    CHECK(finding.path.empty());
  }
}

}  // namespace
