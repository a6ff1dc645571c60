// Regular work on arrays: scans, sorts, stencils, dense matrices, and loops that do nothing but
// compute.
#include <fmt/format.h>

#include <numeric>

#include "form_shapes.h"
#include "sample_texts.h"

namespace felsite::bench {
namespace {

// {0}: rounds of arithmetic in each invocation. Then the elements meet once.
constexpr std::string_view kHash = R"(
program hash workgroup(64) {{
  readwrite v: u32[];
  readwrite w: u32[];
  let i = invocation.x;
  let h = v[i];
  loop round in 0..{0} {{
    h = (h ^ (h >> 15)) * 2246822519;
    h = rotate_left(h, 13) + round;
  }}
  v[i] = h;
  gridsync;
  w[i] = h + v[len(v) - 1 - i];
}})";

// The same on pairs of words.
constexpr std::string_view kWideHash = R"(
program wide_hash workgroup(64) {{
  readwrite v: u64[];
  readwrite w: u64[];
  let i = invocation.x;
  let h = v[i];
  loop round in 0..{0} {{
    h = (h ^ (h >> 29u64)) * 2246822519u64;
  }}
  v[i] = h;
  gridsync;
  w[i] = h + v[len(v) - 1 - i];
}})";

// An LSD radix sort in which each invocation has many keys: 8 rounds of 4 bits.
constexpr std::string_view kRadix = R"(
program radix workgroup(64) {
  readwrite keys: u32[];
  readwrite spare: u32[];
  readwrite count: u32[];
  readwrite total: u32[16];
  let me = invocation.x;
  let all = num_workgroups.x * 64;
  let chunk = len(keys) / all;
  loop place in 0..8 {
    loop d in 0..16 {
      count[d * all + me] = 0;
    }
    loop k in me * chunk..me * chunk + chunk {
      let slot = ((keys[k] >> (place * 4)) & 15) * all + me;
      count[slot] = count[slot] + 1;
    }
    gridsync;
    if me < 16 {
      let sum = 0;
      loop g in 0..all {
        let c = count[me * all + g];
        count[me * all + g] = sum;
        sum = sum + c;
      }
      total[me] = sum;
    }
    gridsync;
    let start = 0;
    loop d in 0..16 {
      count[d * all + me] = count[d * all + me] + start;
      start = start + total[d];
    }
    loop k in me * chunk..me * chunk + chunk {
      let key = keys[k];
      let slot = ((key >> (place * 4)) & 15) * all + me;
      let at = count[slot];
      count[slot] = at + 1;
      spare[at] = key;
    }
    gridsync;
    loop k in me * chunk..me * chunk + chunk {
      keys[k] = spare[k];
    }
    gridsync;
  }
})";

constexpr std::string_view kJacobi = R"(
program jacobi workgroup(64) {
  readonly a: f32[];
  readonly b: f32[];
  readwrite x: f32[];
  let i = invocation.x;
  let n = len(b);
  let sum = 0.0;
  loop j in 0..n {
    if j != i {
      sum = sum + a[i * n + j] * x[j];
    }
  }
  gridsync;
  x[i] = (b[i] - sum) / a[i * n + i];
})";

constexpr std::string_view kBodies = R"(
program bodies workgroup(64) {
  readwrite x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  let px = x[i];
  let py = y[i];
  let fx = 0.0;
  let fy = 0.0;
  loop j in 0..len(x) {
    let dx = x[j] - px;
    let dy = y[j] - py;
    let r = inverse_sqrt(dx * dx + dy * dy + 0.01);
    fx = fx + dx * r * r * r;
    fy = fy + dy * r * r * r;
  }
  gridsync;
  x[i] = px + fx * 0.001;
  y[i] = py + fy * 0.001;
})";

constexpr std::string_view kFunctions = R"(
program functions workgroup(64) {
  readwrite x: f32[];
  readwrite y: f32[];
  let i = invocation.x;
  y[i] = sin(x[i]) * exp(-x[i]) + sqrt(x[i]);
  gridsync;
  x[i] = fma(y[i], 0.5, y[len(y) - 1 - i]);
})";

// Half as many sums in each round.
constexpr std::string_view kTree = R"(
program tree workgroup(64) {
  readwrite x: u32[];
  let i = invocation.x;
  loop step in 0..32 - clz(len(x) - 1) {
    let reach = 1 << step;
    if i % (reach * 2) == 0 {
      x[i] = x[i] + x[i + reach];
    }
    gridsync;
  }
})";

