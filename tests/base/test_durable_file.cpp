// A file that is replaced has its old contents or its new ones, whatever happens meanwhile.
#include <doctest/doctest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <csignal>

#include "base/durable_file.h"
#include "support/scratch_folder.h"

using namespace felsite;
using namespace felsite::test;

namespace {

int replace(const std::filesystem::path& path, std::string_view contents,
            const base::ReplaceOptions& options = {}) {
  return base::replace_file(path.string(), {std::as_bytes(std::span(contents))}, options);
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

const std::string kOld(5000, 'o');
const std::string kNew(90'000, 'n');

struct Call {
  std::uint64_t number = 0;
  std::uint64_t first_argument = 0;
};

// Those system calls of a writer that concern what a power cut leaves.
std::vector<Call> calls_of_replace(const std::filesystem::path& path,
                                   const base::ReplaceOptions& options) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(replace(path, kNew, options));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSTOPPED(status));
  REQUIRE(ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD) == 0);
  std::vector<Call> calls;
  while (true) {
    REQUIRE(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!WIFSTOPPED(status)) break;
    __ptrace_syscall_info info{};
    REQUIRE(ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0);
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    const std::uint64_t number = info.entry.nr;
    // Short writes are of a sanitizer's runtime: it finds out so which addresses are valid.
    const bool is_contents = number == SYS_write && info.entry.args[2] > kNew.size() / 10;
    const bool counts =
        is_contents || number == SYS_fsync || number == SYS_renameat || number == SYS_renameat2;
    const bool is_more = number == SYS_write && !calls.empty() && calls.back().number == SYS_write;
    if (counts && !is_more) calls.push_back({number, info.entry.args[0]});
  }
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  return calls;
}

}  // namespace

TEST_CASE("a file is made or replaced, and nothing lies beside it afterwards") {
  const ScratchFolder folder;
  const auto file = folder.path() / "file";
  for (const std::string_view contents : {"first", "", "a longer second"}) {
    CHECK(replace(file, contents) == 0);
    CHECK(read_file(file) == contents);
    CHECK(files_in(folder.path()).size() == 1);
  }
  CHECK(base::replace_file(
            file.string(),
            {std::as_bytes(std::span("one", 3)), {}, std::as_bytes(std::span("two", 3))}) == 0);
  CHECK(read_file(file) == "onetwo");
}

TEST_CASE("a file keeps its mode when it is replaced, and a new one has what the umask leaves") {
  const ScratchFolder folder;
  const auto file = folder.path() / "file";
  for (const mode_t mode : {0600u, 0644u, 0755u, 0666u}) {
    write_file(file, "old");
    REQUIRE(chmod(file.c_str(), mode) == 0);
    CHECK(replace(file, "new") == 0);
    CHECK(mode_of(file) == mode);
  }
  const mode_t before = umask(027);
  CHECK(replace(folder.path() / "fresh", "new") == 0);
  CHECK(replace(folder.path() / "private", "new", {.fresh_mode = 0600}) == 0);
  umask(before);
  CHECK(mode_of(folder.path() / "fresh") == 0640);
  CHECK(mode_of(folder.path() / "private") == 0600);
}

TEST_CASE("through a symbolic link its target is replaced, and the link stays") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "far");
  write_file(folder.path() / "far" / "target", "old");
  std::filesystem::create_symlink("far/target", folder.path() / "near");
  std::filesystem::create_symlink(folder.path() / "near", folder.path() / "nearer");
  CHECK(replace(folder.path() / "nearer", "new") == 0);
  CHECK(std::filesystem::is_symlink(folder.path() / "nearer"));
  CHECK(std::filesystem::is_symlink(folder.path() / "near"));
  CHECK(read_file(folder.path() / "far" / "target") == "new");
  CHECK_FALSE(std::filesystem::is_symlink(folder.path() / "far" / "target"));

  std::filesystem::create_symlink("far/none", folder.path() / "dangling");
  CHECK(replace(folder.path() / "dangling", "made") == 0);
  CHECK(read_file(folder.path() / "far" / "none") == "made");

  std::filesystem::create_symlink("round", folder.path() / "round");
  CHECK(replace(folder.path() / "round", "new") == ELOOP);
}

