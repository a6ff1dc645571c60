// Every sample lowers, under every interesting mask, to a module that the validator takes.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "felsite/kernel.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("samples lower to valid modules") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FELSITE_SOURCE_DIR) + "/samples")) {
    if (entry.path().extension() != ".fels") continue;
    CAPTURE(entry.path().string());
    const ir::Program program = valid_program(contents(entry.path()));
    if (program.facts().has_grid_sync || program.facts().has_collectives) continue;
    for (const auto& mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
      const auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
      if (!kernel) {
        CHECK(kernel.error().code == ErrorCode::UnsupportedFeature);
        continue;
      }
      CHECK(validation_message(kernel->words) == "");
    }
  }
}
