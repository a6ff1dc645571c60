// One scenario after the other with each of its calls to Vulkan failing once, and what must hold
// then: an error that says what happened, nothing lost or kept, and a backend that works.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "faults/fault_state.h"
#include "faults/scenarios.h"
#include "vk/vulkan_backend.h"

namespace felsite::test {

// Each fault gets a new device, because what earlier work cached would hide calls.
Result<std::unique_ptr<Backend>> open_with_faults(
    const std::string& mask, const std::optional<std::filesystem::path>& cache);

// What an open backend has when all work has ended and its caller has freed everything.
struct AtRest {
  MetricSnapshot figures{};
  ObjectCounts objects{};
};
AtRest at_rest(Backend& backend);
// No more than without a fault. Recordings that were kept to run again are no part of it.
void check_at_rest(const AtRest& found, const AtRest& without_fault);

void check_error(const Error& error, FaultKind kind, std::string_view function);
// A text for messages: "2 Buffer, 1 Device".
std::string what_is_alive();

// A pipeline cache that no other test has, gone in the end.
class CacheFolder {
 public:
  CacheFolder();
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The shared instance with its functions replaced, open as long as this object. What the
// validation layer said to it is added up.
class FaultyInstance {
 public:
  FaultyInstance();
  ~FaultyInstance();
  FaultyInstance(const FaultyInstance&) = delete;
  FaultyInstance& operator=(const FaultyInstance&) = delete;
  bool names_objects() const { return instance_->names_objects(); }

 private:
  std::shared_ptr<vk::Instance> instance_;
};

// Whether one result for each call is enough: the sanitizers see all the code so, and slow drivers
// nothing else.
bool is_sparing();

struct Walk {
  std::string mask{};
  std::filesystem::path cache{};
  bool names_objects = false;
  std::size_t number = 0;  // of the walk: where not all faults are tried, each tries others
  int faults = 0;          // injected
  int errors = 0;          // that came back as errors
  int overcome = 0;        // that the work got over
  int left_out = 0;        // results that were not tried
  FunctionNames functions{};
  std::chrono::steady_clock::duration longest{};  // of one run
};

void walk(const Scenario& scenario, Walk& seen);
void report(const Walk& seen);

}  // namespace felsite::test
