// Generated programs: the interpreter against the naive evaluator, byte for byte, and against
// itself on other threads and in other orders. FELSITE_SEED=n runs the one program of that seed.
#include <cstdlib>

#include "reference/independence.h"
#include "support/naive_evaluator.h"
#include "support/program_generator.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Seeds {
  std::uint64_t first;
  std::uint64_t last;
};

Seeds seeds(std::uint64_t first, std::uint64_t count) {
  const char* one = std::getenv("FELSITE_SEED");
  if (one == nullptr) return {first, first + count};
  const std::uint64_t seed = std::strtoull(one, nullptr, 0);
  return {seed, seed + 1};
}

DispatchConfig config_of(const ProgramGenerator& generator) {
  DispatchConfig config;
  config.grid_override = generator.grid();
  return config;
}

std::vector<Bytes> outputs_of(const ir::Program& program, const ProgramGenerator& generator,
                              const ReferenceOptions& options) {
  auto outputs =
      make_reference_backend(options)->dispatch(program, generator.inputs(), config_of(generator));
  REQUIRE_MESSAGE(outputs.has_value(), to_string(outputs.error()));
  return *std::move(outputs);
}

void check_orders_and_threads(const ir::Program& program, const ProgramGenerator& generator,
                              const std::vector<Bytes>& expected, ReferenceOptions options) {
  options.threads = 3;
  CHECK(outputs_of(program, generator, options) == expected);
  options.threads = 1;
  options.order = WorkgroupOrder::Reversed;
  CHECK(outputs_of(program, generator, options) == expected);
  options.order = WorkgroupOrder::Shuffled;
  options.seed = 7;
  CHECK(outputs_of(program, generator, options) == expected);
}

}  // namespace

TEST_CASE("generated programs: bytes equal the naive evaluator's, in any order, on any threads") {
  const Seeds range = seeds(1, 600);
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed);
    const std::string text = generator.text();
    INFO("FELSITE_SEED=" << seed << "\n" << text);
    const ir::Program program = valid_program(text);
    const std::vector<Bytes> expected =
        NaiveEvaluator(program, generator.inputs(), generator.grid()).run();
    ReferenceOptions options;
    options.threads = 1;
    const std::vector<Bytes> outputs = outputs_of(program, generator, options);
    REQUIRE(outputs.size() == expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CAPTURE(i);
      REQUIRE(outputs[i] == expected[i]);
    }
    check_orders_and_threads(program, generator, expected, options);
  }
}

TEST_CASE("generated programs with subgroup operations: any order, any threads, at every width") {
  const Seeds range = seeds(100'000, 150);
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed, ProgramGenerator::Kind::Subgroups);
    const std::string text = generator.text();
    INFO("FELSITE_SEED=" << seed << "\n" << text);
    const ir::Program program = valid_program(text);
    ReferenceOptions options;
    options.threads = 1;
    static constexpr std::uint32_t kWidths[] = {1, 4, 5, 32, 64};
    options.subgroup_width = kWidths[seed % 5];
    check_orders_and_threads(program, generator, outputs_of(program, generator, options), options);
  }
}

TEST_CASE("generated programs of many independent workgroups run in parallel to the same bytes") {
  const Seeds range = seeds(400'000, 12);
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed, ProgramGenerator::Kind::Wide);
    const std::string text = generator.text();
    INFO("FELSITE_SEED=" << seed << "\n" << text);
    const ir::Program program = valid_program(text);
    CHECK(reference::workgroups_are_independent(program, generator.grid()));
    ReferenceOptions options;
    options.threads = 1;
    const std::vector<Bytes> expected = outputs_of(program, generator, options);
    check_orders_and_threads(program, generator, expected, options);
    if (seed % 6 == 0)
      CHECK(NaiveEvaluator(program, generator.inputs(), generator.grid()).run() == expected);
  }
}

TEST_CASE("generated programs print and parse to the same result") {
  const Seeds range = seeds(200'000, 60);
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed);
    const std::string text = generator.text();
    INFO("FELSITE_SEED=" << seed << "\n" << text);
    const ir::Program program = valid_program(text);
    const ir::Program again = valid_program(ir::print(program));
    CHECK(again.fingerprint() == program.fingerprint());
    CHECK(outputs_of(again, generator, {}) == outputs_of(program, generator, {}));
  }
}
