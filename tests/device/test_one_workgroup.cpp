// Whole grids as one workgroup, with grid barriers that are its own.
#include "device/one_workgroup.h"
#include "support/program_generator.h"

using namespace felsite;
using namespace felsite::test;

namespace {

void check_as_one(std::string_view text, const std::vector<Bytes>& inputs, Extent3 grid,
                  const codegen::Capabilities& mask) {
  INFO(text);
  CAPTURE(grid[0]);
  CAPTURE(grid[1]);
  CAPTURE(grid[2]);
  const ir::Program program = valid_program(text);
  CHECK(difference_as_one(program, inputs, grid, mask) == "");
  if (grid == Extent3{1, 1, 1}) return;
  for (const std::uint32_t turns : {2U, 3U, 8U}) {
    CAPTURE(turns);
    CHECK(difference_as_one(program, inputs, grid, with_turns(mask, program, grid, turns)) == "");
  }
}

void check_as_one(std::string_view text, const std::vector<Bytes>& inputs, Extent3 grid) {
  check_as_one(text, inputs, grid, device_mask());
  check_as_one(text, inputs, grid, device_mask().without(codegen::Feature::MemoryModel));
}

// Writes what every invocation knows of itself, before and behind a barrier.
constexpr std::string_view kIds = R"(program ids workgroup({}) {{
  output ids: u32[4096];
  output seen: u32[512];
  let n = invocation.x + num_workgroups.x * workgroup_size.x *
          (invocation.y + num_workgroups.y * workgroup_size.y * invocation.z);
  ids[n * 8] = invocation.x + 1000 * invocation.y + 1000000 * invocation.z;
  ids[n * 8 + 1] = workgroup_id.x + 1000 * workgroup_id.y + 1000000 * workgroup_id.z;
  ids[n * 8 + 2] = local.x + 1000 * local.y + 1000000 * local.z;
  ids[n * 8 + 3] = num_workgroups.x + 1000 * num_workgroups.y + 1000000 * num_workgroups.z;
  ids[n * 8 + 4] = workgroup_size.x + 1000 * workgroup_size.y + 1000000 * workgroup_size.z;
  gridsync;
  seen[n] = ids[(n ^ 1) * 8] * 3 + ids[n * 8 + 2];
}}
)";

}  // namespace

TEST_CASE("a folded grid has the ids of the grid") {
  const auto check = [](std::string_view size, Extent3 grid) {
    check_as_one(fmt::format(fmt::runtime(kIds), size), {}, grid);
  };
  check("8", {1, 1, 1});
  check("8", {5, 1, 1});
  check("7", {1, 9, 1});
  check("1", {13, 2, 1});
  check("4, 2", {3, 5, 1});
  check("4, 2, 3", {1, 1, 1});
  check("2, 3, 2", {2, 3, 2});
  check("1, 1, 5", {3, 1, 4});
  check("5, 1, 1", {1, 1, 6});
}

TEST_CASE("grid barriers behind divergent returns") {
  const std::string_view text = R"(program returns workgroup(16) {
  readonly x: u32[];
  readwrite y: u32[];
  output o: u32[256];
  let i = invocation.x;
  let kept = x[i] * 3;
  let sum = kept;
  if x[i] % 5 == 0 {
    return;
  }
  y[i] = i;
  gridsync;
  if workgroup_id.x == 1 {
    o[i] = 77;
    return;
  }
  sum = sum + y[(i + 17) % len(y)];
  gridsync;
  y[i] = sum;
  gridsync;
  o[i] = kept + sum + y[(i * 7) % len(y)];
}
)";
  for (const std::uint32_t workgroups : {1U, 3U, 8U}) {
    Words x(workgroups * 16);
    for (std::uint32_t i = 0; i < x.size(); ++i) x[i] = i * 2654435769U >> 20;
    check_as_one(text, {bytes_of(x), zero_words(x.size())}, {workgroups, 1, 1});
  }
  // Nobody is left.
  check_as_one(text, {bytes_of(Words(48, 5)), zero_words(48)}, {3, 1, 1});
}

