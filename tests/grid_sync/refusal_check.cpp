// One workgroup may refuse a grid that is too large for it. If it refused nearly all, the tests of
// that form would show nothing.
#include <fmt/format.h>

#include "grid_sync/forms.h"
#include "support/final_check.h"

namespace felsite::test {
namespace {

std::vector<std::string> too_many_refusals() {
  const auto& [asked, by_reason] = refusals();
  std::uint64_t refused = 0;
  for (const auto& [reason, count] : by_reason) {
    fmt::print("one workgroup refused {} grids: {}\n", count, reason);
    refused += count;
  }
  fmt::print("one workgroup refused {} of {} grids\n", refused, asked);
  if (refused * 4 <= asked * 3) return {};
  return {fmt::format("{} of {} were refused", refused, asked)};
}

const FinalCheck refusal_check("one workgroup holds many of the grids it is given",
                               FinalCheck::When::WholeRun, too_many_refusals);

}  // namespace
}  // namespace felsite::test
