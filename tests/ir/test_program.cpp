// The tables of the IR, and how a program stores and shows its rows.
#include <fmt/format.h>

#include <map>
#include <set>

#include "support/analysis_helpers.h"

using namespace felsite::ir;
using felsite::test::kAllTypes;
using felsite::test::nth_expr;
using felsite::test::nth_node;
using felsite::test::parsed;
using felsite::test::valid_program;

namespace {

template <class Enum>
void check_names(std::size_t count, auto named) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    const std::string_view name = info(value).name;
    CAPTURE(name);
    CHECK_FALSE(name.empty());
    CHECK(seen.insert(name).second);
    CHECK(named(name) == value);
  }
  CHECK_FALSE(named("").has_value());
  CHECK_FALSE(named("no_such_name").has_value());
}

// A kernel with one of everything that has operands or a body.
const char* const kSample = R"(program sample workgroup(4, 2) {
  readonly x: f32[];
  readwrite y: u32[8] hint("hot");
  workgroup s: u32[4];
  op pick(c: bool, a: u32, b: u32) -> u32 { let r = select(c, a, b); yield r; }
  op zero() -> u32 { yield 0; }
  let i = invocation.x + 1;
  if i < len(x) {
    y[i] = atomic_compare_exchange(y[i + 1], 2, 3);
    s[0] = pick(true, zero(), i);
  } else {
    loop j in 0..i { y[j] = u32(fma(x[j], 2.0, x[0])); }
    region "tail" { { s[1] = i; } }
  }
  return;
})";

}  // namespace

TEST_CASE("tables: every operation has a unique name that finds it again") {
  check_names<BinaryOp>(kBinaryOpCount, binary_op_named);
  check_names<UnaryOp>(kUnaryOpCount, unary_op_named);
  check_names<AtomicOp>(kAtomicOpCount, atomic_op_named);
  check_names<ReduceOp>(kReduceOpCount, reduce_op_named);
  check_names<Ordering>(kOrderingCount, ordering_named);
  check_names<Type>(kTypeCount - 1, type_named);
  CHECK_FALSE(type_named("?").has_value());
}

TEST_CASE("tables: kinds of expressions and nodes have unique names and stand in order") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kExprKindCount; ++i) {
    const ExprKindInfo& row = info(static_cast<ExprKind>(i));
    CHECK(static_cast<std::size_t>(row.kind) == i);
    CHECK(names.insert(row.name).second);
    CHECK(row.arity <= 3);
  }
  CHECK(names.size() == 22);
  names.clear();
  for (std::size_t i = 0; i < kNodeKindCount; ++i) {
    const NodeKindInfo& row = info(static_cast<NodeKind>(i));
    CHECK(static_cast<std::size_t>(row.kind) == i);
    CHECK(names.insert(row.name).second);
  }
  CHECK(names == std::set<std::string_view>{
                     "Let", "Assign", "Store", "If", "Loop", "Return", "Block", "Region", "Barrier",
                     "IndirectDispatch", "AsyncLoad", "AsyncStore", "AsyncWait", "Trap", "Resume",
                     "AllReduce", "AllGather", "ReduceScatter", "Broadcast"});
}

TEST_CASE("tables: finding codes are numbered from F001 without a gap") {
  std::set<std::string_view> titles;
  for (std::size_t i = 0; i < finding_codes().size(); ++i) {
    const FindingInfo& row = finding_codes()[i];
    CHECK(row.id == fmt::format("F{:03}", i + 1));
    CHECK(&info(row.code) == &row);
    CHECK(titles.insert(row.title).second);
  }
  CHECK(finding_codes().back().code == FindingCode::OutOfMemory);
}

TEST_CASE("tables: sizes, loads and unsigned partners of the types") {
  const std::map<Type, std::size_t> bytes{
      {Type::Bool, 4}, {Type::U8, 1},  {Type::I8, 1},  {Type::U16, 2}, {Type::I16, 2},
      {Type::U32, 4},  {Type::I32, 4}, {Type::U64, 8}, {Type::I64, 8}, {Type::F16, 2},
      {Type::BF16, 2}, {Type::F32, 4}, {Type::F64, 8}};
  const std::map<Type, Type> widened{
      {Type::U8, Type::U32}, {Type::U16, Type::U32}, {Type::I8, Type::I32}, {Type::I16, Type::I32}};
  for (const Type type : kAllTypes) {
    CAPTURE(info(type).name);
    CHECK(info(type).type == type);
    CHECK(info(type).bytes == bytes.at(type));
    CHECK(info(type).loaded == (widened.contains(type) ? widened.at(type) : type));
    CHECK(is_float(type) == std::set{Type::F16, Type::BF16, Type::F32, Type::F64}.contains(type));
    if (type == Type::Bool) continue;
    CHECK(info(info(type).as_unsigned).bytes == bytes.at(type));
    CHECK(info(info(type).as_unsigned).kind == TypeClass::Unsigned);
  }
}

