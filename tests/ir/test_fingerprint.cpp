// The fingerprint: the same for the same structure, in every process, and different otherwise.
#include <fmt/format.h>

#include <map>
#include <random>
#include <set>

#include "support/analysis_helpers.h"
#include "support/program_generator.h"

using namespace felsite::ir;
using felsite::test::parsed;
using felsite::test::valid_program;

namespace {

std::string fingerprint(std::string_view text) { return to_string(parsed(text).fingerprint()); }

const std::string kBase = R"(program base workgroup(8, 2, 1) {
  readonly x: f32[16] hint("hot");
  readwrite y: u32[8] binding(3);
  output z: u32[4];
  workgroup s: u32[4];
  op twice(v: u32) -> u32 { yield v + v; }
  let i = invocation.x;
  let f = x[i] * 2.0;
  let n = twice(i);
  y[i] = select(f < 1.0, n, i);
  s[0] = atomic_add.acquire(y[1], 2);
  loop j in 0..n { region "inner" { z[j] = i - 1; } }
  if i == 0 { barrier.release; } else { trap(i, bad); }
  async_load(s[1], y[2], 3, copy);
  async_wait(copy);
})";

}  // namespace

TEST_CASE("fingerprint: the golden value of a fixed program never changes") {
  // Caches and logs outlive a process: a change of this value is a change of format, and
  // "felsite program 1" in src/ir/fingerprint.cpp must then be incremented.
  CHECK(fingerprint(kBase) == "857d9594782c3deff16ce2a6e0119fdb");
}

TEST_CASE("fingerprint: it is written as 32 hexadecimal digits") {
  CHECK(to_string(Fingerprint{0x1, 0xABCDEF}) == "00000000000000010000000000abcdef");
  CHECK(fingerprint(kBase).size() == 32);
}

TEST_CASE("fingerprint: layout, comments and numbers spelled otherwise do not count") {
  const std::string plain = "program p workgroup(8) { readwrite a: u32[]; a[0] = 16 + a[1]; }";
  for (const char* other : {
           "program p workgroup(8, 1, 1){readwrite a:u32[];a[0]=16+a[1];}",
           "// a comment\nprogram p\n workgroup(8)\t{ readwrite a: u32[]; // another\n\n a[0] = 16 "
           "+ a[1];\n}\n",
           "program p workgroup(8) { readwrite a: u32[] binding(0); a[0] = (0x10 + (a[1])); }",
           "program p workgroup(8) { readwrite a: u32[]; a[0x0] = 1_6u32 + a[1]; }",
       }) {
    CAPTURE(other);
    CHECK(fingerprint(other) == fingerprint(plain));
  }
}

TEST_CASE("fingerprint: names of variables and parameters do not count") {
  const char* const one = R"(program p workgroup(8) { readwrite a: u32[];
    op f(x: u32, y: u32) -> u32 { let t = x - y; yield t; }
    let i = 1; i = 2; loop k in 0..i { a[k] = f(i, k); } })";
  const char* const two = R"(program p workgroup(8) { readwrite a: u32[];
    op f(left: u32, right: u32) -> u32 { let difference = left - right; yield difference; }
    let count = 1; count = 2; loop a in 0..count { a[a] = f(count, a); } })";
  CHECK(fingerprint(one) == fingerprint(two));
}

TEST_CASE("fingerprint: which variable is meant does count") {
  CHECK(fingerprint("program p workgroup(1) { let a = 1; let b = 2; let c = a; }") !=
        fingerprint("program p workgroup(1) { let a = 1; let b = 2; let c = b; }"));
  CHECK(fingerprint("program p workgroup(1) { let a = 1; let b = 2; a = 3; }") !=
        fingerprint("program p workgroup(1) { let a = 1; let b = 2; b = 3; }"));
}

