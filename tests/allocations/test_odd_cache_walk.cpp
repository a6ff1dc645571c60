// The allocation walk once more, while the pipeline cache cannot be used: the file is no file, too
// long, of another user, or has no room.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

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

// Whatever the last run left is spoilt again before the next opens.
Result<std::unique_ptr<Backend>> open_beside_odd_file(const Scenario&) {
  host_memory::pause();
  std::filesystem::remove_all(cache_place->file);
  cache_place->spoil(cache_place->file);
  host_memory::go_on();
  return open_with_faults("", cache_place->folder);
}

void walk_with(void (*spoil)(const std::filesystem::path& file), std::string_view name) {
  const ScratchFolder folder;
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

// Every write fails as long as this object lives.
class NoRoom {
 public:
  NoRoom() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
  }
  ~NoRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("every allocation fails once beside a pipe in the cache's place") {
  walk_with([](const std::filesystem::path& file) { REQUIRE(mkfifo(file.c_str(), 0600) == 0); },
            "vulkan beside a pipe");
}

TEST_CASE("every allocation fails once beside a cache that is too long") {
  walk_with(make_long, "vulkan beside a long cache");
}

TEST_CASE("every allocation fails once beside another user's cache") {
  FELSITE_SKIP_IF(geteuid() != 0, "this user may not give files away");
  walk_with(
      [](const std::filesystem::path& file) {
        std::ofstream(file) << "x";
        REQUIRE(chown(file.c_str(), 12345, gid_t(-1)) == 0);
      },
      "vulkan beside another user's cache");
}

TEST_CASE("every allocation fails once while the cache has no room") {
  const NoRoom none;
  walk_with([](const std::filesystem::path&) {}, "vulkan without room for the cache");
}
