// Which accesses the lowering may leave unchecked. An index is proven to be below the length, or
// small, or nothing is known of it.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "ir/text/expression_printer.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;
using codegen::IndexBound;

namespace {

std::string access_text(const ir::Program& program, ir::BufferId buffer, ir::ExprId index,
                        IndexBound bound) {
  std::string text = program.buffer(buffer).name + "[";
  ir::ExpressionPrinter(program, text).print(index);
  return text + (bound == IndexBound::Proven  ? "] in bounds"
                 : bound == IndexBound::Small ? "] small"
                                              : "] unknown");
}

// "x[i] in bounds; y[i + 1] small": every access, in the order of evaluation. `i` is an invocation
// of 65535 workgroups at most, `l` is below 64, and nothing is known of `n`.
std::string bounds_of(std::string_view body, const codegen::Capabilities& mask = {}) {
  const ir::Program program = valid_program(fmt::format(R"(program p workgroup(64) {{
  readonly x: u32[]; readwrite y: u32[]; readwrite f: u32[64]; workgroup t: u32[64];
  let i = invocation.x; let l = local.x; let n = num_workgroups.x;
  {} }})",
                                                        body));
  const codegen::IndexBounds bounds = codegen::prove_indices(program, program.entry(), mask);
  std::string text;
  const auto add = [&](ir::BufferId buffer, ir::ExprId index, IndexBound bound) {
    text += (text.empty() ? "" : "; ") + access_text(program, buffer, index, bound);
  };
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    for (const ir::ExprId root : program.expressions(id)) {
      for (ir::ExprId row = program.first_row(root); row <= root; ++row) {
        const ir::Expr& expr = program.expr(row);
        const bool is_access = expr.kind == ir::ExprKind::Load || expr.kind == ir::ExprKind::Atomic;
        if (is_access) add(expr.ref, program.operands(row)[0], bounds.exprs[row]);
      }
    }
    const ir::Node& node = program.node(id);
    if (node.kind == ir::NodeKind::Store) add(node.ref, node.args[0], bounds.nodes[id]);
  }
  return text;
}

// What is known of this index into `f`, which has 64 elements.
std::string index_bound(std::string_view index, std::string_view before = "{}") {
  const std::string load = fmt::format("let v = f[{}];", index);
  const std::string text = bounds_of(fmt::format(fmt::runtime(before), load));
  return text.substr(text.rfind(']') + 2);
}

struct IndexCase {
  const char* index;
  const char* expected;
};

// The statements hold "{}" where the access to `f` stands.
struct GuardCase {
  const char* statements;
  const char* index;
  const char* expected;
};

void check_guards(std::initializer_list<GuardCase> cases) {
  for (const GuardCase& c : cases) {
    CAPTURE(c.statements);
    CAPTURE(c.index);
    CHECK(index_bound(c.index, c.statements) == c.expected);
  }
}