TEST_CASE("fingerprint: any change of any part changes it") {
  struct Change {
    std::string from;
    std::string to;
  };
  const std::vector<Change> changes{
      {"program base", "program bass"},
      {"workgroup(8, 2, 1)", "workgroup(8, 1, 2)"},
      {"workgroup(8, 2, 1)", "workgroup(16, 1, 1)"},
      {"workgroup(8, 2, 1)", "workgroup(8, 2, 1) fast"},
      {"readonly x: f32[16]", "uniform x: f32[16]"},
      {"f32[16]", "f32[17]"},
      {"f32[16]", "f32[]"},
      {"f32[16]", "f16[16]"},
      {"hint(\"hot\")", "hint(\"cold\")"},
      {"hint(\"hot\")", ""},
      {"hint(\"hot\")", "hint(\"hot\") hint(\"hot\")"},
      {"hint(\"hot\")", "hint(\"ho\") hint(\"t\")"},
      {"binding(3)", "binding(2)"},
      {"output z", "output live_out z"},
      {"output z", "live_out z"},
      {"output z", "writeonly z"},
      {"output z: u32[4]", "output zz: u32[4]"},
      {"workgroup s: u32[4]", "workgroup s: u32[5]"},
      {"op twice", "op thrice"},
      {"v: u32) -> u32", "v: i32) -> u32"},
      {") -> u32", ") -> i32"},
      {"yield v + v", "yield v"},
      {"yield v + v", "let w = v; yield w + v"},
      {"invocation.x", "invocation.y"},
      {"invocation.x", "local.x"},
      {"x[i] * 2.0", "x[i] + 2.0"},
      {"x[i] * 2.0", "x[i] * 2.5"},
      {"x[i] * 2.0", "x[i] * 2.0f16"},
      {"x[i] * 2.0", "2.0 * x[i]"},
      {"x[i]", "x[0]"},
      {"x[i]", "y[i]"},
      {"select(f < 1.0, n, i)", "select(f < 1.0, i, n)"},
      {"f < 1.0", "f <= 1.0"},
      {"f < 1.0", "f < -1.0"},
      {"atomic_add.acquire", "atomic_add"},
      {"atomic_add.acquire", "atomic_add.release"},
      {"atomic_add", "atomic_sub"},
      {"y[1], 2", "s[1], 2"},
      {"loop j in 0..n", "loop j in 1..n"},
      {"loop j in 0..n", "loop j in 0..i"},
      {"\"inner\"", "\"outer\""},
      {"region \"inner\"", ""},
      {"barrier.release", "barrier"},
      {"barrier.release", "gridsync"},
      {"barrier.release;", ""},
      {"} else { trap(i, bad); }", "} trap(i, bad);"},
      {"{ barrier.release; } else { trap(i, bad); }",
       "{ } else { barrier.release; trap(i, bad); }"},
      {"bad", "worse"},
      {"async_load", "async_store"},
      {"3, copy", "4, copy"},
      {"s[1], y[2]", "y[2], s[1]"},
      {"async_wait(copy);", ""},
      {"async_wait(copy)", "resume(copy)"},
      {"async_wait(copy)", "async_wait(bad)"},
      {"let n = twice(i)", "let n = twice(i, i)"},
      {"let n = twice(i)", "let n = once(i)"},
      {"let n = twice(i)", "let n = twyce(i)"},
      {"s[0] =", "t[0] ="},
      {"s[0] =", "u[0] ="},
      {"i - 1", "unknown - 1"},
      {"i - 1", "nowhere - 1"},
      {"async_wait(copy);", "async_wait(copy); return;"},
  };
  std::map<std::string, std::string> seen{{fingerprint(kBase), "nothing"}};
  for (const Change& change : changes) {
    const std::size_t at = kBase.find(change.from);
    REQUIRE(at != std::string::npos);
    std::string text = kBase;
    text.replace(at, change.from.size(), change.to);
    const auto [other, fresh] = seen.emplace(fingerprint(text), change.to);
    INFO(change.from, " -> ", change.to, " has the fingerprint of ", other->second);
    CHECK(fresh);
  }
}

TEST_CASE("fingerprint: the order of statements, buffers and operations counts") {
  const std::string head = "program p workgroup(1) { ";
  const std::string a = "readwrite a: u32[] binding(0); ";
  const std::string b = "readwrite b: u32[] binding(1); ";
  CHECK(fingerprint(head + a + b + "a[0] = 1; b[0] = 1; }") !=
        fingerprint(head + a + b + "b[0] = 1; a[0] = 1; }"));
  CHECK(fingerprint(head + a + b + "return; }") != fingerprint(head + b + a + "return; }"));
  const std::string f = "op f() -> u32 { yield 1; } ";
  const std::string g = "op g() -> u32 { yield 1; } ";
  CHECK(fingerprint(head + f + g + "return; }") != fingerprint(head + g + f + "return; }"));
}

