// A value means what it meant where it was made: what the builder binds to variables, and where.
#include <fmt/format.h>

#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::check_refused;
using felsite::test::check_same;

namespace {

struct Kernel : Builder {
  Kernel() : Builder("p", {4}) {}
  Buffer a = readwrite("a", Type::U32);
  Buffer s = workgroup("s", Type::U32, 4);

  void same(std::string_view body) {
    check_same(
        *this,
        fmt::format("program p workgroup(4) {{ readwrite a: u32[]; workgroup s: u32[4]; {} }}",
                    body));
  }
};

void check_leak(const Builder& builder) {
  const Findings findings = check_refused(builder);
  INFO(felsite::test::describe(findings));
  CHECK(felsite::test::has_code(findings, FindingCode::UnknownVariable));
  // A leaked value is one mistake; nothing else is wrong with these kernels.
  CHECK(findings.size() == 1);
}

}  // namespace

TEST_CASE("binding: a pure value used once stays inside its expression, wherever that is") {
  Kernel k;
  const Value pure = k.invocation(0) * 3u + k.length(k.a);
  k.a[0u] = 1u;
  k.loop("i", 0u, 4u, [&](Value i) { k.a[i] = pure; });
  k.same("a[0] = 1; loop i in 0..4 { a[i] = invocation.x * 3 + len(a); }");
}

TEST_CASE("binding: a load used at once stays inside its expression") {
  Kernel k;
  const Value v = k.a[0u];
  k.a[1u] = v + 1u;
  k.same("a[1] = a[0] + 1;");
}

TEST_CASE("binding: a load used after a store is read before it") {
  Kernel k;
  const Value v = k.a[0u];
  k.a[0u] = 7u;
  k.a[1u] = v;
  k.same("let v = a[0]; a[0] = 7; a[1] = v;");
}

TEST_CASE("binding: what is made of a load is as changeable as the load") {
  const std::vector<std::pair<std::function<Value(Builder&, Value)>, std::string>> forms{
      {[](Builder&, Value v) { return v + 1u; }, "a[0] + 1"},
      {[](Builder&, Value v) { return 1u - v; }, "1 - a[0]"},
      {[](Builder&, Value v) { return ~v; }, "~a[0]"},
      {[](Builder& k, Value v) { return k.select(true, 1u, v); }, "select(true, 1, a[0])"},
      {[](Builder& k, Value v) { return k.cast(Type::U32, k.cast(Type::F32, v)); },
       "u32(f32(a[0]))"},
      {[](Builder& k, Value v) { return k.bitcast(Type::U32, v); }, "bitcast<u32>(a[0])"},
      {[](Builder& k, Value v) {
         return k.cast(Type::U32, k.fma(1.0f, 2.0f, k.cast(Type::F32, v)));
       },
       "u32(fma(1.0, 2.0, f32(a[0])))"},
  };
  for (const auto& [make, text] : forms) {
    Kernel k;
    const Value v = make(k, k.a[0u]);
    k.a[0u] = 7u;
    k.a[1u] = v;
    k.same(fmt::format("let v = {}; a[0] = 7; a[1] = v;", text));
  }
}

TEST_CASE("binding: a call is as changeable as its arguments") {
  for (const bool reads : {false, true}) {
    Builder k("p", {1});
    const OpHandle twice = k.op("twice", {{"x", Type::U32}}, Type::U32,
                                [](std::span<const Value> v) { return v[0] * 2u; });
    Buffer a = k.readwrite("a", Type::U32);
    const Value v = k.call(twice, {reads ? Value(a[0u]) : k.invocation(0)});
    a[0u] = 7u;
    a[1u] = v;
    const std::string head =
        "program p workgroup(1) { readwrite a: u32[]; op twice(x: u32) -> u32 { yield x * 2; }";
    check_same(k, head + (reads ? "let v = twice(a[0]); a[0] = 7; a[1] = v; }"
                                : "a[0] = 7; a[1] = twice(invocation.x); }"));
  }
}

TEST_CASE("binding: every statement between a load and its use makes the load come first") {
  const std::vector<std::pair<std::function<void(Kernel&)>, std::string>> statements{
      {[](Kernel& k) { k.barrier(); }, "barrier;"},
      {[](Kernel& k) { k.grid_sync(); }, "gridsync;"},
      {[](Kernel& k) { k.atomic(AtomicOp::Add, k.a[0u], 1u); }, "atomic_add(a[0], 1);"},
      {[](Kernel& k) { k.block([&] { k.a[0u] = 1u; }); }, "{ a[0] = 1; }"},
      {[](Kernel& k) { k.if_(true, [&] { k.a[0u] = 1u; }); }, "if true { a[0] = 1; }"},
      {[](Kernel& k) { k.loop("i", 0u, 2u, [&](Value i) { k.a[i] = 1u; }); },
       "loop i in 0..2 { a[i] = 1; }"},
      {[](Kernel& k) { k.all_reduce(ReduceOp::Add, k.a); }, "all_reduce.add(a);"},
      {[](Kernel& k) { k.async_load(k.s[0u], k.a[0u], 1, "t"); }, "async_load(s[0], a[0], 1, t);"},
  };
  for (const auto& [statement, text] : statements) {
    Kernel k;
    const Value v = k.a[0u];
    statement(k);
    k.a[1u] = v;
    k.same(fmt::format("let v = a[0]; {} a[1] = v;", text));
  }
}

