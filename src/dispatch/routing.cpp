#include "dispatch/routing.h"

#include <fmt/format.h>

namespace felsite::dispatch {
namespace {

Error unsupported(std::string message, std::string fix) {
  return {.code = ErrorCode::UnsupportedFeature,
          .message = std::move(message),
          .fix = std::move(fix),
          .context = {}};
}

}  // namespace

Result<void> check_route(const ir::Program& program, const DispatchConfig& config) {
  constexpr const char* kElsewhere = "run the program on the reference backend.";
  if (config.cooperative) {
    return std::unexpected(unsupported(
        "A cooperative dispatch needs a barrier of the whole grid, which Vulkan has not.",
        "dispatch without `cooperative`."));
  }
  if (program.facts().has_grid_sync) {
    return std::unexpected(unsupported(
        "The program has a gridsync, and the Vulkan backend runs single kernels.", kElsewhere));
  }
  if (program.facts().has_collectives) {
    return std::unexpected(unsupported(
        "The program has a collective, and the Vulkan backend runs single kernels.", kElsewhere));
  }
  if (config.fixpoint_iterations.value_or(1) > 1) {
    return std::unexpected(unsupported(
        fmt::format("A fixpoint of {} iterations was asked for, and the Vulkan backend runs one.",
                    *config.fixpoint_iterations),
        kElsewhere));
  }
  return {};
}

}  // namespace felsite::dispatch
