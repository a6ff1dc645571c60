#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "felsite/warnings.h"

namespace felsite::test {

// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_warning_handler([this](std::string_view sentence) {
      const std::lock_guard lock(mutex_);
      sentences_.emplace_back(sentence);
    });
  }
  ~Warnings() { set_warning_handler(nullptr); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(sentences_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

}  // namespace felsite::test