TEST_CASE("binding: a variable's value is the one it had, not the one it gets") {
  Kernel k;
  Var x = k.var("x", k.local(0));
  const Value before = x;
  x = x + 1u;
  k.a[0u] = before;
  k.a[1u] = x;
  k.same("let x = local.x; let b = x; x = x + 1; a[0] = b; a[1] = x;");
}

TEST_CASE("binding: two variables can be swapped") {
  Kernel k;
  Var x = k.var("x", 1u);
  Var y = k.var("y", 2u);
  const Value old = x;
  x = y;
  y = old;
  k.same("let x = 1; let y = 2; let t = x; x = y; y = t;");
}

TEST_CASE("binding: a variable read before a loop keeps that value in the loop") {
  Kernel k;
  Var x = k.var("x", 1u);
  const Value start = x;
  k.loop("i", 0u, 4u, [&](Value) { x = start + x; });
  k.same("let x = 1; let start = x; loop i in 0..4 { x = start + x; }");
}

TEST_CASE("binding: constants, parameters and loop variables never change, so they stay inline") {
  Kernel k;
  const Value c = k.let("c", k.local(0));
  k.loop("i", 0u, 4u, [&](Value i) {
    const Value sum = c + i;
    k.a[0u] = 1u;
    k.barrier();
    k.a[1u] = sum;
  });
  k.same("let c = local.x; loop i in 0..4 { a[0] = 1; barrier; a[1] = c + i; }");
}

TEST_CASE("binding: a value used twice is computed once") {
  Kernel k;
  const Value v = k.invocation(0) * 3u;
  k.a[v] = v;
  k.same("let v = invocation.x * 3; a[v] = v;");
}

TEST_CASE("binding: leaves used twice are not worth a variable") {
  Kernel k;
  const Value i = k.invocation(0);
  const Value n = k.length(k.a);
  k.a[i] = i + n;
  k.a[n] = n;
  k.same("a[invocation.x] = invocation.x + len(a); a[len(a)] = len(a);");
}

TEST_CASE("binding: the index of an element that is read and written is computed once") {
  Kernel k;
  Element e = k.a[k.local(0) + 1u];
  e = e + 1u;
  k.same("let i = local.x + 1; a[i] = a[i] + 1;");
}

TEST_CASE("binding: an element keeps the index it was made with") {
  Kernel k;
  Var x = k.var("x", 1u);
  Element e = k.a[x];
  x = 2u;
  e = 7u;
  k.same("let x = 1; let i = x; x = 2; a[i] = 7;");
}

TEST_CASE("binding: an element reads when it is used, not when it is made") {
  Kernel k;
  Element e = k.a[0u];
  k.a[0u] = 7u;
  k.a[1u] = e;
  k.same("a[0] = 7; a[1] = a[0];");
}

TEST_CASE("binding: values are bound in the order they were made") {
  Kernel k;
  const Value first = k.a[0u];
  const Value second = first + k.a[1u];
  const Value third = k.a[2u];
  k.barrier();
  k.a[3u] = third + second;
  k.a[4u] = first;
  k.same("let f = a[0]; let s = f + a[1]; let t = a[2]; barrier; a[3] = t + s; a[4] = f;");
}

TEST_CASE("binding: a value used in both arms is bound before the if") {
  Kernel k;
  const Value v = k.local(0) * 2u;
  k.if_(
      v < 3u, [&] { k.a[0u] = v; }, [&] { k.a[1u] = v; });
  k.same("let v = local.x * 2; if v < 3 { a[0] = v; } else { a[1] = v; }");
}

TEST_CASE("binding: a value made in a body is bound in that body") {
  Kernel k;
  k.loop("i", 0u, 4u, [&](Value i) {
    const Value v = k.a[i];
    k.a[i] = 0u;
    k.a[i + 1u] = v;
  });
  k.same("loop i in 0..4 { let v = a[i]; a[i] = 0; a[i + 1] = v; }");
}

TEST_CASE("binding: loop bounds that change in the body are those of the start") {
  Kernel k;
  Var n = k.var("n", 4u);
  const Value end = n + 1u;
  k.loop("i", n, end, [&](Value) { n = end; });
  k.same("let n = 4; let end = n + 1; loop i in n..end { n = end; }");
}

TEST_CASE("binding: atomics happen once each, in the order they are written") {
  Kernel k;
  const Value first = k.atomic(AtomicOp::Add, k.a[0u], 1u);
  k.atomic(AtomicOp::Max, k.a[0u], 9u);
  const Value second = k.atomic(AtomicOp::Sub, k.a[0u], 1u);
  k.a[1u] = second - first;
  k.a[2u] = first;
  k.same(
      "let f = atomic_add(a[0], 1); atomic_max(a[0], 9); let s = atomic_sub(a[0], 1);"
      "a[1] = s - f; a[2] = f;");
}

