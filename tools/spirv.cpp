#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/errors.h"
#include "base/try.h"
#include "command_help.h"
#include "commands.h"
#include "felsite/kernel.h"
#include "felsite/printable.h"
#include "files.h"
#include "mask.h"
#include "output.h"
#include "report.h"
#include "run_arguments.h"

namespace felsite::tool {
namespace {

using codegen::Kernel;
using codegen::ParameterKind;
using nlohmann::json;

struct SpirvArguments {
  std::string path;
  bool assembly = false;
  bool binary = false;
  bool strip = false;
  std::string mask;
  std::string output;
};

// A module contains names of its file and its program.
std::string printable_lines_of(const std::string& assembly) {
  std::string result;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) result += printable(line) + "\n";
  return result;
}

// Uses the C interface: the library may be built with other checks of the standard library than
// this tool, so no string of C++ may cross.
Result<std::string> disassemble(const std::vector<std::uint32_t>& words) {
  const std::unique_ptr<spv_context_t, decltype(&spvContextDestroy)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_6), spvContextDestroy);
  spv_text text = nullptr;
  spv_diagnostic problem = nullptr;
  const auto options = static_cast<std::uint32_t>(SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES) |
                       SPV_BINARY_TO_TEXT_OPTION_INDENT;
  const spv_result_t result =
      spvBinaryToText(context.get(), words.data(), words.size(), options, &text, &problem);
  const std::unique_ptr<spv_text_t, decltype(&spvTextDestroy)> owned_text(text, spvTextDestroy);
  const std::unique_ptr<spv_diagnostic_t, decltype(&spvDiagnosticDestroy)> owned_problem(
      problem, spvDiagnosticDestroy);
  if (result == SPV_SUCCESS) return printable_lines_of(std::string(text->str, text->length));
  return std::unexpected(base::make_error(
      ErrorCode::KernelCompileFailed,
      fmt::format("The module cannot be shown: {}.",
                  problem != nullptr ? problem->error : "SPIRV-Tools does not say why"),
      "write it with --binary, and report this program."));
}

// The operands of an instruction of the module's head, such as OpCapability.
json named_in(const std::string& assembly, std::string_view instruction) {
  json names = json::array();
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::string operand;
    words >> word >> operand;
    if (word == "OpMemoryModel") break;
    if (word != instruction) continue;
    std::erase(operand, '"');
    names.push_back(operand);
  }
  return names;
}

json to_json(const codegen::Parameter& parameter, const ir::Program& program) {
  switch (parameter.kind) {
    case ParameterKind::Grid:
      return {{"kind", "grid"}, {"axis", std::string(1, "xyz"[parameter.ref])}};
    case ParameterKind::Length:
      return {{"kind", "length"}, {"buffer", program.buffer(parameter.ref).name}};
    case ParameterKind::Variable:
      return {{"kind", "variable"}, {"index", parameter.ref}};
    case ParameterKind::Base:
      return {{"kind", "base"}, {"axis", std::string(1, "xyz"[parameter.ref])}};
  }
  return {};
}

json describe(const ir::Program& program, const Kernel& kernel, const std::string& assembly,
              const codegen::Capabilities& mask) {
  json bindings = json::array();
  for (const codegen::BufferBinding& binding : kernel.buffers) {
    const ir::BufferDecl& buffer = program.buffer(binding.buffer);
    bindings.push_back({{"binding", binding.binding},
                        {"buffer", buffer.name},
                        {"type", ir::info(buffer.element).name},
                        {"written", binding.written}});
  }
  json parameters = json::array();
  for (const codegen::Parameter& parameter : kernel.parameters) {
    parameters.push_back(to_json(parameter, program));
  }
  json features = json::array();
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const auto feature = static_cast<codegen::Feature>(i);
    if (mask.has(feature)) features.push_back(codegen::info(feature).name);
  }
  const auto number_or_null = [](const std::optional<std::uint32_t>& number) {
    return number ? json(*number) : json();
  };
  return {{"program", program.name()},
          {"fingerprint", to_string(program.fingerprint())},
          {"words", kernel.words.size()},
          {"spirv", fmt::format("1.{}", kernel.words.at(1) >> 8 & 0xFF)},
          {"capabilities", named_in(assembly, "OpCapability")},
          {"extensions", named_in(assembly, "OpExtension")},
          {"bindings", bindings},
          {"status_binding", number_or_null(kernel.status_binding)},
          {"parameters", parameters},
          {"parameter_binding", number_or_null(kernel.parameter_binding)},
          {"workgroup_size", kernel.workgroup_size},
          {"workgroup_size_is_fixed", kernel.workgroup_size_is_fixed},
          {"needs_robust_access2", kernel.needs_robust_access2},
          {"shared_bytes", kernel.shared_bytes},
          {"trap_tags", kernel.trap_tags},
          {"mask", features},
          {"subgroup_size", mask.subgroup_size},
          {"loop_budget", mask.loop_budget}};
}

