// The lists of Vulkan, which are asked for twice: how long they are, and what is in them.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace felsite::vk {

// `ask` is the call, given a count and where the rows go. VK_INCOMPLETE means that the list has
// grown between the two calls, so it is asked for again; but a driver that always says so is not
// asked for ever. On any other result than VK_SUCCESS the rows are none.
template <class Row, class Ask>
VkResult enumerate(std::vector<Row>& rows, Ask ask) {
  constexpr int kMostTries = 8;
  VkResult result = VK_INCOMPLETE;
  for (int i = 0; i < kMostTries && result == VK_INCOMPLETE; ++i) {
    std::uint32_t count = 0;
    result = ask(&count, nullptr);
    if (result == VK_INCOMPLETE) continue;
    if (result != VK_SUCCESS) break;
    rows.resize(count);
    if (count == 0) break;  // no place for rows would ask for their number again
    result = ask(&count, rows.data());
    rows.resize(std::min<std::size_t>(count, rows.size()));
  }
  if (result != VK_SUCCESS) rows.clear();
  return result;
}

}  // namespace felsite::vk
