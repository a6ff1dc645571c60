// Every call of the builder makes the program that the same kernel in text is.
#include <fmt/format.h>

#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::check_same;

namespace {

const std::vector<Type> kOperandTypes{Type::U32, Type::I32, Type::F32, Type::Bool};

Type operand_type(TypeRule rule) {
  for (const Type type : kOperandTypes) {
    if (rule.operands.has(type)) return type;
  }
  FAIL("an operation on none of the usual types");
  return Type::None;
}

}  // namespace

TEST_CASE("builder: the kernel of the header's example") {
  Builder k("saxpy", {64});
  Buffer x = k.readonly("x", Type::F32);
  Buffer y = k.readwrite("y", Type::F32);
  Value i = k.let("i", k.invocation(0));
  k.if_(i < k.length(y), [&] { y[i] = x[i] * 2.0f + y[i]; });
  check_same(k, R"(program saxpy workgroup(64) {
    readonly x: f32[];
    readwrite y: f32[];
    let i = invocation.x;
    if i < len(y) { y[i] = x[i] * 2.0 + y[i]; }
  })");
}

TEST_CASE("builder: every short form of a buffer declaration") {
  Builder k("p", {1});
  k.readonly("a", Type::U8, 3);
  k.readwrite("b", Type::I64);
  k.writeonly("c", Type::BF16, 5);
  k.uniform("d", Type::Bool, 1);
  k.workgroup("e", Type::F16, 7);
  k.output("f", Type::F64, 9);
  k.return_();
  check_same(k, R"(program p workgroup(1) {
    readonly a: u8[3];
    readwrite b: i64[];
    writeonly c: bf16[5];
    uniform d: bool[1];
    workgroup e: f16[7];
    output f: f64[9];
    return;
  })");
}

TEST_CASE("builder: a declaration with everything explicit, and the bindings after it") {
  Builder k("p", {1});
  k.declare({.name = "a",
             .binding = 7,
             .element = Type::U32,
             .count = 4,
             .access = Access::ReadWrite,
             .output = true,
             .pipeline_live_out = true,
             .hints = {"hot", "l2"}});
  k.readonly("b", Type::U32);
  k.workgroup("c", Type::U32, 1);
  k.readonly("d", Type::U32);
  k.return_();
  check_same(k, R"(program p workgroup(1) {
    output live_out a: u32[4] binding(7) hint("hot") hint("l2");
    readonly b: u32[] binding(8);
    workgroup c: u32[1];
    readonly d: u32[] binding(9);
    return;
  })");
}

TEST_CASE("builder: where an invocation stands, on every axis") {
  Builder k("p", {2, 3, 4});
  Buffer out = k.output("out", Type::U32, 32);
  for (unsigned axis = 0; axis < 3; ++axis) {
    out[k.invocation(axis)] = k.workgroup_id(axis);
    out[k.local(axis)] = k.num_workgroups(axis);
    out[k.subgroup_lane()] = k.workgroup_size(axis);
    out[k.subgroup_size()] = k.length(out);
  }
  std::string text = "program p workgroup(2, 3, 4) { output out: u32[32];";
  for (const char axis : {'x', 'y', 'z'}) {
    text += fmt::format(
        "out[invocation.{0}] = workgroup_id.{0}; out[local.{0}] = num_workgroups.{0};"
        "out[subgroup_lane] = workgroup_size.{0}; out[subgroup_size] = len(out);",
        axis);
  }
  check_same(k, text + "}");
}

TEST_CASE("builder: every binary operation by its function form") {
  for (std::size_t i = 0; i < kBinaryOpCount; ++i) {
    const BinaryOpInfo& row = info(static_cast<BinaryOp>(i));
    const Type type = operand_type(row.rule);
    Builder k("p", {1});
    Buffer a = k.readonly("a", type);
    k.let("r", k.binary(row.op, a[0u], a[1u]));
    check_same(k,
               fmt::format("program p workgroup(1) {{ readonly a: {}[]; let r = {}(a[0], a[1]); }}",
                           info(type).name, row.name));
  }
}

TEST_CASE("builder: every unary operation by its function form") {
  for (std::size_t i = 0; i < kUnaryOpCount; ++i) {
    const UnaryOpInfo& row = info(static_cast<UnaryOp>(i));
    const Type type = operand_type(row.rule);
    Builder k("p", {1});
    Buffer a = k.readonly("a", type);
    k.let("r", k.unary(row.op, a[0u]));
    check_same(k, fmt::format("program p workgroup(1) {{ readonly a: {}[]; let r = {}(a[0]); }}",
                              info(type).name, row.name));
  }
}

