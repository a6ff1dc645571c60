#pragma once

#include <cstdint>

namespace felsite::base {

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace felsite::base
