// What a builder does with mistakes and with sizes nobody should need: findings, never a crash.
#include <fmt/format.h>

#include <limits>

#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::check_refused;
using felsite::test::check_same;
using felsite::test::has_code;

namespace {

// The one finding of a builder.
Finding only_finding(const Builder& builder) {
  const Findings findings = check_refused(builder);
  INFO(felsite::test::describe(findings));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].line == 0);
  CHECK_FALSE(findings[0].fix.empty());
  return findings[0];
}

void check_workgroup_refused(std::initializer_list<std::uint32_t> size) {
  Builder k("p", size);
  k.return_();
  CHECK(only_finding(k).code == FindingCode::BadWorkgroupSize);
}

}  // namespace

TEST_CASE("builder errors: a finding carries the path of its place") {
  struct Row {
    std::string path;
    std::function<void(Builder&, Buffer)> make;
  };
  const Value bad = 1.5f;  // where a u32 or bool must stand
  const std::vector<Row> rows{
      {"entry[0].index", [&](Builder&, Buffer a) { a[bad] = 1u; }},
      {"entry[0].value", [&](Builder&, Buffer a) { a[0u] = bad; }},
      {"entry[0].condition", [&](Builder& k, Buffer) { k.if_(bad, [] {}); }},
      {"entry[0].from", [&](Builder& k, Buffer) { k.loop("i", bad, 1u, [](Value) {}); }},
      {"entry[0].to", [&](Builder& k, Buffer) { k.loop("i", 0u, bad, [](Value) {}); }},
      {"entry[0].value", [&](Builder& k, Buffer) { k.let("x", bad + k.local(0)); }},
      {"entry[2].then[0].value",
       [&](Builder& k, Buffer a) {
         k.let("x", 1u);
         k.barrier();
         k.if_(k.local(0) == 0u, [&] { a[0u] = bad; });
       }},
      {"entry[0].else[1].body[0].body[0].body[1].value",
       [&](Builder& k, Buffer a) {
         k.if_(
             k.local(0) == 0u, [&] { a[0u] = 1u; },
             [&] {
               a[0u] = 2u;
               k.loop("i", 0u, 2u, [&](Value) {
                 k.region("r", [&] {
                   k.block([&] {
                     a[0u] = 3u;
                     a[0u] = bad;
                   });
                 });
               });
             });
       }},
      {"op f.yield",
       [&](Builder& k, Buffer) {
         k.op("f", {}, Type::U32, [&](std::span<const Value>) { return bad; });
         k.return_();
       }},
      {"op f[1].value",
       [&](Builder& k, Buffer) {
         k.op("f", {}, Type::U32, [&](std::span<const Value>) {
           Var x = k.var("x", 1u);
           x = bad;
           return Value(x);
         });
         k.return_();
       }},
      {"buffer[1]",
       [](Builder& k, Buffer) {
         k.writeonly("empty", Type::U32, 0);
         k.return_();
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    Builder k("p", {4});
    const Buffer a = k.readwrite("a", Type::U32);
    row.make(k, a);
    CHECK(only_finding(k).path == row.path);
  }
}

TEST_CASE("builder errors: an async copy and a trap name their parts") {
  Builder k("p", {4});
  Buffer a = k.readonly("a", Type::U32);
  Buffer s = k.workgroup("s", Type::U32, 4);
  k.async_load(s[1.0f], a[2.0f], 1, "t");
  k.trap(true, "u");
  const Findings findings = check_refused(k);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].path == "entry[0].destination");
  CHECK(findings[1].path == "entry[0].source");
  CHECK(findings[2].path == "entry[1].address");
}

TEST_CASE("builder errors: a default-constructed value is a finding") {
  Builder k("p", {4});
  Buffer a = k.readwrite("a", Type::U32);
  a[0u] = Value();
  CHECK(only_finding(k).path == "entry[0].value");
  Builder j("p", {4});
  j.let("x", Value() + j.local(0));
  CHECK(only_finding(j).code == FindingCode::TypeNotAllowed);
  Builder l("p", {4});
  l.let("x", -(Value() * Value()));
  CHECK(only_finding(l).code == FindingCode::TypeNotAllowed);
}

