// Whatever lies where the pipeline cache should be: the backend works, nothing blocks, nothing is
// thrown, and a warning says it once.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "felsite/vulkan.h"
#include "support/own_process.h"
#include "support/scratch_folder.h"
#include "support/skip.h"
#include "vk/backend_on_device.h"
#include "vk/collected_warnings.h"
#include "vk/kernel/pipeline_cache_file.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

std::filesystem::path file_in(const std::filesystem::path& folder) {
  const auto device = must(vk::open_device());
  return vk::cache_file(folder, vk::cache_identity(device->snapshot()));
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(lstat(path.c_str(), &status) == 0);
  return status.st_mode;
}

// Opens a backend, runs something, flushes twice, closes; with the warnings of all that.
std::vector<std::string> use(const std::filesystem::path& folder, bool uses_disk) {
  Warnings warnings;
  {
    vk::BackendSettings settings = settings_for();
    settings.cache_folder = folder;
    const auto backend = open_backend(std::move(settings));
    CHECK(backend->pipeline_cache_snapshot().disk_in_use == uses_disk);
    CHECK(still_works(*backend));
    must(backend->flush());
    CHECK(must(backend->dispatch(copying(), {bytes_of(Words{5}), bytes_of(Words{0})})).size() == 1);
    must(backend->flush());
  }
  return warnings.take();
}

// What somebody else could have put there stays as it is.
void check_left_alone(const std::filesystem::path& folder, const std::filesystem::path& file,
                      std::string_view why) {
  const mode_t before = mode_of(file);
  const auto sentences = use(folder, false);
  REQUIRE(sentences.size() == 1);
  CAPTURE(sentences[0]);
  CHECK(sentences[0].find(why) != std::string::npos);
  CHECK(sentences[0].find(file.string()) != std::string::npos);
  CHECK(sentences[0].find("Fix: ") != std::string::npos);
  CHECK(mode_of(file) == before);
}

// A whole cache, of this device.
void write_good(const std::filesystem::path& file) {
  const auto device = must(vk::open_device());
  const std::string identity = vk::cache_identity(device->snapshot());
  CHECK(vk::write_cache(file, identity, Bytes(100)).empty());
  REQUIRE(vk::read_cache(file, identity).data.size() == 100);
}

}  // namespace

TEST_CASE("the cache's folder is made for its user alone, and so is the file") {
  const ScratchFolder folder;
  const mode_t before = umask(0);
  CHECK(use(folder.path() / "above" / "made", true).empty());
  umask(before);
  CHECK((mode_of(folder.path() / "above") & 07777) == 0700);
  CHECK((mode_of(folder.path() / "above" / "made") & 07777) == 0700);
  const auto files = files_in(folder.path() / "above" / "made");
  REQUIRE(files.size() == 1);
  CHECK((mode_of(files[0]) & 07777) == 0600);
}

