#include "run_route.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

namespace felsite::tool {
namespace {

// What the Vulkan backend does not run yet, as it says itself (src/dispatch/routing.cpp). The only
// place of the tool that knows.
std::optional<std::string> not_on_vulkan(const ir::Program& program, const DispatchConfig& config) {
  const auto single_kernels = [](std::string_view what) {
    return fmt::format("it has a {}, and the Vulkan backend runs single kernels", what);
  };
  if (program.facts().has_grid_sync) return single_kernels("gridsync");
  if (program.facts().has_collectives) return single_kernels("collective");
  if (config.fixpoint_iterations.value_or(1) > 1) {
    return fmt::format("a fixpoint of {} iterations was asked for, and the Vulkan backend runs one",
                       *config.fixpoint_iterations);
  }
  return std::nullopt;
}

// Without --check, which would run the reference beside the device, these can only mean that the
// reference is to run the program.
std::optional<std::string> asks_for_reference(const CLI::App& command) {
  if (command.get_option("--check")->count() > 0) return std::nullopt;
  for (const char* option : {"--order", "--seed", "--subgroup-width", "--count-out-of-bounds"}) {
    if (command.get_option(option)->count() > 0) {
      return fmt::format("{} is for the reference alone", option);
    }
  }
  return std::nullopt;
}

// What was given for a device that does not come to run.
std::string left_unused(const CLI::App& command) {
  std::vector<const char*> given;
  for (const char* option : {"--check", "--mask", "--device"}) {
    if (command.get_option(option)->count() > 0) given.push_back(option);
  }
  if (given.empty()) return {};
  return fmt::format("; {} {} nothing there", fmt::join(given, " and "),
                     given.size() == 1 ? "does" : "do");
}

}  // namespace

Route choose_route(const CLI::App& command, const CommonOptions& common, const ir::Program& program,
                   const DispatchConfig& config) {
  if (common.backend != "auto") return {.on_device = common.backend == "vulkan", .note = {}};
  auto why = not_on_vulkan(program, config);
  if (!why) why = asks_for_reference(command);
  if (!why) return {};
  return {.on_device = false,
          .note = fmt::format("{} runs on the reference: {}{}", program.name(), *why,
                              left_unused(command))};
}

Result<void> check_backend(const CommonOptions& common) {
  if (common.backend == "vulkan" || common.backend == "auto") return {};
  if (auto backend = make_backend(common.backend); !backend) {
    Error error = std::move(backend.error());
    error.fix = "use reference or vulkan, or leave --backend out.";
    return std::unexpected(std::move(error));
  }
  if (!common.device.empty() && common.device != "0" && common.device != "reference") {
    return std::unexpected(Error{
        .code = ErrorCode::UnsupportedFeature,
        .message = fmt::format("Backend `{}` has no device `{}`.", common.backend, common.device),
        .fix = "leave --device out: the reference runs on the CPU.",
        .context = {}});
  }
  return {};
}

}  // namespace felsite::tool
