// The row about cold starts: from the start of a process to its first result and its end, with warm
// caches. Both sides are processes of this tool, so what its own start costs is in both.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cold_start.h"
#include "glsl.h"
#include "on_device.h"
#include "peers.h"

namespace felsite::bench {
namespace {

// A folder for the caches of both sides, gone with the last who uses it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "felsite_bench_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) give_up("no folder for temporary files can be made");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::function<double()> start_of(const std::shared_ptr<Folder>& folder,
                                 std::vector<std::string> words) {
  const Surroundings surroundings{.variables = {{"FELSITE_CACHE_DIR", folder->path().string()}}};
  return [folder, surroundings, words = std::move(words)] {
    return time_ns([&] { must(run_child(words, surroundings)); });
  };
}

std::vector<Case> start_cases(bool) {
  const auto choice = choose_as_felsite();
  if (!choice) return {skipped_case(choice.error())};
  if (const auto raw = RawDevice::open(*choice); !raw) return {skipped_case(raw.error())};
  const auto folder = std::make_shared<Folder>();
  const std::vector<std::uint32_t> words = compile_glsl(peers::step);
  std::ofstream(folder->path() / kColdStartModule, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof words[0]));
  return {{.size = "one small dispatch",
           .felsite = start_of(folder, {"cold_start_felsite"}),
           .peer = "raw Vulkan, its pipeline cache",
           .peer_cost = start_of(
               folder, {"cold_start_raw", folder->path().string(),
                        fmt::format("{}", choice->device), fmt::format("{}", choice->family)}),
           .rounds = 2 * kLeastRounds + 1}};
}

}  // namespace

std::vector<Row> cold_start_rows() {
  return {{"cold_start", "A process, from its start to its first result, with warm caches", 1.25,
           start_cases}};
}

}  // namespace felsite::bench