TEST_CASE("builder errors: parameters and results of operations need a type") {
  const auto declare = [](Builder& k, Type param, Type result) {
    k.op("f", {{"x", param}}, result, [](std::span<const Value>) { return Value(1u); });
    k.return_();
  };
  Builder k("p", {4});
  declare(k, Type::None, Type::U32);
  const Finding param = only_finding(k);
  CHECK(param.code == FindingCode::TypeNotAllowed);
  CHECK(param.message == "Parameter `x` of operation `f` has no type.");
  Builder j("p", {4});
  declare(j, Type::U32, Type::None);
  const Findings result = check_refused(j);
  REQUIRE_FALSE(result.empty());
  CHECK(result.front().code == FindingCode::TypeNotAllowed);
  CHECK(result.front().message == "The result of operation `f` has no type.");
  Builder l("p", {4});
  declare(l, Type::U32, Type::U32);
  CHECK(l.build().has_value());
}

TEST_CASE("builder errors: a value of another builder is a finding") {
  Builder other("q", {4});
  Builder k("p", {4});
  Buffer a = k.readwrite("a", Type::U32);
  for (int i = 0; i < 100; ++i) other.let(fmt::format("x{}", i), 1u);
  const Value foreign = other.invocation(0) + 1u;
  a[0u] = foreign;
  CHECK(only_finding(k).path == "entry[0].value");
}

TEST_CASE("builder errors: buffers of another builder are unknown buffers") {
  Builder other("q", {4});
  Buffer foreign = other.readwrite("x", Type::U32);
  for (int i = 0; i < 100; ++i) foreign = other.readwrite(fmt::format("x{}", i), Type::U32);
  const std::vector<std::function<void(Builder&, Buffer)>> uses{
      [&](Builder& k, Buffer) { k.let("n", k.length(foreign)); },
      [&](Builder& k, Buffer) { k.atomic(AtomicOp::Add, foreign[0u], 1u); },
      [&](Builder& k, Buffer) { k.compare_exchange(foreign[0u], 1u, 2u); },
      [&](Builder& k, Buffer) { k.indirect_dispatch(foreign, 0); },
      [&](Builder& k, Buffer a) { k.async_load(foreign[0u], a[0u], 1, "t"); },
      [&](Builder& k, Buffer a) { k.async_store(a[0u], foreign[0u], 1, "t"); },
      [&](Builder& k, Buffer) { k.all_reduce(ReduceOp::Add, foreign); },
      [&](Builder& k, Buffer a) { k.all_gather(a, foreign); },
      [&](Builder& k, Buffer a) { k.reduce_scatter(ReduceOp::Add, foreign, a); },
      [&](Builder& k, Buffer) { k.broadcast(foreign, 0); },
  };
  for (const auto& use : uses) {
    Builder k("p", {4});
    const Buffer a = k.readwrite("a", Type::U32);
    use(k, a);
    CHECK(only_finding(k).code == FindingCode::UnknownBuffer);
    CHECK_FALSE(print(k.build_unvalidated()).empty());
  }
}

TEST_CASE("builder errors: a handle that is no operation of this builder") {
  Builder k("p", {4});
  k.let("x", k.call(OpHandle{12345}, {1u}));
  CHECK(only_finding(k).code == FindingCode::UnknownOperation);
  Builder j("p", {4});
  // The first operation would be number 0: this is recursion, by a handle made by hand.
  j.op("f", {}, Type::U32, [&](std::span<const Value>) { return j.call(OpHandle{0}, {}); });
  j.return_();
  CHECK(only_finding(j).code == FindingCode::UnknownOperation);
}

TEST_CASE("builder errors: names that cannot be names") {
  for (const std::string& name :
       {std::string("7up"), std::string("let"), std::string("a b"), std::string("u32"),
        std::string("a\0b", 3), std::string("\xFF")}) {
    Builder k("p", {4});
    k.let(name, 1u);
    CHECK(only_finding(k).code == FindingCode::BadName);
    Builder j(name, {4});
    j.return_();
    CHECK(only_finding(j).code == FindingCode::BadName);
  }
}

TEST_CASE("builder errors: two variables of one name in one scope") {
  Builder k("p", {4});
  k.let("x", 1u);
  k.block([&] { k.loop("x", 0u, 1u, [](Value) {}); });
  const Finding finding = only_finding(k);
  CHECK(finding.code == FindingCode::Shadowing);
  CHECK(finding.path == "entry[1].body[0]");
}

