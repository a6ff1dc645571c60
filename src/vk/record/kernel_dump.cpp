#include "vk/record/kernel_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
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
  dispatch::warn(fmt::format("Cannot write {}: {}.", file.string(), std::strerror(failed)));
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

std::string names_of(dispatch::StageSet stages) {
  using dispatch::Stage;
  std::string text;
  for (const auto& [stage, name] :
       {std::pair(Stage::Compute, "compute"), std::pair(Stage::Transfer, "transfer"),
        std::pair(Stage::Indirect, "indirect"), std::pair(Stage::Host, "host"),
        std::pair(Stage::Condition, "condition")}) {
    if (stages.has(stage)) text += fmt::format("{}{}", text.empty() ? "" : "+", name);
  }
  return text;
}

}  // namespace

std::string to_text(const dispatch::SequencePlan& plan, const dispatch::BarrierPlan& barriers) {
  using dispatch::Section;
  std::string text;
  const auto section = [&](Section which, const std::vector<dispatch::PlannedStep>& steps,
                           std::string_view title) {
    text += fmt::format("{}\n", title);
    for (std::uint32_t i = 0; i <= steps.size(); ++i) {
      for (const dispatch::PlannedBarrier& barrier : barriers.barriers) {
        if (barrier.section != which || barrier.before != i) continue;
        text +=
            fmt::format("  -- barrier: {} -> {}\n", names_of(barrier.from), names_of(barrier.to));
      }
      if (i == steps.size()) break;
      text += fmt::format("  {}. {}\n", i, steps[i].name);
      for (const dispatch::BufferAccess& access : steps[i].accesses) {
        text +=
            fmt::format("       {} buffer {} [{}, {}) by {}\n", access.writes ? "writes" : "reads",
                        access.buffer, access.begin, access.end, names_of(access.stage));
      }
    }
  };
  section(Section::Prologue, plan.prologue, "prologue");
  section(Section::Block, plan.block, fmt::format("block, {} times", plan.count));
  section(Section::Epilogue, plan.epilogue, "epilogue");
  return text;
}

void dump_kernel(const ir::Program& program, const codegen::Kernel& kernel) {
  const auto folder = dump_folder();
  if (!folder) return;
  // The same program may be made ready for grids in parts as well: another module.
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

void dump_sequence(const Sequence& sequence, const SequenceLayout& layout) {
  const auto folder = dump_folder();
  if (!folder) return;
  static std::atomic<unsigned> count = 0;
  write_file(*folder / fmt::format("sequence-{}.plan", count++),
             fmt::format("{}\n{}", sequence.name, to_text(layout.plan, layout.barriers)));
}

}  // namespace felsite::vk
