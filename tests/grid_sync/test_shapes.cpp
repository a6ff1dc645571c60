// Segments without work, buffers without elements, grids of any shape, and grids from a buffer.
#include <string>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

void check_shape(std::string_view body, const Words& o) {
  const std::string text = "program p workgroup(4) { output o: u32[8]; let i = invocation.x; " +
                           std::string(body) + " }";
  check_all_forms(text, {}, on_grid(2), {{bytes_of(o)}, 1, std::nullopt});
}

}  // namespace

TEST_CASE("a barrier first, last, twice in a row, and nothing else") {
  check_shape("gridsync; o[i] = 1;", Words(8, 1));
  check_shape("o[i] = 1; gridsync;", Words(8, 1));
  check_shape("o[i] = i; gridsync; gridsync; gridsync; o[7 - i] = o[7 - i] + 1;", counting(8, 1));
  check_shape("gridsync; gridsync; o[i] = 1; gridsync; gridsync;", Words(8, 1));
  check_shape("gridsync;", Words(8, 0));
  check_shape("gridsync; gridsync;", Words(8, 0));
  check_shape("loop k in 0..5 { gridsync; } o[i] = 2;", Words(8, 2));
  check_shape("o[i] = 2; loop k in 0..5 { gridsync; gridsync; }", Words(8, 2));
  check_shape("if len(o) == 8 { gridsync; } else { gridsync; gridsync; }", Words(8, 0));
  check_shape("{ gridsync; } region \"nothing\" { } gridsync; { }", Words(8, 0));
}

TEST_CASE("a barrier without anything to write at all") {
  check_all_forms(
      "program p workgroup(4) { readonly x: u32[]; let v = x[invocation.x]; gridsync;"
      " let w = v + 1; }",
      {bytes_of(counting(8))}, on_grid(2), {});
  check_all_forms("program p workgroup(4) { readonly x: u32[]; gridsync; let w = x[0]; }",
                  {bytes_of(counting(8))}, fixpoint(on_grid(2), 10), {{}, 1, true});
}

TEST_CASE("fixpoints of segments without work") {
  const char* const text =
      "program p workgroup(4) { readwrite x: u32[]; gridsync; gridsync; x[invocation.x] ="
      " max(x[invocation.x], 5); gridsync; }";
  check_all_forms(text, {bytes_of(counting(8))}, fixpoint(on_grid(2), 10),
                  {{bytes_of(Words{5, 5, 5, 5, 5, 5, 6, 7})}, 2, true});
}

TEST_CASE("inputs and results without elements") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    readwrite y: u32[];
    readwrite z: u8[];
    output o: u32[8];
    let i = invocation.x;
    let seen = x[i] + len(x) * 100;
    y[i] = i + 1;
    atomic_add(y[i], 5);
    gridsync;
    o[i] = seen + y[i] + len(y) * 10 + z[i];
    z[i] = 3;
    gridsync;
    o[i] = o[i] * 2 + len(z);
  })";
  check_all_forms(text, {{}, {}, {}}, on_grid(2), {{{}, {}, zero_words(8)}});
  Words o(8);
  for (std::uint32_t i = 0; i < 8; ++i) o[i] = (i < 3 ? 300 + i + 7 : 300) * 2;
  check_all_forms(text, {bytes_of(Words{7, 8, 9}), {}, {}}, on_grid(2), {{{}, {}, bytes_of(o)}});
  for (std::uint32_t i = 0; i < 8; ++i) o[i] = (30 + (i < 3 ? i + 6 : 0)) * 2 + 5;
  check_all_forms(text, {{}, bytes_of(Words(3)), Bytes(5)}, on_grid(2),
                  {{bytes_of(Words{6, 7, 8}), Bytes(5, std::byte{3}), bytes_of(o)}});
}

TEST_CASE("nothing but buffers without elements: the grid that follows is empty") {
  const char* const text =
      "program p workgroup(4) { readwrite x: u32[]; x[invocation.x] = 1; gridsync;"
      " x[invocation.x] = 2; }";
  check_all_forms(text, {{}}, {}, {{{}}, 1, std::nullopt});
  check_all_forms(text, {{}}, fixpoint({}, 9), {{{}}, 1, true});
  check_all_forms(text, {{}}, on_grid(3), {{{}}, 1, std::nullopt});
}