TEST_CASE("grid barriers in uniform loops and conditions, with and without returns") {
  constexpr std::string_view kText = R"(program loops workgroup(8) {{
  readonly bound: u32[2];
  readwrite a: u32[];
  readwrite b: u32[];
  let i = invocation.x;
  let n = len(a);
  let total = 0;
  {}
  loop round in 0..bound[0] {{
    a[i] = a[i] + b[(i + round) % n];
    gridsync;
    if round % 2 == bound[1] {{
      total = total + a[(i + 3) % n];
      gridsync;
      loop k in 0..2 {{
        a[i] = a[i] ^ (total + k);
        gridsync;
      }}
    }} else {{
      b[i] = b[i] + a[(i + 1) % n];
    }}
    gridsync;
  }}
  region "tail" {{
    if bound[0] > 3 {{
      gridsync;
      b[i] = b[i] + total * 5;
    }}
  }}
}}
)";
  for (const char* before : {"", "if a[i] % 3 == 1 { return; }",
                             "if workgroup_id.x == 2 { return; }", "if i > 1000 { return; }"}) {
    const std::string text = fmt::format(fmt::runtime(kText), before);
    for (const std::uint32_t workgroups : {1U, 4U}) {
      for (const Words& bound : {Words{5, 0}, Words{4, 1}, Words{0, 0}, Words{3, 7}}) {
        const std::uint32_t n = workgroups * 8;
        check_as_one(text, {bytes_of(bound), bytes_of(counting(n, 1)), bytes_of(counting(n, 50))},
                     {workgroups, 1, 1});
      }
    }
  }
}

TEST_CASE("a return in a loop with a grid barrier") {
  check_as_one(R"(program leaving workgroup(8) {
  readwrite a: u32[];
  output o: u32[64];
  let i = invocation.x;
  loop round in 0..6 {
    if a[i] == round {
      return;
    }
    let next = a[(i + 1) % len(a)] % 2;
    gridsync;
    a[i] = a[i] + next;
    gridsync;
    o[i] = o[i] * 7 + a[(i + 5) % len(a)];
    gridsync;
  }
}
)",
               {bytes_of(counting(40))}, {5, 1, 1});
}

TEST_CASE("workgroup memory and grid barriers of one workgroup") {
  check_as_one(R"(program tiles workgroup(32) {
  readwrite x: u32[];
  workgroup tile: u32[32];
  workgroup sums: u16[5];
  let l = local.x;
  tile[l] = x[l];
  if l % 4 == 3 {
    return;
  }
  gridsync;
  x[l] = tile[31 - l] + u32(sums[l % 5]);
  barrier;
  sums[l % 5] = l % 5;
  gridsync;
  x[l] = x[l] + tile[l] * sums[(l + 1) % 5] + subgroup_size;
}
)",
               {bytes_of(counting(32, 9))}, {1, 1, 1});
}

TEST_CASE("narrow and wide elements behind grid barriers") {
  check_as_one(
      R"(program types workgroup(4) {
  readwrite a: u8[];
  readwrite b: u64[];
  readwrite c: f16[];
  let i = invocation.x;
  let n = len(a);
  let wide = b[i] * 3u64;
  let small = c[i];
  let next = a[(i + 1) % n];
  if a[i] == 7 {
    return;
  }
  gridsync;
  a[i] = next + 1;
  b[(i + 2) % n] = wide;
  gridsync;
  c[i] = small + f16(a[(i + 3) % n]);
  b[i] = b[i] + wide;
}
)",
      {[] {
         Bytes bytes(24);
         for (std::size_t i = 0; i < 24; ++i) bytes[i] = static_cast<std::byte>(i);
         return bytes;
       }(),
       bytes_of(std::vector<std::uint64_t>(24, 0x1'2345'6789)), Bytes(48, std::byte{0x31})},
      {6, 1, 1});
}

TEST_CASE("more invocations than a workgroup of the device has") {
  const std::uint32_t all = 3 * device_mask().limits.workgroup_invocations + 5;
  check_as_one(R"(program reversed workgroup(1) {
  readwrite x: u32[];
  let i = invocation.x;
  let other = x[len(x) - 1 - i];
  if other % 10 == 7 {
    return;
  }
  gridsync;
  x[i] = other * 3 + i;
}
)",
               {bytes_of(counting(all, 1))}, {all, 1, 1});
}

