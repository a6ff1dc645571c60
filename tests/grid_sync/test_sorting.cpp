// Sorts and scans: loops around grid barriers, nested, with bounds from literals, ids and loops.
#include <algorithm>
#include <numeric>
#include <random>
#include <tuple>

#include "grid_sync/forms.h"

using namespace felsite;
using namespace felsite::test;

namespace {

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed, T mask) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(engine()) & mask;
  return values;
}

const char* const kBitonic = R"(program bitonic workgroup(64) {
  readwrite keys: u64[1024];
  let i = invocation.x;
  loop stage in 1..11 {
    loop step in 0..stage {
      let partner = i ^ (1 << (stage - 1 - step));
      let falling = bool((i >> stage) & 1);
      let mine = keys[i];
      let other = keys[partner];
      gridsync;
      keys[i] = select((i < partner) == falling, max(mine, other), min(mine, other));
      gridsync;
    }
  }
})";

// Sums up to each element, in steps of twice the distance; the steps follow from the length.
const char* const kScan = R"(program scan workgroup(32) {
  readwrite x: i32[];
  let i = invocation.x;
  let sum = x[i];
  loop step in 0..32 - clz(len(x) - 1) {
    let distance = 1 << step;
    let left = 0i32;
    if i >= distance {
      left = x[i - distance];
    }
    gridsync;
    sum = sum + left;
    x[i] = sum;
    gridsync;
  }
})";

// Blocks are summed in workgroup memory, then the sums of blocks, then both are joined: what a
// lane knows of its block lives across the barriers in between.
const char* const kBlockScan = R"(program block_scan workgroup(64) {
  readonly x: u32[];
  output sums: u32[640];
  output blocks: u32[10];
  workgroup row: u32[64];

  let lane = local.x;
  row[lane] = x[invocation.x];
  barrier;
  loop step in 0..6 {
    let left = 0;
    if lane >= 1 << step {
      left = row[lane - (1 << step)];
    }
    barrier;
    row[lane] = row[lane] + left;
    barrier;
  }
  if lane == 63 {
    blocks[workgroup_id.x] = row[63];
  }
  gridsync;
  if invocation.x == 0 {
    loop block in 1..num_workgroups.x {
      blocks[block] = blocks[block] + blocks[block - 1];
    }
  }
  gridsync;
  let before = 0;
  if workgroup_id.x > 0 {
    before = blocks[workgroup_id.x - 1];
  }
  sums[invocation.x] = before + row[lane];
})";

void check_radix(const Words& keys) {
  CAPTURE(keys.size());
  const auto groups = static_cast<std::uint32_t>((keys.size() + 7) / 8);
  Words sorted = keys;
  std::ranges::sort(sorted);
  // The counts of the last round: keys up to each pair of first digit and workgroup, where a
  // workgroup holds eight keys, sorted by all digits but the first.
  std::vector<std::tuple<std::uint32_t, std::size_t, std::uint32_t>> by_rest;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    by_rest.emplace_back(keys[i] & 0x0FFF'FFFF, i, keys[i] >> 28);
  }
  std::ranges::sort(by_rest);
  Words count(std::size_t{16} * groups);
  for (std::size_t i = 0; i < keys.size(); ++i) ++count[std::get<2>(by_rest[i]) * groups + i / 8];
  std::partial_sum(count.begin(), count.end(), count.begin());
  check_all_forms(sample_text("grid_radix_sort"),
                  {bytes_of(keys), zero_words(keys.size()), zero_words(count.size())},
                  on_grid(groups), {{bytes_of(sorted), bytes_of(sorted), bytes_of(count)}});
}

}  // namespace

TEST_CASE("bitonic sort of 1024 keys of 64 bits over 16 workgroups") {
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xFF'0000'0003}}) {
    const auto keys = random_values<std::uint64_t>(1024, 5, mask);
    auto sorted = keys;
    std::ranges::sort(sorted);
    check_all_forms(kBitonic, {bytes_of(keys)}, on_grid(16), {{bytes_of(sorted)}});
  }
}

TEST_CASE("radix sort of keys from all of their range, and of many equal ones") {
  check_radix(random_values<std::uint32_t>(1500, 1, 0xFFFF'FFFF));
  check_radix(random_values<std::uint32_t>(300, 2, 0xF000'0007));
  check_radix({});
  check_radix({5});
  check_radix({3, 2, 1, 0, 0, 1, 2, 3});
  check_radix({0xFFFF'FFFF, 0, 0xFFFF'FFFF, 1, 2, 4, 8, 16, 32});
}

TEST_CASE("inclusive scan, the number of steps from the length") {
  for (const std::uint32_t count : {1u, 2u, 3u, 31u, 32u, 33u, 777u}) {
    CAPTURE(count);
    const auto words = random_values<std::uint32_t>(count, count, 0xFFFF'FFFF);
    Words sums(count);
    std::partial_sum(words.begin(), words.end(), sums.begin());
    check_all_forms(kScan, {bytes_of(words)}, {}, {{bytes_of(sums)}});
  }
}

TEST_CASE("inclusive scan by blocks in workgroup memory") {
  const Words words = random_values<std::uint32_t>(640, 9, 0xFFFF'FFFF);
  Words sums(640);
  std::partial_sum(words.begin(), words.end(), sums.begin());
  Words blocks(10);
  for (std::size_t i = 0; i < 10; ++i) blocks[i] = sums[i * 64 + 63];
  check_all_forms(kBlockScan, {bytes_of(words)}, on_grid(10), {{bytes_of(sums), bytes_of(blocks)}});
}
