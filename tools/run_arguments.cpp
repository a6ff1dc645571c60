#include "run_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/errors.h"
#include "command_help.h"
#include "files.h"
#include "mask.h"
#include "usage.h"

namespace felsite::tool {
namespace {

// Errors of an option by itself, whatever the program: these are usage errors.
std::string check_input(const std::string& pair) {
  if (pair.find('=') != std::string::npos) return {};
  return fmt::format("`{}` is not NAME=…", pair);
}

std::string take_output(std::string& pair) {
  const std::size_t equals = pair.find('=');
  const std::string_view how =
      equals == std::string::npos ? std::string_view() : std::string_view(pair).substr(equals + 1);
  if (how == "numbers" || how == "hex") return {};
  if (how.starts_with('@') && how.size() > 1) {
    if (is_standard_output(std::string(how.substr(1)))) pair.replace(equals + 1, pair.npos, "@-");
    return {};
  }
  return fmt::format("`{}` is not NAME=numbers, NAME=hex or NAME=@file", pair);
}

// An empty grid would silently run nothing, and an empty workgroup does not exist.
std::string check_extents_above_0(const std::string& text) {
  const auto extents = parse_extents(text);
  if (!extents) return fmt::format("`{}` is not X[,Y[,Z]] in whole numbers", text);
  if (std::ranges::find(*extents, 0u) == extents->end()) return {};
  return fmt::format("`{}` has a 0, and would run nothing", text);
}

// Rewrites a decimal number in its shortest form: CLI11 would read one with leading zeros as octal.
template <class Number>
std::string take_number(std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || text.empty()) return fmt::format("`{}` is not a whole number", text);
  Number value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc()) {
    return fmt::format("`{}` takes more than {} bits", text, 8 * sizeof(Number));
  }
  text = fmt::format("{}", value);
  return {};
}
template <class Number>
CLI::Validator whole_number() {
  return CLI::Validator(take_number<Number>, "");
}

std::string take_iterations(std::string& text) {
  std::string wrong = take_number<std::uint32_t>(text);
  return wrong.empty() && text == "0" ? "`0` is no iteration at all" : wrong;
}

std::string take_width(std::string& text) {
  const std::string given = text;
  const bool is_number = take_number<std::uint32_t>(text).empty();
  const bool fits = is_number && text != "0" && text.size() <= 2 && std::stoi(text) <= 64;
  return fits ? std::string() : fmt::format("`{}` is not from 1 to 64", given);
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

// The rest of the first line that starts with the mark.
std::optional<std::string> marked_line(std::string_view text) {
  constexpr std::string_view kMark = "//! run:";
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line.compare(begin, kMark.size(), kMark) != 0) continue;
    return line.substr(begin + kMark.size());
  }
  return std::nullopt;
}

bool was_given(const CLI::App& command, const char* option) {
  return command.get_option(option)->count() > 0;
}

std::string grid_conflict(const RunArguments& args) {
  const bool both = !args.grid.empty() && !args.invocations.empty();
  return both ? "--grid and --invocations both say how large the grid is" : std::string();
}

// A program must not choose which files are read and written.
std::optional<std::string> names_file(const CLI::App& marked) {
  for (const char* option : {"--input", "--output"}) {
    for (const std::string& pair : marked.get_option(option)->results()) {
      if (pair.find("=@") == pair.find('=')) return pair;
    }
  }
  return std::nullopt;
}

// The values of an option in the program's comment, without those that the command line gives.
// Inputs and outputs count as one option per buffer.
std::vector<std::string> not_given(const CLI::App& command, const CLI::Option& marked,
                                   const CLI::Option& given) {
  const std::string name = marked.get_single_name();
  if (name == "grid" && was_given(command, "--invocations")) return {};
  if (name == "invocations" && was_given(command, "--grid")) return {};
  if (name != "input" && name != "output") {
    return given.count() == 0 ? marked.results() : std::vector<std::string>();
  }
  const auto buffer = [](const std::string& pair) { return pair.substr(0, pair.find('=')); };
  std::vector<std::string> missing;
  for (const std::string& pair : marked.results()) {
    const bool has = std::ranges::any_of(
        given.results(), [&](const std::string& other) { return buffer(other) == buffer(pair); });
    if (!has) missing.push_back(pair);
  }
  return missing;
}

}  // namespace

