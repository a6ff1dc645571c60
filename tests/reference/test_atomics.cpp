#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "felsite/ops.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using ir::AtomicOp;

namespace {

template <class T>
struct Name;
template <>
struct Name<std::uint32_t> {
  static constexpr const char* text = "u32";
};
template <>
struct Name<std::int32_t> {
  static constexpr const char* text = "i32";
};
template <>
struct Name<std::uint64_t> {
  static constexpr const char* text = "u64";
};
template <>
struct Name<std::int64_t> {
  static constexpr const char* text = "i64";
};

template <class T>
T apply(AtomicOp op, T old, T value) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case AtomicOp::Add:
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(value));
    case AtomicOp::Sub:
      return static_cast<T>(static_cast<U>(old) - static_cast<U>(value));
    case AtomicOp::Or:
      return old | value;
    case AtomicOp::And:
      return old & value;
    case AtomicOp::Xor:
      return old ^ value;
    case AtomicOp::Min:
      return std::min(old, value);
    case AtomicOp::Max:
      return std::max(old, value);
    case AtomicOp::Exchange:
      return value;
    case AtomicOp::CompareExchange:
      break;
  }
  return old;
}

// One invocation applies op with each value in turn; gives the old values and the last one.
template <class T>
void check_op(AtomicOp op, bool shared) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> values{T(5), T(-3),   Limits::max(), Limits::min(), T(1),
                              T(0), T(0x55), Limits::max(), T(-1),         T(12)};
  const std::string type = Name<T>::text;
  const std::string text = fmt::format(
      R"(program p workgroup(1) {{
        readonly x: {0}[];
        readwrite s: {0}[1];
        output old: {0}[10];
        workgroup w: {0}[1];
        {2}
        loop k in 0..10 {{ old[k] = {1}({3}[0], x[k]); }}
        {4}
      }})",
      type, ir::info(op).name, shared ? "w[0] = s[0];" : "", shared ? "w" : "s",
      shared ? "s[0] = w[0];" : "");
  const auto out = run(text, {bytes_of(values), bytes_of(std::vector<T>{T(9)})});
  T state = 9;
  const auto old = values_of<T>(out[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(type);
    CAPTURE(ir::info(op).name);
    CAPTURE(i);
    CHECK(old[i] == state);
    state = apply(op, state, values[i]);
  }
  CHECK(values_of<T>(out[0])[0] == state);
}

template <class T>
void check_all(bool shared) {
  for (std::size_t i = 0; i + 1 < ir::kAtomicOpCount; ++i)
    check_op<T>(static_cast<AtomicOp>(i), shared);
}

template <class T>
void check_compare_exchange(bool shared) {
  const std::string text = fmt::format(
      R"(program p workgroup(1) {{
        readonly expected: {0}[];
        readonly value: {0}[];
        output old: {0}[5];
        output final: {0}[1];
        workgroup w: {0}[1];
        loop k in 0..5 {{ old[k] = atomic_compare_exchange({1}[0], expected[k], value[k]); }}
        {2}
      }})",
      Name<T>::text, shared ? "w" : "final", shared ? "final[0] = w[0];" : "");
  const std::vector<T> expected{T(1), T(0), T(0), T(-7), T(-7)};
  const std::vector<T> value{T(9), T(-7), T(8), T(3), T(4)};
  const auto out = run(text, {bytes_of(expected), bytes_of(value)});
  CHECK(values_of<T>(out[0]) == std::vector<T>{T(0), T(0), T(-7), T(-7), T(3)});
  CHECK(values_of<T>(out[1]) == std::vector<T>{T(3)});
}

}  // namespace

TEST_CASE("atomics on u32 storage") { check_all<std::uint32_t>(false); }
TEST_CASE("atomics on i32 storage") { check_all<std::int32_t>(false); }
TEST_CASE("atomics on u64 storage") { check_all<std::uint64_t>(false); }
TEST_CASE("atomics on i64 storage") { check_all<std::int64_t>(false); }
TEST_CASE("atomics on u32 workgroup memory") { check_all<std::uint32_t>(true); }
TEST_CASE("atomics on i32 workgroup memory") { check_all<std::int32_t>(true); }
TEST_CASE("atomics on u64 workgroup memory") { check_all<std::uint64_t>(true); }
TEST_CASE("atomics on i64 workgroup memory") { check_all<std::int64_t>(true); }

TEST_CASE("compare-exchange changes only what is as expected, and gives the old value") {
  check_compare_exchange<std::uint32_t>(false);
  check_compare_exchange<std::int32_t>(false);
  check_compare_exchange<std::uint64_t>(false);
  check_compare_exchange<std::int64_t>(false);
  check_compare_exchange<std::uint32_t>(true);
  check_compare_exchange<std::int64_t>(true);
}

TEST_CASE("every ordering of an atomic gives the same value") {
  for (const char* ordering : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}) {
    const auto out = run(fmt::format("program p workgroup(32) {{ readwrite n: u32[1]; "
                                     "atomic_add.{}(n[0], local.x); }}",
                                     ordering),
                         {bytes_of(Words{100})});
    CHECK(words_of(out[0]) == Words{100 + 496});
  }
}

