#include "run_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/try.h"
#include "base/words.h"
#include "element_text.h"
#include "felsite/printable.h"
#include "files.h"
#include "output.h"
#include "run_inputs.h"
#include "run_timing.h"

namespace felsite::tool {
namespace {

// In the order of the results.
std::vector<const ir::BufferDecl*> result_buffers(const ir::Program& program) {
  std::vector<const ir::BufferDecl*> results;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (gives_result(role_of(buffer))) results.push_back(&buffer);
  }
  return results;
}

Result<void> write_bytes(const std::string& path, const Bytes& bytes) {
  return write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

nlohmann::json describe(const ir::Program& program, const Ran& ran, nlohmann::json outputs,
                        const RunArguments& args) {
  const DispatchTiming& timing = ran.results.timing;
  nlohmann::json body{{"program", program.name()},
                      {"backend", ran.backend},
                      {"device", ran.device},
                      {"outputs", std::move(outputs)},
                      {"iterations_run", timing.iterations_run},
                      {"converged", timing.converged},
                      {"grid_reason", ran.grid.reason}};
  if (ran.grid.grid) body["grid"] = *ran.grid.grid;
  if (timing.wall_ns) body["wall_ns"] = *timing.wall_ns;
  if (args.check) body["checked"] = ran.checked;
  if (args.timing) body["timing"] = timing_json(ran);
  return body;
}

// Says which grid was inferred, and from what.
std::string grid_line(const ir::Program& program, const Ran& ran, const RunArguments& args) {
  const auto size =
      make_config(args, program).workgroup_override.value_or(program.workgroup_size());
  const auto& grid = *ran.grid.grid;
  const std::uint64_t groups = std::uint64_t{grid[0]} * grid[1] * grid[2];
  return fmt::format("grid: {} of {}, {}\n", base::counted(groups, "workgroup"),
                     std::uint64_t{size[0]} * size[1] * size[2], printable(ran.grid.reason));
}

// Says how the run went, for people.
void show_course(const ir::Program& program, const Ran& ran, const RunArguments& args) {
  const DispatchTiming& timing = ran.results.timing;
  flush_out();  // results come first, even where both streams go to one file
  if (ran.grid.is_inferred) write_err(grid_line(program, ran, args));
  if (args.timing) {
    write_err(timing_text(ran, args.fixpoint.has_value()));
  } else if (args.fixpoint) {
    print_err("{}, {}\n", base::counted(timing.iterations_run, "iteration"),
              timing.converged ? "converged" : "not converged");
  }
}

}  // namespace

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
      return std::unexpected(
          base::bad_inputs(fmt::format("The program has no {} `{}`.", what, name),
                           fmt::format("use one of: {}.", known.empty() ? "none" : known)));
    }
    if (!result.emplace(name, pair.substr(equals + 1)).second) {
      return std::unexpected(base::bad_inputs(
          fmt::format("The {} `{}` is given twice.", what, name), "give it once."));
    }
  }
  return result;
}

Result<Styles> wanted_outputs(const ir::Program& program, const RunArguments& args) {
  std::vector<std::string> names;
  for (const ir::BufferDecl* buffer : result_buffers(program)) names.push_back(buffer->name);
  return split_pairs(args.outputs, names, "output");
}

Result<void> show_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                          const RunArguments& args, bool json) {
  const auto results = result_buffers(program);
  nlohmann::json outputs = nlohmann::json::object();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Bytes& bytes = ran.results.outputs[i];
    const std::string& name = results[i]->name;
    const auto style = wanted.find(name);
    if (!wanted.empty() && style == wanted.end()) continue;
    const std::string how = style == wanted.end() ? "numbers" : style->second;
    if (how.starts_with('@')) {
      FELSITE_CHECK(write_bytes(how.substr(1), bytes));
      outputs[name] = nlohmann::json{{"file", how.substr(1)}, {"bytes", bytes.size()}};
      continue;
    }
    const ElementStyle element_style = how == "hex" ? ElementStyle::Hex : ElementStyle::Numbers;
    const ir::Type type = results[i]->element;
    if (json) {
      outputs[name] = nlohmann::json{{"type", ir::info(type).name},
                                     {"style", how},
                                     {"values", json_elements(type, bytes, element_style)}};
    } else {
      // An output that was asked for by name is not cut.
      const std::size_t limit = style != wanted.end() ? SIZE_MAX : args.limit;
      print_out("{} = {}\n", printable(name), print_elements(type, bytes, element_style, limit));
    }
  }
  if (json) {
    print_out("{}\n", json_text(describe(program, ran, std::move(outputs), args)));
  } else {
    show_course(program, ran, args);
  }
  return {};
}

Result<void> write_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                           const RunArguments& args) {
  const auto results = result_buffers(program);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto style = wanted.find(results[i]->name);
    if (style == wanted.end() || !style->second.starts_with('@')) continue;
    FELSITE_CHECK(write_bytes(style->second.substr(1), ran.results.outputs[i]));
  }
  show_course(program, ran, args);
  return {};
}

std::optional<Error> first_difference(const ir::Program& program,
                                      const std::vector<Bytes>& reference,
                                      const std::vector<Bytes>& device) {
  const auto results = result_buffers(program);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto differ = std::ranges::mismatch(reference[i], device[i]);
    if (differ.in1 == reference[i].end() && differ.in2 == device[i].end()) continue;
    const ir::Type type = results[i]->element;
    const std::size_t size = ir::info(type).bytes;
    const std::size_t index = static_cast<std::size_t>(differ.in1 - reference[i].begin()) / size;
    // An element that only one side has is shown as nothing.
    const auto bits = [&](const Bytes& bytes) {
      const std::size_t at = std::min(index * size, bytes.size());
      return print_elements(type, ByteSpan(bytes).subspan(at), ElementStyle::Hex, SIZE_MAX)
          .substr(0, size * 2);
    };
    return base::dispatch_failed(
        fmt::format("The device differs from the reference: {}[{}] has the bits "
                    "{}, and on the reference {}.",
                    results[i]->name, index, bits(device[i]), bits(reference[i])),
        "if the program does not depend on the order of its invocations, report "
        "it with its input: the lowering or the driver is at fault.",
        program.name());
  }
  return std::nullopt;
}

}  // namespace felsite::tool
