// How many generated programs ran in each form and on each path, and how many were refused for
// which reason; printed so that a run shows what it compared.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace felsite::test {

class RunCounts {
 public:
  void ran(const std::string& how) { ++ran_[how]; }
  void refused(const std::string& how, std::string_view why) {
    ++refused_[how + " refused: " + std::string(why)];
  }
  // How often it was asked for.
  std::uint64_t of(const std::string& how) const {
    std::uint64_t count = 0;
    for (const auto& [name, ran] : ran_) count += name == how ? ran : 0;
    for (const auto& [name, times] : refused_)
      count += name.starts_with(how + " refused: ") ? times : 0;
    return count;
  }
  void print(const char* what) const {
    const char* const driver = std::getenv("FELSITE_TEST_DRIVER");
    fmt::print("{} on {}:\n", what, driver == nullptr ? "the reference" : driver);
    for (const auto& [how, count] : ran_) fmt::print("{:>6} × {}\n", count, how);
    for (const auto& [how, count] : refused_) fmt::print("{:>6} × {}\n", count, how);
  }

 private:
  std::map<std::string, std::uint64_t> ran_;
  std::map<std::string, std::uint64_t> refused_;
};

}  // namespace felsite::test
