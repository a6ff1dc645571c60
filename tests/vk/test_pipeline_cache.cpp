// Compiled pipelines in memory and on disk: counted, bounded, and never taken from a file that is
// not whole.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "felsite/vulkan.h"
#include "support/own_process.h"
#include "support/scratch_folder.h"
#include "vk/backend_on_device.h"
#include "vk/collected_warnings.h"
#include "vk/kernel/pipeline_cache_file.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;
using vk::CacheRead;
using vk::read_cache;
using vk::write_cache;

namespace {

constexpr std::string_view kIdentity = "a device";
constexpr std::size_t kHeaderBytes = 32;

Bytes some_bytes(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 5);
  return bytes;
}

void check_refused(const std::filesystem::path& file, std::string_view identity = kIdentity) {
  const CacheRead read = read_cache(file, identity);
  CHECK(read.data.empty());
  CHECK(read.warning.find(file.string()) != std::string::npos);
}

std::unique_ptr<Backend> open_with_cache(const std::filesystem::path& folder) {
  vk::BackendSettings settings = settings_for();
  settings.cache_folder = folder;
  return open_backend(std::move(settings));
}

// Opens, compiles, closes.
std::uint64_t use_cache(const std::filesystem::path& folder) {
  const auto backend = open_with_cache(folder);
  CHECK(backend->pipeline_cache_snapshot().disk_in_use);
  CHECK(still_works(*backend));
  return backend->pipeline_cache_snapshot().disk_bytes;
}

}  // namespace

TEST_CASE("what is written is read again") {
  const ScratchFolder folder;
  const auto file = folder.path() / "cache.bin";
  for (const std::size_t size : {0u, 1u, 31u, 100'000u}) {
    CHECK(write_cache(file, kIdentity, some_bytes(size)).empty());
    const CacheRead read = read_cache(file, kIdentity);
    CHECK(read.data == some_bytes(size));
    CHECK(read.warning.empty());
  }
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("a file that is not there is no reason for a warning") {
  const ScratchFolder folder;
  const CacheRead read = read_cache(folder.path() / "none" / "cache.bin", kIdentity);
  CHECK(read.data.empty());
  CHECK(read.warning.empty());
}

TEST_CASE("a folder that is not there is made") {
  const ScratchFolder folder;
  const auto file = folder.path() / "one" / "two" / "cache.bin";
  CHECK(write_cache(file, kIdentity, some_bytes(7)).empty());
  CHECK(read_cache(file, kIdentity).data == some_bytes(7));
}

TEST_CASE("where nothing can be written that is said, and nothing is left behind") {
  const ScratchFolder folder;
  write_file(folder.path() / "file", "in the way of a folder");
  const auto below = folder.path() / "file" / "cache.bin";
  CHECK(write_cache(below, kIdentity, some_bytes(7)).find(below.string()) != std::string::npos);
  // A folder in the way of the file.
  const auto taken = folder.path() / "cache.bin";
  std::filesystem::create_directories(taken / "full");
  CHECK(write_cache(taken, kIdentity, some_bytes(7)).find(taken.string()) != std::string::npos);
  check_refused(taken);
  CHECK(files_in(folder.path()).size() == 2);
}

TEST_CASE("a file of another device is not taken") {
  const ScratchFolder folder;
  const auto file = folder.path() / "cache.bin";
  CHECK(write_cache(file, kIdentity, some_bytes(7)).empty());
  check_refused(file, "another device");
  CHECK(vk::cache_file(folder.path(), "a") != vk::cache_file(folder.path(), "b"));
  // Whatever tells drivers apart is in the identity.
  const auto identity = [](auto change) {
    vk::DeviceSnapshot device;
    change(device);
    return vk::cache_identity(device);
  };
  const std::array identities{identity([](auto&) {}),
                              identity([](auto& d) { d.name = "x"; }),
                              identity([](auto& d) { d.driver_name = "x"; }),
                              identity([](auto& d) { d.driver_info = "x"; }),
                              identity([](auto& d) { d.driver_version = 7; }),
                              identity([](auto& d) { d.api_version = 7; }),
                              identity([](auto& d) { d.uuid = "x"; })};
  for (std::size_t i = 0; i < identities.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(identities[i] != identities[j]);
  }
}

TEST_CASE("a file with any byte missing, changed or too many is not taken") {
  const ScratchFolder folder;
  const auto file = folder.path() / "cache.bin";
  CHECK(write_cache(file, kIdentity, some_bytes(40)).empty());
  const std::string whole = read_file(file);
  REQUIRE(whole.size() == kHeaderBytes + 40);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    write_file(file, std::string_view(whole).substr(0, length));
    check_refused(file);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(at);
      CAPTURE(bit);
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      write_file(file, changed);
      check_refused(file);
    }
  }
  for (const std::string_view more : {std::string_view("\0", 1), std::string_view("more")}) {
    write_file(file, whole + std::string(more));
    check_refused(file);
  }
  // Lengths for which there is no memory, or which wrap around with the header's.
  for (const std::uint64_t length :
       {UINT64_MAX, UINT64_MAX - 31, std::uint64_t{1} << 63, std::uint64_t{1} << 30}) {
    std::string changed = whole;
    std::memcpy(changed.data() + 16, &length, sizeof length);
    write_file(file, changed);
    check_refused(file);
  }
  write_file(file, whole);
  CHECK(read_cache(file, kIdentity).data == some_bytes(40));
}

