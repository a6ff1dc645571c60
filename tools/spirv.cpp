#include <fmt/format.h>
#include <spirv-tools/libspirv.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "base/errors.h"
#include "base/try.h"
#include "command_help.h"
#include "commands.h"
#include "felsite/dispatched_kernels.h"
#include "felsite/printable.h"
#include "files.h"
#include "mask.h"
#include "output.h"
#include "report.h"
#include "run_inputs.h"

namespace felsite::tool {
namespace {

using codegen::Kernel;
using codegen::ParameterKind;
using nlohmann::json;

struct SpirvArguments {
  RunArguments run;  // its path, inputs, grid and forms
  bool assembly = false;
  bool binary = false;
  bool strip = false;
  std::optional<std::uint32_t> kernel;
  std::string mask;
  std::string output;
};

// A kernel of the dispatch, lowered.
struct Lowered {
  std::size_t number = 0;
  std::string name;
  ir::ValidProgram program;
  Kernel kernel;
  std::string assembly;  // empty if nobody asks for it
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

json describe(const Lowered& lowered) {
  const Kernel& kernel = lowered.kernel;
  json bindings = json::array();
  for (const codegen::BufferBinding& binding : kernel.buffers) {
    const ir::BufferDecl& buffer = lowered.program.buffer(binding.buffer);
    bindings.push_back({{"binding", binding.binding},
                        {"buffer", buffer.name},
                        {"type", ir::info(buffer.element).name},
                        {"written", binding.written}});
  }
  json parameters = json::array();
  for (const codegen::Parameter& parameter : kernel.parameters) {
    parameters.push_back(to_json(parameter, lowered.program));
  }
  const auto number_or_null = [](const std::optional<std::uint32_t>& number) {
    return number ? json(*number) : json();
  };
  return {{"number", lowered.number},
          {"name", lowered.name},
          {"fingerprint", to_string(lowered.program.fingerprint())},
          {"words", kernel.words.size()},
          {"spirv", fmt::format("1.{}", kernel.words.at(1) >> 8 & 0xFF)},
          {"capabilities", named_in(lowered.assembly, "OpCapability")},
          {"extensions", named_in(lowered.assembly, "OpExtension")},
          {"bindings", bindings},
          {"status_binding", number_or_null(kernel.status_binding)},
          {"parameters", parameters},
          {"parameter_binding", number_or_null(kernel.parameter_binding)},
          {"workgroup_size", kernel.workgroup_size},
          {"workgroup_size_is_fixed", kernel.workgroup_size_is_fixed},
          {"needs_robust_access2", kernel.needs_robust_access2},
          {"shared_bytes", kernel.shared_bytes},
          {"trap_tags", kernel.trap_tags}};
}

json describe(const ir::Program& program, const DispatchedKernels& planned,
              std::span<const Lowered> lowered, const codegen::Capabilities& mask) {
  json features = json::array();
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const auto feature = static_cast<codegen::Feature>(i);
    if (mask.has(feature)) features.push_back(codegen::info(feature).name);
  }
  json kernels = json::array();
  for (const Lowered& kernel : lowered) kernels.push_back(describe(kernel));
  return {{"program", program.name()},
          {"fingerprint", to_string(program.fingerprint())},
          {"route", planned.route},
          {"reason", planned.reason},
          {"assumptions", planned.assumptions},
          {"kernel_count", planned.kernels.size()},
          {"kernels", kernels},
          {"mask", features},
          {"subgroup_size", mask.subgroup_size},
          {"loop_budget", mask.loop_budget}};
}

// All modules as one text; each of several has a line that names it.
std::string text_of(const DispatchedKernels& planned, std::span<const Lowered> lowered) {
  std::string text;
  if (planned.kernels.empty()) text = "; The program does nothing: there is no kernel.\n";
  for (const Lowered& kernel : lowered) {
    if (lowered.size() > 1) {
      text += fmt::format("{}; kernel {} of {}: {}\n", text.empty() ? "" : "\n", kernel.number,
                          planned.kernels.size(), printable(kernel.name));
    }
    text += kernel.assembly;
  }
  return text;
}

// Combinations of options that make no sense.
std::string conflict(const SpirvArguments& args, bool json_wanted) {
  const bool asks = args.binary || !args.output.empty();
  if (!asks || (!args.output.empty() && args.output != "-")) return {};
  if (json_wanted) return "the module and --json cannot both go to standard output";
  if (args.binary && isatty(STDOUT_FILENO) != 0) return "a terminal does not show --binary";
  return {};
}

// What --kernel and --binary do not go together with once the kernels are known.
Refusal wrong_choice(const SpirvArguments& args, std::size_t kernels) {
  const std::string range =
      kernels == 0 ? "the program does nothing" : fmt::format("they are 0 to {}", kernels - 1);
  if (args.kernel && *args.kernel >= kernels) {
    return {fmt::format("there is no kernel {}: {}", *args.kernel, range),
            "leave --kernel out to see all of them."};
  }
  if (args.binary && !args.kernel && kernels != 1) {
    return {fmt::format("the dispatch has {} kernels, and --binary writes one", kernels),
            fmt::format("choose one with --kernel ({}), or leave --binary out to see all.", range)};
  }
  return {};
}

Result<std::vector<Lowered>> lower_kernels(const DispatchedKernels& planned,
                                           const SpirvArguments& args,
                                           const codegen::Capabilities& mask, bool with_assembly) {
  std::vector<Lowered> lowered;
  for (std::size_t k = 0; k < planned.kernels.size(); ++k) {
    if (args.kernel && *args.kernel != k) continue;
    const auto& [name, segment] = planned.kernels[k];
    FELSITE_TRY(auto kernel, codegen::lower(segment, mask,
                                            {.names = !args.strip, .source_name = args.run.path}));
    std::string assembly;
    if (with_assembly) {
      FELSITE_TRY(assembly, disassemble(kernel.words));
    }
    lowered.push_back({k, name, segment.program, std::move(kernel), std::move(assembly)});
  }
  return lowered;
}

Result<void> show(const ir::Program& program, const DispatchedKernels& planned,
                  std::span<const Lowered> lowered, const SpirvArguments& args,
                  const codegen::Capabilities& mask, bool json_wanted) {
  if (!json_wanted || !args.output.empty()) {
    std::string bytes;
    if (args.binary) {
      const auto words = std::as_bytes(std::span(lowered.front().kernel.words));
      bytes.assign(reinterpret_cast<const char*>(words.data()), words.size());
    } else {
      bytes = text_of(planned, lowered);
    }
    FELSITE_CHECK(write_file(args.output.empty() ? "-" : args.output, bytes));
  }
  if (json_wanted) print_out("{}\n", json_text(describe(program, planned, lowered, mask)));
  return {};
}

int lower_file(CLI::App& command, const SpirvArguments& args, const CommonOptions& common) {
  const auto fail = [&](const Error& error) { return report(error, common.json); };
  const auto text = read_file(args.run.path);
  if (!text) return fail(text.error());
  if (args.run.marked) {
    const auto added = apply_marked(command, *text, args.run.path);
    if (!added) return fail(added.error());
  }
  for (const std::string& message : {plan_conflict(command, args.run), stream_conflict(args.run)}) {
    if (message.empty()) continue;
    return report_usage(message, "see felsite spirv --help.", common.json);
  }
  const auto program = parse_program(*text, args.run.path, common.json);
  if (!program) return fail(program.error());
  const auto mask = lowering_mask(args.mask, common.device);
  if (!mask) return fail(mask.error());
  const auto inputs = known_inputs(*program, args.run);
  if (!inputs) return fail(inputs.error());
  const auto planned = dispatched_kernels(*program, make_config(args.run, *program), *inputs,
                                          planning_profile(args.mask, common.device, *mask));
  if (!planned) return fail(planned.error());
  if (const auto [message, fix] = wrong_choice(args, planned->kernels.size()); !message.empty()) {
    return report_usage(message, fix, common.json);
  }
  const auto lowered = lower_kernels(*planned, args, *mask, !args.binary || common.json);
  if (!lowered) return fail(lowered.error());
  const auto shown = show(*program, *planned, *lowered, args, *mask, common.json);
  return shown ? int{kOk} : fail(shown.error());
}

int run_spirv(CLI::App& command, const SpirvArguments& args, const CommonOptions& common) {
  if (const std::string message = conflict(args, common.json); !message.empty()) {
    return report_usage(message, "add --output PATH.", common.json);
  }
  if (const auto [message, fix] = replacement_by(args.output, "the module", "--output", args.run);
      !args.output.empty() && !message.empty()) {
    return report_usage(message, fix, common.json);
  }
  return lower_file(command, args, common);
}

}  // namespace

void add_spirv(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("spirv", "Lower the kernels of a program, and show their SPIR-V");
  static SpirvArguments args;
  command->add_option("FILE", args.run.path, "A .fels file; - is standard input")
      ->required()
      ->type_name("FILE");
  CLI::Option* assembly =
      command->add_flag("--asm", args.assembly, "Assembly, as text; the default");
  command->add_flag("--binary", args.binary, "The words of the module, if it is one")
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
  command->add_option("--kernel", args.kernel, "Only this kernel of several, counted from 0")
      ->type_name("N")
      ->group(kMaxUsed)
      ->transform(CLI::Validator(take_u32, ""));
  add_form_options(*command, args.run);
  add_common(*command, common);
  command->footer(mask_help() + "\n" + app.get_footer());
  command->callback(
      [&, command] { action = [&, command] { return run_spirv(*command, args, common); }; });
}

}  // namespace felsite::tool
