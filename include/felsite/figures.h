// Counters of one backend.
#pragma once

#include <cstdint>

namespace felsite {

struct PipelineCacheSnapshot {
  std::uint64_t entries = 0;       // programs that are ready to run
  std::uint64_t hits = 0;          // requests that found their program
  std::uint64_t misses = 0;        // requests that compiled their program
  std::uint64_t evictions = 0;     // dropped to make room
  std::uint64_t disk_bytes = 0;    // read from the cache file
  bool disk_in_use = false;        // the file is written when the backend shuts down or flushes
  std::uint64_t bytes = 0;         // of the programs that are ready, and of their SPIR-V
  std::uint64_t driver_bytes = 0;  // of what the driver keeps to compile pipelines again
};

struct MetricSnapshot {
  std::uint64_t resident_buffers = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t device_bytes = 0;  // all memory taken from the device, resident buffers included
  std::uint64_t in_flight = 0;     // dispatches that are submitted and not yet done
  std::uint64_t recordings = 0;    // sequences recorded so far
  std::uint64_t recordings_kept = 0;
  std::uint64_t recording_bytes = 0;  // device memory that belongs to these recordings alone
  std::uint64_t idle_bytes = 0;       // device memory that is kept for later buffers
  std::uint64_t allocations = 0;      // allocations of device memory so far
  // The cache of pipelines, as PipelineCacheSnapshot has it.
  std::uint64_t pipelines_kept = 0;
  std::uint64_t pipeline_bytes = 0;
  std::uint64_t pipeline_driver_bytes = 0;
  std::uint64_t pipeline_disk_bytes = 0;
  std::uint64_t pipeline_hits = 0;
  std::uint64_t pipeline_misses = 0;
  std::uint64_t pipeline_evictions = 0;
  std::uint64_t validated_programs = 0;  // remembered as valid
  std::uint64_t validated_bytes = 0;     // of what remembers them
  std::uint64_t static_bytes = 0;
  std::uint64_t static_hits = 0;
  std::uint64_t static_misses = 0;
  std::uint64_t recoveries = 0;
};

}  // namespace felsite