TEST_CASE("pipes, devices and descriptors are written as they are") {
  const ScratchFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const base::OwnedFile reader(open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  CHECK(replace(pipe, "through") == 0);
  std::array<char, 16> read{};
  CHECK(::read(reader.get(), read.data(), read.size()) == 7);
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(replace("/dev/null", "away") == 0);
  CHECK(replace("/dev/full", "away") == ENOSPC);

  // A plain file behind a descriptor: others have it open, so it must stay the one it is.
  const auto file = folder.path() / "file";
  const base::OwnedFile opened(open(file.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600));
  CHECK(write(opened.get(), "before ", 7) == 7);
  CHECK(replace("/proc/self/fd/" + std::to_string(opened.get()), "after") == 0);
  CHECK(read_file(file) == "before after");
}

TEST_CASE("what cannot be replaced stays, with the reason as a number") {
  const ScratchFolder folder;
  CHECK(replace(folder.path(), "x") == EISDIR);
  CHECK(replace(folder.path() / "none" / "file", "x") == ENOENT);
  CHECK(replace("", "x") == ENOENT);
  write_file(folder.path() / "file", "old");
  CHECK(replace(folder.path() / "file" / "below", "x") == ENOTDIR);
  CHECK(replace(folder.path() / std::string(300, 'n'), "x") == ENAMETOOLONG);
  CHECK(replace(folder.path() / std::string(255, 'n'), "x") == 0);
  std::filesystem::remove(folder.path() / std::string(255, 'n'));
  CHECK(read_file(folder.path() / "file") == "old");
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("where the new name cannot be given, nothing lies beside the old file") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "taken");
  const base::OwnedFile opened(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  CHECK(base::replace_in_folder(opened.get(), "taken", {std::as_bytes(std::span(kNew))}, {}) ==
        EISDIR);
  CHECK(std::filesystem::is_directory(folder.path() / "taken"));
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("a limit on the size of files is an error and no signal, on both sides of it") {
  const ScratchFolder folder;
  const auto file = folder.path() / "file";
  write_file(file, kOld);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = kNew.size() - 1, .rlim_max = kNew.size() - 1};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(replace(file, kNew) == EFBIG && read_file(file) == kOld &&
                  replace(file, std::string_view(kNew).substr(1)) == 0
              ? 0
              : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(read_file(file) == kNew.substr(1));
  CHECK(files_in(folder.path()).size() == 1);
}

TEST_CASE("a writer killed at any of its system calls leaves the old file or the new one") {
  const ScratchFolder folder;
  const auto file = folder.path() / "file";
  int kills = 0;
  int left_old = 0;
  for (bool ended = false; !ended; ++kills) {
    REQUIRE(kills < 1000);
    write_file(file, kOld);
    const pid_t child = fork();
    if (child == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      _exit(replace(file, kNew));
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSTOPPED(status));
    // Each call stops twice: before and after.
    for (int stops = 0; stops < kills && !ended; ++stops) {
      REQUIRE(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
      REQUIRE(waitpid(child, &status, 0) == child);
      ended = WIFEXITED(status);
    }
    if (ended) {
      CHECK(WEXITSTATUS(status) == 0);
    } else {
      REQUIRE(kill(child, SIGKILL) == 0);
      REQUIRE(waitpid(child, &status, 0) == child);
    }
    const std::string found = read_file(file);
    const bool is_whole = found == kOld || found == kNew;
    CHECK(is_whole);
    left_old += found == kOld ? 1 : 0;
  }
  CHECK(left_old > 10);
  CHECK(kills > left_old + 2);
  CHECK(read_file(file) == kNew);
}

TEST_CASE("a file is on the disk before it has its name, and its name before the call is back") {
  const ScratchFolder folder;
  for (const bool exists : {false, true}) {
    const auto file = folder.path() / (exists ? "old" : "fresh");
    if (exists) write_file(file, kOld);
    const std::vector<Call> calls = calls_of_replace(file, {});
    REQUIRE(calls.size() == 4);
    CHECK(calls[0].number == SYS_write);
    CHECK(calls[1].number == SYS_fsync);
    CHECK(calls[1].first_argument == calls[0].first_argument);
    const bool renames = calls[2].number == SYS_renameat || calls[2].number == SYS_renameat2;
    CHECK(renames);
    CHECK(calls[3].number == SYS_fsync);
    CHECK(calls[3].first_argument == calls[2].first_argument);  // the folder
    CHECK(read_file(file) == kNew);
  }
  // Where it is not worth waiting for, nobody waits.
  const std::vector<Call> calls = calls_of_replace(folder.path() / "quick", {.sync = false});
  CHECK(calls.size() == 2);
}

TEST_CASE("temporary files of killed writers go when they are old, and nothing else goes") {
  const ScratchFolder folder;
  const auto make = [&](const std::string& name, int age) {
    write_file(folder.path() / name, "x");
    const timeval then{.tv_sec = std::time(nullptr) - age, .tv_usec = 0};
    const std::array times{then, then};
    REQUIRE(utimes((folder.path() / name).c_str(), times.data()) == 0);
  };
  make(".felsite-0000000000000001.tmp", 7200);
  make(".felsite-0000000000000002.tmp", 60);
  make("pipelines.bin", 7200);
  make(".felsite-notes", 7200);
  std::filesystem::create_directory(folder.path() / ".felsite-folder.tmp");
  const base::OwnedFile opened(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  base::remove_left_behind(opened.get());
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".felsite-0000000000000001.tmp"));
  CHECK(files_in(folder.path()).size() == 4);
  base::remove_left_behind(-1);
}
