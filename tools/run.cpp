#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "element_text.h"
#include "felsite/reference.h"
#include "files.h"

namespace felsite::tool {
namespace {

struct RunArguments {
  std::string path;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::uint32_t> grid;
  std::vector<std::uint32_t> workgroup;
  std::uint32_t fixpoint = 0;
  bool has_fixpoint = false;
  std::string convergence = "auto";
  double timeout_seconds = 0;
  std::size_t limit = 64;
  std::string order = "forward";
  std::uint64_t seed = 0;
  std::uint32_t subgroup_width = 32;
  bool count_out_of_bounds = false;
};

Error usage(std::string message, std::string fix) {
  return Error{.code = ErrorCode::BadInputs, .message = std::move(message), .fix = std::move(fix), .context = {}};
}

// NAME=SPEC pairs, each naming one of `names` once.
Result<std::map<std::string, std::string>> split_pairs(const std::vector<std::string>& pairs,
                                                       const std::vector<std::string>& names,
                                                       std::string_view what) {
  std::map<std::string, std::string> result;
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (equals == std::string::npos) {
      return std::unexpected(usage(fmt::format("`{}` is not NAME=….", pair),
                                   fmt::format("write --{} NAME=….", what)));
    }
    if (std::ranges::find(names, name) == names.end()) {
      return std::unexpected(usage(fmt::format("The program has no {} `{}`.", what, name),
                                   fmt::format("use one of: {}.", known.empty() ? "none" : known)));
    }
    if (!result.emplace(name, pair.substr(equals + 1)).second) {
      return std::unexpected(usage(fmt::format("The {} `{}` is given twice.", what, name), "give it once."));
    }
  }
  return result;
}

std::optional<std::array<std::uint32_t, 3>> extents(const std::vector<std::uint32_t>& values) {
  if (values.empty()) return std::nullopt;
  std::array<std::uint32_t, 3> result{1, 1, 1};
  std::ranges::copy(values, result.begin());
  return result;
}

Result<DispatchConfig> make_config(const RunArguments& args) {
  DispatchConfig config;
  config.grid_override = extents(args.grid);
  config.workgroup_override = extents(args.workgroup);
  if (args.has_fixpoint) config.fixpoint_iterations = args.fixpoint;
  if (args.convergence == "none") {
    config.convergence.kind = Convergence::Kind::None;
  } else if (args.convergence.starts_with("flag:")) {
    config.convergence = {Convergence::Kind::Flag, args.convergence.substr(5)};
  } else if (args.convergence != "auto") {
    return std::unexpected(usage(fmt::format("`{}` is no kind of convergence.", args.convergence),
                                 "use auto, none or flag:BUFFER."));
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
      return std::unexpected(usage(
          fmt::format("The input `{}` ({}) is missing.", buffer.name, ir::info(buffer.element).name),
          fmt::format("add --input {}=…, such as {}=zeros:{}.", buffer.name, buffer.name,
                      buffer.count != 0 ? buffer.count : 16)));
    }
    auto bytes = make_input(buffer, spec->second);
    if (!bytes) return std::unexpected(std::move(bytes.error()));
    inputs.push_back(std::move(*bytes));
  }
  return inputs;
}

// Shows every result, or only those that --output names, each in its way.
Result<void> show_outputs(const ir::Program& program, const std::vector<Bytes>& outputs,
                          const RunArguments& args, const DispatchTiming& timing, bool json) {
  std::vector<const ir::BufferDecl*> results;
  std::vector<std::string> names;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!gives_result(role_of(buffer))) continue;
    results.push_back(&buffer);
    names.push_back(buffer.name);
  }
  const auto wanted = split_pairs(args.outputs, names, "output");
  if (!wanted) return std::unexpected(wanted.error());
  nlohmann::json body{{"program", program.name()}, {"outputs", nlohmann::json::object()}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto style = wanted->find(names[i]);
    if (!wanted->empty() && style == wanted->end()) continue;
    const std::string how = style == wanted->end() ? "numbers" : style->second;
    if (how.starts_with('@')) {
      const std::string_view raw(reinterpret_cast<const char*>(outputs[i].data()), outputs[i].size());
      if (auto written = write_file(how.substr(1), raw); !written) {
        return std::unexpected(std::move(written.error()));
      }
      body["outputs"][names[i]] = nlohmann::json{{"file", how.substr(1)}, {"bytes", raw.size()}};
      continue;
    }
    if (how != "numbers" && how != "hex") {
      return std::unexpected(usage(fmt::format("`{}` is no way to show an output.", how),
                                   "use NAME=numbers, NAME=hex or NAME=@file."));
    }
    const ElementStyle element_style = how == "hex" ? ElementStyle::Hex : ElementStyle::Numbers;
    // An output asked for by name is shown whole.
    const std::size_t limit = json || style != wanted->end() ? SIZE_MAX : args.limit;
    const std::string text = print_elements(results[i]->element, outputs[i], element_style, limit);
    if (json) {
      body["outputs"][names[i]] = nlohmann::json{
          {"type", ir::info(results[i]->element).name}, {"style", how}, {"values", text}};
    } else {
      fmt::print("{} = {}\n", names[i], text);
    }
  }
  if (json) {
    body["passes_run"] = timing.passes_run;
    body["converged"] = timing.converged;
    if (timing.wall_ns) body["wall_ns"] = *timing.wall_ns;
    fmt::print("{}\n", body.dump(2));
  } else if (args.has_fixpoint) {
    fmt::print(stderr, "{} passes, {}\n", timing.passes_run,
               timing.converged ? "converged" : "not converged");
  }
  return {};
}

