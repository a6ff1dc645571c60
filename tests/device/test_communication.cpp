// Atomics, subgroups, asynchronous copies and traps on the device.
#include "support/on_device.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

bool can_run(const ir::Program& program, const codegen::Capabilities& mask) {
  return codegen::lower(codegen::Segment(valid(program)), mask).has_value();
}

}  // namespace

TEST_CASE("atomics on storage and workgroup memory, every operation, ordering and type") {
  static constexpr const char* kOps[] = {"add", "sub", "or", "and", "xor", "min", "max"};
  static constexpr const char* kOrders[] = {"", ".acquire", ".release", ".acq_rel", ".seq_cst"};
  for (const char* type : {"u32", "i32", "u64", "i64"}) {
    for (std::size_t op = 0; op < 7; ++op) {
      const std::string text = fmt::format(R"(program atomics workgroup(32) {{
  readwrite total: {0}[];
  output seen: {0}[1];
  workgroup local_total: {0}[2];
  let i = invocation.x;
  let mine = {0}(i * 2654435769);
  atomic_{1}{2}(total[i % 3], mine);
  atomic_{1}{2}(local_total[i % 2], mine);
  barrier;
  if local.x == 0 {{
    atomic_add(seen[0], local_total[0] ^ local_total[1]);
  }}
}}
)",
                                           type, kOps[op], kOrders[op % 5]);
      CAPTURE(text);
      const ir::Program program = valid_program(text);
      if (ir::info(*ir::type_named(type)).bytes == 8 && !can_run(program, device_mask())) {
        const auto refused = codegen::lower(codegen::Segment(valid(program)), device_mask());
        CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
        continue;
      }
      check_on_device(text, {Bytes(24, std::byte{0x11})}, {5, 1, 1});
      check_on_device(text, {Bytes(24, std::byte{0x11})}, {5, 1, 1},
                      device_mask().without(Feature::MemoryModel));
    }
  }
}

TEST_CASE("exchange and compare-exchange give the old value") {
  check_on_device(
      R"(program exchanges workgroup(16) {
  readwrite x: u32[];
  output old: u32[64];
  output got: i32[64];
  readwrite y: i32[];
  let i = invocation.x;
  old[i] = atomic_exchange(x[i], i * 3);
  got[i] = atomic_compare_exchange.acq_rel(y[i], 5i32, i32(i) - 8i32);
}
)",
      {bytes_of(counting(40, 7)), bytes_of(std::vector<std::int32_t>{5, 4, 5, -5, 5, 0, 1, 5, 5})},
      {4, 1, 1});
}

TEST_CASE("f32 atomic add: exact where the device has the feature") {
  const ir::Program program = valid_program(R"(program sums workgroup(8) {
  readonly x: f32[];
  readwrite total: f32[];
  output old: f32[32];
  let i = invocation.x;
  old[i] = atomic_add(total[i], x[i]);
  atomic_add(total[i], x[31 - i]);
}
)");
  if (!device_mask().has(Feature::FloatAtomicAdd)) {
    const auto refused = codegen::lower(codegen::Segment(valid(program)), device_mask());
    REQUIRE(!refused.has_value());
    CHECK(refused.error().message.find("float_atomic_add") != std::string::npos);
    return;
  }
  Words x(32);
  Words total(32);
  for (std::uint32_t i = 0; i < 32; ++i) {
    x[i] = 0x00800001u + i * 0x00000003u;  // sums and differences are subnormal
    total[i] = (i % 2 == 0 ? 0x80800000u : 0x3F800000u) + i;
  }
  x[3] = 0x7F800000;
  total[3] = 0xFF800000;  // inf - inf
  CHECK(device_difference(test_device(), program, {bytes_of(x), bytes_of(total)}, {4, 1, 1}) == "");
  // All invocations on one element: whole numbers, so that the order does not matter.
  check_on_device(R"(program one workgroup(32) {
  readwrite total: f32[];
  atomic_add(total[0], f32(invocation.x));
}
)",
                  {bytes_of(std::vector<float>{0.5f})}, {4, 1, 1});
}

namespace {

constexpr std::string_view kSubgroups = R"(program lanes workgroup({0}) {{
  readonly x: {1}[];
  output b: u64[64];
  output s: {1}[64];
  output r: {1}[64];
  output t: u32[64];
  let i = local.x{2};
  let v = x[i];
  b[i] = subgroup_ballot(v > {1}(0));
  s[i] = subgroup_shuffle(v, (i * 7 + 3) % 70);
  r[i] = subgroup_add(v) + subgroup_max(v) - subgroup_min(v);
  t[i] = subgroup_lane + 100 * subgroup_size;
}}
)";

}  // namespace

TEST_CASE("subgroup operations, native and through workgroup memory") {
  codegen::Capabilities emulated = device_mask();
  for (const Feature feature : {Feature::SubgroupBallot, Feature::SubgroupShuffle,
                                Feature::SubgroupArithmetic, Feature::LinearSubgroups}) {
    emulated = emulated.without(feature);
  }
  for (const char* type : {"u32", "i32", "f32", "f16", "u64"}) {
    for (const auto& [size, index] :
         {std::pair{"64", ""}, std::pair{"13", ""}, std::pair{"5, 3", " + 5 * local.y"}}) {
      const std::string text = fmt::format(kSubgroups, size, type, index);
      std::vector<std::uint64_t> bits(64);
      for (std::size_t i = 0; i < 64; ++i) bits[i] = i * 0x0123'4567'3F51'3C07ull;
      const std::vector<Bytes> inputs{bytes_of(bits)};
      Bytes cut = inputs[0];
      cut.resize(64 * ir::info(*ir::type_named(type)).bytes);
      check_on_device(text, {cut}, {1, 1, 1});
      check_on_device(text, {cut}, {1, 1, 1}, emulated);
    }
  }
}

