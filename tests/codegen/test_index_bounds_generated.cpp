// What is proven of an index holds in every run: random guards around one access, whose index the
// reference then compares with the length. FELSITE_TEST_SEED=n repeats a run.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "ir/transform/unroll.h"
#include "support/random.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using codegen::IndexBound;

namespace {

// The text of a program around one access, of which only the index matters.
class GuardedAccess {
 public:
  // `counted`: in a loop with literal bounds.
  explicit GuardedAccess(std::uint64_t seed, bool counted = false) : random_(seed) {
    if (counted) {
      const std::uint32_t from = random_.chance(2) ? 0 : random_.below(60);
      before_ = fmt::format("loop k in {}..{} {{ ", from, from + 2 + random_.below(20));
      after_ = "}";
      names_ = {"k", "k"};
    }
    const std::uint32_t guards = 1 + random_.below(4);
    for (std::uint32_t i = 0; i < guards; ++i) guard();
    buffer_ = random_.chance(2) ? "x" : "f";
    index_ = random_.chance(3) ? term(2) : near();
  }

  std::string loading() const { return program(fmt::format("let v = {}[{}];", buffer_, index_)); }
  // Traps where the index is not what was proven of it.
  std::string checking(IndexBound bound) const {
    return program(
        bound == IndexBound::Proven
            ? fmt::format("if {} >= len({}) {{ trap(0, wrong); }}", index_, buffer_)
            : fmt::format("if {} + 268435455 > 536870910 {{ trap(0, wrong); }}", index_));
  }

 private:
  std::string program(std::string_view access) const {
    return fmt::format(R"(program p workgroup(64) {{
  readonly x: u32[]; readonly r: u32[]; readwrite f: u32[64];
  let i = invocation.x; let l = local.x; let n = r[i]; let m = r[i / 5];
  {}{}{} }})",
                       before_, access, after_);
  }

  std::string number() {
    static constexpr std::uint32_t kNumbers[] = {
        0, 1, 2, 3, 31, 32, 63, 64, 65, 100, 268435455, 268435456, 4294967231, 4294967295};
    return std::to_string(random_.pick(kNumbers));
  }

  std::string leaf() {
    static constexpr const char* kLeaves[] = {"n", "n", "m", "i", "l"};
    return names_.empty() || random_.chance(3) ? random_.pick(kLeaves) : random_.pick(names_);
  }

  // A value, or one beside it: where proofs are right or wrong by one.
  std::string near() { return beside(leaf()); }
  std::string beside(const std::string& value) {
    if (random_.chance(2)) return value;
    return fmt::format("({} {} {})", value, random_.chance(2) ? "+" : "-", 1 + random_.below(3));
  }

  std::string term(unsigned depth) {
    static constexpr const char* kLengths[] = {"len(x)", "len(f)"};
    if (depth == 0 || random_.chance(3)) {
      if (random_.chance(6)) return random_.pick(kLengths);
      return random_.chance(5) ? number() : near();
    }
    static constexpr const char* kForms[] = {
        "({} + {})", "({} - {})", "({} + {})",   "({} - {})",   "({} & {})",  "({} % {})",
        "({} / {})", "({} * {})", "min({}, {})", "max({}, {})", "({} >> {})", "({} << {})"};
    const std::string form = random_.pick(kForms);
    const std::string a = term(depth - 1);
    std::string b = random_.chance(3) ? term(depth - 1) : number();
    const bool divides = form.find('%') != std::string::npos || form.find('/') != std::string::npos;
    if (divides && b == "0") b = "1";  // as a literal it does not validate
    if (random_.chance(9)) return fmt::format("select(n > m, {}, {})", a, b);
    return fmt::format(fmt::runtime(form), a, b);
  }

  std::string condition(unsigned depth) {
    static constexpr const char* kComparisons[] = {"<", "<", "<=", ">", ">=", ">=", "=="};
    if (depth == 0 || random_.chance(2)) {
      std::string a = random_.chance(3) ? term(1) : near();
      static constexpr const char* kBounds[] = {"len(x)", "len(x)", "64", "3"};
      std::string b = random_.chance(4) ? term(1) : beside(random_.pick(kBounds));
      if (random_.chance(3)) std::swap(a, b);
      return fmt::format("{} {} {}", a, random_.pick(kComparisons), b);
    }
    const std::string a = condition(depth - 1);
    if (random_.chance(4)) return fmt::format("!({})", a);
    return fmt::format("({}) {} ({})", a, random_.chance(2) ? "&&" : "||", condition(depth - 1));
  }

  std::string fresh() { return fmt::format("v{}", next_++); }

  void guard() {
    switch (random_.below(8)) {
      case 0:
        before_ += fmt::format("if {} {{ ", condition(2));
        after_ += "}";
        return;
      case 1:
        before_ += fmt::format("if {} {{ }} else {{ ", condition(2));
        after_ += "}";
        return;
      case 2:
      case 3:
        before_ += fmt::format("if {} {{ return; }} ", condition(2));
        return;
      case 4: {
        const std::string name = fresh();
        before_ += fmt::format("let {0} = {1}; if {0} {{ ", name, condition(2));
        after_ += "}";
        return;
      }
      case 5: {
        // Few trips, whatever the bounds are.
        const std::string from = random_.chance(2) ? "0" : term(1);
        const std::string to = random_.chance(2) ? "len(x)" : term(1);
        const std::string name = fresh();
        before_ +=
            fmt::format("if min({1} - {0}, {1}) < 70 {{ loop {2} in {0}..{1} {{ ", from, to, name);
        after_ += "}}";
        names_.push_back(name);
        return;
      }
      default: {
        const std::string value = term(2);
        names_.push_back(fresh());
        before_ += fmt::format("let {} = {}; ", names_.back(), value);
        if (random_.chance(6)) before_ += fmt::format("{} = {}; ", names_.back(), term(1));
        return;
      }
    }
  }

  Random random_;
  std::string before_;
  std::string after_;
  std::string buffer_;
  std::string index_;
  std::vector<std::string> names_;
  int next_ = 0;
};