TEST_CASE("builder: the C++ operators mean the operators of the text") {
  Builder k("p", {1});
  Buffer u = k.readonly("u", Type::U32);
  Buffer i = k.readonly("i", Type::I32);
  Buffer f = k.readonly("f", Type::F32);
  Buffer out = k.output("out", Type::Bool, 1);
  const auto a = [&] { return Value(u[0u]); };
  const auto b = [&] { return Value(u[1u]); };
  out[0u] = (a() + b()) == (a() - b());
  out[0u] = (a() * b()) != (a() / b());
  out[0u] = (a() % b()) < (a() & b());
  out[0u] = (a() | b()) > (a() ^ b());
  out[0u] = (a() << b()) <= (a() >> b());
  out[0u] = (~a() >= b()) && (a() == b());
  out[0u] = !(a() == b()) || (-Value(i[0u]) == abs(i[1u]));
  out[0u] = min(a(), b()) == max(a(), b());
  out[0u] = sqrt(f[0u]) == -Value(f[1u]);
  check_same(k, R"(program p workgroup(1) {
    readonly u: u32[]; readonly i: i32[]; readonly f: f32[]; output out: bool[1];
    out[0] = u[0] + u[1] == u[0] - u[1];
    out[0] = u[0] * u[1] != u[0] / u[1];
    out[0] = u[0] % u[1] < (u[0] & u[1]);
    out[0] = (u[0] | u[1]) > (u[0] ^ u[1]);
    out[0] = u[0] << u[1] <= u[0] >> u[1];
    out[0] = ~u[0] >= u[1] && u[0] == u[1];
    out[0] = !(u[0] == u[1]) || -i[0] == abs(i[1]);
    out[0] = min(u[0], u[1]) == max(u[0], u[1]);
    out[0] = sqrt(f[0]) == -f[1];
  })");
}

TEST_CASE("builder: literals of every type, on either side of an operator") {
  Builder k("p", {1});
  Buffer a = k.readonly("a", Type::U32);
  k.let("x", 7u + a[0u]);
  k.let("y", a[0u] + 7u);
  k.let("b", true);
  k.let("i", -5);
  k.let("w", std::uint64_t{1} << 40);
  k.let("l", std::int64_t{-1});
  k.let("f", 0.5f);
  k.let("d", 0.1);
  k.let("h", Value(float_literal(Type::F16, 1.5)));
  k.let("g", Value(float_literal(Type::BF16, -2.0)));
  k.let("n", Value(Literal{Type::I8, 0xFF}));
  k.let("m", Value(Literal{Type::U16, 65535}));
  check_same(k, R"(program p workgroup(1) {
    readonly a: u32[];
    let x = 7 + a[0]; let y = a[0] + 7; let b = true; let i = -5i32;
    let w = 1099511627776u64; let l = -1i64; let f = 0.5; let d = 0.1f64;
    let h = 1.5f16; let g = -2.0bf16; let n = -1i8; let m = 65535u16;
  })");
}

TEST_CASE("builder: literals are put into canonical form, as in text") {
  Builder k("p", {1});
  k.let("t", Value(Literal{Type::Bool, 77}));
  k.let("u", Value(Literal{Type::U8, 0x1FF}));
  k.let("n", Value(Literal{Type::F32, 0xFFFFFFFFu}));
  k.let("s", Value(Literal{Type::F32, 0x80000001u}));
  check_same(k, R"(program p workgroup(1) {
    let t = true; let u = 255u8; let n = nan; let s = -0.0;
  })");
}

TEST_CASE("builder: select, fma, bitcast, and a cast to every type") {
  Builder k("p", {1});
  Buffer f = k.readonly("f", Type::F32);
  Buffer u = k.readonly("u", Type::U32);
  k.let("s", k.select(u[0u] < u[1u], f[0u], f[1u]));
  k.let("m", k.fma(f[0u], f[1u], 2.0f));
  k.let("b", k.bitcast(Type::I32, f[0u]));
  std::string text = R"(program p workgroup(1) { readonly f: f32[]; readonly u: u32[];
    let s = select(u[0] < u[1], f[0], f[1]); let m = fma(f[0], f[1], 2.0);
    let b = bitcast<i32>(f[0]);)";
  for (const TypeInfo& row : kTypes) {
    if (row.type == Type::None) continue;
    k.let(fmt::format("c_{}", row.name), k.cast(row.type, u[0u]));
    text += fmt::format("let c_{0} = {0}(u[0]);", row.name);
  }
  check_same(k, text + "}");
}

