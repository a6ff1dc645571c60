#include "vk/kernel/kernel_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "base/durable_file.h"
#include "dispatch/telemetry/environment.h"
#include "dispatch/telemetry/warnings.h"
#include "felsite/text.h"

namespace felsite::vk {
namespace {

std::optional<std::filesystem::path> dump_folder() {
  const auto folder = dispatch::environment(dispatch::Variable::Dump);
  if (!folder || folder->empty()) return std::nullopt;
  return std::filesystem::path(*folder);
}

void write_file(const std::filesystem::path& file, std::string_view contents) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const int failed =
      base::replace_file(file.string(), {std::as_bytes(std::span(contents))}, {.sync = false});
  if (failed == 0) return;
  dispatch::warn(fmt::format("Cannot write {}: {}. Fix: name a folder with room in FELSITE_DUMP.",
                             file.string(), std::strerror(failed)));
}

std::string_view name_of(codegen::ParameterKind kind) {
  switch (kind) {
    case codegen::ParameterKind::Grid:
      return "workgroups on axis";
    case codegen::ParameterKind::Length:
      return "elements of buffer";
    case codegen::ParameterKind::Variable:
      return "value of variable";
    case codegen::ParameterKind::Base:
      return "workgroups before, on axis";
  }
  return "";
}

std::string kernel_plan(const ir::Program& program, const codegen::Kernel& kernel) {
  std::string text = fmt::format("kernel of {}\nworkgroup {} x {} x {}, {} bytes shared\n",
                                 program.name(), kernel.workgroup_size[0], kernel.workgroup_size[1],
                                 kernel.workgroup_size[2], kernel.shared_bytes);
  for (const codegen::BufferBinding& buffer : kernel.buffers) {
    text += fmt::format("binding {}: {}, {}\n", buffer.binding, program.buffer(buffer.buffer).name,
                        buffer.written ? "written" : "read");
  }
  if (kernel.status_binding) text += fmt::format("binding {}: status\n", *kernel.status_binding);
  if (kernel.parameter_binding) {
    text += fmt::format("binding {}: parameters\n", *kernel.parameter_binding);
  }
  for (const codegen::Parameter& parameter : kernel.parameters) {
    text += fmt::format("parameter: {} {}\n", name_of(parameter.kind), parameter.ref);
  }
  return text;
}

}  // namespace

void dump_text(const std::string& name, const std::function<std::string()>& text) {
  if (const auto folder = dump_folder()) write_file(*folder / name, text());
}

void dump_kernel(const ir::Program& program, const codegen::Kernel& kernel) {
  const auto folder = dump_folder();
  if (!folder) return;
  // The same program may also be compiled for grids in parts, as another module.
  const bool in_parts = std::ranges::any_of(kernel.parameters, [](const codegen::Parameter& p) {
    return p.kind == codegen::ParameterKind::Base;
  });
  const std::string name = fmt::format(
      "{}-{}{}", program.name(), ir::to_string(program.fingerprint()), in_parts ? "-in-parts" : "");
  write_file(*folder / (name + ".fels"), ir::print(program));
  write_file(*folder / (name + ".spv"),
             std::string_view(reinterpret_cast<const char*>(kernel.words.data()),
                              kernel.words.size() * sizeof(std::uint32_t)));
  write_file(*folder / (name + ".plan"), kernel_plan(program, kernel));
}

}  // namespace felsite::vk
