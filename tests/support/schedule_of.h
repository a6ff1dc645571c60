// The schedule of a program on a device that a test describes, and the memory it runs on.
#pragma once

#include <algorithm>

#include "base/align.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/reference/schedule_execution.h"
#include "dispatch/schedule/schedule.h"

namespace felsite::test {

// A device without grid barriers, on which most forms are possible.
inline DeviceProfile profile_for_schedules() {
  DeviceProfile device;
  device.name = "a device of the tests";
  device.max_workgroup_size = {1024, 1024, 64};
  device.max_workgroup_count.fill(UINT32_MAX);
  device.workgroups_per_dispatch.fill(65535);
  device.max_workgroup_invocations = 1024;
  device.subgroup_size = 8;
  device.conditional_steps = true;
  device.storage_offset_alignment = 64;
  device.max_storage_buffer_bytes = std::uint64_t{1} << 30;
  device.memory_bytes = std::uint64_t{1} << 34;
  device.allows_host_grid_sync_split = true;
  device.resident_dispatch = true;
  return device;
}

struct PlannedProgram {
  dispatch::BindingPlan bindings;
  dispatch::Schedule schedule;
  std::vector<Bytes> memory;  // by BufferId: the inputs, and zeros
};

inline Result<PlannedProgram> schedule_of(const ir::ValidProgram& program,
                                          std::span<const ByteSpan> inputs,
                                          const DispatchConfig& config,
                                          const DeviceProfile& device) {
  PlannedProgram made;
  FELSITE_TRY(made.bindings, dispatch::plan_inputs(program, inputs, config));
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const dispatch::BoundBuffer& buffer : made.bindings.buffers) {
    const bool is_shared = buffer.role == ir::Role::Shared;
    counts.push_back(buffer.count);
    bytes.push_back(is_shared ? 0 : buffer.bytes);
    Bytes& memory = made.memory.emplace_back(bytes.back());
    const bool is_flag = config.convergence.kind == Convergence::Kind::Flag &&
                         program.buffer(static_cast<ir::BufferId>(made.memory.size() - 1)).name ==
                             config.convergence.flag;
    if (buffer.input == ir::kNone || is_flag) continue;  // a flag is cleared before each iteration
    memory.assign(inputs[buffer.input].begin(), inputs[buffer.input].end());
  }
  FELSITE_TRY(const auto grid, dispatch::plan_grid(program, made.bindings, config, std::nullopt));
  FELSITE_TRY(made.schedule, dispatch::make_schedule({.program = program,
                                                      .config = config,
                                                      .counts = counts,
                                                      .bytes = bytes,
                                                      .grid = grid,
                                                      .fresh_outputs = true,
                                                      .name = std::string(program.name())},
                                                     device));
  return made;
}

// Runs it on the interpreter.
inline Result<dispatch::IterationsRun> execute(PlannedProgram& planned,
                                               dispatch::PreparedPrograms& programs,
                                               const dispatch::ExecutionOptions& options = {}) {
  std::vector<Bytes> padded = planned.memory;
  std::vector<std::span<std::byte>> memory;
  for (Bytes& bytes : padded) {
    bytes.resize(base::align_up(bytes.size(), 4));
    memory.emplace_back(bytes);
  }
  auto run = dispatch::execute(planned.schedule, memory, programs, options);
  for (std::size_t i = 0; i < padded.size(); ++i) {
    std::copy_n(padded[i].begin(), planned.memory[i].size(), planned.memory[i].begin());
  }
  return run;
}

}  // namespace felsite::test
