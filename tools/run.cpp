#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"
#include "element_text.h"
#include "felsite/reference.h"
#include "felsite/vulkan.h"
#include "files.h"
#include "run_arguments.h"
#include "run_results.h"

namespace felsite::tool {
namespace {

DispatchConfig make_config(const RunArguments& args) {
  DispatchConfig config;
  config.grid_override = parse_extents(args.grid);
  config.workgroup_override = parse_extents(args.workgroup);
  config.fixpoint_iterations = args.fixpoint;
  if (args.convergence == "none") {
    config.convergence.kind = Convergence::Kind::None;
  } else if (args.convergence.starts_with("flag:")) {
    config.convergence = {Convergence::Kind::Flag, args.convergence.substr(5)};
  }
  if (args.timeout_seconds > 0) {
    config.timeout = std::chrono::nanoseconds(
        static_cast<std::int64_t>(std::min(args.timeout_seconds, 1e9) * 1e9));
  }
  return config;
}

Result<std::vector<Bytes>> make_inputs(const ir::Program& program, const RunArguments& args) {
  std::vector<std::string> names;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (takes_caller_bytes(role_of(buffer))) names.push_back(buffer.name);
  }
  const auto specs = split_pairs(args.inputs, names, "input");
  if (!specs) return std::unexpected(specs.error());
  std::vector<Bytes> inputs;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!takes_caller_bytes(role_of(buffer))) continue;
    const auto spec = specs->find(buffer.name);
    if (spec == specs->end()) {
      return std::unexpected(
          Error{.code = ErrorCode::BadInputs,
                .message = fmt::format("The input `{}` ({}) is missing.", buffer.name,
                                       ir::info(buffer.element).name),
                .fix = fmt::format("add --input {}=…, such as {}=zeros:{}.", buffer.name,
                                   buffer.name, buffer.count != 0 ? buffer.count : 16),
                .context = {}});
    }
    auto bytes = make_input(buffer, spec->second);
    if (!bytes) return std::unexpected(std::move(bytes.error()));
    inputs.push_back(std::move(*bytes));
  }
  return inputs;
}

Result<TimedOutputs> run_on_reference(const ir::Program& program, const std::vector<Bytes>& inputs,
                                      const RunArguments& args, std::uint32_t subgroup_width) {
  ReferenceOptions options;
  options.seed = args.seed;
  options.subgroup_width = subgroup_width;
  if (args.order == "reversed") options.order = WorkgroupOrder::Reversed;
  if (args.order == "shuffled") options.order = WorkgroupOrder::Shuffled;
  const auto backend = make_reference_backend(options);
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  auto result = backend->dispatch_borrowed_timed(program, spans, make_config(args));
  if (result && args.count_out_of_bounds) {
    const OutOfBoundsCounts counts = backend->out_of_bounds();
    fmt::print(stderr, "out of bounds: {} loads, {} stores, {} atomics\n", counts.loads,
               counts.stores, counts.atomics);
  }
  return result;
}

// The device's results beside the reference's. The error is what differs.
Result<void> check_against_reference(const ir::Program& program, const std::vector<Bytes>& inputs,
                                     const RunArguments& args, const TimedOutputs& ran,
                                     std::uint32_t subgroup_width) {
  const auto expected = run_on_reference(program, inputs, args, subgroup_width);
  if (!expected) {
    Error error = expected.error();
    error.message =
        "The device gave results, and the reference could not: " + std::move(error.message);
    return std::unexpected(std::move(error));
  }
  if (auto difference = first_difference(program, expected->outputs, ran.outputs)) {
    return std::unexpected(std::move(*difference));
  }
  fmt::print(stderr, "checked: equal to the reference\n");
  return {};
}

// Says at once when the backend or, on the reference, the device does not exist.
Result<void> check_backend(const CommonOptions& common) {
  if (common.backend == "vulkan") return {};
  if (auto backend = make_backend(common.backend); !backend) {
    Error error = std::move(backend.error());
    error.fix = "use reference or vulkan.";
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

int run(CLI::App& command, const RunArguments& args, const CommonOptions& common) {
  const auto text = read_file(args.path);
  if (!text) return report(text.error(), common.json);
  if (args.marked) {
    if (const auto added = apply_marked(command, *text, args.path); !added) {
      return report(added.error(), common.json);
    }
  }
  if (const std::string message = conflict(command, args, common); !message.empty()) {
    fmt::print(stderr, "felsite: {}. Fix: see felsite run --help.\n", message);
    return kUsage;
  }
  if (const auto exists = check_backend(common); !exists) {
    return report(exists.error(), common.json);
  }
  const auto program = parse_program(*text, args.path, common.json);
  if (!program) return report(program.error(), common.json);
  const auto wanted = wanted_outputs(*program, args);
  if (!wanted) return report(wanted.error(), common.json);
  const auto inputs = make_inputs(*program, args);
  if (!inputs) return report(inputs.error(), common.json);

  Result<TimedOutputs> ran;
  if (common.backend == "vulkan") {
    const auto backend = make_vulkan_backend({.device = common.device, .mask = args.mask});
    if (!backend) return report(backend.error(), common.json);
    const std::vector<ByteSpan> spans(inputs->begin(), inputs->end());
    ran = (*backend)->dispatch_borrowed_timed(*program, spans, make_config(args));
    if (ran && args.check) {
      const std::uint32_t width = (*backend)->device_profile().subgroup_size;
      if (const auto equal = check_against_reference(*program, *inputs, args, *ran, width);
          !equal) {
        report(equal.error(), common.json);
        return kProgramAtFault;
      }
    }
  } else {
    ran = run_on_reference(*program, *inputs, args, args.subgroup_width);
  }
  if (!ran) return report(ran.error(), common.json);
  const auto shown = show_outputs(*program, *ran, *wanted, args, common.json);
  return shown ? int{kOk} : report(shown.error(), common.json);
}

}  // namespace

void add_run(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a program and print its results");
  static RunArguments args;
  command->add_option("FILE", args.path, "A .fels file; - is standard input")->required();
  add_run_options(*command, args, common);
  command->callback(
      [&, command] { action = [&, command] { return run(*command, args, common); }; });
}

}  // namespace felsite::tool
