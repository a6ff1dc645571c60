#include "run_route.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/errors.h"

namespace felsite::tool {
namespace {

// `felsite explain` has fewer options.
bool is_given(const CLI::App& command, const char* option) {
  const CLI::Option* const known = command.get_option_no_throw(option);
  return known != nullptr && known->count() > 0;
}

// Without --check, which runs the reference too, these options can only mean that the reference
// runs the program.
std::optional<std::string> asks_for_reference(const CLI::App& command) {
  if (is_given(command, "--check")) return std::nullopt;
  for (const char* option : {"--order", "--seed", "--subgroup-width", "--count-out-of-bounds"}) {
    if (is_given(command, option)) return fmt::format("{} is for the reference alone", option);
  }
  return std::nullopt;
}

// Options that were given for a device that is not used.
std::string left_unused(const CLI::App& command) {
  return is_given(command, "--device") ? "; --device does nothing there" : "";
}

}  // namespace

Route choose_route(const CLI::App& command, const CommonOptions& common,
                   const ir::Program& program) {
  if (common.backend != "auto") return {.on_device = common.backend == "vulkan", .note = {}};
  const auto why = asks_for_reference(command);
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
    return std::unexpected(base::unsupported(
        fmt::format("Backend `{}` has no device `{}`.", common.backend, common.device),
        "leave --device out: the reference runs on the CPU."));
  }
  return {};
}

}  // namespace felsite::tool
