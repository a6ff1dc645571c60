#include "dispatch/facade/placed_step.h"

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"

namespace felsite::dispatch {
namespace {

// Stands for memory until all is checked.
struct LentBytes final : Allocation {
  explicit LentBytes(std::uint64_t size) : bytes_(size) {}
  std::uint64_t bytes() const override { return bytes_; }

 private:
  const std::uint64_t bytes_;
};

// See RangePlace.
bool shares_last_word(const MemoryRange& range) {
  if (range.memory == nullptr) return false;
  const std::uint64_t end = range.offset + range.bytes;
  if (range.bytes == 0) return range.memory->bytes() != 0;
  return end % 4 != 0 && end != range.memory->bytes();
}

}  // namespace

std::string name_of(const ResidentStep& step) {
  return step.label.empty() ? std::string(step.program.name()) : step.label;
}

MemoryFacts facts_of(const PlacedStep& step, const DeviceProfile& device) {
  MemoryFacts facts;
  for (const MemoryRange& range : step.memory) {
    facts.bytes.push_back(range.bytes);
    facts.places.push_back({.start = range.offset - bound_memory(range, device).offset,
                            .shares_last_word = shares_last_word(range)});
  }
  return facts;
}

Result<PlacedStep> place_step(OpenDevice& open, const ResidentStep& step,
                              const DispatchConfig& config) {
  FELSITE_TRY(auto valid, prepare_program(open, step.program, config));
  PlacedStep placed{.program = std::move(valid), .config = config, .name = name_of(step)};
  const ir::ValidProgram& program = placed.program;
  std::vector<SharedAllocation> resources;
  std::vector<std::uint64_t> sizes;
  FELSITE_CHECK(check_lent(program, step.resources));
  for (const ResidentResource& resource : step.resources) {
    if (resource.bytes) {
      resources.push_back(std::make_shared<LentBytes>(resource.bytes->size()));
    } else {
      FELSITE_TRY(auto buffer, open.buffers.find(resource.buffer));
      resources.push_back(std::move(buffer));
    }
    sizes.push_back(resources.back()->bytes());
  }
  FELSITE_TRY(const auto ranges, resolve_resources(program, step.resources, sizes));
  for (std::size_t i = 0; i < ranges.size(); ++i) sizes[i] = ranges[i].length;
  FELSITE_TRY(placed.bindings, plan_resources(program, sizes, config));
  FELSITE_CHECK(check_aliasing(program, step.resources, ranges));
  for (const ResidentHandle& handle : changed_resources(program, step.resources)) {
    FELSITE_CHECK(open.buffers.find_writable(handle));
  }
  // Only the words of an indirect grid are not known yet.
  const bool indirect = program.facts().has_indirect_dispatch;
  FELSITE_TRY(const auto grid, plan_grid(program, placed.bindings, config,
                                         indirect ? std::optional(Extent3{}) : std::nullopt));
  if (!indirect) placed.grid = grid;
  placed.host_reads_grid = indirect && needs_known_grid(program) && !open.profile().grid_sync;
  placed.memory.resize(program.buffers().size());
  const std::vector<ir::BufferId> order = resource_order(program);
  for (std::size_t i = 0; i < order.size(); ++i) {
    placed.memory[order[i]] = {resources[i], ranges[i].offset, ranges[i].length};
    if (step.resources[i].bytes) placed.lent.push_back(order[i]);
  }
  return placed;
}

Result<void> allocate_lent(OpenDevice& open, MemoryRange& range, Submission& submission) {
  const std::uint64_t bytes = range.memory->bytes();
  FELSITE_TRY(range.memory, open.service->allocate(bytes, submission.name, "lent bytes"));
  submission.uploads.push_back({range.memory, 0, bytes});
  submission.own_bytes += bytes;
  return {};
}

Result<ir::ValidProgram> prepare_program(OpenDevice& open, const ir::Program& given,
                                         const DispatchConfig& config) {
  FELSITE_CHECK(check_choices(given, config));
  FELSITE_TRY(auto program, open.programs.get(configured(given, config)));
  FELSITE_CHECK(check_config(program, config));
  return program;
}

Result<Schedule> schedule_of(const PlacedStep& step, const MemoryFacts& memory,
                             const DeviceProfile& device) {
  if (device.grid_sync) {
    FELSITE_TRY(auto route, route_on_any_grid(step.program, step.config, device));
    Schedule schedule;
    if (route) schedule.route = *std::move(route);
    return schedule;
  }
  std::vector<std::uint64_t> counts;
  for (const BoundBuffer& buffer : step.bindings.buffers) counts.push_back(buffer.count);
  return make_schedule({.program = step.program,
                        .config = step.config,
                        .counts = counts,
                        .bytes = memory.bytes,
                        .places = memory.places,
                        .grid = step.grid,
                        .fresh_outputs = memory.fresh_outputs,
                        .can_try = memory.can_try,
                        .route = memory.route,
                        .name = step.name},
                       device);
}

Result<std::vector<SharedCompiledKernel>> compile_kernels(OpenDevice& open,
                                                          const Schedule& schedule) {
  std::vector<SharedCompiledKernel> kernels;
  for (const ScheduledKernel& scheduled : schedule.kernels) {
    auto compiled = base::guarded([&]() -> Result<SharedCompiledKernel> {
      FELSITE_TRY(auto valid, open.programs.get(scheduled.program));
      return open.service->compile(scheduled.as_segment(std::move(valid)));
    });
    if (!compiled) {
      compiled.error().context.segment =
          segment_of(schedule, static_cast<std::uint32_t>(kernels.size()));
      return std::unexpected(std::move(compiled.error()));
    }
    kernels.push_back(std::move(*compiled));
  }
  return kernels;
}

Result<void> compile_kernels(OpenDevice& open, OneProgram& program) {
  if (!open.profile().grid_sync) {
    FELSITE_TRY(program.kernels, compile_kernels(open, program.schedule));
    return {};
  }
  FELSITE_TRY(auto kernel, open.service->compile(program.step.program));
  program.kernels.push_back(std::move(kernel));
  return {};
}

void add_to(Submission& submission, OneProgram program, const DeviceProfile& device) {
  submission.is_one_program = true;
  submission.step_count = 1;
  if (device.grid_sync) {
    PlacedBlock& block = submission.blocks.emplace_back();
    block.steps.push_back(std::move(program.step));
    block.kernels = std::move(program.kernels);
    return;
  }
  PlacedStage& stage = submission.stages.emplace_back();
  for (const MemoryRange& range : program.step.memory) {
    stage.memory.push_back(bound_memory(range, device));
  }
  stage.stage.schedule = std::move(program.schedule);
  stage.kernels = std::move(program.kernels);
}

}  // namespace felsite::dispatch