TEST_CASE("subgroup operations in divergent control flow concern the active lanes") {
  FELSITE_SKIP_IF(!device_mask().has(Feature::LinearSubgroups),
                  "the driver is not known for linear subgroups");
  check_on_device(R"(program divergent workgroup(32) {
  readonly x: f32[];
  output b: u64[32];
  output r: f32[32];
  output n: u32[32];
  let i = local.x;
  if x[i] < 2.0 {
    return;
  }
  if i % 3 != 0 {
    b[i] = subgroup_ballot(x[i] > 9.0);
    r[i] = subgroup_add(x[i]);
    n[i] = subgroup_xor(i) + u32(subgroup_and(i > 4));
  } else {
    r[i] = subgroup_shuffle(x[i], i % 5);
  }
}
)",
                  {bytes_of(std::vector<float>{
                      3.1f, 0.5f,   7.7f, 1e20f, -2.f, 8.f,  1e-20f, 9.25f, 11.f, 2.5f, 4.f,
                      1.f,  6.125f, 5.f,  13.f,  2.f,  3.f,  10.f,   2.2f,  2.3f, 2.4f, 0.f,
                      99.f, 98.f,   97.f, 96.f,  95.f, 94.f, 93.f,   92.f,  91.f, 90.f})});
}

TEST_CASE("asynchronous copies: captured at the issue, visible at the wait") {
  check_on_device(R"(program copies workgroup(8) {
  readonly source: f32[];
  readwrite target: f32[];
  readonly wide: u64[];
  output out: u64[40];
  workgroup tile: f32[64];
  workgroup wides: u64[16];
  let i = local.x;
  async_load(tile[i * 8], source[i * 7], 8, fetch);
  async_load(wides[i * 2], wide[i * 2], 2, fetch);
  tile[i * 8] = 5.0;
  async_wait(fetch);
  barrier;
  async_store(target[i * 8], tile[56 - i * 8], 3, flush);
  tile[56 - i * 8] = 9.0;
  out[i] = wides[15 - i];
  async_wait(flush);
  barrier;
  loop k in 0..3 {
    async_store(target[i * 8 + 4 + k], tile[i * 8 + k], 1, piece);
    async_wait(piece);
  }
  async_wait(fetch);
}
)",
                  {bytes_of(std::vector<float>(50, 1.5f)), bytes_of(std::vector<float>(60, -1.f)),
                   bytes_of(std::vector<std::uint64_t>{1, 1ull << 40, 3, 4, 5, 6, 7, 8, 9})});
}

TEST_CASE("traps carry tag, address and invocation") {
  const ir::Program program = valid_program(R"(program checks workgroup(4) {
  readwrite x: u32[];
  let i = invocation.x;
  if x[i] == 77 {
    trap(i * 10, found_it);
  }
  if x[i] > 1000 {
    trap(x[i], too_large);
  }
  x[i] = x[i] + 1;
}
)");
  Words x = counting(12);
  CHECK(device_difference(test_device(), program, {bytes_of(x)}, {3, 1, 1}) == "");
  x[9] = 5000;
  const auto outputs = run_on(test_device(), program, {bytes_of(x)}, {3, 1, 1});
  REQUIRE(!outputs.has_value());
  CHECK(outputs.error().code == ErrorCode::Trapped);
  REQUIRE(outputs.error().context.trap.has_value());
  CHECK(outputs.error().context.trap->tag == "too_large");
  CHECK(outputs.error().context.trap->address == 5000);
  CHECK(outputs.error().context.trap->invocation == Extent3{9, 0, 0});
}

TEST_CASE("a segment takes parameters from outside") {
  const ir::Program program = valid_program(R"(program rounds workgroup(4) {
  readonly position: u32[40];
  readwrite x: u32[];
  let part = 39;
  x[invocation.x] = x[invocation.x] * 10 + position[0] * 2 + position[part] + position[40];
  barrier;
  if invocation.x == 0 {
    return;
  }
  barrier;
  x[invocation.x] = x[invocation.x] + position[part] * 100;
}
)");
  codegen::Segment segment(valid(program));
  segment.parameters = 0;
  const auto kernel = codegen::lower(segment, device_mask());
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  CHECK(validation_message(kernel->words) == "");
  // They may be too many to push, and are then in a separate buffer.
  CHECK(kernel->buffers == std::vector<codegen::BufferBinding>{{1, 0, true}});
  const Bytes x = bytes_of(counting(4, 1));
  const Bytes position = bytes_of(counting(40));
  Words parameters(40, 77);
  parameters[0] = 2;
  parameters[39] = 1;
  const std::vector<ByteSpan> spans{position, x};
  const auto outputs = vk::run_kernel(test_device(), *kernel, program, spans,
                                      {.grid = {1, 1, 1}, .parameters = parameters});
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  CHECK(words_of((*outputs)[0]) == Words{15, 125, 135, 145});
}
