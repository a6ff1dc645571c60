// Every feature on and off, alone and in pairs: each module is valid, or refused by a feature that
// the mask really lacks.
#include "felsite/kernel.h"
#include "support/program_generator.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Capabilities;
using codegen::Feature;

namespace {

// One for each kind of lowering that features choose between.
constexpr std::string_view kPrograms[] = {
    R"(program integers workgroup(8) {
  readwrite x: u64[];
  readwrite y: i64[];
  let i = invocation.x;
  x[i] = (x[i] / 3u64 + x[i] % 5u64) << (x[i] & 7u64);
  y[i] = y[i] / (y[i] - 1i64) + i64(f32(x[i])) + y[i] % 9i64;
}
)",
    R"(program narrow workgroup(8) {
  readwrite a: u8[];
  readwrite b: i16[];
  readwrite c: f16[];
  readwrite d: bf16[];
  readwrite e: bool[];
  workgroup t: i8[100];
  let i = invocation.x;
  a[i] = a[i] + 1;
  b[i] = b[i] * 2i32;
  t[local.x] = b[i];
  c[i] = c[i] / 3f16;
  d[i] = sqrt(d[i]);
  e[i] = !e[i];
  barrier;
  b[i] = t[7 - local.x];
}
)",
    R"(program floats workgroup(8) {
  readwrite x: f32[];
  let i = invocation.x;
  x[i] = fma(x[i], sin(x[i]), x[i + 1] / x[i]) - min(x[i], 0.5);
  x[i] = f32(i32(x[i])) * 2.0 + inverse_sqrt(x[i]);
}
)",
    R"(program doubles workgroup(8) {
  readwrite x: f64[];
  let i = invocation.x;
  x[i] = fma(x[i], 2f64, sqrt(x[i])) / 3f64;
}
)",
    R"(program atomics workgroup(8) {
  readwrite n: u32[];
  readwrite w: u64[];
  let i = invocation.x;
  n[0] = atomic_add.acq_rel(n[1], 1) + u32(atomic_max(w[0], u64(i)));
}
)",
    R"(program shared_atomics workgroup(8) {
  output o: i64[1];
  workgroup w: i64[1];
  workgroup f: f32[1];
  atomic_min(w[0], i64(local.x));
  atomic_add(f[0], 1.0);
  barrier;
  o[0] = w[0] + i64(f[0]);
}
)",
    R"(program sums workgroup(8) {
  readwrite total: f32[];
  atomic_add(total[0], 1.5);
}
)",
    R"(program subgroups workgroup(32) {
  readwrite x: f32[];
  output b: u64[32];
  let i = local.x;
  b[i] = subgroup_ballot(x[i] > 0.5) + u64(subgroup_or(i));
  x[i] = subgroup_add(subgroup_shuffle(x[i], i ^ 1));
}
)",
    R"(program divergent_subgroups workgroup(32) {
  readwrite x: u32[];
  if x[local.x] > 3 {
    x[local.x] = subgroup_add(x[local.x]);
  }
}
)",
    R"(program leavers workgroup(8) {
  readwrite x: u32[];
  readonly n: u32[];
  let i = invocation.x;
  if i >= len(x) {
    return;
  }
  let trips = n[0];
  loop k in 0..trips {
    barrier;
    if x[i] > k {
      trap(i, large);
    }
  }
}
)",
    R"(program quick workgroup(8) fast {
  readwrite x: f32[];
  readwrite h: f16[];
  readwrite total: f32[];
  let i = invocation.x;
  x[i] = fma(x[i], exp(x[i]), sqrt(x[i]) / x[i + 1]) + f32(h[i]);
  h[i] = f16(max(x[i], x[i + 2]));
  atomic_add(total[0], x[i]);
}
)",
    R"(program copies workgroup(8) {
  readonly from: u64[];
  output to: u64[64];
  workgroup t: u64[64];
  async_load(t[local.x * 8], from[local.x * 8], 8, fetch);
  async_wait(fetch);
  async_store(to[local.x * 8], t[local.x * 8], 8, flush);
  async_wait(flush);
}
)",
};