TEST_CASE("a backend reads what an earlier one wrote") {
  Warnings warnings;
  const ScratchFolder folder;
  const auto inner = folder.path() / "made";
  CHECK(use_cache(inner) == 0);
  REQUIRE(files_in(inner).size() == 1);
  const auto first = std::filesystem::file_size(files_in(inner)[0]);
  CHECK(use_cache(inner) == first - kHeaderBytes);
  CHECK(files_in(inner).size() == 1);

  SUBCASE("a flush writes, and only if there is something new") {
    const auto backend = open_with_cache(inner);
    std::filesystem::remove_all(inner);
    must(backend->flush());
    CHECK_FALSE(std::filesystem::exists(inner));
    CHECK(still_works(*backend));
    must(backend->flush());
    CHECK(files_in(inner).size() == 1);
  }
  SUBCASE("a damaged file is one warning, and is replaced") {
    const auto file = files_in(inner)[0];
    const std::string whole = read_file(file);
    for (const std::string& damaged :
         {whole.substr(0, whole.size() / 2), std::string("junk"), std::string(), whole + "more"}) {
      write_file(file, damaged);
      {
        const auto backend = open_with_cache(inner);
        CHECK(warnings.take().size() == 1);
        CHECK(backend->pipeline_cache_snapshot().disk_bytes == 0);
        CHECK(still_works(*backend));
      }
      static_cast<void>(warnings.take());
      CHECK(use_cache(inner) != 0);
    }
  }
  SUBCASE("a file that passes all checks and that the driver does not know does no harm") {
    const auto file = files_in(inner)[0];
    const auto device = must(vk::open_device());
    CHECK(write_cache(file, vk::cache_identity(device->snapshot()), some_bytes(100)).empty());
    CHECK(use_cache(inner) == 100);
  }
  CHECK(warnings.take().empty());
}

TEST_CASE("a cache that cannot be written is a warning and no failure") {
  Warnings warnings;
  const ScratchFolder folder;
  write_file(folder.path() / "file", "");
  {
    const auto backend = open_with_cache(folder.path() / "file" / "below");
    CHECK(warnings.take().empty());
    CHECK(still_works(*backend));
    must(backend->flush());
    CHECK(warnings.take().size() == 1);
    must(backend->flush());  // nothing new
    CHECK(warnings.take().empty());
  }
  CHECK(warnings.take().empty());
}