TEST_CASE("a grid of no workgroups does nothing, and rests at once") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output o: u32[3];
    output flag: u32[1];
    x[0] = 9;
    gridsync;
    loop k in 0..x[0] { gridsync; o[0] = o[0] + 1; }
    flag[0] = 1;
  })";
  const Bytes x = bytes_of(Words{1, 2});
  for (const DispatchConfig& grid : {on_grid(0), on_grid(2, 0), on_grid(1, 1, 0)}) {
    check_all_forms(text, {x}, grid, {{x, zero_words(3), zero_words(1)}, 1, std::nullopt});
    check_all_forms(text, {x}, fixpoint(grid, 5), {{x, zero_words(3), zero_words(1)}, 1, true});
    check_all_forms(text, {x}, fixpoint(grid, 5, by_flag("flag")),
                    {{x, zero_words(3), zero_words(1)}, 1, true});
    check_all_forms(text, {x}, fixpoint(grid, 5, never()),
                    {{x, zero_words(3), zero_words(1)}, 5, false});
  }
}

TEST_CASE("ids and extents on three axes are the same in every segment") {
  const char* const text = R"(program p workgroup(2, 3, 2) {
    output o: u32[144];
    output ids: u32[144];
    let w = num_workgroups.x * workgroup_size.x;
    let h = num_workgroups.y * workgroup_size.y;
    let at = invocation.x + w * (invocation.y + h * invocation.z);
    o[at] = at;
    let before = workgroup_id.x + workgroup_id.y * 10 + workgroup_id.z * 100 + local.x * 1000 +
                 local.y * 10000 + local.z * 100000;
    gridsync;
    let other = o[143 - at];
    let after = workgroup_id.x + workgroup_id.y * 10 + workgroup_id.z * 100 + local.x * 1000 +
                local.y * 10000 + local.z * 100000;
    gridsync;
    o[at] = other;
    ids[at] = before * u32(before == after) + num_workgroups.x * 1000000 +
              num_workgroups.y * 2000000 + num_workgroups.z * 3000000;
  })";
  Words o(144);
  Words ids(144);
  for (std::uint32_t at = 0; at < 144; ++at) {
    const std::uint32_t x = at % 6;
    const std::uint32_t y = at / 6 % 6;
    const std::uint32_t z = at / 36;
    o[at] = 143 - at;
    ids[at] = x / 2 + y / 3 * 10 + z / 2 * 100 + x % 2 * 1000 + y % 3 * 10'000 + z % 2 * 100'000 +
              3'000'000 + 2 * 2'000'000 + 2 * 3'000'000;
  }
  check_all_forms(text, {}, on_grid(3, 2, 2), {{bytes_of(o), bytes_of(ids)}});
}

TEST_CASE("more workgroups than one dispatch takes") {
  const char* const text = R"(program p workgroup(1) {
    readwrite x: u32[];
    output sum: u32[1];
    let i = invocation.x;
    let mine = x[i];
    if mine % 5 == 0 { return; }
    gridsync;
    x[len(x) - 1 - i] = mine;
    gridsync;
    atomic_add(sum[0], x[i] + num_workgroups.x * 0 + mine);
  })";
  constexpr std::uint32_t kCount = 70'001;
  const Words x = counting(kCount);
  Words after = x;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    if (i % 5 != 0) after[kCount - 1 - i] = i;
  }
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    if (i % 5 != 0) sum += after[i] + i;
  }
  check_all_forms(text, {bytes_of(x)}, on_grid(kCount), {{bytes_of(after), bytes_of(Words{sum})}});
}

TEST_CASE("another workgroup size than the program's own") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[24];
    let v = workgroup_size.x * 100 + local.x;
    o[invocation.x] = v;
    gridsync;
    let other = o[23 - invocation.x];
    gridsync;
    o[invocation.x] = other;
  })";
  for (const std::uint32_t size : {1u, 2u, 3u, 8u, 24u}) {
    CAPTURE(size);
    DispatchConfig config = on_grid(24 / size);
    config.workgroup_override = {size, 1, 1};
    Words o(24);
    for (std::uint32_t i = 0; i < 24; ++i) o[i] = size * 100 + (23 - i) % size;
    check_all_forms(text, {}, config, {{bytes_of(o)}});
  }
}

TEST_CASE("grids around the size of one workgroup of the device") {
  const char* const text = R"(program p workgroup(16) {
    readwrite x: u32[];
    let i = invocation.x;
    if i >= len(x) { return; }
    loop k in 0..5 {
      let next = x[(i + 1) % len(x)];
      gridsync;
      x[i] = next * 3 + k;
      gridsync;
    }
  })";
  for (const std::uint32_t count : {1u, 16u, 17u, 127u, 128u, 129u, 1023u, 1024u, 1025u, 5000u}) {
    CAPTURE(count);
    Words x = counting(count);
    for (std::uint32_t k = 0; k < 5; ++k) {
      const Words old = x;
      for (std::uint32_t i = 0; i < count; ++i) x[i] = old[(i + 1) % count] * 3 + k;
    }
    check_all_forms(text, {bytes_of(counting(count))}, on_grid((count + 15) / 16), {{bytes_of(x)}});
  }
}