TEST_CASE("tables: orderings of atomics and of barriers") {
  const std::set<Ordering> both{Ordering::Acquire, Ordering::Release, Ordering::AcqRel,
                                Ordering::SeqCst};
  for (std::size_t i = 0; i < kOrderingCount; ++i) {
    const OrderingInfo& row = info(static_cast<Ordering>(i));
    CHECK(row.on_atomic == (both.contains(row.ordering) || row.ordering == Ordering::Relaxed));
    CHECK(row.on_barrier == (both.contains(row.ordering) || row.ordering == Ordering::GridSync));
  }
}

TEST_CASE("roles: every access with every flags, the rules taken in their order") {
  const std::map<Access, Role> plain{{Access::ReadOnly, Role::Input},
                                     {Access::ReadWrite, Role::InputOutput},
                                     {Access::WriteOnly, Role::Output},
                                     {Access::Uniform, Role::Uniform},
                                     {Access::Workgroup, Role::Shared}};
  for (const auto& [access, role] : plain) {
    for (const bool output : {false, true}) {
      for (const bool live_out : {false, true}) {
        BufferDecl decl;
        decl.access = access;
        decl.output = output;
        decl.pipeline_live_out = live_out;
        const bool flagged = (output || live_out) && access != Access::Workgroup;
        CHECK(role_of(decl) == (flagged ? Role::Output : role));
      }
    }
  }
}

TEST_CASE("roles: who takes the caller's bytes and who gives results") {
  const std::set<Role> takes{Role::Input, Role::InputOutput, Role::Uniform};
  const std::set<Role> gives{Role::Output, Role::InputOutput};
  for (const Role role :
       {Role::Input, Role::InputOutput, Role::Output, Role::Uniform, Role::Shared}) {
    CHECK(takes_caller_bytes(role) == takes.contains(role));
    CHECK(gives_result(role) == gives.contains(role));
  }
}

TEST_CASE("program: operands are in evaluation order, and rows in post-order") {
  const Program p = valid_program(kSample);
  const ExprId atomic = nth_expr(p, ExprKind::Atomic);
  REQUIRE(p.operands(atomic).size() == 3);
  CHECK(print(p, p.operands(atomic)[0]) == "i + 1");
  CHECK(print(p, p.operands(atomic)[1]) == "2");
  CHECK(print(p, p.operands(atomic)[2]) == "3");
  const ExprId call = nth_expr(p, ExprKind::Call, 1);
  REQUIRE(print(p, call) == "pick(true, zero(), i)");
  REQUIRE(p.operands(call).size() == 3);
  CHECK(print(p, p.operands(call)[1]) == "zero()");
  CHECK(p.operands(p.operands(call)[1]).empty());
  CHECK(p.operands(nth_expr(p, ExprKind::Literal)).empty());
  std::vector<int> owners(p.exprs().size(), 0);
  for (ExprId id = 0; id < p.exprs().size(); ++id) {
    for (const ExprId operand : p.operands(id)) {
      CHECK(operand < id);
      ++owners[operand];
    }
  }
  for (NodeId id = 0; id < p.nodes().size(); ++id) {
    for (const ExprId root : p.expressions(id)) ++owners[root];
  }
  for (const OpDecl& op : p.ops()) ++owners[op.result];
  for (const int count : owners) CHECK(count == 1);
}

TEST_CASE("program: first_row starts the rows of a tree") {
  const Program p = valid_program(kSample);
  for (ExprId root = 0; root < p.exprs().size(); ++root) {
    // The size of the tree, counted by hand.
    std::vector<ExprId> pending{root};
    std::size_t size = 0;
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      ++size;
      for (const ExprId operand : p.operands(id)) pending.push_back(operand);
    }
    CHECK(root - p.first_row(root) + 1 == size);
  }
}

TEST_CASE("program: the bodies of nodes, and the expressions they hold") {
  const Program p = valid_program(kSample);
  const NodeId branch = nth_node(p, NodeKind::If);
  CHECK(p.then_body(branch).begin == branch + 1);
  CHECK(p.then_body(branch).end == branch + 3);
  CHECK(p.else_body(branch).begin == branch + 3);
  CHECK(p.else_body(branch).end == p.node(branch).end);
  const NodeId loop = nth_node(p, NodeKind::Loop);
  CHECK(p.expressions(loop).size() == 2);
  CHECK(print(p, p.expressions(loop)[1]) == "i");
  CHECK(p.then_body(loop).end == loop + 2);
  CHECK(p.else_body(loop).empty());
  const NodeId region = nth_node(p, NodeKind::Region);
  CHECK(p.then_body(region).begin == region + 1);
  CHECK(p.then_body(region).end == region + 3);
  CHECK(p.name(p.node(region).name) == "tail");
  const NodeId last = nth_node(p, NodeKind::Return);
  CHECK(p.then_body(last).empty());
  CHECK(p.else_body(last).empty());
  CHECK(p.expressions(last).empty());
  CHECK(p.expressions(nth_node(p, NodeKind::Store)).size() == 2);
  CHECK(p.entry().begin == 1);  // the one node before it is the operation's
  CHECK(p.entry().end == p.nodes().size());
}

