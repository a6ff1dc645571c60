// Snapshots: each file of tests/codegen/snapshots is a program, a mask, and the assembly it lowers
// to. FELSITE_UPDATE_SNAPSHOTS=1 rewrites the files, for a reviewer to read the difference.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "felsite/kernel.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::string_view kMark = "//! mask: ";
constexpr std::string_view kSeparator = "// ---- SPIR-V\n";

struct Snapshot {
  std::string program;  // with the line that names the mask
  std::string mask;
  std::string assembly;
};

Snapshot read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  Snapshot snapshot;
  const std::size_t separator = text.find(kSeparator);
  snapshot.program = text.substr(0, separator);
  if (separator != std::string::npos) {
    snapshot.assembly = text.substr(separator + kSeparator.size());
  }
  if (snapshot.program.starts_with(kMark)) {
    const std::size_t end = snapshot.program.find('\n');
    snapshot.mask = snapshot.program.substr(kMark.size(), end - kMark.size());
  }
  return snapshot;
}

// Assembly as comments, so that the file stays a program that every tool takes.
std::string commented(const std::string& text) {
  std::string result;
  std::stringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    result += line.empty() ? "//\n" : "// " + line + "\n";
  }
  return result;
}

}  // namespace

TEST_CASE("snapshots: text in, assembly out") {
  const std::filesystem::path folder =
      std::filesystem::path(FELSITE_SOURCE_DIR) / "tests/codegen/snapshots";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".fels") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  CHECK(files.size() >= 25);
  for (const auto& path : files) {
    CAPTURE(path.filename().string());
    const Snapshot snapshot = read(path);
    const auto mask = codegen::apply_mask(codegen::all_capabilities(), snapshot.mask);
    REQUIRE_MESSAGE(mask.has_value(), to_string(mask.error()));
    // Lines would make every snapshot depend on where its statements stand.
    const ir::Program program = valid_program(snapshot.program);
    auto kernel = codegen::lower(codegen::Segment(valid(program)), *mask,
                                 {.names = true, .source_name = path.filename().string()});
    REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
    CHECK(validation_message(kernel->words) == "");
    const std::string found = commented(disassembly(kernel->words));
    if (std::getenv("FELSITE_UPDATE_SNAPSHOTS") != nullptr) {
      std::ofstream(path) << snapshot.program << kSeparator << found;
    } else {
      CHECK(found == snapshot.assembly);
    }
  }
}
