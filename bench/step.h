// The small step of the rows beside raw Vulkan: one workgroup that changes a buffer. Its peer is
// shaders/peers/step.comp.
#pragma once

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "felsite/dispatch.h"

namespace felsite::bench {

inline constexpr std::string_view kStepText = R"(
program step workgroup(64) {
  readwrite v: u32[];
  let i = invocation.x;
  if i < len(v) {
    v[i] = v[i] * 3 + 1;
  }
})";
inline constexpr std::uint32_t kStepElements = 64;  // one workgroup

// Words that count from 1 on.
inline Bytes counted_bytes(std::uint64_t bytes) {
  std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
  std::iota(words.begin(), words.end(), 1);
  Bytes contents(bytes);
  std::memcpy(contents.data(), words.data(), words.size() * sizeof words[0]);
  return contents;
}
inline Bytes step_contents() { return counted_bytes(kStepElements * sizeof(std::uint32_t)); }

}  // namespace felsite::bench