Result<ReferenceOptions> reference_options(const RunArguments& args) {
  ReferenceOptions options;
  options.seed = args.seed;
  options.subgroup_width = args.subgroup_width;
  if (args.order == "reversed") {
    options.order = WorkgroupOrder::Reversed;
  } else if (args.order == "shuffled") {
    options.order = WorkgroupOrder::Shuffled;
  } else if (args.order != "forward") {
    return std::unexpected(usage(fmt::format("`{}` is no order.", args.order),
                                 "use forward, reversed or shuffled."));
  }
  return options;
}

Result<void> run(const RunArguments& args, const CommonOptions& common) {
  // Says so at once when the backend does not exist.
  if (auto backend = make_backend(common.backend); !backend) {
    return std::unexpected(std::move(backend.error()));
  }
  if (!common.device.empty() && common.device != "0" && common.device != "reference") {
    return std::unexpected(Error{.code = ErrorCode::UnsupportedFeature,
                                 .message = fmt::format("Backend `{}` has no device `{}`.",
                                                        common.backend, common.device),
                                 .fix = "leave --device out: the reference runs on the CPU.",
                                 .context = {}});
  }
  const auto program = load_program(args.path, common.json);
  if (!program) return std::unexpected(program.error());
  const auto config = make_config(args);
  if (!config) return std::unexpected(config.error());
  const auto options = reference_options(args);
  if (!options) return std::unexpected(options.error());
  const auto inputs = make_inputs(*program, args);
  if (!inputs) return std::unexpected(inputs.error());
  const auto backend = make_reference_backend(*options);
  const std::vector<ByteSpan> spans(inputs->begin(), inputs->end());
  auto result = backend->dispatch_borrowed_timed(*program, spans, *config);
  if (!result) return std::unexpected(std::move(result.error()));
  if (args.count_out_of_bounds) {
    const OutOfBoundsCounts counts = backend->out_of_bounds();
    fmt::print(stderr, "out of bounds: {} loads, {} stores, {} atomics\n", counts.loads,
               counts.stores, counts.atomics);
  }
  return show_outputs(*program, result->outputs, args, result->timing, common.json);
}

}  // namespace

void add_run(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a program and print its results");
  static RunArguments args;
  command->add_option("FILE", args.path, "A .fels file; - is standard input")->required();
  command->add_option("-i,--input", args.inputs,
                      "NAME=@file, NAME=1,2,3, NAME=zeros:N, NAME=iota:N or NAME=random:N:seed")
      ->allow_extra_args(false);
  command->add_option("-o,--output", args.outputs,
                      "NAME=numbers, NAME=hex or NAME=@file; without any, all results are printed")
      ->allow_extra_args(false);
  command->add_option("--grid", args.grid, "Workgroups: X[,Y[,Z]]")->delimiter(',')->expected(1, 3);
  command->add_option("--workgroup", args.workgroup, "Another workgroup size: X[,Y[,Z]]")
      ->delimiter(',')
      ->expected(1, 3);
  CLI::Option* fixpoint =
      command->add_option("--fixpoint", args.fixpoint, "Repeat until nothing changes, at most N times");
  command->add_option("--convergence", args.convergence, "auto, none or flag:BUFFER")
      ->capture_default_str();
  command->add_option("--timeout", args.timeout_seconds, "Give up after this many seconds");
  command->add_option("--limit", args.limit, "Print at most this many elements of each result")
      ->capture_default_str();
  command->add_option("--order", args.order, "Workgroups run forward, reversed or shuffled")
      ->capture_default_str();
  command->add_option("--seed", args.seed, "Seed of the shuffled order");
  command->add_option("--subgroup-width", args.subgroup_width, "Lanes of a subgroup, 1 to 64")
      ->capture_default_str();
  command->add_flag("--count-out-of-bounds", args.count_out_of_bounds,
                    "Say how many accesses were past the end of a buffer");
  add_common(*command, common);
  command->callback([&, fixpoint] {
    args.has_fixpoint = fixpoint->count() > 0;
    action = [&] {
      const auto done = run(args, common);
      return done ? int{kOk} : report(done.error(), common.json);
    };
  });
}

}  // namespace felsite::tool
