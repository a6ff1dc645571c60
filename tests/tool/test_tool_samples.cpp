// Every sample is valid, formatted, and gives what its head states, in every order of workgroups.
#include "tool_runner.h"

using namespace felsite::test;

TEST_CASE("the samples state what they are, how they run and what comes out") {
  const std::vector<Sample> samples = all_samples();
  CHECK(samples.size() >= 14);
  for (const Sample& sample : samples) {
    CAPTURE(sample.name);
    CHECK(!sample.about.empty());
    CHECK(sample.about.size() <= 48);
    CHECK(!sample.arguments.empty());
    CHECK(!sample.expected.empty());
    // The program is named like its file.
    CHECK(contains(sample.text, "\nprogram " + sample.name + " workgroup("));
  }
}

TEST_CASE("the samples together use every kind of statement and many functions") {
  std::string all;
  for (const Sample& sample : all_samples()) all += sample.text;
  for (const char* word :
       {"let ",          "if ",         "} else {",     "loop ",         "return;",
        "region ",       "barrier;",    "gridsync;",    "op ",           "yield ",
        "async_load(",   "async_wait(", "async_store(", "trap(",         "resume(",
        "all_reduce.",   "all_gather(", "broadcast(",   "bitcast<",      "reduce_scatter.",
        "atomic_add(",   "atomic_or(",  "select(",      "fma(",          "indirect_dispatch(",
        "subgroup_add(", "f16[",        "bf16[",        "u8[",           "atomic_compare_exchange(",
        "i16[",          "u64[",        "uniform ",     "workgroup own", "subgroup_ballot(",
        "\n  {\n"}) {
    CAPTURE(word);
    CHECK(contains(all, word));
  }
}

TEST_CASE("check accepts every sample") {
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.name);
    const Outcome outcome = run_tool({"check", sample.path});
    CHECK(outcome.code == 0);
    CHECK(outcome.out.starts_with(sample.name + ": ok, "));
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("every sample is formatted, and formatting it gives the same text") {
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.name);
    const Outcome checked = run_tool({"fmt", "--check", sample.path});
    CHECK(checked.code == 0);
    CHECK(checked.out.empty());
    CHECK(run_tool({"fmt", sample.path}).out == sample.text);
  }
}

TEST_CASE("every sample gives what it states") {
  for (const Sample& sample : all_samples()) check_expected(sample, run_sample(sample));
}

TEST_CASE("every sample gives the same with the workgroups reversed") {
  for (const Sample& sample : all_samples()) {
    check_expected(sample, run_sample(sample, {"--order", "reversed"}));
  }
}

TEST_CASE("every sample gives the same with the workgroups shuffled") {
  for (const Sample& sample : all_samples()) {
    for (const char* seed : {"1", "2", "18446744073709551615"}) {
      check_expected(sample, run_sample(sample, {"--order", "shuffled", "--seed", seed}));
    }
  }
}

TEST_CASE("every sample gives the same with any width of subgroups") {
  for (const Sample& sample : all_samples()) {
    for (const char* width : {"1", "5", "64"}) {
      check_expected(sample, run_sample(sample, {"--subgroup-width", width}));
    }
  }
}

TEST_CASE("no sample writes past the end of a buffer, but where it says so") {
  for (const Sample& sample : all_samples()) {
    CAPTURE(sample.name);
    const Outcome outcome = run_sample(sample, {"--count-out-of-bounds"});
    CAPTURE(outcome.err);
    const bool exempt = sample.name == "prefix_scan";
    CHECK((exempt || contains(outcome.err, " 0 stores, 0 atomics\n")));
  }
}

TEST_CASE("saxpy gives the same with another workgroup size") {
  const Sample sample = sample_named("saxpy");
  check_expected(sample, run_sample(sample, {"--workgroup", "1"}));
  check_expected(sample, run_sample(sample, {"--workgroup", "4", "--grid", "2"}));
}

TEST_CASE("reachability says how many iterations it took and that it converged") {
  const Outcome outcome = run_sample(sample_named("reachability"));
  CHECK(contains(outcome.err, " iterations, converged\n"));
}

TEST_CASE("checked_divide traps at a zero divisor") {
  const Outcome outcome = run_tool({"run", sample_named("checked_divide").path, "--input",
                                    "a=1,2,3,4,5,6", "--input", "b=1,2,0,4,5,6"});
  check_refused(outcome, 1, "Trapped (1010): Trap `zero_divisor` at address 2");
  CHECK(contains(outcome.err, "invocation (2, 0, 0)"));
}