TEST_CASE("builder: every atomic with every ordering, its value read or not") {
  Builder k("p", {1});
  Buffer a = k.readwrite("a", Type::U32);
  Buffer out = k.output("out", Type::U32, 1);
  std::string text = "program p workgroup(1) { readwrite a: u32[]; output out: u32[1];";
  int next = 0;
  for (std::size_t o = 0; o < kOrderingCount; ++o) {
    const OrderingInfo& ordering = info(static_cast<Ordering>(o));
    if (!ordering.on_atomic) continue;
    for (std::size_t i = 0; i < kAtomicOpCount; ++i) {
      const AtomicOpInfo& row = info(static_cast<AtomicOp>(i));
      const bool compares = row.op == AtomicOp::CompareExchange;
      for (const bool read : {false, true}) {
        const Value old = compares ? k.compare_exchange(a[1u], 2u, 3u, ordering.ordering)
                                   : k.atomic(row.op, a[1u], 3u, ordering.ordering);
        if (read) out[0u] = old;
        const std::string call =
            fmt::format("{}.{}(a[1], {}3)", row.name, ordering.name, compares ? "2, " : "");
        text += read ? fmt::format("let v{0} = {1}; out[0] = v{0};", next++, call) : call + ";";
      }
    }
  }
  check_same(k, text + "}");
}

TEST_CASE("builder: subgroup operations") {
  Builder k("p", {32});
  Buffer a = k.readonly("a", Type::U32);
  k.let("b", k.subgroup_ballot(a[0u] == 1u));
  k.let("s", k.subgroup_shuffle(a[0u], k.subgroup_lane() ^ 1u));
  std::string text = R"(program p workgroup(32) { readonly a: u32[];
    let b = subgroup_ballot(a[0] == 1); let s = subgroup_shuffle(a[0], subgroup_lane ^ 1);)";
  for (std::size_t i = 0; i < kReduceOpCount; ++i) {
    const ReduceOpInfo& row = info(static_cast<ReduceOp>(i));
    k.let(fmt::format("r_{}", row.name), k.subgroup_reduce(row.op, a[0u]));
    text += fmt::format("let r_{0} = subgroup_{0}(a[0]);", row.name);
  }
  check_same(k, text + "}");
}

TEST_CASE("builder: operations with statements, called with any number of arguments") {
  Builder k("p", {1});
  const OpHandle one = k.op("one", {}, Type::U32, [](std::span<const Value>) { return Value(1u); });
  const OpHandle power =
      k.op("power", {{"x", Type::U32}, {"n", Type::U32}}, Type::U32, [&](std::span<const Value> v) {
        Var r = k.var("r", k.call(one, {}));
        k.loop("i", 0u, v[1], [&](Value) { r = r * v[0]; });
        return Value(r);
      });
  Buffer out = k.output("out", Type::U32, 1);
  out[0u] = k.call(power, {3u, k.call(one, {}) + 1u});
  check_same(k, R"(program p workgroup(1) {
    output out: u32[1];
    op one() -> u32 { yield 1; }
    op power(x: u32, n: u32) -> u32 {
      let r = one();
      loop i in 0..n { r = r * x; }
      yield r;
    }
    out[0] = power(3, one() + 1);
  })");
}

TEST_CASE("builder: an operation declared while another one is being built") {
  Builder k("p", {1});
  const OpHandle outer =
      k.op("outer", {{"a", Type::U32}}, Type::U32, [&](std::span<const Value> v) {
        const OpHandle inner = k.op("inner", {{"b", Type::U32}}, Type::U32,
                                    [](std::span<const Value> w) { return w[0] + 1u; });
        return k.call(inner, {v[0]}) * 2u;
      });
  k.let("r", k.call(outer, {5u}));
  check_same(k, R"(program p workgroup(1) {
    op inner(b: u32) -> u32 { yield b + 1; }
    op outer(a: u32) -> u32 { yield inner(a) * 2; }
    let r = outer(5);
  })");
}

TEST_CASE("builder: variables change, and copying one is an assignment") {
  Builder k("p", {1});
  Var a = k.var("a", 1u);
  Var b = k.var("b", 2u);
  a = a + b;
  b = a;
  a = 7u;
  check_same(k, R"(program p workgroup(1) {
    let a = 1; let b = 2; a = a + b; b = a; a = 7;
  })");
}

TEST_CASE("builder: an element assigned to an element is a load and a store") {
  Builder k("p", {1});
  Buffer a = k.readwrite("a", Type::U8);
  a[0u] = a[1u];
  check_same(k, "program p workgroup(1) { readwrite a: u8[]; a[0] = a[1]; }");
}