TEST_CASE("binding: a load made before an atomic is read before it") {
  Kernel k;
  const Value before = k.a[0u];
  const Value old = k.atomic(AtomicOp::Exchange, k.a[0u], 5u);
  k.a[1u] = before + old;
  k.same("let b = a[0]; let old = atomic_exchange(a[0], 5); a[1] = b + old;");
}

TEST_CASE("binding: the operands of an atomic are those of its place") {
  Kernel k;
  Var x = k.var("x", 1u);
  const Value expected = x;
  x = 2u;
  k.compare_exchange(k.a[0u], 3u, expected);
  k.same("let x = 1; let e = x; x = 2; atomic_compare_exchange(a[0], 3, e);");
}

TEST_CASE("binding: a subgroup operation is not moved to where other lanes are active") {
  const std::vector<std::pair<std::function<Value(Builder&)>, std::string>> forms{
      {[](Builder& k) { return k.subgroup_reduce(ReduceOp::Add, k.local(0)); },
       "subgroup_add(local.x)"},
      {[](Builder& k) { return k.subgroup_shuffle(k.local(0), 1u); },
       "subgroup_shuffle(local.x, 1)"},
      {[](Builder& k) { return k.cast(Type::U32, k.subgroup_ballot(true)); },
       "u32(subgroup_ballot(true))"},
  };
  for (const auto& [make, text] : forms) {
    Kernel k;
    const Value v = make(k);
    k.if_(k.local(0) < 2u, [&] { k.a[0u] = v; });
    k.same(fmt::format("let v = {}; if local.x < 2 {{ a[0] = v; }}", text));
  }
}

TEST_CASE("binding: the builder's names never meet the user's") {
  Kernel k;
  const Value v = k.a[0u];
  k.let("_0", 1u);
  const Value w = k.atomic(AtomicOp::Add, k.a[0u], 1u);
  k.loop("_1", 0u, 2u, [&](Value) { k.let("_2", v + w); });
  k.same(
      "let v = a[0]; let x = 1; let w = atomic_add(a[0], 1);"
      "loop i in 0..2 { let y = v + w; }");
}

TEST_CASE("binding: variables named `_` can be read apart from each other") {
  Kernel k;
  const Value x = k.let("_", 1u);
  const Value y = k.let("_", 2u);
  k.loop("_", 0u, 4u, [&](Value i) { k.loop("_", 0u, 4u, [&](Value j) { k.a[x + i] = y + j; }); });
  k.same("let x = 1; let y = 2; loop i in 0..4 { loop j in 0..4 { a[x + i] = y + j; } }");
}

TEST_CASE("binding: variables named `_`, or not at all, can be assigned apart from each other") {
  for (const char* name : {"_", ""}) {
    Kernel k;
    Var x = k.var(name, 1u);
    Var y = k.var(name, 2u);
    x = 3u;
    y = 4u;
    k.same("let x = 1; let y = 2; x = 3; y = 4;");
  }
}

TEST_CASE("binding: a load leaked out of its scope is an unknown variable") {
  Kernel k;
  Value leaked;
  k.if_(true, [&] { leaked = k.a[0u]; });
  k.a[1u] = leaked;
  check_leak(k);
}

TEST_CASE("binding: a let leaked out of its scope is an unknown variable") {
  Kernel k;
  Value leaked;
  k.block([&] { leaked = k.let("x", 1u); });
  k.a[1u] = leaked;
  check_leak(k);
}

TEST_CASE("binding: a leaked let is not the namesake that came later") {
  Kernel k;
  Value leaked;
  k.block([&] { leaked = k.let("x", 1u); });
  k.let("x", 2u);
  k.a[1u] = leaked;
  check_leak(k);
}

TEST_CASE("binding: a loop variable leaked out of its loop is an unknown variable") {
  Kernel k;
  Value leaked;
  k.loop("i", 0u, 4u, [&](Value i) { leaked = i + 1u; });
  k.a[1u] = leaked;
  check_leak(k);
}

TEST_CASE("binding: an atomic leaked into the other arm is an unknown variable") {
  Kernel k;
  Value leaked;
  k.if_(
      true, [&] { leaked = k.atomic(AtomicOp::Add, k.a[0u], 1u); }, [&] { k.a[1u] = leaked; });
  check_leak(k);
}

TEST_CASE("binding: assigning to a variable whose scope has ended is an unknown variable") {
  Kernel k;
  std::vector<Var> leaked;
  k.region("r", [&] { leaked.push_back(k.var("x", 1u)); });
  leaked[0] = 2u;
  check_leak(k);
}

TEST_CASE("binding: values of the program are unknown inside an operation, and the reverse") {
  Kernel k;
  const Value outside = k.let("x", 1u);
  k.op("f", {{"n", Type::U32}}, Type::U32, [&](std::span<const Value>) { return outside; });
  check_leak(k);
  Kernel j;
  Value param;
  j.op("f", {{"n", Type::U32}}, Type::U32, [&](std::span<const Value> v) { return param = v[0]; });
  j.a[0u] = param;
  check_leak(j);
}
