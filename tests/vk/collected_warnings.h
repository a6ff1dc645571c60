#pragma once

#include <doctest/doctest.h>

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

  // Each says what to do about it, but for those of the validation layer.
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    for (const std::string& sentence : sentences_) {
      const bool is_ours = !sentence.starts_with("validation: ");
      CHECK_MESSAGE((!is_ours || sentence.find(" Fix: ") != std::string::npos), sentence);
    }
    return std::exchange(sentences_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

}  // namespace felsite::test
