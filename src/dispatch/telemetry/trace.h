// Records slices for felsite/trace.h. While no trace runs, a slice costs one load.
#pragma once

#include <chrono>
#include <string_view>

#include "felsite/trace.h"

namespace felsite::dispatch {

using TraceClock = std::chrono::steady_clock;

bool tracing();

// A slice of the calling thread, from construction to destruction.
class HostSlice {
 public:
  explicit HostSlice(std::string_view name);
  ~HostSlice();
  HostSlice(const HostSlice&) = delete;
  HostSlice& operator=(const HostSlice&) = delete;

 private:
  std::string_view name_;  // outlives the slice
  TraceClock::time_point begin_;
  bool noted_;
};

// A slice of a device's row.
void note_device_slice(std::string_view device, std::string_view name, TraceClock::time_point begin,
                       std::chrono::nanoseconds duration);

}  // namespace felsite::dispatch
