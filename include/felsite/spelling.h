// "Did you mean": the known word that is nearest to one that is not known.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace felsite {

// Hostile text can hold megabyte names and many of them; a slip of the finger needs neither.
inline constexpr std::size_t kLongestCandidate = 64;
inline constexpr std::size_t kMostCandidates = 500;

// The candidate nearest to `name` in spelling, or empty when none is near.
std::string_view closest(std::string_view name, std::span<const std::string_view> candidates);
// " Did you mean `x`?" or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace felsite
