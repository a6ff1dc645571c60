// Workgroup memory keeps its contents across grid barriers, and workgroup barriers still work.
#include "grid_sync/forms.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

TEST_CASE("workgroup memory written in one segment is read in the next, and in one much later") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[12];
    workgroup t: u32[4];
    let lane = local.x;
    t[lane] = invocation.x * 7;
    gridsync;
    o[invocation.x] = t[3 - lane];
    gridsync;
    o[invocation.x] = o[invocation.x] + 1;
    gridsync;
    t[lane] = t[lane] + 1;
    gridsync;
    o[invocation.x] = o[invocation.x] * 1000 + t[(lane + 1) % 4];
  })";
  Words o(12);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t group = i / 4 * 4;
    o[i] = ((group + 3 - i % 4) * 7 + 1) * 1000 + (group + (i + 1) % 4) * 7 + 1;
  }
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("workgroup memory starts as zeros, also where its first use is after a barrier") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[12];
    workgroup a: u32[4];
    workgroup b: u32[4];
    a[local.x] = 5;
    gridsync;
    o[invocation.x] = b[local.x] * 100 + a[3 - local.x];
    barrier;
    b[local.x] = invocation.x + 1;
    gridsync;
    o[invocation.x] = o[invocation.x] * 100 + b[3 - local.x];
  })";
  Words o(12);
  for (std::uint32_t i = 0; i < 12; ++i) o[i] = 500 + i / 4 * 4 + 3 - i % 4 + 1;
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("workgroup memory of more elements than lanes, and elements nobody touched") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[300];
    workgroup t: u32[100];
    loop k in 0..20 {
      let at = k * 5 + local.x;
      t[at] = at * 10 + workgroup_id.x;
    }
    gridsync;
    loop k in 0..25 {
      let at = k * 4 + local.x;
      o[workgroup_id.x * 100 + at] = t[at];
    }
  })";
  Words o(300);
  for (std::uint32_t i = 0; i < 300; ++i) {
    if (i % 5 != 4) o[i] = i % 100 * 10 + i / 100;
  }
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("workgroup memory of every width lives on") {
  const char* const text = R"(program p workgroup(4) {
    output o: u64[8];
    workgroup bytes: u8[5];
    workgroup shorts: i16[3];
    workgroup flags: bool[4];
    workgroup words: i32[4];
    workgroup wide: u64[4];
    workgroup halves: f16[4];
    workgroup reals: f32[4];
    let l = local.x;
    let i = invocation.x;
    bytes[l + 1] = i * 50;
    if l < 3 { shorts[l] = -i32(i); }
    flags[l] = i % 3 == 0;
    words[l] = -i32(i) * 100000i32;
    wide[l] = u64(i) << 35u64;
    halves[l] = f16(i) / 2.0f16;
    reals[l] = -f32(i) - 0.5;
    gridsync;
    let r = 3 - l;
    o[i] = wide[r] + u64(bytes[r + 1]) + u64(i64(shorts[r % 3])) * 1000u64 + u64(flags[r]) * 3u64 +
           u64(i64(words[r])) + u64(halves[r] * 2.0f16) * 7u64 + u64(-reals[r] * 2.0) * 11u64 +
           u64(bytes[0]);
  })";
  std::vector<std::uint64_t> o(8);
  for (std::uint64_t i = 0; i < 8; ++i) {
    const std::uint64_t group = i / 4 * 4;
    const std::uint64_t r = group + 3 - i % 4;
    const std::uint64_t s = group + (3 - i % 4) % 3;
    o[i] = (r << 35) + r * 50 % 256 - s * 1000 + (r % 3 == 0 ? 3 : 0) - r * 100000 + r * 7 +
           (r * 2 + 1) * 11;
  }
  check_all_forms(text, {}, on_grid(2), {{bytes_of(o)}});
}

TEST_CASE("what returned invocations left in workgroup memory stays") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[12];
    workgroup t: u32[4];
    t[local.x] = invocation.x + 1;
    if local.x > 0 { return; }
    gridsync;
    o[invocation.x] = t[0] + t[1] * 100 + t[2] * 10000 + t[3] * 1000000;
    t[3] = 99;
    gridsync;
    o[invocation.x + 1] = t[3] + t[2];
  })";
  Words o(12);
  for (std::uint32_t g = 0; g < 12; g += 4) {
    o[g] = g + 1 + (g + 2) * 100 + (g + 3) * 10'000 + (g + 4) * 1'000'000;
    o[g + 1] = 99 + g + 3;
  }
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("workgroup memory of a group whose first lanes returned") {
  const char* const text = R"(program p workgroup(8) {
    output o: u32[16];
    workgroup t: u32[8];
    if local.x < 5 { return; }
    t[local.x] = invocation.x;
    gridsync;
    o[invocation.x] = t[12 - local.x];
    barrier;
    t[local.x] = t[local.x] * 2;
    gridsync;
    o[invocation.x] = o[invocation.x] * 100 + t[local.x];
  })";
  Words o(16);
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (i % 8 >= 5) o[i] = (i / 8 * 8 + 12 - i % 8) * 100 + i * 2;
  }
  check_all_forms(text, {}, on_grid(2), {{bytes_of(o)}});
}

