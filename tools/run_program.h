// Runs a program on a device or on the reference, and compares the two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "felsite/backend.h"
#include "felsite/explain.h"
#include "felsite/telemetry.h"
#include "run_arguments.h"

namespace felsite::tool {

struct Ran {
  TimedOutputs results;
  std::string backend;  // its id
  std::string device;   // the name of what it ran on
  GridChoice grid;      // the grid that ran, and what decided it
  Telemetry counted;    // by this run alone, without that of --check
  bool checked = false;
  std::optional<Error> difference;  // of --check: what differs
};

// With --check also on the reference.
Result<Ran> run_on_device(const ir::Program& program, const std::vector<Bytes>& inputs,
                          const RunArguments& args, const std::string& device);

Result<Ran> run_on_reference(const ir::Program& program, const std::vector<Bytes>& inputs,
                             const RunArguments& args, std::uint32_t subgroup_width);

}  // namespace felsite::tool