constexpr std::string_view kHistogram = R"(
program histogram workgroup(64) {
  readonly v: u32[];
  readwrite count: u32[64];
  readwrite w: u32[];
  let i = invocation.x;
  atomic_add(count[v[i] % 64], 1);
  gridsync;
  w[i] = count[v[i] % 64];
})";

// Iterations that do next to nothing, until the largest element is 0.
constexpr std::string_view kCountdown = R"(
program countdown workgroup(64) {
  readwrite x: u32[];
  let i = invocation.x;
  if x[i] > 0 {
    x[i] = x[i] - 1;
  }
})";

constexpr std::string_view kSmooth = R"(
program smooth workgroup(64) {
  readwrite a: u32[];
  readwrite b: u32[];
  let i = invocation.x;
  b[i] = (a[i] + a[max(i, 1) - 1] + a[min(i + 1, len(a) - 1)]) / 3;
  gridsync;
  a[i] = b[i];
})";

// As many barriers in a row.
std::string phases_text(std::uint32_t count) {
  std::string text =
      "program phases workgroup(64) {\n  readwrite v: u32[];\n  readwrite w: u32[];\n  let i = "
      "invocation.x;\n";
  for (std::uint32_t k = 0; k < count; ++k) {
    const bool forth = k % 2 == 0;
    text += fmt::format("  {}[i] = {}[len(v) - 1 - i] * 3 + {};\n  gridsync;\n", forth ? "w" : "v",
                        forth ? "v" : "w", k);
  }
  return text + "  v[i] = v[i] + 1;\n}\n";
}

std::vector<std::uint32_t> scattered(std::uint32_t count, std::uint32_t shift = 8) {
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = i * 2654435761U >> shift;
  return values;
}
Bytes words(std::uint32_t count, std::uint32_t shift = 8) {
  return bytes_of_values(scattered(count, shift));
}
Bytes zeros(std::uint32_t count) { return Bytes(std::uint64_t{count} * 4); }
// Between 0 and 1.
Bytes fractions(std::uint32_t count) {
  std::vector<float> values;
  for (const std::uint32_t v : scattered(count)) values.push_back(static_cast<float>(v) * 0x1p-24F);
  return bytes_of_values(values);
}

DispatchConfig square(std::uint32_t side, std::uint32_t size, std::uint32_t iterations = 1) {
  DispatchConfig config{.grid_override = Extent3{side / size, side / size, 1},
                        .workgroup_override = Extent3{size, size, 1}};
  if (iterations > 1) {
    config.fixpoint_iterations = iterations;
    config.convergence.kind = Convergence::Kind::None;
  }
  return config;
}

FormShape jacobi(std::uint32_t n) {
  std::vector<float> matrix(std::size_t{n} * n, 1.0F);
  for (std::uint32_t i = 0; i < n; ++i) matrix[std::size_t{i} * n + i] = 2.0F * float(n);
  return {fmt::format("jacobi {}", n),
          std::string(kJacobi),
          {bytes_of_values(matrix), fractions(n), zeros(n)},
          along_x(n, 64, 10, Convergence::Kind::None)};
}

void add_scans_and_sorts(std::vector<FormShape>& all) {
  for (const std::uint32_t n : {256u, 1024u, 4096u, 8192u, 16384u}) {
    all.push_back({fmt::format("prefix_scan {}", n),
                   std::string(samples::prefix_scan),
                   {words(n)},
                   along_x(n, 16)});
  }
  for (const std::uint32_t keys : {16u, 128u, 1024u}) {
    all.push_back({fmt::format("radix 512 x {}", keys),
                   std::string(kRadix),
                   {words(512 * keys, 0), zeros(512 * keys), zeros(512 * 16), zeros(16)},
                   along_x(512, 64)});
  }
  for (const std::uint32_t n : {256u, 2048u, 8192u}) {
    all.push_back({fmt::format("tree {}", n), std::string(kTree), {words(n)}, along_x(n, 64)});
  }
  for (const std::uint32_t n : {512u, 4096u}) {
    all.push_back({fmt::format("histogram {}", n),
                   std::string(kHistogram),
                   {words(n), zeros(64), zeros(n)},
                   along_x(n, 64)});
  }
}

