// The main of every test executable: runs the tests, then the checks over all of them, and prints
// what was skipped. FELSITE_SKIP_LOG names a file that the skips are added to as well, so that
// scripts/test can show those of all executables.
#define DOCTEST_CONFIG_IMPLEMENT
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/final_check.h"
#include "support/skip.h"

namespace felsite::test {
namespace {

struct Skip {
  std::string test;
  std::string reason;
  bool operator==(const Skip&) const = default;
};

struct Registered {
  const char* name;
  FinalCheck::When when;
  FinalCheck::Function function;
};

std::mutex skips_mutex;
std::vector<Skip> skips;

// Global objects of other files register themselves before main.
std::vector<Registered>& registered() {
  static std::vector<Registered> all;
  return all;
}

// A filter that takes tests away by intent, as the sanitizers' runs do, still leaves a whole run.
bool is_whole_run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    for (const std::string_view filter : {"test-case=", "tc=", "source-file=", "sf=", "subcase=",
                                          "sc=", "test-suite=", "ts=", "first=", "last="}) {
      const std::size_t dashes = argument.find_first_not_of('-');
      if (dashes == 0 || dashes == argument.npos) continue;
      std::string_view name = argument.substr(dashes);
      if (name.starts_with("dt-")) name.remove_prefix(3);
      if (name.starts_with(filter)) return false;
    }
  }
  return true;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void report_skips(const char* program) {
  if (skips.empty()) return;
  const std::string name = std::filesystem::path(program).filename().string();
  const std::string driver = environment("FELSITE_TEST_DRIVER");
  std::string text;
  for (const Skip& skip : skips) {
    text += name + (driver.empty() ? "" : " on " + driver) + ": \"" + skip.test +
            "\" skipped: " + skip.reason + "\n";
  }
  std::cout << "[skipped] " << skips.size() << " tests or parts of tests\n" << text << std::flush;
  if (const std::string log = environment("FELSITE_SKIP_LOG"); !log.empty()) {
    std::ofstream(log, std::ios::app) << text;
  }
}

}  // namespace

void note_skip(std::string_view reason) {
  const auto* const test = doctest::getContextOptions()->currentTest;
  Skip skip{test == nullptr ? "" : test->m_name, std::string(reason)};
  const std::lock_guard lock(skips_mutex);
  // Sections run their test case from its beginning each time.
  if (std::find(skips.begin(), skips.end(), skip) == skips.end()) skips.push_back(std::move(skip));
}

FinalCheck::FinalCheck(const char* name, When when, Function function) {
  registered().push_back({name, when, function});
}

std::vector<std::string> FinalCheck::run_all(bool whole_run) {
  std::vector<std::string> lines;
  for (const Registered& check : registered()) {
    if (check.when == When::WholeRun && !whole_run) continue;
    for (const std::string& line : check.function()) {
      lines.push_back(std::string(check.name) + ": " + line);
    }
  }
  return lines;
}

}  // namespace felsite::test

int main(int argc, char** argv) {
  // The loader unloads a driver with the last instance. What the driver leaked then belongs to no
  // library that the leak checker could name, and driver_leaks.lsan would not cover it.
  if (const char* const library = std::getenv("FELSITE_TEST_DRIVER_LIBRARY")) {
    dlopen(library, RTLD_NOW | RTLD_NODELETE);
  }
  doctest::Context context(argc, argv);
  int code = context.run();
  if (context.shouldExit()) return code;  // it only listed the tests
  felsite::test::report_skips(argv[0]);
  for (const std::string& line :
       felsite::test::FinalCheck::run_all(felsite::test::is_whole_run(argc, argv))) {
    std::cout << "[final check] " << line << "\n";
    code = 1;
  }
  return code;
}