std::optional<Extent3> parse_extents(std::string_view text) {
  Extent3 result{1, 1, 1};
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

void add_form_options(CLI::App& command, RunArguments& args) {
  command
      .add_option("-i,--input", args.inputs,
                  "NAME=@file, NAME=1,2,3, NAME=bits:HEX,HEX, NAME=zeros:N, NAME=iota:N or "
                  "NAME=random:N:seed")
      ->type_name("NAME=FORM")
      ->group(kMaxUsed)
      ->allow_extra_args(false)
      ->check(check_input);
  command.add_option("--grid", args.grid, "How many workgroups")
      ->type_name("X[,Y[,Z]]")
      ->group(kMaxUsed)
      ->check(check_extents_above_0);
  command
      .add_option("--invocations", args.invocations,
                  "How many invocations: the grid is the smallest that covers them")
      ->type_name("N[,M[,K]]")
      ->group(kMaxUsed)
      ->check(check_extents_above_0);
  command.add_option("--workgroup", args.workgroup, "Another workgroup size")
      ->type_name("X[,Y[,Z]]")
      ->check(check_extents_above_0);
  command.add_option("--fixpoint", args.fixpoint, "Repeat until nothing changes, at most N times")
      ->type_name("N")
      ->group(kMaxUsed)
      ->transform(CLI::Validator(take_iterations, ""));
  command.add_option("--convergence", args.convergence, "How a change is noticed")
      ->type_name("auto|none|flag:BUFFER")
      ->capture_default_str()
      ->check(check_convergence);
  command
      .add_option("--grid-sync", args.grid_sync, "How grid barriers and iterations run on a device")
      ->type_name("auto|host-split|resident|one-workgroup")
      ->capture_default_str()
      ->check(one_of({"auto", "host-split", "resident", "one-workgroup"}));
  command
      .add_flag("--marked", args.marked,
                "Also take the options of the program's first line `//! run:`")
      ->group(kMaxUsed);
}

void add_plan_options(CLI::App& command, RunArguments& args, CommonOptions& common) {
  add_form_options(command, args);
  command
      .add_option("--mask", args.mask,
                  "Leave features of the device unused: a list as `felsite spirv --help` shows it")
      ->type_name("LIST")
      ->check(check_mask);
  add_common(command, common);
  command.get_option("--backend")->group(kMaxUsed);
}

void add_run_options(CLI::App& command, RunArguments& args, CommonOptions& common) {
  add_plan_options(command, args, common);
  command
      .add_option("-o,--output", args.outputs,
                  "NAME=numbers, NAME=hex or NAME=@file; without any, all results are printed")
      ->type_name("NAME=FORM")
      ->group(kMaxUsed)
      ->allow_extra_args(false)
      ->transform(CLI::Validator(take_output, ""));
  command.add_option("--timeout", args.timeout_seconds, "Give up after this many seconds")
      ->type_name("SECONDS")
      ->check(check_seconds);
  command.add_option("--limit", args.limit, "Print at most this many elements of each result")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>());
  command.add_option("--order", args.order, "In which order the reference runs workgroups")
      ->type_name("forward|reversed|shuffled")
      ->capture_default_str()
      ->check(one_of({"forward", "reversed", "shuffled"}));
  command.add_option("--seed", args.seed, "Seed of the shuffled order")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>());
  command.add_option("--subgroup-width", args.subgroup_width, "Lanes of a subgroup, 1 to 64")
      ->type_name("N")
      ->capture_default_str()
      ->transform(CLI::Validator(take_width, ""));
  command.add_flag("--count-out-of-bounds", args.count_out_of_bounds,
                   "Say how many accesses were past the end of a buffer");
  command
      .add_flag("--check", args.check, "Run it on the reference as well, and compare byte for byte")
      ->group(kMaxUsed);
  command.add_flag("--require-convergence", args.require_convergence,
                   "End with exit code 1 if the fixpoint does not converge");
  command.add_flag("--timing", args.timing, "Also say how long it took, and what was moved")
      ->group(kMaxUsed);
}

