// From a step of a caller to a program with its memory, its schedule and its kernels.
#pragma once

#include "dispatch/state/open_device.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

// The program with the workgroup size and float mode of the configuration, checked as far as that
// goes without inputs.
Result<ir::ValidProgram> prepare_program(OpenDevice& open, const ir::Program& program,
                                         const DispatchConfig& config);

std::string name_of(const ResidentStep& step);

// All errors of the caller are found here, before anything is allocated: what stands for bytes that
// are lent to the step knows only their size.
Result<PlacedStep> place_step(OpenDevice& open, const ResidentStep& step,
                              const DispatchConfig& config);
// Gives such bytes their memory: they are uploaded with each run.
Result<void> allocate_lent(OpenDevice& open, MemoryRange& range, Submission& submission);

// What is known of the memory of a step when its schedule is made.
struct MemoryFacts {
  std::vector<std::uint64_t> bytes{};  // by BufferId; 0 for workgroup memory
  std::vector<RangePlace> places{};    // as ScheduleRequest has them
  bool fresh_outputs = false;
  bool can_try = false;                // RouteFacts::can_try
  std::optional<RouteChoice> route{};  // as ScheduleRequest has it
};
// Of a step that is placed.
MemoryFacts facts_of(const PlacedStep& step, const DeviceProfile& device);
// How the step runs; for a device with grid barriers only the route.
Result<Schedule> schedule_of(const PlacedStep& step, const MemoryFacts& memory,
                             const DeviceProfile& device);

// The kernels of a schedule, ready for the device.
Result<std::vector<SharedCompiledKernel>> compile_kernels(OpenDevice& open,
                                                          const Schedule& schedule);

// One program with all its iterations. Its own kernel is for devices with grid barriers.
struct OneProgram {
  PlacedStep step;
  Schedule schedule{};
  std::vector<SharedCompiledKernel> kernels{};
};
Result<void> compile_kernels(OpenDevice& open, OneProgram& program);
void add_to(Submission& submission, OneProgram program, const DeviceProfile& device);

}  // namespace felsite::dispatch
