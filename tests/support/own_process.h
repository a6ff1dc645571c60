// The test executable itself as another process: runs one of its tests that is skipped otherwise.
#pragma once

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace felsite::test {

// Ends with its owner at the latest.
class OwnProcess {
 public:
  // `test` is the name of a test case with doctest::skip, without commas; `variables` are
  // NAME=VALUE, before those of this process.
  explicit OwnProcess(const std::string& test, const std::vector<std::string>& variables = {}) {
    std::string filter = "--test-case=" + test;
    std::string path = "/proc/self/exe";
    std::string no_skip = "--no-skip";
    std::string quiet = "--minimal";
    std::vector<char*> arguments{path.data(), filter.data(), no_skip.data(), quiet.data(), nullptr};
    std::vector<std::string> own(variables);
    std::vector<char*> environment;
    for (std::string& variable : own) environment.push_back(variable.data());
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    if (posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, arguments.data(),
                    environment.data()) != 0) {
      pid_ = 0;
    }
  }
  ~OwnProcess() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // What it ended with: 0 where all went well, the negative number of a signal that ended it;
  // nothing where it did not end in time.
  std::optional<int> wait(std::chrono::seconds most) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (pid_ != 0) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = 0;
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
      }
      if (std::chrono::steady_clock::now() > end) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return std::nullopt;
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace felsite::test