void check_all(const Capabilities& mask) {
  for (const std::string_view text : kPrograms) {
    const ir::Program program = valid_program(text);
    const auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
    INFO("features " << mask.features.to_string() << "\n" << text);
    if (kernel) {
      CHECK(validation_message(kernel->words) == "");
      continue;
    }
    CHECK(kernel.error().code == ErrorCode::UnsupportedFeature);
    // It names a feature, and the mask has not got it.
    bool named =
        kernel.error().message.find("subgroup operations in divergent") != std::string::npos;
    for (std::size_t f = 0; f < codegen::kFeatureCount; ++f) {
      const auto feature = static_cast<Feature>(f);
      const std::string name = " " + std::string(codegen::info(feature).name) + " ";
      if (kernel.error().message.find(name) == std::string::npos) continue;
      named = true;
      CHECK(!mask.has(feature));
    }
    CHECK(named);
  }
}

}  // namespace

TEST_CASE("each feature alone, and all but one") {
  for (std::size_t f = 0; f < codegen::kFeatureCount; ++f) {
    check_all(codegen::no_capabilities().with(static_cast<Feature>(f)));
    check_all(codegen::all_capabilities().without(static_cast<Feature>(f)));
  }
  check_all(codegen::no_capabilities());
  check_all(codegen::all_capabilities());
}

TEST_CASE("each pair of features, and all but a pair") {
  for (std::size_t a = 0; a < codegen::kFeatureCount; ++a) {
    for (std::size_t b = a + 1; b < codegen::kFeatureCount; ++b) {
      const auto first = static_cast<Feature>(a);
      const auto second = static_cast<Feature>(b);
      check_all(codegen::no_capabilities().with(first).with(second));
      check_all(codegen::all_capabilities().without(first).without(second));
    }
  }
}

TEST_CASE("quirks and versions of SPIR-V, with everything and with nothing") {
  for (const std::uint32_t version : {0x0001'0300u, 0x0001'0400u, 0x0001'0500u, 0x0001'0600u}) {
    for (const std::uint32_t budget : {0u, 65535u}) {
      for (Capabilities mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
        mask.spirv_version = version;
        mask.loop_budget = budget;
        mask.folds_float_zeros = budget != 0;
        check_all(mask);
      }
    }
  }
}

TEST_CASE("loop budgets that leave room for few trips") {
  for (const std::uint32_t budget : {1u, 6u, 40u}) {
    for (Capabilities mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
      mask.loop_budget = budget;
      check_all(mask);
    }
  }
}

TEST_CASE("generated programs lower to valid modules under random masks") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    Capabilities mask = codegen::no_capabilities();
    mask.features = std::bitset<codegen::kFeatureCount>(random());
    mask.spirv_version = 0x0001'0000u | static_cast<std::uint32_t>(3 + random() % 4) << 8;
    static constexpr std::uint32_t kBudgets[] = {0, 0, 4, 1000};
    mask.loop_budget = kBudgets[random() % 4];
    ProgramGenerator generator(
        seed, seed % 4 == 0 ? ProgramGenerator::Kind::Subgroups : ProgramGenerator::Kind::Plain);
    generator.for_device(mask.has(Feature::Float64),
                         mask.has(Feature::Atomics64) && mask.has(Feature::Int64),
                         mask.has(Feature::SharedAtomics64) && mask.has(Feature::Int64));
    const std::string text = generator.text();
    INFO("seed " << seed << ", features " << mask.features.to_string() << "\n" << text);
    const auto kernel = codegen::lower(codegen::Segment(valid_program(text)), mask);
    if (kernel) {
      CHECK(validation_message(kernel->words) == "");
    } else {
      CHECK(kernel.error().code == ErrorCode::UnsupportedFeature);
    }
  }
}