TEST_CASE("builder errors: an axis past z, a fourth extent, extents of zero and of billions") {
  Builder k("p", {4});
  k.let("x", k.invocation(3));
  k.let("y", k.workgroup_size(4'000'000'000u));
  const Findings findings = check_refused(k);
  CHECK(findings.size() == 2);
  CHECK(has_code(findings, FindingCode::LiteralOutOfRange));
  check_workgroup_refused({1, 1, 1, 1});
  check_workgroup_refused({0});
  check_workgroup_refused({4, 0, 4});
  check_workgroup_refused({0xFFFF'FFFFu, 0xFFFF'FFFFu, 0xFFFF'FFFFu});
  check_workgroup_refused({65536, 65536, 65536});  // 2^48: 0 if it were counted in 32 bits
}

TEST_CASE("builder errors: counts and bindings at the edge of 32 bits") {
  Builder k("p", {4});
  k.workgroup("s", Type::F64, 0xFFFF'FFFFu);
  k.return_();
  CHECK(only_finding(k).code == FindingCode::BufferSize);
  Builder j("p", {4});
  j.declare({.name = "a", .binding = 0xFFFF'FFFFu, .hints = {}});
  j.readonly("b", Type::U32, 0xFFFF'FFFFu);
  j.return_();
  check_same(j, R"(program p workgroup(4) {
    readonly a: u32[] binding(4294967295); readonly b: u32[4294967295] binding(0); return; })");
}

TEST_CASE("builder errors: a chain a million deep is refused, and still prints") {
  constexpr std::uint32_t kDepth = 1'000'000;
  const std::vector<std::function<Value(Value)>> steps{
      [](Value v) { return v + 1u; },
      [](Value v) { return 1u + v; },
      [](Value v) { return ~v; },
  };
  for (const auto& step : steps) {
    Builder k("p", {1});
    Buffer a = k.readwrite("a", Type::U32);
    Value v = a[0u];
    for (std::uint32_t i = 0; i < kDepth; ++i) v = step(v);
    a[1u] = v;
    const Finding finding = only_finding(k);
    CHECK(finding.code == FindingCode::TooDeep);
    CHECK(to_string(finding).contains("F034"));
    CHECK(finding.path == "entry[0].value");
    const Program program = k.build_unvalidated();
    CHECK(program.fingerprint() != Fingerprint{});
    CHECK(print(program).size() > kDepth);
    const ExprId root = program.node(0).args[1];
    CHECK(program.first_row(root) == program.node(0).args[0] + 1);
  }
}

TEST_CASE("builder errors: expressions up to the limit of depth are fine, one more is not") {
  for (const std::uint32_t depth : {kMaxExprDepth, kMaxExprDepth + 1}) {
    Builder k("p", {1});
    Value v = k.local(0);
    for (std::uint32_t i = 1; i < depth; ++i) v = ~v;
    k.let("x", v);
    CHECK(k.build().has_value() == (depth <= kMaxExprDepth));
  }
}

TEST_CASE("builder errors: bodies nested past the limit") {
  for (const std::uint32_t depth : {kMaxNesting, kMaxNesting + 1, 4000u}) {
    Builder k("p", {1});
    const std::function<void(std::uint32_t)> nest = [&](std::uint32_t left) {
      if (left > 0) k.block([&] { nest(left - 1); });
    };
    nest(depth);
    const auto built = k.build();
    CHECK(built.has_value() == (depth <= kMaxNesting));
    if (!built) CHECK(has_code(built.error(), FindingCode::TooDeep));
  }
}

TEST_CASE("builder: a program of a million expressions takes less than 100 bytes for each") {
  Builder k("p", {64});
  Buffer a = k.readwrite("a", Type::U32);
  constexpr std::uint32_t kStatements = 200'000;
  for (std::uint32_t i = 0; i < kStatements; ++i) a[i] = a[i + 1u] * 3u + k.local(0);
  const auto program = k.build();
  REQUIRE(program.has_value());
  CHECK(program->nodes().size() == kStatements);
  CHECK(program->exprs().size() >= 1'000'000);
  CHECK(program->storage_bytes() < 100 * program->exprs().size());
  CHECK(program->storage_bytes() > sizeof(Expr) * program->exprs().size());
}
