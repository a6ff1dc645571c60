// Reading ends at the end or at the limit, whatever is read.
#include <doctest/doctest.h>

#include "base/bounded_read.h"
#include "base/durable_file.h"
#include "base/host_memory.h"
#include "support/scratch_folder.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Outcome {
  int error = 0;
  std::string bytes;
  std::uint64_t limit = 0;
};

Outcome read(const std::filesystem::path& path, const base::ReadLimits& limits) {
  const base::OwnedFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  Outcome outcome;
  outcome.error = base::read_to_end(file.get(), limits, outcome.bytes, outcome.limit);
  return outcome;
}

}  // namespace

TEST_CASE("a file is read whole up to its limit, and one byte more is refused") {
  const ScratchFolder folder;
  const auto file = folder.path() / "file";
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 1'000'000u}) {
    CAPTURE(size);
    const std::string contents(size, 'x');
    write_file(file, contents);
    CHECK(read(file, {.file = size, .stream = 0}).bytes == contents);
    CHECK(read(file, {.file = size + 1, .stream = 0}).error == 0);
    if (size > 0) CHECK(read(file, {.file = size - 1, .stream = SIZE_MAX / 2}).error == EFBIG);
  }
}

TEST_CASE("what has no end is refused at the limit of streams") {
  const Outcome outcome = read("/dev/zero", {.file = UINT64_MAX / 2, .stream = 1'000'000});
  CHECK(outcome.error == EFBIG);
  CHECK(outcome.limit == 1'000'000);
  CHECK(outcome.bytes.capacity() < 3'000'000);
  CHECK(read("/dev/null", {.file = 0, .stream = 0}).error == 0);
}

TEST_CASE("files that say they are empty are read to their end") {
  CHECK(read("/proc/self/status", {.file = 1 << 20, .stream = 0}).bytes.starts_with("Name:"));
}

TEST_CASE("a huge file without blocks is refused before memory is taken for it") {
  const ScratchFolder folder;
  const auto file = folder.path() / "sparse";
  write_file(file, "x");
  REQUIRE(truncate(file.c_str(), off_t{1} << 40) == 0);
  const Outcome outcome = read(file, {.file = std::uint64_t{1} << 30, .stream = 0});
  CHECK(outcome.error == EFBIG);
  CHECK(outcome.bytes.capacity() < 1000);
}

TEST_CASE("a folder is no file") {
  const ScratchFolder folder;
  CHECK(read(folder.path(), {.file = 9, .stream = 9}).error == EISDIR);
}

TEST_CASE("the host has memory, and not more of it free than there is") {
  const base::HostMemory memory = base::host_memory();
  CHECK(memory.total > std::uint64_t{64} << 20);
  CHECK(memory.available > std::uint64_t{1} << 20);
  CHECK(memory.available <= memory.total);
}
