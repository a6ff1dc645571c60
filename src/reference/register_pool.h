// Registers for the interpreter's compiler, in units of 32 bits per lane.
#pragma once

#include <cstdint>
#include <vector>

namespace felsite::reference {

// Hands out register units, released ones first. Expressions release theirs in any order.
class RegisterPool {
 public:
  std::uint32_t take(std::uint32_t units) {
    std::vector<std::uint32_t>& free = free_[units - 1];
    if (!free.empty()) {
      const std::uint32_t unit = free.back();
      free.pop_back();
      return unit;
    }
    const std::uint32_t unit = next_;
    next_ += units;
    return unit;
  }
  void release(std::uint32_t unit, std::uint32_t units) { free_[units - 1].push_back(unit); }
  // Units that are free now are not handed out again: an operation keeps its own registers.
  void forget_free() {
    free_[0].clear();
    free_[1].clear();
  }
  std::uint32_t size() const { return next_; }

 private:
  std::vector<std::uint32_t> free_[2];
  std::uint32_t next_ = 0;
};

}  // namespace felsite::reference
