#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
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
  std::string grid;
  std::string workgroup;
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
  return Error{.code = ErrorCode::BadInputs,
               .message = std::move(message),
               .fix = std::move(fix),
               .context = {}};
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
    if (std::ranges::find(names, name) == names.end()) {
      return std::unexpected(usage(fmt::format("The program has no {} `{}`.", what, name),
                                   fmt::format("use one of: {}.", known.empty() ? "none" : known)));
    }
    if (!result.emplace(name, pair.substr(equals + 1)).second) {
      return std::unexpected(
          usage(fmt::format("The {} `{}` is given twice.", what, name), "give it once."));
    }
  }
  return result;
}

// X[,Y[,Z]]; those left out are 1.
std::optional<std::array<std::uint32_t, 3>> parse_extents(std::string_view text) {
  std::array<std::uint32_t, 3> result{1, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t& extent : result) {
    const auto read = std::from_chars(at, end, extent);
    if (read.ec != std::errc()) return std::nullopt;
    if (read.ptr == end) return result;
    if (*read.ptr != ',') return std::nullopt;
    at = read.ptr + 1;
  }
  return std::nullopt;
}

DispatchConfig make_config(const RunArguments& args) {
  DispatchConfig config;
  config.grid_override = parse_extents(args.grid);
  config.workgroup_override = parse_extents(args.workgroup);
  if (args.has_fixpoint) config.fixpoint_iterations = args.fixpoint;
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
          usage(fmt::format("The input `{}` ({}) is missing.", buffer.name,
                            ir::info(buffer.element).name),
                fmt::format("add --input {}=…, such as {}=zeros:{}.", buffer.name, buffer.name,
                            buffer.count != 0 ? buffer.count : 16)));
    }
    auto bytes = make_input(buffer, spec->second);
    if (!bytes) return std::unexpected(std::move(bytes.error()));
    inputs.push_back(std::move(*bytes));
  }
  return inputs;
}

using Styles = std::map<std::string, std::string>;

// What --output asks for. Looked at before the run: a wrong name must not cost one.
Result<Styles> wanted_outputs(const ir::Program& program, const RunArguments& args) {
  std::vector<std::string> names;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (gives_result(role_of(buffer))) names.push_back(buffer.name);
  }
  return split_pairs(args.outputs, names, "output");
}

