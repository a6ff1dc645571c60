#include <fmt/format.h>

#include <cstdlib>

#include "child.h"
#include "rows_in_child.h"
#include "small_processes.h"

namespace felsite::bench {

int be_child(const std::vector<std::string>& words) {
  if (words[0] == "row" && words.size() == 3) {
    const auto extent = extent_named(words[2]);
    if (!extent) return 2;
    const auto said = measure_for_parent(words[1], *extent);
    if (said) fmt::print("{}\n", *said);
    return said ? 0 : 3;
  }
  const auto number = [&](std::size_t i) { return std::strtoul(words[i].c_str(), nullptr, 10); };
  const auto choice = [&] { return RawChoice{number(2), static_cast<std::uint32_t>(number(3))}; };
  if (words[0] == "cold_start_felsite" && words.size() == 1) return cold_start_felsite();
  if (words[0] == "cold_start_raw" && words.size() == 4) return cold_start_raw(words[1], choice());
  if (words[0] == "peak_felsite" && words.size() == 2) {
    return peak_felsite(static_cast<std::uint32_t>(number(1)));
  }
  if (words[0] == "peak_raw" && words.size() == 5) {
    return peak_raw(words[1], choice(), static_cast<std::uint32_t>(number(4)));
  }
  fmt::print(stderr,
             "felsite: There is no such child. Fix: leave --child to felsite-bench itself.\n");
  return 2;
}

}  // namespace felsite::bench
