// What a backend's device can do, and how accurately the backend knows it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/extent.h"

namespace felsite {

// What work costs on a device, in nanoseconds: as far as the choice between forms needs it. The
// defaults are those of a software device with worker threads.
struct DevicePrices {
  double submission = 54e3;  // of work, until the host has noticed its end
  double dispatch = 33e3;    // with the barrier before it
  double skipped = 33;       // a dispatch whose condition is false
  double workgroup = 90;     // to start one on a compute unit
  double iteration = 220;    // that a kernel runs itself: its control words
  // Of a subgroup on one compute unit.
  double barrier = 6;  // of the workgroup
  double operation = 0.115;
  double access = 8.6;  // to a buffer
  double trip = 4.5;    // of a loop, apart from what is in it
  double atomic = 30;
  // Of a subgroup in a kernel that contains the grid barriers. Lanes may run several invocations in
  // turn: each goes on after a barrier, and in each iteration.
  double turn = 1.1;
  double again = 24;
  double folded = 1.3;  // the same work takes this many times as long there

  bool operator==(const DevicePrices&) const = default;
};

// How the times of a dispatch are measured.
enum class TimingQuality : std::uint8_t {
  HostClock,         // by the host alone; device_ns is absent
  DeviceTimestamps,  // the device's own clock gives device_ns
};
// "host clock", "device timestamps"
std::string_view to_string(TimingQuality quality);

struct DeviceMemoryHeap {
  std::uint64_t bytes = 0;
  bool device_local = false;
  bool host_visible = false;  // at least a part of it
  bool operator==(const DeviceMemoryHeap&) const = default;
};

// A flag is true only where the native path is what runs; an emulation reports false, and
// `emulations` says so.
struct DeviceProfile {
  std::string backend;  // its id
  std::string name;
  bool subgroup_ops = false;
  bool subgroup_shuffle = false;
  bool f16 = false;
  bool bf16 = false;
  bool f64 = false;
  bool int64 = false;
  std::uint32_t native_int_bits = 32;  // the widest integers that are not made of others
  bool mul_high = false;               // one operation gives the upper half of a 32-bit product
  bool tensor_cores = false;
  bool traps = false;  // a trap of a kernel is an error of its call
  // A kernel that is compiled takes another workgroup size without being lowered again.
  bool specialization_constants = false;
  // Nothing orders plain dispatches in flight: they overlap with each other as far as the device
  // has room, and with the host.
  bool async_compute = false;
  bool indirect_dispatch = false;
  bool speculation = false;
  bool persistent_threads = false;
  bool grid_sync = false;                    // see also Backend::cooperative_grid_sync_fits
  bool allows_host_grid_sync_split = false;  // GridSync::HostSplit is refused otherwise
  bool resident_dispatch = false;
  bool distributed = false;
  bool collectives = false;
  Extent3 max_workgroup_size{};
  Extent3 max_workgroup_count{};  // of one grid, after splitting
  // Larger grids are split.
  Extent3 workgroups_per_dispatch{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  bool conditional_steps = false;              // a word in memory decides whether a step runs
  std::uint64_t storage_offset_alignment = 1;  // of a buffer that begins inside another
  std::uint32_t max_workgroup_invocations = 0;
  // Of the kernels that Felsite itself adds to a program; zeros: it adds none. Those of a program
  // have the size that the program states.
  Extent3 ideal_workgroup_size{};
  std::uint32_t ideal_vector_width = 1;  // elements of a buffer that kernels access at one time
  std::uint32_t subgroup_size = 0;
  // How many workgroups run at one time, at full speed. Vulkan does not say it: for hardware it is
  // assumed, by the kind of device.
  std::uint32_t compute_units = 1;
  std::uint32_t max_storage_buffers = 0;  // that one kernel may have; 0: unknown
  std::uint32_t loop_budget = 0;  // loop trips after which a driver stops an invocation; 0: none
  std::uint64_t max_storage_buffer_bytes = 0;
  std::uint64_t memory_bytes = 0;  // the size of its largest memory; 0: unknown
  std::vector<DeviceMemoryHeap> memory_heaps;
  std::uint64_t shared_memory_bytes = 0;
  // Of the caches for data, from the first level on; 0: unknown. Vulkan does not say them. On
  // devices that are the host's processor they are the host's, where its system states them.
  std::array<std::uint64_t, 3> cache_bytes{};
  DevicePrices prices;
  TimingQuality timing_quality = TimingQuality::HostClock;
  std::vector<std::string> quirks;
  // What is emulated, one sentence each.
  std::vector<std::string> emulations;
};

}  // namespace felsite