// Combinations of options that make no sense.
std::string conflict(const SpirvArguments& args, bool json_wanted) {
  const bool asks = args.binary || !args.output.empty();
  if (!asks || (!args.output.empty() && args.output != "-")) return {};
  if (json_wanted) return "the module and --json cannot both go to standard output";
  if (args.binary && isatty(STDOUT_FILENO) != 0) return "a terminal does not show --binary";
  return {};
}

Result<void> lower_file(const SpirvArguments& args, const CommonOptions& common) {
  FELSITE_TRY(const auto program, load_program(args.path, common.json));
  FELSITE_TRY(const auto mask, lowering_mask(args.mask, common.device));
  FELSITE_TRY(const auto kernel, codegen::lower(codegen::Segment(program), mask,
                                                {.names = !args.strip, .source_name = args.path}));

  std::string assembly;
  if (!args.binary || common.json) {
    FELSITE_TRY(assembly, disassemble(kernel.words));
  }
  if (!common.json || !args.output.empty()) {
    const std::string_view bytes(reinterpret_cast<const char*>(kernel.words.data()),
                                 kernel.words.size() * sizeof(std::uint32_t));
    FELSITE_CHECK(write_file(args.output.empty() ? "-" : args.output,
                             args.binary ? bytes : std::string_view(assembly)));
  }
  if (common.json) {
    print_out("{}\n", json_text(describe(program, kernel, assembly, mask)));
  }
  return {};
}

int run_spirv(const SpirvArguments& args, const CommonOptions& common) {
  if (const std::string message = conflict(args, common.json); !message.empty()) {
    return report_usage(message, "add --output PATH.", common.json);
  }
  if (!args.output.empty() && replaces(args.output, args.path)) {
    return report_usage("the module would replace the program's own file",
                        "name another file for --output.", common.json);
  }
  const auto done = lower_file(args, common);
  return done ? int{kOk} : report(done.error(), common.json);
}

}  // namespace

void add_spirv(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand("spirv", "Lower a program, and show its SPIR-V");
  static SpirvArguments args;
  command->add_option("FILE", args.path, "A .fels file; - is standard input")
      ->required()
      ->type_name("FILE");
  CLI::Option* assembly =
      command->add_flag("--asm", args.assembly, "Assembly, as text; the default");
  command->add_flag("--binary", args.binary, "The words of the module")
      ->excludes(assembly)
      ->group(kMaxUsed);
  command
      ->add_option("--mask", args.mask,
                   "What the device has, as a list; without one, every feature there is")
      ->type_name("LIST")
      ->group(kMaxUsed)
      ->check(check_mask_with_base);
  command->add_option("-o,--output", args.output, "Into this file instead of standard output")
      ->type_name("FILE")
      ->group(kMaxUsed)
      ->transform(CLI::Validator(take_written_path, ""));
  command->add_flag("--strip", args.strip, "Without names and lines");
  add_common(*command, common);
  command->footer(mask_help() + "\n" + app.get_footer());
  command->callback([&] { action = [&] { return run_spirv(args, common); }; });
}

}  // namespace felsite::tool
