#include "vk/record/step_clock.h"

#include <cmath>

#include "base/try.h"

namespace felsite::vk {
namespace {

// Two queries for the command buffer, then two for each step.
constexpr std::uint32_t kBegin = 0;
constexpr std::uint32_t kEnd = 1;
std::uint32_t first_query(std::size_t step) { return 2 + 2 * static_cast<std::uint32_t>(step); }

}  // namespace

Result<StepClock> StepClock::make(const Device& device, std::size_t steps, const ObjectName& name) {
  StepClock clock;
  if (device.timestamp_bits() == 0) return clock;
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = first_query(steps);
  const DeviceFunctions& functions = device.functions();
  FELSITE_TRY(clock.queries_, device.make<VkQueryPool>(functions.vkCreateQueryPool,
                                                       functions.vkDestroyQueryPool, info, name));
  return clock;
}

void StepClock::begin(CommandWriter& writer) const {
  writer.reset_queries(queries_.get(), kBegin, 2);
  writer.timestamp(queries_.get(), kBegin);
}

void StepClock::end(CommandWriter& writer) const { writer.timestamp(queries_.get(), kEnd); }

void StepClock::expect(CommandWriter& writer, std::size_t first, std::size_t count) const {
  writer.reset_queries(queries_.get(), first_query(first), 2 * static_cast<std::uint32_t>(count));
}

void StepClock::step_begins(CommandWriter& writer, std::size_t step) const {
  writer.timestamp(queries_.get(), first_query(step));
}

void StepClock::step_ends(CommandWriter& writer, std::size_t step) const {
  writer.timestamp(queries_.get(), first_query(step) + 1);
}

Result<DeviceTimes> StepClock::read(const Device& device, std::size_t first,
                                    std::size_t end) const {
  DeviceTimes times;
  if (queries_.get() == VK_NULL_HANDLE) return times;
  std::vector<std::uint64_t> ticks(first_query(end));
  const VkResult result = device.functions().vkGetQueryPoolResults(
      device.handle(), queries_.get(), 0, static_cast<std::uint32_t>(ticks.size()),
      ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return std::unexpected(device.error(result, "read the timestamps"));
  const std::uint32_t bits = device.timestamp_bits();
  const std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  const double period = device.snapshot().limits.timestamp_period_ns;
  const auto nanoseconds = [&](std::uint32_t from, std::uint32_t to) {
    const auto elapsed = static_cast<double>((ticks[to] - ticks[from]) & mask);
    return static_cast<std::uint64_t>(std::llround(elapsed * period));
  };
  times.total_ns = nanoseconds(kBegin, kEnd);
  for (std::size_t step = first; step < end; ++step) {
    times.steps.push_back({.step = step,
                           .begin_ns = nanoseconds(kBegin, first_query(step)),
                           .ns = nanoseconds(first_query(step), first_query(step) + 1)});
  }
  return times;
}

}  // namespace felsite::vk