// The bound of the access behind all guards, which is the last load of the program.
IndexBound last_bound(const ir::Program& program, const codegen::Capabilities& mask) {
  const codegen::IndexBounds bounds = codegen::prove_indices(program, program.entry(), mask);
  ir::ExprId last = ir::kNone;
  for (ir::ExprId id = 0; id < program.exprs().size(); ++id) {
    if (program.expr(id).kind == ir::ExprKind::Load) last = id;
  }
  return bounds.exprs[last];
}

// The least that is known of the load at a position in the text.
IndexBound least_bound(const ir::Program& program, std::uint32_t at) {
  const codegen::IndexBounds bounds = codegen::prove_indices(program, program.entry(), {});
  IndexBound least = IndexBound::Proven;
  for (ir::ExprId id = 0; id < program.exprs().size(); ++id) {
    const bool is_it =
        program.expr(id).kind == ir::ExprKind::Load && program.source().exprs[id] == at;
    if (is_it) least = std::min(least, bounds.exprs[id]);
  }
  return least;
}

Words values_of_r(Random& random) {
  Words words(192);
  for (std::uint32_t& word : words) {
    const std::uint32_t roll = random.below(8);
    word = random.below(70);
    if (roll == 0) word = static_cast<std::uint32_t>(random.bits());
    if (roll == 1) word = 0 - word;
    if (roll == 2) word = (1U << 28) - 35 + word;
  }
  return words;
}

}  // namespace

TEST_CASE("index bounds: what is proven holds for random guards, indices, values and lengths") {
  const std::uint64_t first = run_seed();
  codegen::Capabilities mask;
  mask.limits.workgroup_count = {3, 1, 1};
  const auto backend = make_reference_backend();
  std::size_t proven = 0;
  std::size_t small = 0;
  for (std::uint64_t seed = first; seed < first + 3000; ++seed) {
    const GuardedAccess access(seed);
    const std::string text = access.loading();
    const IndexBound bound = last_bound(valid_program(text), mask);
    if (bound == IndexBound::Unknown) continue;
    ++(bound == IndexBound::Proven ? proven : small);
    const ir::Program checking = valid_program(access.checking(bound));
    Random random(seed);
    for (const std::uint32_t length : {0U, 1U, 33U, 64U, 200U}) {
      const auto outputs = backend->dispatch(
          checking, {zero_words(length), bytes_of(values_of_r(random)), zero_words(64)},
          on_grid(3));
      if (outputs) continue;
      FAIL_CHECK("FELSITE_TEST_SEED=" << seed << ", x has " << length
                                      << " elements: " << to_string(outputs.error()) << "\n"
                                      << text);
      break;
    }
  }
  CHECK(proven > 100);
  CHECK(small > 100);
}

TEST_CASE("index bounds: of an unrolled loop as much is known as of the loop") {
  const std::uint64_t first = run_seed();
  std::size_t proven = 0;
  for (std::uint64_t seed = first; seed < first + 2000; ++seed) {
    const std::string text = GuardedAccess(seed, true).loading();
    const ir::ValidProgram program = valid_program(text);
    std::uint32_t at = 0;
    for (ir::ExprId id = 0; id < program.exprs().size(); ++id) {
      if (program.expr(id).kind == ir::ExprKind::Load) at = program.source().exprs[id];
    }
    const IndexBound before = least_bound(program, at);
    if (before == IndexBound::Proven) ++proven;
    const std::vector<std::uint32_t> copies(program.nodes().size(), 2 + Random(seed).below(7));
    const ir::ValidProgram unrolled = ir::unrolled(program, copies);
    INFO("FELSITE_TEST_SEED=" << seed << "\n" << text << "\n" << ir::print(unrolled));
    CHECK(least_bound(unrolled, at) >= before);
  }
  CHECK(proven > 50);
}