TEST_CASE("a grid from a buffer") {
  const char* const text = R"(program p workgroup(2) {
    readonly grid: u32[];
    output o: u32[2];
    output seen: u32[12];
    indirect_dispatch(grid[1]);
    let at = invocation.x + num_workgroups.x * 2 * invocation.y;
    atomic_add(o[0], 1);
    gridsync;
    seen[at] = o[0];
    atomic_add(o[1], 1);
  })";
  Words all(12, 12);
  check_all_forms(text, {bytes_of(Words{9, 3, 2, 1})}, {},
                  {{bytes_of(Words{12, 12}), bytes_of(all)}});
  Words two(12);
  two[0] = two[1] = 2;
  check_all_forms(text, {bytes_of(Words{9, 1, 1, 1})}, {},
                  {{bytes_of(Words{2, 2}), bytes_of(two)}});
  check_all_forms(text, {bytes_of(Words{9, 3, 0, 1})}, {}, {{zero_words(2), zero_words(12)}});
  check_all_forms(text, {bytes_of(Words{9, 3})}, {}, {{zero_words(2), zero_words(12)}});
}

TEST_CASE(
    "a grid from a buffer that the program changes: each iteration has the one it began with") {
  const char* const text = R"(program p workgroup(2) {
    readwrite grid: u32[3];
    output o: u32[4];
    indirect_dispatch(grid[0]);
    let width = grid[0];
    gridsync;
    if invocation.x == 0 { grid[0] = 4 - width; }
    atomic_add(o[0], 1);
    gridsync;
    atomic_add(o[1], num_workgroups.x);
    loop k in 0..width { gridsync; atomic_add(o[2], 1); }
  })";
  check_all_forms(text, {bytes_of(Words{3, 1, 1})}, {},
                  {{bytes_of(Words{1, 1, 1}), bytes_of(Words{6, 18, 18, 0})}, 1, std::nullopt});
  // 3, 1, 3: the iterations have 6, 2 and 6 invocations.
  check_all_forms(text, {bytes_of(Words{3, 1, 1})}, fixpoint({}, 3),
                  {{bytes_of(Words{1, 1, 1}), bytes_of(Words{14, 38, 38, 0})},
                   3,
                   false,
                   Expected::Refusal::OneWorkgroup});
}

TEST_CASE("a grid from a buffer that shrinks to nothing with the work, and one that grows") {
  const char* const text = R"(program p workgroup(2) {
    readwrite grid: u32[3];
    readonly step: u32[1];
    output total: u32[1];
    indirect_dispatch(grid[0]);
    let width = grid[0];
    let i = invocation.x;
    gridsync;
    atomic_add(total[0], i + width * 100);
    if i == 0 && width < 5 { grid[0] = width + step[0]; }
  })";
  // Widths 3, 2, 1 and 0: twice each, times 100 and themselves, and the sums of ids 15, 6 and 1.
  check_all_forms(text, {bytes_of(Words{3, 1, 1}), bytes_of(Words{0xFFFF'FFFF})}, fixpoint({}, 20),
                  {{bytes_of(Words{0, 1, 1}), bytes_of(Words{200 * (9 + 4 + 1) + 22})},
                   4,
                   true,
                   Expected::Refusal::OneWorkgroup});
  // Widths 2, 3, 4 and 5 and then no end; three iterations.
  check_all_forms(text, {bytes_of(Words{2, 1, 1}), bytes_of(Words{1})}, fixpoint({}, 3),
                  {{bytes_of(Words{5, 1, 1}), bytes_of(Words{200 * (4 + 9 + 16) + 6 + 15 + 28})},
                   3,
                   false,
                   Expected::Refusal::OneWorkgroup});
}

TEST_CASE("more buffers than one kernel may have, when each segment has fewer") {
  std::string buffers;
  std::string first;
  std::string second;
  std::vector<Bytes> expected;
  for (std::uint32_t k = 0; k < 40; ++k) {
    buffers += fmt::format("output b{}: u32[8]; ", k);
    (k < 20 ? first : second) += fmt::format("b{0}[i] = i + {0}; ", k);
    expected.push_back(bytes_of(counting(8, k)));
  }
  const ir::Program program =
      parsed(fmt::format("program p workgroup(4) {{ {} let i = invocation.x; {} gridsync; {} }}",
                         buffers, first, second));
  for (const GridSync form : {GridSync::Automatic, GridSync::HostSplit}) {
    DispatchConfig config = on_grid(2);
    config.grid_sync = form;
    const auto outputs = tested().dispatch(program, {}, config);
    REQUIRE_MESSAGE(outputs, to_string(outputs.error()));
    CHECK(*outputs == expected);
  }
}