TEST_CASE("FELSITE_CACHE_DIR says where, or that there is none") {
  const ScratchFolder folder;
  const char* const before = std::getenv("FELSITE_CACHE_DIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("FELSITE_CACHE_DIR", folder.path().c_str(), 1);
  CHECK(still_works(*must(make_vulkan_backend())));
  CHECK(files_in(folder.path()).size() == 1);
  setenv("FELSITE_CACHE_DIR", "off", 1);
  const auto without = must(make_vulkan_backend());
  CHECK_FALSE(without->pipeline_cache_snapshot().disk_in_use);
  CHECK_FALSE(std::filesystem::exists("off"));
  before != nullptr ? setenv("FELSITE_CACHE_DIR", kept.c_str(), 1) : unsetenv("FELSITE_CACHE_DIR");
}

// Writes files of many sizes, each telling what it should hold by its first byte.
TEST_CASE("child: writes caches" * doctest::skip()) {
  const char* const folder = std::getenv("FELSITE_TEST_FOLDER");
  REQUIRE(folder != nullptr);
  for (std::size_t i = 0; i < 300; ++i) {
    const Bytes data(1 + i * 997 % 50'000, static_cast<std::byte>(i % 251));
    CHECK(write_cache(std::filesystem::path(folder) / "cache.bin", kIdentity, data).empty());
  }
}

TEST_CASE("processes write at once, and whoever reads sees a whole file") {
  const ScratchFolder folder;
  const auto file = folder.path() / "cache.bin";
  CHECK(write_cache(file, kIdentity, Bytes(10)).empty());
  const std::vector variables{"FELSITE_TEST_FOLDER=" + folder.path().string()};
  std::atomic<int> running = 2;
  std::array<std::optional<int>, 2> codes;
  std::vector<std::thread> writers;
  for (auto& code : codes) {
    writers.emplace_back([&] {
      OwnProcess writer("child: writes caches", variables);
      code = writer.wait(60s);
      --running;
    });
  }
  int reads = 0;
  int different = 0;
  std::byte last{};
  while (running > 0) {
    const CacheRead read = read_cache(file, kIdentity);
    REQUIRE_MESSAGE(read.warning.empty(), read.warning);
    REQUIRE(!read.data.empty());
    const bool uniform = read.data == Bytes(read.data.size(), read.data[0]);
    REQUIRE(uniform);
    if (read.data[0] != last) ++different;
    last = read.data[0];
    ++reads;
  }
  for (std::thread& writer : writers) writer.join();
  for (const auto& code : codes) CHECK(code == 0);
  CHECK(different > 1);  // or nobody wrote meanwhile
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("several backends close on one cache at once") {
  Warnings warnings;
  const ScratchFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      vk::BackendSettings settings = settings_for();
      settings.cache_folder = folder.path();
      const auto backend = vk::make_backend(std::move(settings));
      if (backend) static_cast<void>(still_works(**backend));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(warnings.take().empty());
  CHECK(files_in(folder.path()).size() == 1);
  CHECK(use_cache(folder.path()) > 0);
}

TEST_CASE("programs are compiled once, and the least recently used go first") {
  const auto device = must(vk::open_device());
  const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt, {.entries = 2}));
  const auto figures = [&] {
    const PipelineCacheSnapshot now = pipelines->snapshot();
    return std::array{now.entries, now.hits, now.misses, now.evictions};
  };
  using Figures = std::array<std::uint64_t, 4>;
  CHECK(figures() == Figures{0, 0, 0, 0});
  CHECK_FALSE(pipelines->snapshot().disk_in_use);
  const vk::SharedKernel one = must(pipelines->get(add_number(1)));
  CHECK(figures() == Figures{1, 0, 1, 0});
  CHECK(must(pipelines->get(add_number(1))) == one);
  CHECK(figures() == Figures{1, 1, 1, 0});
  const vk::SharedKernel two = must(pipelines->get(add_number(2)));
  CHECK(one != two);
  CHECK(must(pipelines->get(add_number(1))) == one);  // used later than two
  must(pipelines->get(add_number(3)));
  CHECK(figures() == Figures{2, 2, 3, 1});
  CHECK(must(pipelines->get(add_number(1))) == one);
  CHECK(must(pipelines->get(add_number(2))) != two);  // which is still whole in our hands
  CHECK(two->pipeline.pipeline.get() != VK_NULL_HANDLE);
  CHECK(figures() == Figures{2, 3, 4, 2});

  // A workgroup size is part of the program, a grid in parts is a kernel of its own.
  must(pipelines->get(valid(add_number(2).with_workgroup_size({8, 1, 1}))));
  CHECK(figures() == Figures{2, 3, 5, 3});
  const vk::SharedKernel whole = must(pipelines->get(add_number(2)));
  CHECK(must(pipelines->get(add_number(2), true)) != whole);
  CHECK(must(pipelines->get(add_number(2), false)) == whole);

  // What cannot be compiled leaves no trace.
  const Figures before = figures();
  CHECK_FALSE(pipelines->get(valid(add_number(2).with_workgroup_size({65'536, 1, 1}))));
  CHECK(figures() == before);
}

TEST_CASE("eight threads that ask for one program get one kernel") {
  // They may compile it more than once: nobody is held up by a program that takes long.
  const auto device = must(vk::open_device());
  for (std::uint32_t round = 0; round < 5; ++round) {
    const auto pipelines = must(vk::Pipelines::make(*device, std::nullopt));
    const auto program = add_number(round);
    std::array<vk::SharedKernel, 8> kernels;
    std::vector<std::thread> threads;
    for (vk::SharedKernel& kernel : kernels) {
      threads.emplace_back([&] { kernel = pipelines->get(program).value_or(nullptr); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(kernels[0] != nullptr);
    for (const vk::SharedKernel& kernel : kernels) CHECK(kernel == kernels[0]);
    const PipelineCacheSnapshot figures = pipelines->snapshot();
    CHECK(figures.entries == 1);
    CHECK(figures.misses >= 1);
    CHECK(figures.hits + figures.misses == 8);
  }
}