TEST_CASE("workgroup atomics go on counting") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[12];
    workgroup n: u32[2];
    loop k in 0..3 {
      atomic_add(n[0], workgroup_id.x + 1);
      let place = atomic_add(n[1], 1);
      gridsync;
      o[workgroup_id.x * 4 + place % 4] = n[0] * 100 + n[1];
      gridsync;
    }
  })";
  Words o(12);
  for (std::uint32_t i = 0; i < 12; ++i) o[i] = 12 * (i / 4 + 1) * 100 + 12;
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE("workgroup memory in a loop: a running tile") {
  const char* const text = R"(program p workgroup(4) {
    readonly x: u32[];
    output o: u32[8];
    workgroup t: u32[4];
    loop k in 0..len(x) {
      if local.x == k % 4 { t[k % 4] = t[(k + 3) % 4] + x[k] + workgroup_id.x; }
      gridsync;
    }
    o[invocation.x] = t[local.x];
  })";
  Words o(8);
  for (std::uint32_t g = 0; g < 2; ++g) {
    Words t(4);
    for (std::uint32_t k = 0; k < 10; ++k) t[k % 4] = t[(k + 3) % 4] + (k + 5) + g;
    for (std::uint32_t l = 0; l < 4; ++l) o[g * 4 + l] = t[l];
  }
  check_all_forms(text, {bytes_of(counting(10, 5))}, on_grid(2), {{bytes_of(o)}});
}

TEST_CASE("workgroup barriers in a loop whose bound is a local from before the grid barrier") {
  const char* const text = R"(program p workgroup(8) {
    readwrite n: u32[1];
    output o: u32[24];
    workgroup t: u32[8];
    let steps = n[0];
    let lane = local.x;
    t[lane] = invocation.x;
    gridsync;
    if invocation.x == 0 { n[0] = 77; }
    gridsync;
    loop k in 0..steps {
      let next = t[(lane + 1) % 8];
      barrier;
      t[lane] = next + k;
      barrier;
    }
    o[invocation.x] = t[lane];
  })";
  Words o(24);
  for (std::uint32_t i = 0; i < 24; ++i) o[i] = i / 8 * 8 + (i + 5) % 8 + 10;
  check_all_forms(text, {bytes_of(Words{5})}, on_grid(3), {{bytes_of(Words{77}), bytes_of(o)}});
}

TEST_CASE("a different bound for each workgroup, from before the grid barrier") {
  const char* const text = R"(program p workgroup(4) {
    readwrite n: u32[3];
    output o: u32[12];
    workgroup t: u32[4];
    let steps = n[workgroup_id.x];
    let shares = workgroup_id.x == 1 && steps > 3;
    let lane = local.x;
    t[lane] = lane;
    gridsync;
    if lane == 0 { n[workgroup_id.x] = 0; }
    loop k in 0..steps {
      let next = t[(lane + 1) % 4];
      barrier;
      t[lane] = next + 10;
      barrier;
    }
    if shares { t[lane] = t[lane] + 1000; barrier; }
    o[invocation.x] = t[3 - lane];
  })";
  const Words steps{2, 5, 0};
  Words o(12);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint32_t g = i / 4;
    o[i] = (3 - i % 4 + steps[g]) % 4 + steps[g] * 10 + (g == 1 ? 1000 : 0);
  }
  check_all_forms(text, {bytes_of(steps)}, on_grid(3), {{zero_words(3), bytes_of(o)}});
}

TEST_CASE("a bound from workgroup memory, read on the other side of a grid barrier") {
  const char* const text = R"(program p workgroup(4) {
    output o: u32[12];
    workgroup t: u32[4];
    workgroup bound: u32[1];
    let lane = local.x;
    if lane == 0 { bound[0] = workgroup_id.x * 2 + 1; }
    gridsync;
    let kept = bound[0];
    gridsync;
    if lane == 0 { bound[0] = 1; }
    barrier;
    loop k in 0..kept {
      t[(lane + 1) % 4] = t[(lane + 1) % 4] + lane;
      barrier;
      loop j in 0..bound[0] { t[lane] = t[lane] + 1; barrier; }
    }
    o[invocation.x] = t[lane];
  })";
  Words o(12);
  for (std::uint32_t i = 0; i < 12; ++i) o[i] = (i / 4 * 2 + 1) * ((i + 3) % 4 + 1);
  check_all_forms(text, {}, on_grid(3), {{bytes_of(o)}});
}