TEST_CASE("a pipe, a device, a folder or a link in the cache's place is left alone") {
  const ScratchFolder folder;
  const auto file = file_in(folder.path());
  SUBCASE("a pipe") {
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    check_left_alone(folder.path(), file, "not a regular file");
  }
  SUBCASE("a folder") {
    std::filesystem::create_directory(file);
    check_left_alone(folder.path(), file, "");
  }
  SUBCASE("a link to a good file") {
    const auto elsewhere = folder.path() / "elsewhere";
    write_good(elsewhere);
    std::filesystem::create_symlink(elsewhere, file);
    check_left_alone(folder.path(), file, "symbolic link");
  }
  SUBCASE("a device") {
    FELSITE_SKIP_IF(mknod(file.c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0,
                    "this user may not make devices");
    check_left_alone(folder.path(), file, "not a regular file");
  }
}

TEST_CASE("a cache that others could have written is not given to the driver") {
  const ScratchFolder folder;
  const auto file = file_in(folder.path());
  write_good(file);
  SUBCASE("anybody") {
    REQUIRE(chmod(file.c_str(), 0602) == 0);
    check_left_alone(folder.path(), file, "written by other users");
  }
  SUBCASE("the group") {
    REQUIRE(chmod(file.c_str(), 0620) == 0);
    check_left_alone(folder.path(), file, "written by other users");
  }
  SUBCASE("others may read it: that does no harm") {
    REQUIRE(chmod(file.c_str(), 0644) == 0);
    CHECK(use(folder.path(), true).empty());
  }
  SUBCASE("another user") {
    FELSITE_SKIP_IF(chown(file.c_str(), 12345, gid_t(-1)) != 0,
                    "this user may not give files away");
    check_left_alone(folder.path(), file, "another user");
  }
}

TEST_CASE("a folder that others could write is no place for the cache") {
  const ScratchFolder folder;
  const auto inner = folder.path() / "inner";
  write_good(file_in(inner));
  SUBCASE("anybody") {
    REQUIRE(chmod(inner.c_str(), 0777) == 0);
    check_left_alone(inner, inner, "written by other users");
  }
  SUBCASE("another user") {
    FELSITE_SKIP_IF(chown(inner.c_str(), 12345, gid_t(-1)) != 0,
                    "this user may not give files away");
    check_left_alone(inner, inner, "another user");
  }
}

TEST_CASE("a cache file of any size is no trouble: past the bound it is replaced unread") {
  const ScratchFolder folder;
  const auto file = file_in(folder.path());
  const auto identity = vk::cache_identity(must(vk::open_device())->snapshot());
  write_good(file);
  const off_t most = off_t{32} + off_t{vk::kMaxPipelineCacheBytes};
  REQUIRE(truncate(file.c_str(), most) == 0);
  CHECK(vk::read_cache(file, identity).warning.find("the wrong length") != std::string::npos);
  REQUIRE(truncate(file.c_str(), most + 1) == 0);
  CHECK(vk::read_cache(file, identity).warning.find("longer than 64 MiB") != std::string::npos);
  REQUIRE(truncate(file.c_str(), off_t{1} << 42) == 0);
  CHECK(use(folder.path(), true).size() == 1);
  CHECK(std::filesystem::file_size(file) < (1u << 20));
  CHECK(use(folder.path(), true).empty());
}

TEST_CASE("no more is written than is read") {
  const ScratchFolder folder;
  const auto file = folder.path() / "cache.bin";
  CHECK(vk::write_cache(file, "a", Bytes(vk::kMaxPipelineCacheBytes)).empty());
  CHECK(vk::read_cache(file, "a").data.size() == vk::kMaxPipelineCacheBytes);
  const auto before = std::filesystem::last_write_time(file);
  CHECK(vk::write_cache(file, "a", Bytes(vk::kMaxPipelineCacheBytes + 1)).find("64 MiB") !=
        std::string::npos);
  CHECK(std::filesystem::last_write_time(file) == before);
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("something odd that comes while the backend is open is left alone, with one warning") {
  Warnings warnings;
  const ScratchFolder folder;
  const auto file = file_in(folder.path());
  {
    vk::BackendSettings settings = settings_for();
    settings.cache_folder = folder.path();
    const auto backend = open_backend(std::move(settings));
    CHECK(still_works(*backend));
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    must(backend->flush());
    CHECK(must(backend->dispatch(copying(), {bytes_of(Words{5}), bytes_of(Words{0})})).size() == 1);
    must(backend->flush());
  }
  CHECK(warnings.take().size() == 1);
  CHECK(std::filesystem::is_fifo(file));
}

TEST_CASE("a file that grows while the backend is open does no harm when it closes") {
  const ScratchFolder folder;
  const auto file = file_in(folder.path());
  write_good(file);
  Warnings warnings;
  {
    vk::BackendSettings settings = settings_for();
    settings.cache_folder = folder.path();
    const auto backend = open_backend(std::move(settings));
    CHECK(still_works(*backend));
    REQUIRE(truncate(file.c_str(), off_t{1} << 42) == 0);
  }
  CHECK(warnings.take().empty());
  CHECK(std::filesystem::file_size(file) < (1u << 20));
}

// The limit is there for our files alone: drivers make some as well.
TEST_CASE("child: uses a cache that has no room" * doctest::skip()) {
  Warnings warnings;
  vk::BackendSettings settings = settings_for();
  settings.cache_folder = std::getenv("FELSITE_TEST_FOLDER");
  const auto backend = open_backend(std::move(settings));
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit none{.rlim_cur = 10, .rlim_max = before.rlim_max};
  for (const ir::Program& program : {add_one(), add_number(7)}) {
    CHECK(backend->dispatch(program, {bytes_of(Words{1})}).has_value());
    REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
    must(backend->flush());
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  }
  const auto sentences = warnings.take();
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].find("File too large") != std::string::npos);
}

TEST_CASE("a cache that has no room is one warning, and the process lives on") {
  const ScratchFolder folder;
  OwnProcess child("child: uses a cache that has no room",
                   {"FELSITE_TEST_FOLDER=" + folder.path().string()});
  CHECK(child.wait(120s) == 0);
  CHECK(files_in(folder.path()).empty());
}

TEST_CASE("what a killed writer left is gone after a later run, and what one at work has is not") {
  const ScratchFolder folder;
  const auto make = [&](const char* name, int age) {
    write_file(folder.path() / name, "x");
    const timeval then{.tv_sec = std::time(nullptr) - age, .tv_usec = 0};
    const std::array times{then, then};
    REQUIRE(utimes((folder.path() / name).c_str(), times.data()) == 0);
  };
  make(".felsite-00000000000000aa.tmp", 7200);
  make(".felsite-00000000000000bb.tmp", 0);
  CHECK(use(folder.path(), true).empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".felsite-00000000000000aa.tmp"));
  CHECK(std::filesystem::exists(folder.path() / ".felsite-00000000000000bb.tmp"));
}

TEST_CASE("a home that does not exist is not made, and there is no cache on disk") {
  const ScratchFolder folder;
  const auto cache_with = [](const char* home, const char* xdg) {
    const std::array names{"HOME", "XDG_CACHE_HOME", "FELSITE_CACHE_DIR"};
    const std::array<const char*, 3> values{home, xdg, nullptr};
    std::array<std::optional<std::string>, 3> before;
    for (std::size_t i = 0; i < 3; ++i) {
      if (const char* const value = std::getenv(names[i])) before[i] = value;
      values[i] != nullptr ? setenv(names[i], values[i], 1) : unsetenv(names[i]);
    }
    const auto found = vk::cache_folder();
    for (std::size_t i = 0; i < 3; ++i) {
      before[i] ? setenv(names[i], before[i]->c_str(), 1) : unsetenv(names[i]);
    }
    return found;
  };
  const std::string home = folder.path().string();
  const std::string none = home + "/none";
  CHECK(cache_with(home.c_str(), nullptr) == folder.path() / ".cache/felsite");
  CHECK_FALSE(cache_with(none.c_str(), nullptr));
  CHECK(cache_with(none.c_str(), home.c_str()) == folder.path() / "felsite");
  // The folder that XDG_CACHE_HOME names is made, but none above it.
  CHECK(cache_with(none.c_str(), none.c_str()) == folder.path() / "none/felsite");
  CHECK_FALSE(cache_with(home.c_str(), (none + "/deeper").c_str()));
  CHECK(files_in(folder.path()).empty());
  // What is asked for in vain by name is said.
  CHECK(use(folder.path() / "none" / "deeper" / "still", true).size() == 1);
  CHECK(files_in(folder.path()).empty());
}
