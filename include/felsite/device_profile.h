// What a backend's device can do, and how accurately the backend knows it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
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

// `true` promises that the native path is taken; an emulation reports false.
struct DeviceProfile {
  std::string name;
  bool subgroup_ops = false;
  bool f16 = false;
  bool bf16 = false;
  bool f64 = false;
  bool int64 = false;
  bool tensor_cores = false;
  bool async_compute = false;  // dispatches in flight overlap with each other and with the host
  bool indirect_dispatch = false;
  bool speculation = false;
  bool persistent_threads = false;
  bool grid_sync = false;
  bool cooperative_grid_sync_fits = false;
  bool allows_host_grid_sync_split = false;
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
  std::uint32_t subgroup_size = 0;
  std::uint32_t compute_units = 1;        // how many workgroups run at one time, at full speed
  std::uint32_t max_storage_buffers = 0;  // that one kernel may have; 0: unknown
  std::uint32_t loop_budget = 0;  // loop trips after which a driver stops an invocation; 0: none
  std::uint64_t max_storage_buffer_bytes = 0;
  std::uint64_t memory_bytes = 0;  // the size of its largest memory; 0: unknown
  std::uint64_t shared_memory_bytes = 0;
  DevicePrices prices;
  std::string timing_quality;
  std::vector<std::string> quirks;
  // What is emulated, one sentence each.
  std::vector<std::string> emulations;
};

}  // namespace felsite