TEST_CASE(
    "a copy that is issued before the grid barrier and awaited after it: native, or refused") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    output o: u32[8];
    workgroup t: u32[8];
    async_load(t[local.x * 2], x[invocation.x * 2], 2, fetch);
    gridsync;
    x[invocation.x * 2] = 0;
    async_wait(fetch);
    barrier;
    o[invocation.x] = t[7 - local.x] * 100 + t[local.x];
  })";
  Words x = counting(16, 1);
  Words o(8);
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t group = i / 4 * 8;
    o[i] = (group + 7 - i % 4 + 1) * 100 + group + i % 4 + 1;
  }
  const std::vector<Bytes> inputs{bytes_of(x)};
  for (std::uint32_t i = 0; i < 16; i += 2) x[i] = 0;
  check_all_forms(
      text, inputs, on_grid(2),
      {.outputs = {bytes_of(x), bytes_of(o)}, .refusal = Expected::Refusal::WhereSplit});
}

TEST_CASE("a copy that is over before the barrier, and one after it with the same tag") {
  const char* const text = R"(program p workgroup(4) {
    readwrite x: u32[];
    workgroup t: u32[8];
    async_load(t[local.x * 2], x[invocation.x * 2], 2, copy);
    async_wait(copy);
    gridsync;
    t[local.x * 2] = t[local.x * 2] + 100;
    async_store(x[(7 - invocation.x) * 2], t[local.x * 2], 2, copy);
    async_wait(copy);
  })";
  Words x(16);
  for (std::uint32_t i = 0; i < 8; ++i) {
    x[(7 - i) * 2] = i * 2 + 101;
    x[(7 - i) * 2 + 1] = i * 2 + 2;
  }
  check_all_forms(text, {bytes_of(counting(16, 1))}, on_grid(2), {{bytes_of(x)}});
}

TEST_CASE("what a subgroup agreed on lives across, and those who returned have no say after") {
  FELSITE_SKIP_IF(!tested_has(codegen::Feature::SubgroupArithmetic),
                  "the device lacks subgroup arithmetic");
  const char* const text = R"(program p workgroup(64) {
    readwrite x: u32[];
    output same: u32[128];
    let i = invocation.x;
    let width = subgroup_size;
    let sum = subgroup_add(x[i]);
    let lane = subgroup_lane;
    if local.x % 2 == 1 { return; }
    gridsync;
    x[i] = 0;
    gridsync;
    let left = subgroup_add(1);
    same[i] = u32(sum == width * 3) + u32(left == width / 2) * 10 + u32(lane == subgroup_lane) * 100;
  })";
  Words same(128);
  Words x(128, 3);
  for (std::size_t i = 0; i < 128; i += 2) {
    same[i] = 111;
    x[i] = 0;
  }
  check_all_forms(text, {bytes_of(Words(128, 3))}, on_grid(2), {{bytes_of(x), bytes_of(same)}});
}

TEST_CASE("workgroup memory that exceeds one binding of the device is kept in several") {
  FELSITE_SKIP_IF(!on_vulkan(), "the reference keeps workgroup memory where it is");
  const std::uint64_t binding = tested().device_profile().max_storage_buffer_bytes;
  FELSITE_SKIP_IF(binding > std::uint64_t{1} << 27, "a binding holds more than a test should take");
  // 16 KiB of each workgroup, so that all of them take as much as a binding, and then more.
  const ir::Program program = valid_program(R"(program p workgroup(64) {
    readwrite sums: u32[];
    workgroup t: u32[4096];
    loop k in 0..64 { t[k * 64 + local.x] = workgroup_id.x * 31 + k * 64 + local.x; }
    gridsync;
    let sum = 0;
    loop k in 0..64 { sum = sum + t[k * 64 + 63 - local.x]; }
    atomic_add(sums[workgroup_id.x], sum);
  })");
  const auto most = static_cast<std::uint32_t>(binding / (4096 * 4));
  for (const std::uint32_t groups : {most, most + 1}) {
    CAPTURE(groups);
    const Bytes zeros(groups * 4);
    const ByteSpan input = zeros;
    DispatchConfig config = on_grid(groups);
    config.grid_sync = GridSync::Resident;
    const auto sums = must(tested().dispatch_borrowed(program, {&input, 1}, config));
    CHECK(words_of(sums.at(0)) ==
          each(groups, [](std::uint32_t g) { return 4096 * 31 * g + 4095 * 2048; }));
  }
}