void add_stencils(std::vector<FormShape>& all) {
  for (const std::uint32_t side : {16u, 32u, 64u, 256u}) {
    for (const std::uint32_t steps : {4u, 100u}) {
      if (side == 256 && steps == 100) continue;
      all.push_back({fmt::format("heat {0} x {0}, {1} steps", side, steps),
                     std::string(samples::grid_heat),
                     {bytes_of_values(std::vector{side}), fractions(side * side)},
                     square(side, 8, steps)});
    }
  }
  for (const std::uint32_t n : {128u, 1024u, 8192u}) {
    all.push_back({fmt::format("smooth {}, 200 steps", n),
                   std::string(kSmooth),
                   {words(n), zeros(n)},
                   along_x(n, 64, 200, Convergence::Kind::None)});
  }
  DispatchConfig life = square(8, 4);
  all.push_back(
      {"game_of_life 8 x 8, 100",
       std::string(samples::game_of_life),
       {bytes_of_values(std::vector{100u}), bytes_of_values(std::vector<std::uint8_t>(64, 0))},
       life});
}

void add_dense(std::vector<FormShape>& all) {
  for (const std::uint32_t n : {64u, 256u, 1024u}) all.push_back(jacobi(n));
  for (const std::uint32_t n : {128u, 1024u}) {
    all.push_back({fmt::format("bodies {}", n),
                   std::string(kBodies),
                   {fractions(n), words(n, 20)},
                   along_x(n, 64, 2, Convergence::Kind::None)});
    std::vector<float> y(n);
    std::iota(y.begin(), y.end(), 0.0F);
    all.back().inputs[1] = bytes_of_values(y);
  }
  for (const std::uint32_t side : {16u, 32u, 64u, 128u}) {
    std::vector<std::uint32_t> distance = scattered(side * side, 20);
    all.push_back({fmt::format("floyd_warshall {}", side),
                   std::string(samples::grid_floyd_warshall),
                   {bytes_of_values(std::vector{side}), bytes_of_values(distance)},
                   square(side, 8)});
  }
}

void add_arithmetic(std::vector<FormShape>& all) {
  for (const std::uint32_t n : {64u, 512u, 4096u}) {
    for (const std::uint32_t rounds : {8u, 256u, 4096u}) {
      if (std::uint64_t{n} * rounds > 3'000'000) continue;
      all.push_back({fmt::format("hash {} x {}", n, rounds),
                     fmt::format(fmt::runtime(kHash), rounds),
                     {words(n), zeros(n)},
                     along_x(n, 64)});
    }
  }
  for (const std::uint32_t n : {256u, 4096u}) {
    all.push_back({fmt::format("wide_hash {} x 64", n),
                   fmt::format(fmt::runtime(kWideHash), 64),
                   {words(2 * n), zeros(2 * n)},
                   along_x(n, 64)});
    all.push_back({fmt::format("functions {}", n),
                   std::string(kFunctions),
                   {fractions(n), zeros(n)},
                   along_x(n, 64)});
  }
  for (const std::uint32_t n : {64u, 1024u, 8192u}) {
    all.push_back({fmt::format("phases {}, 4 barriers", n),
                   phases_text(4),
                   {words(n), zeros(n)},
                   along_x(n, 64)});
    all.push_back({fmt::format("phases {}, 15 barriers", n),
                   phases_text(15),
                   {words(n), zeros(n)},
                   along_x(n, 64)});
  }
  for (const auto& [n, iterations] : {std::pair{64u, 1000u}, std::pair{512u, 200u},
                                      std::pair{8192u, 10u}, std::pair{8192u, 100u}}) {
    std::vector<std::uint32_t> x(n);
    for (std::uint32_t i = 0; i < n; ++i) x[i] = i % iterations;
    all.push_back({fmt::format("countdown {}, {} iterations", n, iterations),
                   std::string(kCountdown),
                   {bytes_of_values(x)},
                   along_x(n, 64, 2 * iterations)});
  }
}

}  // namespace

DispatchConfig along_x(std::uint32_t elements, std::uint32_t size, std::uint32_t iterations,
                       Convergence::Kind ends) {
  DispatchConfig config{.grid_override = Extent3{(elements + size - 1) / size, 1, 1},
                        .workgroup_override = Extent3{size, 1, 1}};
  if (iterations > 1) config.fixpoint_iterations = iterations;
  config.convergence.kind = ends;
  return config;
}

std::vector<FormShape> array_shapes() {
  std::vector<FormShape> all;
  add_scans_and_sorts(all);
  add_stencils(all);
  add_dense(all);
  add_arithmetic(all);
  return all;
}

}  // namespace felsite::bench
