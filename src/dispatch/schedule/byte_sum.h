// Bytes as a sum of terms, some of whose factors may be unknown: 4·len(x) + 8·invocations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "felsite/explain.h"

namespace felsite::dispatch {

class ByteSum {
 public:
  ByteSum() = default;
  explicit ByteSum(std::uint64_t bytes) : constant_(bytes) {}
  // `each` bytes for each of `count` things of this name.
  ByteSum(std::uint64_t each, std::string name, std::optional<std::uint64_t> count);

  ByteSum& operator+=(const ByteSum& other);
  ByteSum times(std::uint64_t count) const;

  // Without a number of bytes where it exceeds 64 bits.
  ByteCount value() const;

 private:
  struct Term {
    std::string name;
    std::uint64_t each;
    std::optional<std::uint64_t> count;
  };
  void set(std::uint64_t& number, std::optional<std::uint64_t> value);

  std::uint64_t constant_ = 0;
  bool is_too_large_ = false;  // a factor or the constant
  std::vector<Term> terms_;    // in order of appearance, each name once
};

}  // namespace felsite::dispatch