TEST_CASE("program: an if without else has an empty else body") {
  const Program p = valid_program("program p workgroup(1) { if true { return; } return; }");
  CHECK(p.else_body(0).empty());
  CHECK(p.then_body(0).end == 2);
  CHECK(p.node(0).end == 2);
}

TEST_CASE("program: variables know their kind, type, uses and whether they change") {
  const Program p = valid_program(R"(program p workgroup(1) {
    op f(q: f32) -> f32 { yield q * q; }
    let a = 1; let b = 2.0; loop i in 0..a { a = a + i; } })");
  const auto var = [&](std::string_view name) { return p.var(felsite::test::var_named(p, name)); };
  CHECK((var("q").kind == VarKind::Param && var("q").type == Type::F32 && var("q").uses == 2));
  CHECK((var("a").kind == VarKind::Let && var("a").assigned && var("a").uses == 2));
  CHECK((var("b").type == Type::F32 && !var("b").assigned && var("b").uses == 0));
  CHECK((var("i").kind == VarKind::Loop && var("i").type == Type::U32 && !var("i").assigned));
}

TEST_CASE("program: each fact is known exactly where it holds, operations included") {
  const auto facts_of = [](std::string_view body) {
    const Facts f = parsed(fmt::format(R"(program p workgroup(1) {{
      readwrite a: u32[]; readwrite b: u32[]; workgroup s: u32[1];
      op id(x: u32) -> u32 {{ yield x; }} {} }})",
                                       body))
                        .facts();
    std::string text;
    if (f.has_barrier) text += "barrier ";
    if (f.has_grid_sync) text += "gridsync ";
    if (f.has_atomics) text += "atomics ";
    if (f.has_indirect_dispatch) text += "indirect ";
    if (f.has_subgroup_ops) text += "subgroup ";
    if (f.has_async) text += "async ";
    if (f.has_trap) text += "trap ";
    if (f.has_collectives) text += "collectives ";
    if (f.has_calls) text += "calls ";
    return text;
  };
  CHECK(facts_of("a[0] = 1;") == "");
  CHECK(facts_of("barrier;") == "barrier ");
  CHECK(facts_of("gridsync;") == "gridsync ");
  CHECK(facts_of("if true { atomic_add(a[0], 1); }") == "atomics ");
  CHECK(facts_of("indirect_dispatch(a[0]);") == "indirect ");
  for (const char* op : {"subgroup_lane", "subgroup_size", "subgroup_add(1)",
                         "subgroup_shuffle(1, 0)", "subgroup_ballot(true)"}) {
    CHECK(facts_of(fmt::format("let x = {};", op)) == "subgroup ");
  }
  CHECK(facts_of("async_load(s[0], a[0], 1, t);") == "async ");
  CHECK(facts_of("async_store(a[0], s[0], 1, t);") == "async ");
  CHECK(facts_of("trap(0, t);") == "trap ");
  CHECK(facts_of("all_gather(a, b);") == "collectives ");
  CHECK(facts_of("let x = id(1);") == "calls ");
}

TEST_CASE("program: buffers are found by their whole name") {
  const Program p = valid_program(kSample);
  CHECK(p.find_buffer("x") == BufferId{0});
  CHECK(p.find_buffer("s") == BufferId{2});
  CHECK_FALSE(p.find_buffer("").has_value());
  CHECK_FALSE(p.find_buffer("xx").has_value());
  CHECK_FALSE(p.find_buffer("i").has_value());
  CHECK(p.buffer(1).hints == std::vector<std::string>{"hot"});
}

TEST_CASE("program: another workgroup size shares the rows and has another fingerprint") {
  const Program p = valid_program(kSample);
  const Program q = p.with_workgroup_size({8, 1, 1});
  CHECK(q.workgroup_size() == Extent3{8, 1, 1});
  CHECK(p.workgroup_size() == Extent3{4, 2, 1});
  CHECK(q.nodes().data() == p.nodes().data());
  CHECK(q.exprs().data() == p.exprs().data());
  CHECK(q.name() == p.name());
  CHECK(q.fingerprint() != p.fingerprint());
  CHECK(q.with_workgroup_size({4, 2, 1}).fingerprint() == p.fingerprint());
  const Program fast = valid_program("program p workgroup(4) fast { return; }");
  CHECK(fast.with_workgroup_size({8, 1, 1}).float_mode() == FloatMode::Fast);
}

TEST_CASE("program: copies share their rows and outlive the original") {
  auto original = std::make_unique<Program>(valid_program(kSample));
  const std::vector<Program> copies(100'000, *original);  // a deep copy would take gigabytes
  const void* const rows = original->exprs().data();
  const std::string text = print(*original);
  original.reset();
  CHECK(copies.back().exprs().data() == rows);
  CHECK(print(copies.front()) == text);
}

TEST_CASE("program: the empty program is empty, prints, and does not validate") {
  const Program p;
  CHECK(p.entry().empty());
  CHECK(p.exprs().empty());
  CHECK_FALSE(print(p).empty());
  CHECK_FALSE(validate(p).empty());
  CHECK(p.fingerprint() == Program().fingerprint());
}
