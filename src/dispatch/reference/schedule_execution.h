// Executes a schedule on the interpreter, step by step, as a device would. It shows without a
// driver that a form gives the bytes of the program it was made from.
#pragma once

#include "dispatch/reference/reference_programs.h"
#include "dispatch/schedule/outcome.h"

namespace felsite::dispatch {

struct ExecutionOptions {
  ReferenceOptions reference{};
  // How often the repeated steps run between two looks at the watched word. Surplus runs must do no
  // harm.
  std::uint32_t runs_between_looks = 1;
  // What memory holds before something is written into it.
  std::byte fresh{0xA5};
  DeviceProfile device{};  // what errors and traces name
  base::Deadline deadline{};
  const base::StopFlag* stop = nullptr;
  // Called when all has run, and can read any words of the schedule.
  std::function<Result<void>(const ReadWords& read)> after{};
};

// `memory`: the caller's buffers among Schedule::buffers, each of whole words; those in workgroup
// memory are empty. The context of an error has the step of the caller and the segment.
// DispatchFailed where a step leaves a buffer or depends on a word that does not exist.
Result<IterationsRun> execute(const Schedule& schedule,
                              std::span<const std::span<std::byte>> memory,
                              PreparedPrograms& programs, const ExecutionOptions& options = {});

}  // namespace felsite::dispatch
