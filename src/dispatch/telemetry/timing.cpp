#include <algorithm>

#include "felsite/device_profile.h"
#include "felsite/dispatch.h"

namespace felsite {
namespace {

std::optional<std::uint64_t> checked_sum(std::optional<std::uint64_t> a,
                                         std::optional<std::uint64_t> b) {
  if (!a || !b || *a > UINT64_MAX - *b) return std::nullopt;
  return *a + *b;
}

}  // namespace

std::string_view to_string(TimingQuality quality) {
  switch (quality) {
    case TimingQuality::HostClock:
      return "host clock";
    case TimingQuality::DeviceTimestamps:
      return "device timestamps";
  }
  return "?";
}

DispatchTiming sum(const DispatchTiming& a, const DispatchTiming& b) {
  DispatchTiming total;
  total.wall_ns = checked_sum(a.wall_ns, b.wall_ns);
  total.device_ns = checked_sum(a.device_ns, b.device_ns);
  total.enqueue_ns = checked_sum(a.enqueue_ns, b.enqueue_ns);
  total.wait_ns = checked_sum(a.wait_ns, b.wait_ns);
  // Steps of one timing could not be distinguished from steps of both.
  if (!a.step_device_ns.empty() && !b.step_device_ns.empty()) {
    total.step_device_ns = a.step_device_ns;
    total.step_device_ns.insert(total.step_device_ns.end(), b.step_device_ns.begin(),
                                b.step_device_ns.end());
  }
  total.iterations_run =
      a.iterations_run + std::min(b.iterations_run, UINT32_MAX - a.iterations_run);
  total.converged = a.converged && b.converged;
  total.blocks = a.blocks;
  total.blocks.insert(total.blocks.end(), b.blocks.begin(), b.blocks.end());
  return total;
}

}  // namespace felsite
