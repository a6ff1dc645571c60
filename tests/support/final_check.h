// What can be judged only when all tests of an executable have run: the main of the tests asks for
// it after the last one.
#pragma once

#include <string>
#include <vector>

namespace felsite::test {

// Made as a global object, it registers itself.
class FinalCheck {
 public:
  enum class When {
    Always,
    WholeRun,  // only where no filter chose among the tests
  };
  // What is wrong, a line each; nothing where all is well.
  using Function = std::vector<std::string> (*)();

  FinalCheck(const char* name, When when, Function function);

  // The lines of all checks, each behind the name of its check.
  static std::vector<std::string> run_all(bool whole_run);
};

}  // namespace felsite::test
