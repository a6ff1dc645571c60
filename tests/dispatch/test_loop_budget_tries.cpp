// One workgroup that may exceed the driver's loop budget: when it is tried, and what runs after it
// did.
#include <fmt/format.h>

#include "base/errors.h"
#include "dispatch/state/loop_budget_tries.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;
using dispatch::LoopBudgetTries;

namespace {

ir::ValidProgram numbered(int number, std::string_view statement = "gridsync;") {
  return valid_program(fmt::format("program p{} workgroup(1) {{ output x: u32[1]; {} x[0] = 1; }}",
                                   number, statement));
}

// The runs of a dispatch, each of which ends so where it tries, and well where it does not:
// "try, segments".
std::string runs_of(LoopBudgetTries& tries, const ir::Program& program,
                    std::optional<ErrorCode> end_of_try, const DispatchConfig& config = {}) {
  std::string text;
  const auto ran = tries.run(program, config, [&](bool can_try) -> Result<int> {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", can_try ? "try" : "segments");
    if (can_try && end_of_try) return std::unexpected(base::make_error(*end_of_try, "No.", "no."));
    return 7;
  });
  CHECK(ran.has_value() == (!end_of_try || text.ends_with("segments")));
  if (ran) CHECK(*ran == 7);
  if (!ran) CHECK(ran.error().code == *end_of_try);
  return text;
}

}  // namespace

TEST_CASE("loop budget: what was tried in vain runs in segments, from then on at once") {
  LoopBudgetTries tries;
  const auto over = ErrorCode::LoopBudgetExceeded;
  CHECK(runs_of(tries, numbered(1), std::nullopt) == "try");
  CHECK(runs_of(tries, numbered(1), over) == "try, segments");
  CHECK(runs_of(tries, numbered(1), over) == "segments");
  CHECK(runs_of(tries, numbered(2), std::nullopt) == "try");
}

TEST_CASE("loop budget: other errors are final, and do not keep a program from being tried") {
  LoopBudgetTries tries;
  for (const ErrorCode code : {ErrorCode::Trapped, ErrorCode::Timeout, ErrorCode::DeviceLost}) {
    CHECK(runs_of(tries, numbered(1), code) == "try");
  }
}

TEST_CASE("loop budget: an error in segments is final") {
  LoopBudgetTries tries;
  int runs = 0;
  const auto ran = tries.run(numbered(1), {}, [&](bool) -> Result<int> {
    ++runs;
    return std::unexpected(base::make_error(ErrorCode::LoopBudgetExceeded, "No.", "no."));
  });
  CHECK(!ran.has_value());
  CHECK(runs == 2);
}

TEST_CASE("loop budget: only a form that is chosen is tried") {
  LoopBudgetTries tries;
  const auto over = ErrorCode::LoopBudgetExceeded;
  for (const GridSync asked : {GridSync::HostSplit, GridSync::Resident, GridSync::OneWorkgroup}) {
    CHECK(runs_of(tries, numbered(1), over, {.grid_sync = asked}) == "segments");
  }
  CHECK(runs_of(tries, numbered(2, ""), over) == "segments");
  CHECK(runs_of(tries, numbered(2, ""), over, {.fixpoint_iterations = 2}) == "try, segments");
}

TEST_CASE("loop budget: the last 256 programs that were tried in vain are remembered") {
  LoopBudgetTries tries;
  const auto over = ErrorCode::LoopBudgetExceeded;
  for (int i = 0; i < 256; ++i) REQUIRE(runs_of(tries, numbered(i), over) == "try, segments");
  CHECK(runs_of(tries, numbered(0), over) == "segments");
  CHECK(runs_of(tries, numbered(256), over) == "try, segments");
  CHECK(runs_of(tries, numbered(1), over) == "segments");
  CHECK(runs_of(tries, numbered(0), over) == "try, segments");
}
