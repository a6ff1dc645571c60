#include "dispatch/forms/kept_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/errors.h"
#include "base/try.h"
#include "base/words.h"

namespace felsite::dispatch {
namespace {

using base::checked_product;
using base::checked_sum;

// No vector and no allocation is larger, whatever the caller allows.
constexpr std::uint64_t kMaxBytes = PTRDIFF_MAX;
// Kernels count words with 32 bits.
constexpr std::uint64_t kMaxIndexed = std::uint64_t{UINT32_MAX} * 4;

std::uint64_t element_bytes(const GridSyncPlan& plan, ir::BufferId id) {
  return ir::info(plan.program.buffer(id).element).bytes;
}

// Rounded up to whole words, which devices copy.
std::optional<std::uint64_t> kept_of(const GridSyncPlan& plan, ir::BufferId id,
                                     std::uint64_t groups) {
  const auto bytes =
      checked_product({groups, plan.program.buffer(id).count, element_bytes(plan, id)});
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
  for (std::uint32_t word = 0; word < plan.spill_words; word += plan.words_per_spill) {
    const std::uint32_t words = std::min(plan.words_per_spill, plan.spill_words - word);
    const auto bytes = checked_product({*lanes, words, 4});
    if (!add(bytes)) return std::nullopt;
    sizes.spills.push_back(*bytes);
  }
  const auto workgroup_spill = checked_product({*groups, plan.group_words, 4});
  if (!add(workgroup_spill)) return std::nullopt;
  sizes.workgroup_spill = *workgroup_spill;
  for (const ir::BufferId id : plan.kept) {
    const auto bytes = kept_of(plan, id, *groups);
    if (!add(bytes)) return std::nullopt;
    sizes.kept.push_back(*bytes);
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

std::uint32_t spill_words_that_fit(const ir::Program& program, const Extent3& grid,
                                   std::uint64_t binding) {
  const std::uint64_t lanes = invocations_of(program, grid).value_or(UINT64_MAX);
  if (lanes == 0) return 0;
  const std::uint64_t words = std::min(binding, kMaxIndexed) / 4 / lanes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(words, 1, UINT32_MAX));
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
  FELSITE_CHECK(check(sizes->workgroup_spill, "values of each workgroup"));
  for (std::size_t i = 0; i < plan.kept.size(); ++i) {
    const std::string what =
        fmt::format("the workgroup memory `{}`", plan.program.buffer(plan.kept[i]).name);
    FELSITE_CHECK(check(sizes->kept[i], what));
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