TEST_CASE("builder: if, else, else if, and arms with nothing in them") {
  Builder k("p", {1});
  Buffer a = k.readwrite("a", Type::U32);
  const auto is = [&](std::uint32_t n) { return a[0u] == n; };
  k.if_(is(0), [&] { a[0u] = 1u; });
  k.if_(
      is(1), [&] { a[0u] = 2u; }, [&] { a[0u] = 3u; });
  k.if_(
      is(2), [&] { k.return_(); },
      [&] {
        k.if_(
            is(3), [] {}, [&] { a[0u] = 4u; });
      });
  k.if_(
      is(4), [] {}, [] {});
  k.if_(
      is(5), [] {}, nullptr);
  check_same(k, R"(program p workgroup(1) { readwrite a: u32[];
    if a[0] == 0 { a[0] = 1; }
    if a[0] == 1 { a[0] = 2; } else { a[0] = 3; }
    if a[0] == 2 { return; } else if a[0] == 3 { } else { a[0] = 4; }
    if a[0] == 4 { }
    if a[0] == 5 { }
  })");
}

TEST_CASE("builder: loops, blocks and regions nest") {
  Builder k("p", {1});
  Buffer a = k.readwrite("a", Type::U32);
  k.loop("i", 0u, k.length(a), [&](Value i) {
    k.loop("j", i, 4u,
           [&](Value j) { k.block([&] { k.region("inner most", [&] { a[i] = j; }); }); });
    k.block([] {});
  });
  check_same(k, R"(program p workgroup(1) { readwrite a: u32[];
    loop i in 0..len(a) {
      loop j in i..4 { { region "inner most" { a[i] = j; } } }
      { }
    }
  })");
}

TEST_CASE("builder: barriers of every ordering") {
  Builder k("p", {8});
  for (const Ordering o :
       {Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst}) {
    k.barrier(o);
  }
  k.barrier();
  k.grid_sync();
  check_same(k, R"(program p workgroup(8) {
    barrier.acquire; barrier.release; barrier; barrier.seq_cst; barrier.acq_rel; gridsync;
  })");
}

TEST_CASE("builder: asynchronous copies, traps and resumes") {
  Builder k("p", {8});
  Buffer a = k.readwrite("a", Type::U32);
  Buffer s = k.workgroup("s", Type::U32, 64);
  k.async_load(s[k.local(0)], a[k.invocation(0)], 4, "in_flight");
  k.async_wait("in_flight");
  k.async_store(a[0u], s[1u], 2, "back");
  k.async_wait("back");
  k.if_(a[0u] == 0u, [&] { k.trap(k.invocation(0), "oops"); });
  k.resume("oops");
  check_same(k, R"(program p workgroup(8) { readwrite a: u32[]; workgroup s: u32[64];
    async_load(s[local.x], a[invocation.x], 4, in_flight);
    async_wait(in_flight);
    async_store(a[0], s[1], 2, back);
    async_wait(back);
    if a[0] == 0 { trap(invocation.x, oops); }
    resume(oops);
  })");
}

TEST_CASE("builder: collectives and an indirect dispatch") {
  Builder k("p", {8});
  Buffer grid = k.readonly("grid", Type::U32, 8);
  Buffer a = k.readwrite("a", Type::U32);
  Buffer b = k.readwrite("b", Type::U32);
  k.indirect_dispatch(grid, 5);
  k.all_reduce(ReduceOp::Xor, a);
  k.all_gather(a, b);
  k.reduce_scatter(ReduceOp::Max, b, a);
  k.broadcast(b, 3);
  check_same(k, R"(program p workgroup(8) {
    readonly grid: u32[8]; readwrite a: u32[]; readwrite b: u32[];
    indirect_dispatch(grid[5]);
    all_reduce.xor(a); all_gather(a, b); reduce_scatter.max(b, a); broadcast(b, 3);
  })");
}

TEST_CASE("builder: fast floats and the number of axes given") {
  Builder one("p", {64});
  one.use_fast_floats();
  one.return_();
  check_same(one, "program p workgroup(64) fast { return; }");
  Builder two("p", {8, 4});
  two.return_();
  check_same(two, "program p workgroup(8, 4) { return; }");
  Builder none("p", {});
  none.return_();
  check_same(none, "program p workgroup(1) { return; }");
}

TEST_CASE("builder: building changes nothing, and more may follow") {
  Builder k("p", {1});
  Buffer a = k.readwrite("a", Type::U32);
  const Value v = a[0u] + 1u;
  a[1u] = v;
  check_same(k, "program p workgroup(1) { readwrite a: u32[]; a[1] = a[0] + 1; }");
  check_same(k, "program p workgroup(1) { readwrite a: u32[]; a[1] = a[0] + 1; }");
  a[2u] = v;
  check_same(k, R"(program p workgroup(1) { readwrite a: u32[];
    let v = a[0] + 1; a[1] = v; a[2] = v; })");
}
