// felsite-bench once more, as a process of its own: for variables that must be set before a driver
// is loaded, and for what is measured from the start of a process on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "felsite/error.h"

namespace felsite::bench {

struct Surroundings {
  // Variables with their values, set besides those of this process.
  std::vector<std::pair<std::string, std::string>> variables{};
  // All its threads on one core: handing work from one to the other then takes the same time, where
  // the system else puts them on one core or on two for a while, which makes a factor of two.
  bool one_core = false;

  bool empty() const { return variables.empty() && !one_core; }
};
inline const Surroundings kNoWorkers{.variables = {{"LP_NUM_THREADS", "0"}}, .one_core = true};
// As the reports have it: A=1, one core.
std::string to_string(const Surroundings& surroundings);

// Runs `felsite-bench --child WORDS...` and gives its standard output. An error where it cannot be
// started or does not end well; what it says about that is on standard error.
Result<std::string> run_child(const std::vector<std::string>& words,
                              const Surroundings& surroundings);

// The other end: does what the words name, and gives the exit code.
int be_child(const std::vector<std::string>& words);

}  // namespace felsite::bench
