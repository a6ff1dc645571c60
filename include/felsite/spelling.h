// "Did you mean": the known word that is closest to an unknown one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace felsite {

// Hostile text can hold many megabyte-long names; a typo needs neither.
inline constexpr std::size_t kLongestCandidate = 64;
inline constexpr std::size_t kMaxCandidates = 500;

// The candidate whose spelling is closest to `name`, or empty if none is close.
std::string_view closest(std::string_view name, std::span<const std::string_view> candidates);
// " Did you mean `x`?" or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace felsite
