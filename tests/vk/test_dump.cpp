// FELSITE_DUMP: a folder that gets all that is made of a program.
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "felsite/warnings.h"
#include "support/scratch_folder.h"
#include "support/spirv_check.h"
#include "vk/backend_on_device.h"

using namespace felsite;
using namespace felsite::test;

namespace {

class DumpInto {
 public:
  explicit DumpInto(const std::filesystem::path& folder) {
    if (const char* const before = std::getenv("FELSITE_DUMP")) before_ = before;
    setenv("FELSITE_DUMP", folder.c_str(), 1);
  }
  ~DumpInto() { before_ ? setenv("FELSITE_DUMP", before_->c_str(), 1) : unsetenv("FELSITE_DUMP"); }
  DumpInto(const DumpInto&) = delete;
  DumpInto& operator=(const DumpInto&) = delete;

 private:
  std::optional<std::string> before_;
};

std::map<std::string, std::string> contents_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& file : files_in(folder)) contents[file.filename()] = read_file(file);
  return contents;
}

std::vector<std::uint32_t> words_in(const std::string& bytes) {
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

}  // namespace

TEST_CASE("program, module and plan of each kernel, and the plan of each sequence") {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "made" / "for it";
  const auto program = add_one();
  {
    const DumpInto dump(folder);
    const std::unique_ptr<Backend> backend = open_backend();
    must(backend->dispatch(program, {bytes_of(Words{1})}));
    must(backend->dispatch(program, {bytes_of(Words{1})}));  // nothing new
  }
  std::map<std::string, std::string> files = contents_of(folder);
  CHECK(files.size() == 4);
  const std::string name = "add_one-" + ir::to_string(program.fingerprint());
  REQUIRE(files.contains(name + ".fels"));
  REQUIRE(files.contains(name + ".spv"));
  REQUIRE(files.contains(name + ".plan"));
  const auto parsed = ir::parse(files[name + ".fels"]);
  REQUIRE(parsed.has_value());
  CHECK(parsed->fingerprint() == program.fingerprint());
  CHECK(validation_message(words_in(files[name + ".spv"])) == "");
  CHECK(files[name + ".plan"].find("kernel of add_one\nworkgroup 4 x 1 x 1") == 0);
  CHECK(files[name + ".plan"].find("binding 0: x, written\n") != std::string::npos);
  for (const char* const known : {".fels", ".spv", ".plan"}) files.erase(name + known);
  REQUIRE(files.size() == 1);
  CHECK(files.begin()->first.starts_with("sequence-"));
  CHECK(files.begin()->first.ends_with(".plan"));
  const std::string& plan = files.begin()->second;
  CHECK(plan.starts_with("add_one\nprologue\n"));
  CHECK(plan.find(". add_one\n") != std::string::npos);
  CHECK(plan.find("-- barrier: ") != std::string::npos);
  CHECK(plan.find("epilogue\n") != std::string::npos);
}

TEST_CASE("kernels of one program that differ have files of their own") {
  const ScratchFolder scratch;
  const auto device = must(vk::open_device());
  const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt));
  const DumpInto dump(scratch.path());
  must(pipelines->get(add_one()));
  must(pipelines->get(add_one(), /*grid_in_parts=*/true));
  must(pipelines->get(valid(add_one().with_workgroup_size({8, 1, 1}))));
  std::map<std::string, std::string> files = contents_of(scratch.path());
  CHECK(files.size() == 9);
  const std::string name = "add_one-" + ir::to_string(add_one().fingerprint());
  CHECK(files[name + ".spv"] != files[name + "-in-parts.spv"]);
  CHECK(files[name + ".fels"] == files[name + "-in-parts.fels"]);
  for (const auto& [file, contents] : files) {
    CAPTURE(file);
    if (file.ends_with(".spv")) CHECK(validation_message(words_in(contents)) == "");
  }
}

TEST_CASE("without the variable nothing is written; where nothing can be, it is a warning") {
  const ScratchFolder scratch;
  int warnings = 0;
  set_warning_handler([&](std::string_view) { ++warnings; });
  write_file(scratch.path() / "file", "");
  {
    const DumpInto dump(scratch.path() / "file" / "below");
    CHECK(still_works(*open_backend()));
    CHECK(warnings == 4);
  }
  {
    const DumpInto dump("");
    CHECK(still_works(*open_backend()));
    CHECK(warnings == 4);
  }
  set_warning_handler(nullptr);
  CHECK(files_in(scratch.path()).size() == 1);
}