Result<void> apply_marked(CLI::App& command, std::string_view text, const std::string& path) {
  const auto line = marked_line(text);
  if (!line) {
    return std::unexpected(base::bad_inputs(fmt::format("`{}` has no line `//! run:`.", path),
                                            "add one to the program, or leave --marked out."));
  }
  std::vector<std::string> words;
  std::istringstream stream(*line);
  for (std::string word; stream >> word;) words.push_back(word);
  CLI::App marked;
  marked.set_help_flag("");
  RunArguments args;
  CommonOptions common;
  add_run_options(marked, args, common);
  const auto wrong = [&](std::string_view what) {
    return std::unexpected(
        base::bad_inputs(fmt::format("The line `//! run:` of `{}` is wrong: {}.", path, what),
                         "write options of felsite run there, but for FILE."));
  };
  if (const std::string message = wrong_value(marked, words); !message.empty()) {
    return wrong(message);
  }
  try {
    std::ranges::reverse(words);  // CLI11 takes them in reverse
    marked.parse(words);
    if (const std::string message = grid_conflict(args); !message.empty()) return wrong(message);
    if (const auto pair = names_file(marked)) {
      return std::unexpected(base::bad_inputs(
          fmt::format("The line `//! run:` of `{}` names a file: `{}`.", path, *pair),
          "take it out of the program, and name files on the command line."));
    }
    for (const CLI::Option* option : marked.get_options()) {
      if (option->count() == 0) continue;
      // A command that runs nothing has fewer options, or means something else by one of them, and
      // ignores the others.
      CLI::Option* const given = command.get_option_no_throw("--" + option->get_single_name());
      if (given == nullptr || given->get_type_name() != option->get_type_name()) continue;
      const std::vector<std::string> missing = not_given(command, *option, *given);
      if (missing.empty()) continue;
      given->add_result(missing);
      given->run_callback();
    }
  } catch (const CLI::Error& error) {
    return wrong(sentence_of(marked, error));
  }
  return {};
}

std::string plan_conflict(const CLI::App& command, const RunArguments& args) {
  if (std::string message = grid_conflict(args); !message.empty()) return message;
  // The program's flag would be cleared although nothing is repeated.
  if (was_given(command, "--convergence") && !args.fixpoint) {
    return "--convergence is for --fixpoint";
  }
  return {};
}

std::vector<std::string> output_files(const RunArguments& args) {
  std::vector<std::string> files;
  for (const std::string& pair : args.outputs) {
    const std::size_t at = pair.find("=@");
    if (at == pair.npos || pair.ends_with("=@-")) continue;
    files.push_back(whole_path(pair.substr(at + 2)));
  }
  return files;
}

std::string take_u32(std::string& text) { return take_number<std::uint32_t>(text); }

std::string take_written_path(std::string& path) {
  if (is_standard_output(path)) path = "-";
  return {};
}

Refusal replacement_by_outputs(const RunArguments& args) {
  for (const std::string& file : output_files(args)) {
    if (!replaces(file, args.path)) continue;
    return {"an output would replace the program's own file", "name another file for the output."};
  }
  return {};
}

Refusal replacement_by(const std::string& path, std::string_view what, std::string_view option,
                       const RunArguments& args) {
  const auto found = [&](std::string_view lost) {
    return Refusal{fmt::format("{} would replace {}", what, lost),
                   fmt::format("name another file for {}.", option)};
  };
  if (replaces(path, args.path)) return found("the program's own file");
  for (const std::string& pair : args.inputs) {
    const std::string form = pair.substr(pair.find('=') + 1);
    if (form.starts_with('@') && replaces(path, form.substr(1))) {
      return found("the file of an input");
    }
  }
  return {};
}

std::string stream_conflict(const RunArguments& args) {
  const auto read = std::ranges::count_if(
      args.inputs, [](const std::string& pair) { return pair.ends_with("=@-"); });
  if (read + (args.path == "-" ? 1 : 0) > 1) return "standard input can be read once";
  std::vector<std::string> files = output_files(args);
  std::ranges::sort(files);
  const bool twice = std::ranges::adjacent_find(files) != files.end();
  return twice ? "one file cannot hold two outputs" : std::string();
}

std::string conflict(const CLI::App& command, const RunArguments& args,
                     const CommonOptions& common) {
  const auto given = [&](const char* option) { return was_given(command, option); };
  if (std::string message = plan_conflict(command, args); !message.empty()) return message;
  if (std::string message = stream_conflict(args); !message.empty()) return message;
  if (args.require_convergence && (!args.fixpoint || args.convergence == "none")) {
    return args.fixpoint
               ? "--convergence none never converges, and --require-convergence asks for it"
               : "--require-convergence is for --fixpoint";
  }
  const bool raw = std::ranges::any_of(
      args.outputs, [](const std::string& pair) { return pair.ends_with("=@-"); });
  if (common.json && raw) return "an output and --json cannot both go to standard output";
  if (common.backend == "auto") {
    // These ask for a device; without them, options of the reference may choose it.
    if (!given("--mask") && !given("--check")) return {};
  } else if (common.backend != "vulkan") {
    for (const char* option : {"--mask", "--check"}) {
      if (given(option)) return fmt::format("{} is for --backend vulkan", option);
    }
    return {};
  }
  if (given("--subgroup-width")) {
    return "--subgroup-width is for the reference: a device has its own width";
  }
  for (const char* option : {"--order", "--seed", "--count-out-of-bounds"}) {
    if (given(option) && !args.check) {
      return fmt::format("{} is for the reference, which --check would run", option);
    }
  }
  return {};
}

}  // namespace felsite::tool
