// The device's clock in a recording: when all of a command buffer's work began and ended, and each
// kernel step in it.
#pragma once

#include <optional>
#include <vector>

#include "vk/record/command_writer.h"

namespace felsite::vk {

// Empty where nothing was measured.
struct DeviceTimes {
  struct Step {
    std::size_t step = 0;
    std::uint64_t begin_ns = 0;  // after the beginning of the command buffer
    std::uint64_t ns = 0;
  };
  std::optional<std::uint64_t> total_ns{};
  std::vector<Step> steps{};
};

class StepClock {
 public:
  // One that measures nothing.
  StepClock() = default;
  // Measures nothing where the device has no clock.
  static Result<StepClock> make(const Device& device, std::size_t steps, const ObjectName& name);

  void begin(CommandWriter& writer) const;
  void end(CommandWriter& writer) const;
  // Must be recorded before the steps [first, first + count) each time they run.
  void expect(CommandWriter& writer, std::size_t first, std::size_t count) const;
  void step_begins(CommandWriter& writer, std::size_t step) const;
  void step_ends(CommandWriter& writer, std::size_t step) const;

  // The times of the steps [first, end). All steps before `end` must have run once.
  Result<DeviceTimes> read(const Device& device, std::size_t first, std::size_t end) const;

 private:
  Owned<VkQueryPool> queries_;
};

}  // namespace felsite::vk
