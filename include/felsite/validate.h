// Validation: everything that is wrong with a program, in one run.
#pragma once

#include <cstdint>

#include "felsite/finding.h"
#include "felsite/program.h"

namespace felsite::ir {

inline constexpr std::uint32_t kMaxExprDepth = 1024;
inline constexpr std::uint32_t kMaxNesting = 256;
inline constexpr std::uint32_t kMaxNodes = 1'000'000;
inline constexpr std::uint32_t kMaxWorkgroupInvocations = 65'536;
inline constexpr std::uint32_t kMaxWorkgroupBytes = 1u << 20;
inline constexpr std::uint32_t kMaxAsyncCount = 1024;
// A hostile program can have a finding in every row; findings beyond this number are only counted.
inline constexpr std::size_t kMaxFindings = 1'000;

// Empty: the program is valid, and every backend that accepts it gives the same bytes.
Findings validate(const Program& program);

}  // namespace felsite::ir
