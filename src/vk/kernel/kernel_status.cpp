#include "vk/kernel/kernel_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.h"

namespace felsite::vk {
namespace {

using codegen::StatusWords;

// The position of the key, if it occurs exactly once.
std::optional<std::uint32_t> find_key(std::span<const std::uint32_t> words, std::uint32_t key) {
  if (std::ranges::count(words, key) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::ranges::find(words, key) - words.begin());
}

std::optional<std::uint32_t> find_address(std::span<const std::uint32_t> words, std::uint32_t key) {
  std::uint32_t address = 0;
  for (std::uint32_t digit = 0; digit < StatusWords::kDigits; ++digit) {
    const std::size_t at = StatusWords::kAddress + digit * StatusWords::kDigitValues;
    const auto value = find_key(words.subspan(at, StatusWords::kDigitValues), key);
    if (!value) return std::nullopt;
    address |= *value << (digit * StatusWords::kDigitBits);
  }
  return address;
}

Error meaningless(std::uint32_t key) {
  return base::dispatch_failed(
      fmt::format("The kernel left an invalid status, with the key {}.", key),
      "update the driver, or choose another device.");
}

}  // namespace

Error error_of(std::span<const std::uint32_t> words, const codegen::Kernel& kernel) {
  const std::uint32_t key = words[StatusWords::kKey];
  const std::uint32_t width = words[StatusWords::kWidth];
  const std::uint32_t height = words[StatusWords::kHeight];
  if (key == StatusWords::kFarKey) {
    return base::unsupported(
        "An invocation past the first 2^32 - 2 of the grid trapped, or ran into the driver's limit "
        "on loop trips.",
        "use a smaller grid, so that the report can say which one.");
  }
  if (width == 0 || height == 0) return meaningless(key);
  const std::uint32_t index = ~key;
  const Extent3 invocation{index % width, index / width % height, index / width / height};
  const auto& [x, y, z] = invocation;
  const bool has_tags = !kernel.trap_tags.empty();
  const auto tags = has_tags ? words.subspan(StatusWords::kTags, kernel.trap_tags.size())
                             : std::span<const std::uint32_t>{};
  if (std::ranges::count(tags, key) == 0) {
    return base::make_error(
        ErrorCode::LoopBudgetExceeded,
        fmt::format("Invocation ({}, {}, {}) ran into the driver's limit on loop trips.", x, y, z),
        "give each invocation less to do, or use another driver.");
  }
  const auto tag = find_key(tags, key);
  const auto address = find_address(words, key);
  if (!tag || !address) return meaningless(key);
  return base::trapped({kernel.trap_tags[*tag], *address, invocation});
}

}  // namespace felsite::vk
