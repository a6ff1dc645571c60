#include "child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/errors.h"

extern char** environ;

namespace felsite::bench {
namespace {

Error did_not_run(std::string message) {
  return base::dispatch_failed(std::move(message), "see what was said on standard error.");
}

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string variable = *at;
    const bool changed = std::ranges::any_of(
        changes, [&](const auto& change) { return variable.starts_with(change.first + "="); });
    if (!changed) variables.push_back(variable);
  }
  for (const auto& [name, value] : changes) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

// Keeps this thread on the core that it is on, and so what it starts; for its own lifetime only.
class OneCore {
 public:
  OneCore() {
    const int core = sched_getcpu();
    known_ = core >= 0 && sched_getaffinity(0, sizeof before_, &before_) == 0;
    if (!known_) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(core), &only);
    sched_setaffinity(0, sizeof only, &only);
  }
  ~OneCore() {
    if (known_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
  bool known_ = false;
};

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t count = read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string to_string(const Surroundings& surroundings) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : surroundings.variables) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  if (surroundings.one_core) parts.emplace_back("one core");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<std::string> run_child(const std::vector<std::string>& words,
                              const Surroundings& surroundings) {
  std::error_code failed;
  const auto tool = std::filesystem::read_symlink("/proc/self/exe", failed);
  std::array<int, 2> ends{};
  if (failed || pipe2(ends.data(), O_CLOEXEC) != 0) {
    return std::unexpected(did_not_run("A process for the row cannot be started."));
  }
  std::vector<std::string> arguments{tool.string(), "--child"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables = environment_with(surroundings.variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::optional<OneCore> core =
      surroundings.one_core ? std::optional<OneCore>(std::in_place) : std::nullopt;
  pid_t child = 0;
  const int started = posix_spawn(&child, tool.c_str(), &actions, nullptr,
                                  pointers_to(arguments).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output = started == 0 ? read_all(ends[0]) : "";
  close(ends[0]);
  if (started != 0) {
    return std::unexpected(did_not_run("A process for the row cannot be started."));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return std::unexpected(did_not_run("The process of the row did not end well."));
  }
  return output;
}

}  // namespace felsite::bench
