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
};

// `buffers`: the contents of the program's buffers, by BufferId; those in workgroup memory are
// empty. DispatchFailed where a step leaves a buffer or depends on a word that does not exist.
Result<IterationsRun> execute(const Schedule& schedule, std::vector<Bytes>& buffers,
                              PreparedPrograms& programs, const ExecutionOptions& options = {});

}  // namespace felsite::dispatch
