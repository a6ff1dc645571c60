// felsite explain: says how a program would run and why, without running it.
#include "felsite/explain.h"

#include <CLI/CLI.hpp>

#include "base/errors.h"
#include "base/try.h"
#include "command_help.h"
#include "commands.h"
#include "element_text.h"
#include "felsite/reference.h"
#include "felsite/vulkan.h"
#include "files.h"
#include "mask.h"
#include "output.h"
#include "report.h"
#include "run_inputs.h"
#include "run_results.h"
#include "run_route.h"

namespace felsite::tool {
namespace {

struct ExplainArguments {
  RunArguments run;
  std::string html;
};

// What every Vulkan device has, for machines without a device.
DeviceProfile least_device() {
  DeviceProfile least;
  least.name = "any Vulkan device";
  least.allows_host_grid_sync_split = true;
  least.resident_dispatch = true;
  least.max_workgroup_size = {128, 128, 64};
  least.max_workgroup_count = {65535, 65535, 65535};
  least.max_workgroup_invocations = 128;
  return least;
}

struct Target {
  DeviceProfile profile;
  std::string name;                    // as the errors of a run have it
  std::unique_ptr<Backend> backend{};  // absent: the device is assumed
};

// What would run the program. `auto` also works without a device.
Result<Target> target_for(const CommonOptions& common, const RunArguments& args, bool on_device) {
  auto backend = on_device ? make_vulkan_backend({.device = common.device, .mask = args.mask})
                           : make_backend("reference");
  if (backend) {
    DeviceProfile profile = (*backend)->device_profile();
    const std::string name = on_device ? profile.name : "reference";
    return Target{std::move(profile), name, std::move(*backend)};
  }
  const auto devices = list_vulkan_devices();
  const bool has_none = !devices || devices->empty();
  const bool any_will_do = common.backend == "auto" && common.device.empty() && args.mask.empty();
  if (!has_none || !any_will_do) return std::unexpected(std::move(backend.error()));
  return Target{least_device(), least_device().name};
}

// Fails as a run would, also where the device lacks something that the program needs.
Result<Explanation> explain_on(const Target& target, const ir::Program& program,
                               const DispatchConfig& config, const ExplainInputs& inputs) {
  auto explanation = explain(program, config, inputs, target.profile);
  if (!explanation) {
    return std::unexpected(base::with_device(std::move(explanation.error()), target.name));
  }
  if (target.backend == nullptr) return explanation;
  DispatchConfig known = config;
  if (!program.facts().has_indirect_dispatch) known.grid_override = explanation->grid;
  FELSITE_CHECK(target.backend->prepare(program, known));
  return explanation;
}

Result<void> show(const Explanation& explanation, const ExplainArguments& args, bool json) {
  if (!args.html.empty()) {
    FELSITE_CHECK(write_file(args.html, to_html(explanation)));
    if (args.html == "-") return {};
  }
  write_out(json ? to_json(explanation) + "\n" : to_text(explanation));
  return {};
}

int explain_file(CLI::App& command, const ExplainArguments& args, const CommonOptions& common) {
  const auto fail = [&](const Error& error) { return report(error, common.json); };
  const auto text = read_file(args.run.path);
  if (!text) return fail(text.error());
  if (args.run.marked) {
    const auto added = apply_marked(command, *text, args.run.path);
    if (!added) return fail(added.error());
  }
  if (common.json && args.html == "-") {
    return report_usage("the page and --json cannot both go to standard output",
                        "name a file for --html.", common.json);
  }
  if (const auto [message, fix] = replacement_by(args.html, "the page", "--html", args.run);
      !args.html.empty() && !message.empty()) {
    return report_usage(message, fix, common.json);
  }
  const bool on_reference = common.backend != "auto" && common.backend != "vulkan";
  if (on_reference && !args.run.mask.empty()) {
    return report_usage("--mask is for --backend vulkan", "see felsite explain --help.",
                        common.json);
  }
  for (const std::string& message : {plan_conflict(command, args.run), stream_conflict(args.run)}) {
    if (message.empty()) continue;
    return report_usage(message, "see felsite explain --help.", common.json);
  }
  if (const auto exists = check_backend(common); !exists) return fail(exists.error());
  const auto program = parse_program(*text, args.run.path, common.json);
  if (!program) return fail(program.error());
  auto inputs = known_inputs(*program, args.run);
  if (!inputs) return fail(inputs.error());
  inputs->source = *text;
  const DispatchConfig config = make_config(args.run, *program);
  const Route route = choose_route(command, common, *program);
  const auto target = target_for(common, args.run, route.on_device);
  if (!target) return fail(target.error());
  auto explanation = explain_on(*target, *program, config, *inputs);
  if (!explanation) return fail(explanation.error());
  if (target->backend == nullptr) {
    explanation->assumptions.push_back(
        "There is no Vulkan device here: this is for one that has only what all of them have.");
  }
  if (!route.note.empty()) explanation->notes.push_back(route.note + ".");
  const auto shown = show(*explanation, args, common.json);
  return shown ? int{kOk} : fail(shown.error());
}

}  // namespace

void add_explain(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand(
      "explain", "Say how a program would run and why, or draw it; inputs may be left out");
  static ExplainArguments args;
  command->add_option("FILE", args.run.path, "A .fels file; - is standard input")
      ->required()
      ->type_name("FILE");
  add_plan_options(*command, args.run, common);
  command->add_option("--html", args.html, "Also draw it on a page; - is standard output")
      ->type_name("FILE")
      ->group(kMaxUsed)
      ->transform(CLI::Validator(take_written_path, ""));
  command->footer(runtime_mask_help() + "\n" + app.get_footer());
  command->callback(
      [&, command] { action = [&, command] { return explain_file(*command, args, common); }; });
}

}  // namespace felsite::tool
