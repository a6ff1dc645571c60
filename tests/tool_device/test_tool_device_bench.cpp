// Every row of bench works on this driver, and both of its sides give the same results. Nothing is
// said about how long anything takes.
#ifdef FELSITE_BENCH

#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

#include "../tool/tool_runner.h"

using namespace felsite::test;

TEST_CASE("every bench row works on the device, and its sides give the same results") {
  const Outcome outcome = run_tool({"bench", "--check"});
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  std::set<std::string> seen;
  std::size_t skipped = 0;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    seen.insert(line.substr(0, line.find(' ')));
    if (!contains(line, "skipped: ")) continue;
    ++skipped;
    CHECK(contains(line, " Fix: "));
  }
  std::istringstream list(run_tool({"bench", "--list"}).out);
  for (std::string line; std::getline(list, line);) {
    const std::string name = line.substr(0, line.find(' '));
    CAPTURE(name);
    CHECK(seen.contains(name));
  }
  CHECK(contains(outcome.out, std::to_string(skipped) + " skipped."));
  MESSAGE(skipped, " of the rows are skipped on this driver");
  // lavapipe has all that they ask for.
  const char* const driver = std::getenv("FELSITE_TEST_DRIVER");
  if (driver != nullptr && std::string_view(driver) == "lavapipe") CHECK(skipped == 0);
}

#endif  // FELSITE_BENCH