TEST_CASE("fingerprint: where a statement stands counts") {
  std::set<std::string> seen;
  for (const char* body : {
           "loop i in 0..4 { a[0] = 1; } a[1] = 2;",
           "loop i in 0..4 { a[0] = 1; a[1] = 2; }",
           "loop i in 0..4 { } a[0] = 1; a[1] = 2;",
           "if true { a[0] = 1; } else { a[1] = 2; }",
           "if true { a[0] = 1; a[1] = 2; }",
           "if true { } else { a[0] = 1; a[1] = 2; }",
           "if true { a[0] = 1; } a[1] = 2;",
           "{ a[0] = 1; } a[1] = 2;",
           "{ a[0] = 1; { } } a[1] = 2;",
           "{ { a[0] = 1; } } a[1] = 2;",
       }) {
    CAPTURE(body);
    CHECK(seen.insert(fingerprint(
                          fmt::format("program p workgroup(1) {{ readwrite a: u32[]; {} }}", body)))
              .second);
  }
}

TEST_CASE("fingerprint: names that run into each other are distinguished") {
  CHECK(fingerprint("program ab workgroup(1) { readwrite c: u32[]; return; }") !=
        fingerprint("program a workgroup(1) { readwrite bc: u32[]; return; }"));
  CHECK(fingerprint("program p workgroup(1) { trap(0, ab); trap(0, c); }") !=
        fingerprint("program p workgroup(1) { trap(0, a); trap(0, bc); }"));
}

TEST_CASE("fingerprint: no two operations or literals share one") {
  std::set<std::string> seen;
  std::size_t made = 0;
  const auto add = [&](const Builder& k) {
    ++made;
    seen.insert(to_string(k.build_unvalidated().fingerprint()));
  };
  for (std::size_t i = 0; i < kBinaryOpCount; ++i) {
    Builder k("p", {1});
    k.let("x", k.binary(static_cast<BinaryOp>(i), k.local(0), 1u));
    add(k);
  }
  for (std::size_t i = 0; i < kUnaryOpCount; ++i) {
    Builder k("p", {1});
    k.let("x", k.unary(static_cast<UnaryOp>(i), k.local(0)));
    add(k);
  }
  for (const TypeInfo& row : kTypes) {
    for (const std::uint64_t bits : {0u, 1u}) {
      const bool flushed = bits == 1 && row.kind == TypeClass::Float && row.type != Type::F16;
      if (flushed || row.type == Type::None) continue;
      Builder k("p", {1});
      k.let("x", Value(Literal{row.type, bits}));
      add(k);
    }
  }
  for (int bit = 0; bit < 64; ++bit) {
    Builder k("p", {1});
    k.let("x", Value(Literal{Type::U64, std::uint64_t{1} << bit}));
    if (bit != 0) add(k);
  }
  CHECK(seen.size() == made);
}

TEST_CASE("fingerprint: the binding of a workgroup buffer means nothing") {
  const auto made = [](std::uint32_t binding) {
    Builder k("p", {1});
    k.declare(
        {.name = "s", .binding = binding, .count = 4, .access = Access::Workgroup, .hints = {}});
    k.return_();
    return k.build()->fingerprint();
  };
  CHECK(made(0) == made(7));
}

TEST_CASE("fingerprint: 20000 generated programs do not collide") {
  std::map<std::string, std::string> seen;  // fingerprint to text
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    using felsite::test::ProgramGenerator;
    const std::string text = ProgramGenerator(seed, ProgramGenerator::Kind::Few).text();
    const Program program = parsed(text);
    const auto [other, fresh] = seen.emplace(to_string(program.fingerprint()), text);
    if (!fresh && print(parsed(other->second)) != print(program)) {
      FAIL_CHECK("seed " << seed << "\n" << text << "\ncollides with\n" << other->second);
    }
  }
  CHECK(seen.size() > 19'000);  // the generator hardly ever repeats itself
}