// Shows every result, or only those that --output names, each in its way.
Result<void> show_outputs(const ir::Program& program, const std::vector<Bytes>& outputs,
                          const Styles& wanted, const RunArguments& args,
                          const DispatchTiming& timing, bool json) {
  std::vector<const ir::BufferDecl*> results;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (gives_result(role_of(buffer))) results.push_back(&buffer);
  }
  nlohmann::json body{{"program", program.name()}, {"outputs", nlohmann::json::object()}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& name = results[i]->name;
    const auto style = wanted.find(name);
    if (!wanted.empty() && style == wanted.end()) continue;
    const std::string how = style == wanted.end() ? "numbers" : style->second;
    if (how.starts_with('@')) {
      const std::string_view raw(reinterpret_cast<const char*>(outputs[i].data()),
                                 outputs[i].size());
      if (auto written = write_file(how.substr(1), raw); !written) {
        return std::unexpected(std::move(written.error()));
      }
      body["outputs"][name] = nlohmann::json{{"file", how.substr(1)}, {"bytes", raw.size()}};
      continue;
    }
    const ElementStyle element_style = how == "hex" ? ElementStyle::Hex : ElementStyle::Numbers;
    const ir::Type type = results[i]->element;
    if (json) {
      body["outputs"][name] =
          nlohmann::json{{"type", ir::info(type).name},
                         {"style", how},
                         {"values", json_elements(type, outputs[i], element_style)}};
    } else {
      // An output asked for by name is shown whole.
      const std::size_t limit = style != wanted.end() ? SIZE_MAX : args.limit;
      fmt::print("{} = {}\n", name, print_elements(type, outputs[i], element_style, limit));
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

ReferenceOptions reference_options(const RunArguments& args) {
  ReferenceOptions options;
  options.seed = args.seed;
  options.subgroup_width = args.subgroup_width;
  if (args.order == "reversed") options.order = WorkgroupOrder::Reversed;
  if (args.order == "shuffled") options.order = WorkgroupOrder::Shuffled;
  return options;
}

// What is wrong with an option by itself, whatever the program: these are usage errors.
std::string check_input(const std::string& pair) {
  if (pair.find('=') != std::string::npos) return {};
  return fmt::format("`{}` is not NAME=…", pair);
}

std::string check_output(const std::string& pair) {
  const std::size_t equals = pair.find('=');
  const std::string_view how =
      equals == std::string::npos ? std::string_view() : std::string_view(pair).substr(equals + 1);
  if (how == "numbers" || how == "hex" || (how.starts_with('@') && how.size() > 1)) return {};
  return fmt::format("`{}` is not NAME=numbers, NAME=hex or NAME=@file", pair);
}

std::string check_extents(const std::string& text) {
  if (parse_extents(text)) return {};
  return fmt::format("`{}` is not X[,Y[,Z]] in whole numbers", text);
}

std::string check_number(const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  return digits && !text.empty() ? std::string() : fmt::format("`{}` is not a whole number", text);
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return number && seconds > 0 ? std::string() : fmt::format("`{}` is not a time above 0", text);
}

std::string check_convergence(const std::string& how) {
  if (how == "auto" || how == "none" || how.starts_with("flag:")) return {};
  return fmt::format("`{}` is not auto, none or flag:BUFFER", how);
}

Result<void> run(const RunArguments& args, const CommonOptions& common) {
  // Says so at once when the backend does not exist.
  if (auto backend = make_backend(common.backend); !backend) {
    return std::unexpected(std::move(backend.error()));
  }
  if (!common.device.empty() && common.device != "0" && common.device != "reference") {
    return std::unexpected(Error{
        .code = ErrorCode::UnsupportedFeature,
        .message = fmt::format("Backend `{}` has no device `{}`.", common.backend, common.device),
        .fix = "leave --device out: the reference runs on the CPU.",
        .context = {}});
  }
  const auto program = load_program(args.path, common.json);
  if (!program) return std::unexpected(program.error());
  const auto wanted = wanted_outputs(*program, args);
  if (!wanted) return std::unexpected(wanted.error());
  const auto inputs = make_inputs(*program, args);
  if (!inputs) return std::unexpected(inputs.error());
  const auto backend = make_reference_backend(reference_options(args));
  const std::vector<ByteSpan> spans(inputs->begin(), inputs->end());
  auto result = backend->dispatch_borrowed_timed(*program, spans, make_config(args));
  if (!result) return std::unexpected(std::move(result.error()));
  if (args.count_out_of_bounds) {
    const OutOfBoundsCounts counts = backend->out_of_bounds();
    fmt::print(stderr, "out of bounds: {} loads, {} stores, {} atomics\n", counts.loads,
               counts.stores, counts.atomics);
  }
  return show_outputs(*program, result->outputs, *wanted, args, result->timing, common.json);
}

}  // namespace

void add_run(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a program and print its results");
  static RunArguments args;
  command->add_option("FILE", args.path, "A .fels file; - is standard input")->required();
  command
      ->add_option("-i,--input", args.inputs,
                   "NAME=@file, NAME=1,2,3, NAME=zeros:N, NAME=iota:N or NAME=random:N:seed")
      ->allow_extra_args(false)
      ->check(check_input);
  command
      ->add_option("-o,--output", args.outputs,
                   "NAME=numbers, NAME=hex or NAME=@file; without any, all results are printed")
      ->allow_extra_args(false)
      ->check(check_output);
  command->add_option("--grid", args.grid, "Workgroups: X[,Y[,Z]]")->check(check_extents);
  command->add_option("--workgroup", args.workgroup, "Another workgroup size: X[,Y[,Z]]")
      ->check(check_extents);
  CLI::Option* fixpoint = command->add_option("--fixpoint", args.fixpoint,
                                              "Repeat until nothing changes, at most N times");
  command->add_option("--convergence", args.convergence, "auto, none or flag:BUFFER")
      ->capture_default_str()
      ->check(check_convergence);
  command->add_option("--timeout", args.timeout_seconds, "Give up after this many seconds")
      ->check(check_seconds);
  command->add_option("--limit", args.limit, "Print at most this many elements of each result")
      ->capture_default_str()
      ->check(check_number);
  command->add_option("--order", args.order, "Workgroups run forward, reversed or shuffled")
      ->capture_default_str()
      ->check(CLI::IsMember({"forward", "reversed", "shuffled"}));
  command->add_option("--seed", args.seed, "Seed of the shuffled order")->check(check_number);
  command->add_option("--subgroup-width", args.subgroup_width, "Lanes of a subgroup, 1 to 64")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
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
