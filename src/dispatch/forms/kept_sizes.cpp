#include "dispatch/forms/kept_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/errors.h"
#include "base/try.h"
#include "base/words.h"
#include "dispatch/cut/spill_slots.h"

namespace felsite::dispatch {
namespace {

using base::checked_product;
using base::checked_sum;

// No vector and no allocation is larger, whatever the caller allows.
constexpr std::uint64_t kMaxBytes = PTRDIFF_MAX;
// Kernels count words with 32 bits.
constexpr std::uint64_t kMaxIndexed = std::uint64_t{UINT32_MAX} * 4;

// Rounded up to whole words, which devices copy.
std::optional<std::uint64_t> kept_of(const KeptPart& part, ir::Type element, std::uint64_t groups) {
  const auto bytes = checked_product({groups, part.count, ir::info(element).bytes});
  if (!bytes || *bytes > UINT64_MAX - 3) return std::nullopt;
  return (*bytes + 3) / 4 * 4;
}

std::optional<KeptSizes> sizes_of(const GridSyncPlan& plan, const Extent3& grid) {
  KeptSizes sizes;
  const auto groups = base::volume(grid);
  const auto lanes = invocations_of(plan.program, grid);
  if (!groups || !lanes) return std::nullopt;
  const auto add = [&](std::optional<std::uint64_t> bytes) {
    const auto total = bytes ? checked_sum({sizes.total, *bytes}) : std::nullopt;
    if (total) sizes.total = *total;
    return total.has_value();
  };
  for (const bool per_workgroup : {false, true}) {
    const std::uint32_t all = per_workgroup ? plan.group_words : plan.spill_words;
    const std::uint32_t each = words_per_spill(plan.spread, per_workgroup, all);
    for (std::uint32_t word = 0; word < all; word += std::min(each, all - word)) {
      const auto bytes =
          checked_product({per_workgroup ? *groups : *lanes, std::min(each, all - word), 4});
      if (!add(bytes)) return std::nullopt;
      (per_workgroup ? sizes.workgroup_spills : sizes.spills).push_back(*bytes);
    }
  }
  for (const ir::BufferId id : plan.kept) {
    const ir::BufferDecl& buffer = plan.program.buffer(id);
    std::vector<std::uint64_t>& parts = sizes.kept.emplace_back();
    for (const KeptPart& part : kept_parts(buffer, plan.spread)) {
      const auto bytes = kept_of(part, buffer.element, *groups);
      if (!add(bytes)) return std::nullopt;
      parts.push_back(*bytes);
    }
  }
  return sizes;
}

bool keeps_nothing(const GridSyncPlan& plan) {
  return plan.spill_words == 0 && plan.group_words == 0 && plan.kept.empty();
}

// What takes the memory, as text.
std::string parts_of(const GridSyncPlan& plan) {
  const auto words = [](std::uint32_t count) { return base::counted(count, "word"); };
  std::vector<std::string> parts;
  if (plan.spill_words != 0) parts.push_back(words(plan.spill_words) + " of each invocation");
  if (plan.group_words != 0) parts.push_back(words(plan.group_words) + " of each workgroup");
  if (!plan.kept.empty()) parts.emplace_back("workgroup memory");
  return fmt::format("{}", fmt::join(parts, ", "));
}

constexpr const char* kFix = "use a smaller grid, or keep fewer values across grid barriers.";

Error too_much(const GridSyncPlan& plan, const Extent3& grid,
               std::optional<std::uint64_t> requested, std::uint64_t available) {
  return base::with_amounts(
      base::out_of_memory(
          fmt::format(
              "Beside the program's own buffers Felsite needs {} to keep what lives across grid "
              "barriers ({}) for {} × {} × {} workgroups; {} bytes are available.",
              base::bytes_text(requested), parts_of(plan), grid[0], grid[1], grid[2], available),
          kFix, plan.program.name()),
      requested.value_or(UINT64_MAX), available);
}

Error too_large(const GridSyncPlan& plan, const Extent3& grid, std::string_view what,
                std::uint64_t requested, std::uint64_t binding) {
  const bool is_index = kMaxIndexed < binding;
  return base::with_amounts(
      base::unsupported(
          fmt::format(
              "Beside the program's own buffers Felsite needs one of {} bytes to keep {} across "
              "grid barriers for {} × {} × {} workgroups; {} at most {}.",
              requested, what, grid[0], grid[1], grid[2],
              is_index ? "with indices of 32 bits it has" : "the device binds",
              std::min(binding, kMaxIndexed)),
          kFix, plan.program.name()),
      requested, std::min(binding, kMaxIndexed));
}

}  // namespace

std::optional<std::uint64_t> invocations_of(const ir::Program& program, const Extent3& grid) {
  const auto& size = program.workgroup_size();
  return checked_product({grid[0], grid[1], grid[2], size[0], size[1], size[2]});
}

SpillSpread spread_that_fits(const ir::Program& program, const Extent3& grid,
                             std::uint64_t binding) {
  const std::uint64_t lanes = invocations_of(program, grid).value_or(UINT64_MAX);
  const std::uint64_t groups = base::volume(grid).value_or(UINT64_MAX);
  if (lanes == 0) return {};
  const auto at_least_one = [](std::uint64_t count) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count, 1, UINT32_MAX));
  };
  const std::uint64_t words = std::min(binding, kMaxIndexed) / 4;
  return {at_least_one(words / lanes), at_least_one(words * 4 / groups)};
}

Result<KeptSizes> size_kept(const GridSyncPlan& plan, const Extent3& grid,
                            const KeptLimits& limits) {
  if (keeps_nothing(plan)) return KeptSizes{};
  const std::uint64_t memory = std::min(limits.memory, kMaxBytes);
  auto sizes = sizes_of(plan, grid);
  if (!sizes) return std::unexpected(too_much(plan, grid, std::nullopt, memory));
  if (sizes->total > memory) return std::unexpected(too_much(plan, grid, sizes->total, memory));
  const auto check = [&](std::uint64_t bytes, std::string_view what) -> Result<void> {
    if (bytes <= std::min(limits.binding, kMaxIndexed)) return {};
    return std::unexpected(too_large(plan, grid, what, bytes, limits.binding));
  };
  for (const std::uint64_t bytes : sizes->spills) {
    FELSITE_CHECK(check(bytes, "a value of each invocation"));
  }
  for (const std::uint64_t bytes : sizes->workgroup_spills) {
    FELSITE_CHECK(check(bytes, "a value of each workgroup"));
  }
  for (std::size_t i = 0; i < plan.kept.size(); ++i) {
    const std::string what =
        fmt::format("a part of the workgroup memory `{}`", plan.program.buffer(plan.kept[i]).name);
    for (const std::uint64_t bytes : sizes->kept[i]) FELSITE_CHECK(check(bytes, what));
  }
  return std::move(*sizes);
}

}  // namespace felsite::dispatch

namespace felsite {

std::optional<std::uint64_t> kept_bytes(const GridSyncPlan& plan, const Extent3& grid) {
  if (dispatch::keeps_nothing(plan)) return 0;
  const auto sizes = dispatch::sizes_of(plan, grid);
  return sizes ? std::optional(sizes->total) : std::nullopt;
}

}  // namespace felsite
