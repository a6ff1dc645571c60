#include "run_steps.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/errors.h"
#include "base/words.h"
#include "felsite/printable.h"
#include "files.h"
#include "mask.h"
#include "output.h"
#include "report.h"
#include "run_inputs.h"

namespace felsite::tool {
namespace {

Error not_converged(const ir::Program& program, const DispatchTiming& timing) {
  return base::dispatch_failed(
      fmt::format("The fixpoint did not converge in {}.",
                  base::counted(timing.iterations_run, "iteration")),
      "allow more iterations with --fixpoint, or leave --require-convergence out.", program.name());
}

}  // namespace

std::expected<PreparedRun, int> prepare_run(CLI::App& command, const RunArguments& args,
                                            const CommonOptions& common) {
  const auto fail = [&](const Error& error) { return std::unexpected(report(error, common.json)); };
  const auto text = read_file(args.path);
  if (!text) return fail(text.error());
  if (args.marked) {
    if (const auto added = apply_marked(command, *text, args.path); !added) {
      return fail(added.error());
    }
  }
  if (const std::string message = conflict(command, args, common); !message.empty()) {
    const std::string fix = fmt::format("see felsite {} --help.", command.get_name());
    return std::unexpected(report_usage(message, fix, common.json));
  }
  if (const auto [message, fix] = replacement_by_outputs(args); !message.empty()) {
    return std::unexpected(report_usage(message, fix, common.json));
  }
  if (const auto exists = check_backend(common); !exists) return fail(exists.error());
  auto program = parse_program(*text, args.path, common.json);
  if (!program) return fail(program.error());
  auto wanted = wanted_outputs(*program, args);
  if (!wanted) return fail(wanted.error());
  auto inputs = make_inputs(*program, args);
  if (!inputs) return fail(inputs.error());
  Route route = choose_route(command, common, *program);
  return PreparedRun{std::move(*program), std::move(*wanted), std::move(*inputs), std::move(route)};
}

std::expected<Ran, int> execute_run(const PreparedRun& ready, const RunArguments& args,
                                    const CommonOptions& common) {
  if (!ready.route.note.empty()) {
    print_err("note: {}\n", printable(ready.route.note));
  }
  auto ran = ready.route.on_device
                 ? run_on_device(ready.program, ready.inputs, args, common.device)
                 : run_on_reference(ready.program, ready.inputs, args, args.subgroup_width);
  if (!ran) return std::unexpected(report(ran.error(), common.json));
  if (ran->difference) {
    report(*ran->difference, common.json);
    return std::unexpected(int{kProgramAtFault});
  }
  if (args.require_convergence && !ran->results.timing.converged) {
    report(not_converged(ready.program, ran->results.timing), common.json);
    return std::unexpected(int{kProgramAtFault});
  }
  return std::move(*ran);
}

void add_run_arguments(CLI::App& app, CLI::App& command, RunArguments& args,
                       CommonOptions& common) {
  command.add_option("FILE", args.path, "A .fels file; - is standard input")
      ->required()
      ->type_name("FILE");
  add_run_options(command, args, common);
  command.footer(runtime_mask_help() + "\n" + app.get_footer());
}

}  // namespace felsite::tool
