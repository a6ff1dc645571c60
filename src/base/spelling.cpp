#include "felsite/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace felsite {
namespace {

// Counts letters that are missing, added or replaced, and swapped neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_above(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, other});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view closest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > kLongestCandidate) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate :
       candidates.first(std::min(candidates.size(), kMaxCandidates))) {
    if (candidate.size() > kLongestCandidate || candidate.empty() || candidate == name) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view best = closest(name, candidates);
  return best.empty() ? std::string() : fmt::format(" Did you mean `{}`?", best);
}

}  // namespace felsite
