// Lists of Vulkan, which take two calls: one for the length, one for the rows.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace felsite::vk {

// `ask` is the call; it takes a count and a place for the rows. VK_INCOMPLETE means that the list
// has grown between the two calls, so it is tried again, but not for ever. On any result other than
// VK_SUCCESS there are no rows.
template <class Row, class Ask>
VkResult enumerate(std::vector<Row>& rows, Ask ask) {
  constexpr int kMaxTries = 8;
  VkResult result = VK_INCOMPLETE;
  for (int i = 0; i < kMaxTries && result == VK_INCOMPLETE; ++i) {
    std::uint32_t count = 0;
    result = ask(&count, nullptr);
    if (result == VK_INCOMPLETE) continue;
    if (result != VK_SUCCESS) break;
    rows.resize(count);
    if (count == 0) break;  // a null pointer for the rows would ask for their number again
    result = ask(&count, rows.data());
    rows.resize(std::min<std::size_t>(count, rows.size()));
  }
  if (result != VK_SUCCESS) rows.clear();
  return result;
}

}  // namespace felsite::vk
