// The allocation walk once more, while the pipeline cache cannot be used: the file is no file, too
// long, of another user, or has no room.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "allocations/allocation_walk.h"
#include "support/scratch_folder.h"
#include "support/skip.h"
#include "vk/kernel/pipeline_cache_file.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct CachePlace {
  std::filesystem::path folder;
  std::filesystem::path file;
  void (*spoil)(const std::filesystem::path& file);
};
CachePlace* cache_place = nullptr;  // of the walk under way; Subject::open is a plain function

// What the last run left is spoiled again before the next one opens.
Result<std::unique_ptr<Backend>> open_beside_odd_file(const Scenario&) {
  host_memory::pause();
  std::filesystem::remove_all(cache_place->file);
  cache_place->spoil(cache_place->file);
  host_memory::go_on();
  return open_with_faults("", cache_place->folder);
}

void walk_with(const ScratchFolder& folder, void (*spoil)(const std::filesystem::path& file),
               std::string_view name) {
  const FaultyInstance instance;
  CachePlace place{.folder = folder.path(), .file = {}, .spoil = spoil};
  {
    const auto device = vk::open_device();
    REQUIRE(device.has_value());
    place.file = vk::cache_file(folder.path(), vk::cache_identity((*device)->snapshot()));
  }
  cache_place = &place;
  AllocationWalk seen{.subject = {.name = name,
                                  .has_device = true,
                                  .open = open_beside_odd_file,
                                  .rest = vulkan_subject().rest},
                      .extent = extent_on_device()};
  for (Scenario& scenario : scenarios()) {
    if (!scenario.has_cache_file) continue;
    scenario.faults_in_opening = true;
    walk_allocations(scenario, seen);
  }
  report(seen);
  CHECK(seen.errors > 0);
  cache_place = nullptr;
}

void make_long(const std::filesystem::path& file) {
  std::ofstream(file) << "x";
  REQUIRE(truncate(file.c_str(), off_t{1} << 40) == 0);
}

// A disk at the folder that is full. Not a limit of the process: drivers make files as well.
class FullDisk {
 public:
  explicit FullDisk(const std::filesystem::path& folder) : folder_(folder) {
    is_there_ = mount("none", folder.c_str(), "tmpfs", 0, "size=4k,mode=0700") == 0;
    if (is_there_) std::ofstream(folder / "fill") << std::string(4096, 'x');
  }
  ~FullDisk() {
    if (is_there_) umount(folder_.c_str());
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

  bool is_there() const { return is_there_; }

 private:
  std::filesystem::path folder_;
  bool is_there_ = false;
};

}  // namespace

TEST_CASE("every allocation fails once beside a pipe in the cache's place") {
  walk_with(
      ScratchFolder(),
      [](const std::filesystem::path& file) { REQUIRE(mkfifo(file.c_str(), 0600) == 0); },
      "vulkan beside a pipe");
}

TEST_CASE("every allocation fails once beside a cache that is too long") {
  walk_with(ScratchFolder(), make_long, "vulkan beside a long cache");
}

TEST_CASE("every allocation fails once beside another user's cache") {
  FELSITE_SKIP_IF(geteuid() != 0, "this user may not give files away");
  walk_with(
      ScratchFolder(),
      [](const std::filesystem::path& file) {
        std::ofstream(file) << "x";
        REQUIRE(chown(file.c_str(), 12345, gid_t(-1)) == 0);
      },
      "vulkan beside another user's cache");
}

TEST_CASE("every allocation fails once while the cache has no room") {
  const ScratchFolder folder;
  const FullDisk disk(folder.path());
  FELSITE_SKIP_IF(!disk.is_there(), "this user may not mount a small disk");
  walk_with(
      folder, [](const std::filesystem::path&) {}, "vulkan without room for the cache");
}
