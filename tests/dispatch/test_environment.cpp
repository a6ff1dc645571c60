#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dispatch/telemetry/environment.h"

using namespace felsite;
using namespace felsite::dispatch;

namespace {

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("each variable is read by its own name, and an empty one is none") {
  REQUIRE(environment_variables().size() == kVariableCount);
  const char* const names[] = {"FELSITE_DEVICE", "FELSITE_VALIDATION", "FELSITE_CACHE_DIR",
                               "FELSITE_DUMP"};
  for (std::size_t i = 0; i < kVariableCount; ++i) {
    CAPTURE(names[i]);
    CHECK(environment_variables()[i].name == names[i]);
    const auto variable = static_cast<Variable>(i);
    unsetenv(names[i]);
    CHECK_FALSE(environment(variable));
    setenv(names[i], "", 1);
    CHECK_FALSE(environment(variable));
    setenv(names[i], "some value", 1);
    CHECK(environment(variable) == "some value");
    unsetenv(names[i]);
  }
}

TEST_CASE("the table of docs/tool.md is the table in the code") {
  const std::string manual = read_whole(FELSITE_SOURCE_DIR "/docs/tool.md");
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::string row = "| `" + std::string(variable.name) + "` | " +
                            std::string(variable.takes) + " | " + std::string(variable.about) +
                            " |\n";
    CAPTURE(row);
    CHECK(manual.find(row) != std::string::npos);
  }
}

TEST_CASE("the library reads its environment variables nowhere else") {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FELSITE_SOURCE_DIR "/src")) {
    CAPTURE(entry.path().string());
    if (entry.is_regular_file()) {
      CHECK(read_whole(entry.path()).find("getenv(\"FELSITE_") == std::string::npos);
    }
  }
}