TEST_CASE("all invocations of a lane share its loop budget") {
  constexpr std::string_view kText = R"(program trips workgroup(4) {{
  readonly n: u32[1];
  readwrite x: u32[];
  let i = invocation.x;
  loop k in 0..{} {{
    x[i] = x[i] * 3 + k;
  }}
  gridsync;
  x[i] = x[i] + 1;
}}
)";
  const Extent3 grid{8, 1, 1};
  const std::vector<Bytes> inputs{bytes_of(Words{9000}), bytes_of(counting(32))};
  const ir::Program known = valid_program(fmt::format(fmt::runtime(kText), "9000"));
  const ir::Program unknown = valid_program(fmt::format(fmt::runtime(kText), "n[0]"));
  const auto mask = with_turns(device_mask(), known, grid, 8);
  CHECK(difference_as_one(known, inputs, grid, mask) == "");
  const std::string difference = difference_as_one(unknown, inputs, grid, mask);
  if (mask.loop_budget == 0) {
    CHECK(difference == "");
  } else {
    CHECK(difference.find("LoopBudgetExceeded") != std::string::npos);
  }
}

TEST_CASE("a trap in a folded grid names the invocation of the grid") {
  const ir::Program program = valid_program(R"(program checks workgroup(4) {
  readwrite x: u32[];
  let i = invocation.x + 8 * invocation.y;
  gridsync;
  if x[i] == 77 {
    trap(i * 10, found_it);
  }
  gridsync;
  x[i] = 5;
}
)");
  for (const std::uint32_t turns : {1U, 3U}) {
    const auto kernel = lower_as_one(program, {.grid = {2, 3, 1}, .iterations = {}},
                                     with_turns(device_mask(), program, {2, 3, 1}, turns));
    REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
    Words x(24);
    x[21] = 77;
    const Bytes bytes = bytes_of(x);
    const std::vector<ByteSpan> spans{bytes};
    const auto found = vk::run_kernel(test_device(), *kernel, program, spans, {.grid = {1, 1, 1}},
                                      std::chrono::seconds(60));
    REQUIRE(!found.has_value());
    CHECK(found.error().code == ErrorCode::Trapped);
    REQUIRE(found.error().context.trap.has_value());
    CHECK(found.error().context.trap->address == 210);
    CHECK(found.error().context.trap->invocation == Extent3{5, 2, 0});
  }
}

namespace {

// With nothing but grid barriers, so that the grid can be one workgroup.
std::string with_grid_barriers(std::string text) {
  for (const std::string_view barrier : {"barrier;", "barrier.seq_cst;"}) {
    for (std::size_t at = text.find(barrier); at != std::string::npos; at = text.find(barrier)) {
      text.replace(at, barrier.size(), "gridsync;");
    }
  }
  return text;
}

}  // namespace

TEST_CASE("generated programs with grid barriers, as one workgroup") {
  using codegen::Feature;
  const codegen::Capabilities mask = device_mask();
  std::size_t as_it_is = 0;
  std::size_t folded = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    ProgramGenerator generator(seed);
    if (seed % 2 == 0) {
      generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                           mask.has(Feature::SharedAtomics64));
    }
    const std::string text = generator.text();
    INFO("seed " << seed << "\n" << text);
    const auto runs = [&](const ir::Program& program, Extent3 grid) {
      if (!lower_as_one(program, {.grid = grid, .iterations = {}}, mask)) return false;
      CHECK(difference_as_one(program, generator.inputs(), grid, mask) == "");
      return true;
    };
    if (runs(valid_program(text), {1, 1, 1})) ++as_it_is;
    const ir::Program on_grid = valid_program(with_grid_barriers(text));
    if (!runs(on_grid, generator.grid())) continue;
    ++folded;
    const auto narrow =
        with_turns(mask, on_grid, generator.grid(), 2 + static_cast<std::uint32_t>(seed % 7));
    if (generator.grid() == Extent3{1, 1, 1}) continue;
    CHECK(difference_as_one(on_grid, generator.inputs(), generator.grid(), narrow) == "");
  }
  CHECK(as_it_is >= 30);
  CHECK(folded >= 10);
}