std::string repeated(std::size_t times, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("index bounds: loads, stores and atomics are judged each for itself") {
  CHECK(bounds_of("f[l] = x[i];") == "x[i] small; f[l] in bounds");
  CHECK(bounds_of("t[l] = t[63 - l];") == "t[63 - l] in bounds; t[l] in bounds");
  CHECK(bounds_of("let v = x[x[i]];") == "x[i] small; x[x[i]] unknown");
  CHECK(bounds_of("let v = atomic_add(f[l], 1); let w = atomic_add(f[l + 1], 1);") ==
        "f[l] in bounds; f[l + 1] small");
  CHECK(bounds_of("{ region \"part\" { f[l] = 1; } }") == "f[l] in bounds");
}

TEST_CASE("index bounds: ids are below their extents") {
  constexpr IndexCase kCases[] = {
      {"63", "in bounds"},
      {"64", "small"},
      {"l", "in bounds"},
      {"l + 1", "small"},
      {"i", "small"},
      {"local.y", "in bounds"},  // the workgroup has one row
      {"workgroup_id.x", "small"},
      {"num_workgroups.x", "unknown"},
      {"workgroup_size.x - 1", "unknown"},  // a kernel may be specialized to another size
      {"subgroup_lane", "unknown"},
  };
  for (const IndexCase& c : kCases) {
    CAPTURE(c.index);
    CHECK(index_bound(c.index) == c.expected);
  }
  codegen::Capabilities mask;
  mask.limits.workgroup_count = {64, 65, 1};
  CHECK(bounds_of("let v = f[workgroup_id.x]; let w = f[workgroup_id.y];", mask) ==
        "f[workgroup_id.x] in bounds; f[workgroup_id.y] small");
  mask.limits.workgroup_count = {1, 64, 65};
  CHECK(bounds_of("let v = f[i] + f[invocation.y] + f[invocation.z];", mask) ==
        "f[i] in bounds; f[invocation.y] in bounds; f[invocation.z] small");
}

TEST_CASE("index bounds: small is below 2^28, so that bytes are still counted in 32 bits") {
  CHECK(index_bound("268435455") == "small");
  CHECK(index_bound("268435456") == "unknown");
  CHECK(index_bound("l - 268435455") == "small");
  CHECK(index_bound("l - 268435456") == "unknown");
  codegen::Capabilities mask;
  mask.limits.workgroup_count[0] = (1U << 28) / 64;
  CHECK(bounds_of("let v = x[i];", mask) == "x[i] small");
  ++mask.limits.workgroup_count[0];
  CHECK(bounds_of("let v = x[i];", mask) == "x[i] unknown");
  mask.limits.workgroup_count[0] = UINT32_MAX;
  CHECK(bounds_of("let v = x[i];", mask) == "x[i] unknown");
}

TEST_CASE("index bounds: intervals through the operations") {
  constexpr IndexCase kCases[] = {
      {"n", "unknown"},
      {"n & 63", "in bounds"},
      {"63 & n", "in bounds"},
      {"n & 64", "small"},
      {"n % 64", "in bounds"},
      {"n % 65", "small"},
      {"n % (63 + (n & 1))", "in bounds"},
      {"n % (64 + (n & 1))", "small"},
      {"l % (n & 63)", "in bounds"},  // a remainder of a division by zero is 0
      {"n / 67108864", "in bounds"},  // 2^32 / 64
      {"n / 67108863", "small"},
      {"n / (67108864 + (n & 1))", "in bounds"},
      {"l / (n & 1)", "unknown"},  // a quotient of a division by zero is all ones
      {"n >> 26", "in bounds"},
      {"n >> 25", "small"},
      {"n >> 58", "in bounds"},  // counts are taken modulo 32
      {"l >> n", "in bounds"},
      {"(n & 7) << 3", "in bounds"},
      {"(n & 7) << 35", "in bounds"},
      {"(n & 7) << 4", "small"},
      {"l << n", "unknown"},
      {"(l << 31) >> 26", "in bounds"},              // 32 or 0
      {"((n & 15) << 28) / 67000000", "in bounds"},  // 15 * 2^28 / 67000000 is 60
      {"((n & 31) << 28) / 67000000", "small"},      // wraps, so anything up to 2^32 / 67000000
      {"(n & 7) * 9", "in bounds"},
      {"(n & 7) * 10", "small"},
      {"(n & 7) * (n & 15)", "small"},
      {"n * 0", "in bounds"},
      {"n * 2", "unknown"},
      {"((n & 65535) * 65536) / 67108000", "in bounds"},  // at most 65535 * 65536, which fits
      {"min(n, 63)", "in bounds"},
      {"min(n, 64)", "small"},
      {"min(max(l, 5), 40) - 5", "in bounds"},
      {"min(max(l, 4), 40) - 5", "small"},
      {"max(l, 63)", "in bounds"},
      {"max(l, 64)", "small"},
      {"max(n, 3)", "unknown"},
      {"63 - l", "in bounds"},
      {"62 - l", "small"},
      {"wrapping_sub(63, l)", "in bounds"},
      {"wrapping_add(l, 0)", "in bounds"},
      {"l + l", "small"},
      {"(n & 31) + (n & 32)", "in bounds"},
      {"(n & 32) + (n & 32)", "small"},
      {"1 + (l - 1)", "in bounds"},
      {"select(n == 0, 3, 63)", "in bounds"},
      {"select(n == 0, 3, 64)", "small"},
      {"select(n == 0, 64, 3)", "small"},
      {"saturating_sub(l, 1)", "unknown"},
      {"rotate_left(l, 0)", "unknown"},
      {"u32(3i32)", "unknown"},
  };
  for (const IndexCase& c : kCases) {
    CAPTURE(c.index);
    CHECK(index_bound(c.index) == c.expected);
  }
}

TEST_CASE("index bounds: what may have wrapped around is known to sums and differences only") {
  // For l = 0 each of these is computed from 2^32 - 1.
  for (const char* index :
       {"max(l - 1, 0)", "(l - 1) / 2", "(l - 1) % 4294967295", "(l - 1) * 1", "(l - 1) >> 1",
        "select(n == 0, l - 1, 0)", "select(n == 0, 0, l - 1)"}) {
    CAPTURE(index);
    CHECK(index_bound(index) == "unknown");
  }
  CHECK(index_bound("(l - 1) + 1") == "in bounds");
  CHECK(index_bound("(l - 1) + (local.y + 1)") == "in bounds");
}

TEST_CASE("index bounds: sums are whole numbers up to four times 2^32 - 1") {
  const auto there_and_back = [](std::string_view start, std::size_t times, std::string_view there,
                                 std::string_view back) {
    return index_bound(fmt::format("{}{}{}", start, repeated(times, there), repeated(times, back)));
  };
  const std::string up = " + 4294967295";
  const std::string down = " - 4294967295";
  CHECK(there_and_back("l", 3, up, down) == "in bounds");
  CHECK(there_and_back("l", 4, up, down) == "unknown");
  CHECK(there_and_back("local.y", 4, up, down) == "in bounds");
  CHECK(there_and_back("local.y", 5, up, down) == "unknown");
  CHECK(there_and_back("l", 4, down, up) == "in bounds");
  CHECK(there_and_back("l", 5, down, up) == "unknown");
}

TEST_CASE("index bounds: a comparison with the length guards what stands in its arm") {
  constexpr IndexCase kCases[] = {
      {"if i < len(x) {{ {} }}", "in bounds"},
      {"if i <= len(x) {{ {} }}", "small"},
      {"if len(x) > i {{ {} }}", "in bounds"},
      {"if len(x) >= i {{ {} }}", "small"},
      {"if i >= len(x) {{ }} else {{ {} }}", "in bounds"},
      {"if i > len(x) {{ }} else {{ {} }}", "small"},
      {"if len(x) <= i {{ }} else {{ {} }}", "in bounds"},
      {"if len(x) < i {{ }} else {{ {} }}", "small"},
      {"if i < len(x) {{ }} else {{ {} }}", "small"},
      {"if i < len(x) {{ }} {}", "small"},
      {"if i < len(y) {{ {} }}", "small"},
      {"if i == len(x) {{ {} }}", "small"},
      {"if l < len(x) {{ {} }}", "small"},
      // The condition's parts.
      {"if !(i >= len(x)) {{ {} }}", "in bounds"},
      {"if !!(i < len(x)) {{ {} }}", "in bounds"},
      {"if !(i < len(x)) {{ {} }}", "small"},
      {"if i < len(x) && n > 3 {{ {} }}", "in bounds"},
      {"if n > 3 && i < len(x) {{ {} }}", "in bounds"},
      {"if i < len(x) || n > 3 {{ {} }}", "small"},
      {"if i >= len(x) && n > 3 {{ }} else {{ {} }}", "small"},
      {"if i >= len(x) || n > 3 {{ }} else {{ {} }}", "in bounds"},
      // Behind an arm that does not come out.
      {"if i >= len(x) {{ return; }} {}", "in bounds"},
      {"if i >= len(x) {{ trap(i, stop); }} {}", "in bounds"},
      {"if i >= len(x) {{ y[0] = 1; return; }} {}", "in bounds"},
      {"if i >= len(x) {{ y[0] = 1; }} {}", "small"},
      {"if i < len(x) {{ }} else {{ return; }} {}", "in bounds"},
      {"if i < len(x) {{ return; }} {}", "small"},
      {"if i >= len(x) {{ if n > 3 {{ return; }} }} {}", "small"},
      {"loop k in 0..n {{ if i >= len(x) {{ return; }} }} {}", "small"},
      {"loop k in 0..n {{ if i >= len(x) {{ return; }} {} }}", "in bounds"},
      // Lengths with an offset: that of an empty buffer minus 1 is 2^32 - 1.
      {"if i < len(x) + 1 {{ {} }}", "small"},
      {"if i < len(x) - 1 {{ {} }}", "small"},
      {"if i < (len(x) - 1) + 1 {{ {} }}", "in bounds"},
      // Names.
      {"let m = len(x); if i < m {{ {} }}", "in bounds"},
      {"let m = len(x); m = m + 1; if i < m {{ {} }}", "small"},
      {"let ok = i < len(x); if ok {{ {} }}", "in bounds"},
      {"let ok = i < len(x); ok = n > 3; if ok {{ {} }}", "small"},
  };
  for (const IndexCase& c : kCases) {
    CAPTURE(c.index);
    const std::string text = bounds_of(fmt::format(fmt::runtime(c.index), "let v = x[i];"));
    CHECK(text.substr(text.rfind("x[i]")) == fmt::format("x[i] {}", c.expected));
  }
}

TEST_CASE("index bounds: a guard reaches lower offsets that do not wrap, and no higher ones") {
  CHECK(bounds_of("if i + 1 < len(x) { let v = x[i] + x[i + 1] + x[i + 2] + x[i - 1]; }") ==
        "x[i] in bounds; x[i + 1] in bounds; x[i + 2] small; x[i - 1] small");
  CHECK(bounds_of("if i > 0 && i < len(x) { let v = x[i - 1] + x[i - 2]; }") ==
        "x[i - 1] in bounds; x[i - 2] small");
  CHECK(bounds_of("if i < len(x) { if i >= 2 { let v = x[i - 2]; } }") == "x[i - 2] in bounds");
  CHECK(bounds_of("let k = i + 3; if k < len(x) { let v = x[k] + x[i] + x[k - 1] + x[k + 1]; }") ==
        "x[k] in bounds; x[i] in bounds; x[k - 1] in bounds; x[k + 1] small");
  // Also from a name for a number, on either side.
  CHECK(bounds_of("let k = 4; if 1 + k < len(x) { let v = x[k] + x[k + 1] + x[2 + k]; }") ==
        "x[k] in bounds; x[k + 1] in bounds; x[2 + k] small");
  // n + 1 may be 0, unless n is known to be less than the largest number.
  CHECK(bounds_of("if n + 1 < len(x) { let v = x[n]; }") == "x[n] unknown");
  CHECK(bounds_of("if n < 4294967295 { if n + 1 < len(x) { let v = x[n + 1]; } }") ==
        "x[n + 1] in bounds");
  CHECK(bounds_of("if n <= 4294967295 { if n + 1 < len(x) { let v = x[n + 1]; } }") ==
        "x[n + 1] unknown");
}

TEST_CASE("index bounds: behind conditions that contradict each other nothing runs") {
  CHECK(bounds_of("if n > 9 { if n < 4 { y[n] = x[n * n] + x[i / (n + n)]; } y[n] = 1; }") ==
        "x[n * n] in bounds; x[i / (n + n)] in bounds; y[n] in bounds; y[n] unknown");
  CHECK(bounds_of("if l > 63 { y[n] = 1; } else { y[n] = 2; }") == "y[n] in bounds; y[n] unknown");
  CHECK(bounds_of("if l < l - 3 { y[l] = 1; }") == "y[l] small");
  CHECK(bounds_of("if l >= 3 { if l < 8 { if l < l - 3 { y[n] = 1; } } }") == "y[n] in bounds");
  CHECK(bounds_of("if l < 64 { return; } y[n] = 1;") == "y[n] in bounds");
  CHECK(bounds_of("loop k in 9..2 { y[n] = 1; } y[n] = 2;") == "y[n] in bounds; y[n] unknown");
  CHECK(bounds_of("loop k in n..2 { if k > 1 { y[n] = 1; } }") == "y[n] in bounds");
}

TEST_CASE("index bounds: what narrows a value narrows what is computed from it") {
  CHECK(bounds_of("if n < 5 { let v = f[(n + 3) & 63] + f[(n + 16) * 3] + f[n * 16]; }") ==
        "f[(n + 3) & 63] in bounds; f[(n + 16) * 3] in bounds; f[n * 16] small");
}

TEST_CASE("index bounds: comparisons with numbers narrow both sides") {
  check_guards({
      {"if n < 64 {{ {} }}", "n", "in bounds"},
      {"if n < 65 {{ {} }}", "n", "small"},
      {"if n <= 63 {{ {} }}", "n", "in bounds"},
      {"if n <= 64 {{ {} }}", "n", "small"},
      {"if 64 > n {{ {} }}", "n", "in bounds"},
      {"if 65 > n {{ {} }}", "n", "small"},
      {"if 63 >= n {{ {} }}", "n", "in bounds"},
      {"if 64 >= n {{ {} }}", "n", "small"},
      {"if n >= 64 {{ return; }} {}", "n", "in bounds"},
      {"if n > 63 {{ return; }} {}", "n", "in bounds"},
      {"if n > 64 {{ return; }} {}", "n", "small"},
      {"if n < len(f) {{ {} }}", "n", "in bounds"},
      {"if n < l {{ {} }}", "n", "in bounds"},
      {"if n < l + 1 {{ {} }}", "n", "in bounds"},
      {"if n < l + 2 {{ {} }}", "n", "small"},
      {"if n <= l {{ {} }}", "n", "in bounds"},
      {"if n <= l + 1 {{ {} }}", "n", "small"},
      // From below.
      {"if l > 9 {{ {} }}", "l - 10", "in bounds"},
      {"if l >= 9 {{ {} }}", "l - 10", "small"},
      {"if l >= 10 {{ {} }}", "l - 10", "in bounds"},
      {"if 9 < l {{ {} }}", "l - 10", "in bounds"},
      {"if 10 <= l {{ {} }}", "l - 10", "in bounds"},
      {"if l < 10 {{ return; }} {}", "l - 10", "in bounds"},
      {"if n < l {{ {} }}", "l - 1", "in bounds"},
      {"if n <= l {{ {} }}", "l - 1", "small"},
      // Offsets of what is compared.
      {"if l + 3 < 67 {{ {} }}", "l", "in bounds"},
      {"if i + 3 < 67 {{ {} }}", "i", "in bounds"},
      {"if i + 3 < 68 {{ {} }}", "i", "small"},
      {"if i + 3 <= 66 {{ {} }}", "i", "in bounds"},
      {"if i + 3 <= 67 {{ {} }}", "i", "small"},
      {"if 13 < l + 3 {{ {} }}", "l - 11", "in bounds"},
      {"if 13 < l + 3 {{ {} }}", "l - 12", "small"},
      {"if 13 <= l + 3 {{ {} }}", "l - 10", "in bounds"},
      {"if 13 <= l + 3 {{ {} }}", "l - 11", "small"},
      // Wrapped, these are true of large numbers too.
      {"if n + 5 < 64 {{ {} }}", "n", "unknown"},
      {"if n + 5 <= 64 {{ {} }}", "n", "unknown"},
      {"if n < l - 1 {{ {} }}", "n", "unknown"},
      {"if n <= l - 1 {{ {} }}", "n", "unknown"},
      // In sums and differences.
      {"if n < 32 {{ {} }}", "n + n", "in bounds"},
      {"if n < 33 {{ {} }}", "n + n", "small"},
      {"if n < 64 {{ {} }}", "63 - n", "in bounds"},
      {"if n < 65 {{ {} }}", "63 - n", "small"},
      // Two guards at once.
      {"if n >= 10 {{ if n < 74 {{ {} }} }}", "n - 10", "in bounds"},
      {"if n >= 10 {{ if n < 75 {{ {} }} }}", "n - 10", "small"},
      {"if n >= 9 {{ if n < 74 {{ {} }} }}", "n - 10", "small"},
  });
}

TEST_CASE("index bounds: signed comparisons say nothing of unsigned values") {
  check_guards({{"let s = bitcast<i32>(n); if s < 64i32 {{ {} }}", "bitcast<u32>(s)", "unknown"},
                {"if bitcast<i32>(n) < 64i32 {{ {} }}", "n", "unknown"}});
}

TEST_CASE("index bounds: nothing is known of a variable that is assigned") {
  CHECK(bounds_of("let j = l; j = j + 1; let v = f[j];") == "f[j] unknown");
  CHECK(bounds_of("let j = l; if j < len(x) { j = n; let v = x[j]; }") == "x[j] unknown");
  CHECK(bounds_of("let j = l; let ok = j < len(x); j = n; if ok { let v = x[j]; }") ==
        "x[j] unknown");
}

TEST_CASE("index bounds: a condition does not guard the accesses in itself") {
  CHECK(bounds_of("if i < len(x) && x[i] > 3 { let v = x[i]; }") == "x[i] small; x[i] in bounds");
  CHECK(bounds_of("if x[i] > 3 && i < len(x) { let v = x[i]; }") == "x[i] small; x[i] in bounds");
  CHECK(bounds_of("if 3 < x[i] && i < len(x) { let v = x[i]; }") == "x[i] small; x[i] in bounds");
  CHECK(bounds_of("let ok = i < len(x) && x[i] > 3; if ok { let v = x[i]; }") ==
        "x[i] small; x[i] in bounds");
}

TEST_CASE("index bounds: a loop's variable is between its bounds") {
  check_guards({
      {"loop k in 0..64 {{ {} }}", "k", "in bounds"},
      {"loop k in 0..65 {{ {} }}", "k", "small"},
      {"loop k in 9..64 {{ {} }}", "k - 9", "in bounds"},
      {"loop k in 9..64 {{ {} }}", "k - 10", "small"},
      {"loop k in l..64 {{ {} }}", "k", "in bounds"},
      {"loop k in 0..l + 1 {{ {} }}", "k", "in bounds"},
      {"loop k in 0..l + 2 {{ {} }}", "k", "small"},
      {"loop k in 0..n {{ {} }}", "k", "unknown"},
      {"loop k in 0..l - 1 {{ {} }}", "k", "unknown"},  // from l = 0 on up to 2^32 - 1
      {"loop k in l - 1..64 {{ {} }}", "k", "in bounds"},
      {"loop k in l - 1..64 {{ {} }}", "k - 1", "small"},
      {"loop a in 0..8 {{ loop b in 0..8 {{ {} }} }}", "a * 8 + b", "in bounds"},
      {"loop a in 0..8 {{ loop b in 0..9 {{ {} }} }}", "a * 8 + b", "small"},
  });
  CHECK(bounds_of("loop k in 0..len(x) { let v = x[k] + y[k] + x[k + 1]; }") ==
        "x[k] in bounds; y[k] unknown; x[k + 1] unknown");
  CHECK(bounds_of("loop k in 1..len(x) { let v = x[k - 1]; }") == "x[k - 1] in bounds");
  CHECK(bounds_of("loop k in 0..len(x) { let v = x[k - 1]; }") == "x[k - 1] unknown");
  CHECK(bounds_of("loop k in 0..len(x) - 1 { let v = x[k]; }") == "x[k] unknown");
}

TEST_CASE("index bounds: names of conditions are followed 15 deep") {
  const auto through_names = [](int count) {
    std::string text = "let c1 = i < len(x);";
    for (int c = 2; c <= count; ++c) text += fmt::format(" let c{} = c{};", c, c - 1);
    return bounds_of(fmt::format("{} if c{} {{ let v = x[i]; }}", text, count));
  };
  CHECK(through_names(15) == "x[i] in bounds");
  CHECK(through_names(16) == "x[i] small");
}

TEST_CASE("index bounds: 64 facts of each kind are kept, the outer ones first") {
  const auto behind = [](std::size_t guards, std::string_view guard, std::string_view access) {
    return bounds_of(repeated(guards, guard) + std::string(access));
  };
  const std::string of_length = "if i >= len(y) { return; } ";
  CHECK(behind(63, of_length, "if i < len(x) { let v = x[i]; }") == "x[i] in bounds");
  CHECK(behind(64, of_length, "if i < len(x) { let v = x[i]; }") == "x[i] small");
  CHECK(behind(64, of_length, "let v = y[i];") == "y[i] in bounds");
  const std::string of_number = "if l >= 60 { return; } ";
  CHECK(behind(63, of_number, "if n < 64 { let v = f[n]; }") == "f[n] in bounds");
  CHECK(behind(64, of_number, "if n < 64 { let v = f[n]; }") == "f[n] unknown");
  CHECK(behind(64, of_number, "let v = f[l + 4];") == "f[l + 4] in bounds");
}