TEST_CASE("tickets from atomic_add are all different over the whole grid") {
  const auto out = run(R"(program p workgroup(32) {
    readwrite n: u32[1];
    output seen: u32[320];
    atomic_add(seen[atomic_add(n[0], 1)], 1);
  })",
                       {zero_words(1)}, on_grid(10));
  CHECK(words_of(out[0]) == Words{320});
  CHECK(words_of(out[1]) == Words(320, 1));
}

TEST_CASE("in one statement the lanes act in order, each after the one before") {
  const auto out = run(R"(program p workgroup(8) {
    output n: u32[1];
    output old: u32[8];
    old[local.x] = atomic_exchange(n[0], local.x + 1);
  })");
  Words old = words_of(out[1]);
  // Whatever the order, each value but the last is seen once.
  old.push_back(words_of(out[0])[0]);
  std::ranges::sort(old);
  CHECK(old == counting(9));
}

TEST_CASE("an atomic past the end does nothing, gives zero and is counted") {
  const auto backend = make_reference_backend();
  const auto out = backend->dispatch(valid_program(R"(program p workgroup(4) {
    readwrite n: u32[];
    output o: u32[4];
    o[local.x] = atomic_add(n[local.x * 1073741824 + 1], 5) + 1;
  })"),
                                     {bytes_of(Words{7, 8})});
  REQUIRE(out.has_value());
  CHECK(words_of((*out)[0]) == Words{7, 13});
  CHECK(words_of((*out)[1]) == Words{9, 1, 1, 1});
  CHECK(backend->out_of_bounds().atomics == 3);
  CHECK(backend->out_of_bounds().loads == 0);
  CHECK(backend->out_of_bounds().stores == 0);
}

TEST_CASE("an atomic past the end of workgroup memory gives zero") {
  const Words out = run_words(R"(program p workgroup(2) {
    output o: u32[4];
    workgroup w: u32[2];
    w[local.x] = 40;
    barrier;
    o[local.x] = atomic_max(w[local.x * 2], 41) + 1;
    barrier;
    o[local.x + 2] = w[local.x];
  })");
  CHECK(out == Words{41, 1, 41, 40});
}

TEST_CASE("a 64-bit compare-exchange past the end gives zero") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite n: u64[];
    output o: u64[2];
    o[0] = atomic_compare_exchange(n[len(n)], 0u64, 9u64);
    o[1] = atomic_sub(n[len(n) + 4294967294], 1u64);
  })",
                       {bytes_of(std::vector<std::uint64_t>{5})});
  CHECK(values_of<std::uint64_t>(out[0]) == std::vector<std::uint64_t>{5});
  CHECK(values_of<std::uint64_t>(out[1]) == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE("f32 atomic add rounds, flushes and keeps the one NaN") {
  const auto out = run(R"(program p workgroup(1) {
    readwrite s: f32[];
    readonly x: f32[];
    output old: f32[6];
    loop k in 0..6 { old[k] = atomic_add(s[k], x[k]); }
  })",
                       {bytes_of(Words{0x3F80'0000, 0x0080'0001, 0x7F80'0000, 0x0000'0001,
                                       0x7F80'0001, 0x4B80'0000}),
                        bytes_of(Words{0x3F00'0000, 0x8080'0000, 0xFF80'0000, 0x8000'0001,
                                       0x0000'0000, 0x3F80'0000})});
  CHECK(words_of(out[0]) ==
        Words{0x3FC0'0000, 0, 0x7FC0'0000, 0x0000'0000, 0x7FC0'0000, 0x4B80'0000});
  CHECK(words_of(out[1]) ==
        Words{0x3F80'0000, 0x0080'0001, 0x7F80'0000, 0x0000'0000, 0x7FC0'0000, 0x4B80'0000});
}

TEST_CASE("f32 atomic add in workgroup memory") {
  const Words out = run_words(R"(program p workgroup(64) {
    output o: f32[1];
    workgroup t: f32[1];
    atomic_add(t[0], f32(local.x));
    barrier;
    if local.x == 0 { o[0] = t[0]; }
  })");
  CHECK(out == Words{0x44FC'0000});  // 2016
}

TEST_CASE("an atomic in an inactive branch does not happen") {
  const auto out = run(R"(program p workgroup(16) {
    readwrite n: u32[2];
    if local.x % 4 == 0 { atomic_add(n[0], 1); } else { atomic_add(n[1], 1); }
    if local.x > 7 { return; }
    atomic_add(n[1], 100);
  })",
                       {zero_words(2)});
  CHECK(words_of(out[0]) == Words{4, 812});
}

TEST_CASE("a lock-free maximum by compare-exchange") {
  const auto out = run(
      R"(program p workgroup(16) {
    readonly x: u32[];
    readwrite best: u32[1];
    let seen = best[0];
    loop tries in 0..64 {
      if x[invocation.x] <= seen { return; }
      let now = atomic_compare_exchange(best[0], seen, x[invocation.x]);
      if now == seen { return; }
      seen = now;
    }
  })",
      {bytes_of(Words{3, 9, 27, 81, 100, 7, 45, 99, 2, 64, 31, 8, 77, 98, 5, 1}), zero_words(1)});
  CHECK(words_of(out[0]) == Words{100});
}
