#include <fmt/format.h>

#include <cstdlib>

#include "child.h"
#include "cold_start.h"
#include "rows_in_child.h"

namespace felsite::bench {

int be_child(const std::vector<std::string>& words) {
  if (words[0] == "row" && words.size() == 3) {
    fmt::print("{}\n", measure_for_parent(words[1], words[2] == "quick"));
    return 0;
  }
  if (words[0] == "cold_start_felsite") return cold_start_felsite();
  if (words[0] == "cold_start_raw" && words.size() == 4) {
    const auto number = [&](std::size_t i) { return std::strtoul(words[i].c_str(), nullptr, 10); };
    return cold_start_raw(words[1], {number(2), static_cast<std::uint32_t>(number(3))});
  }
  fmt::print(stderr, "felsite bench: there is no such child\n");
  return 2;
}

}  // namespace felsite::bench
