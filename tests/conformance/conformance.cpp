#include "conformance/conformance.h"

#include <cstdlib>
#include <stdexcept>

#include "felsite/vulkan.h"
#include "support/host_memory_backend.h"

namespace felsite::test {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

bool has_grid_barriers() { return tested().device_profile().grid_sync; }
bool has_device_clock() {
  return tested().device_profile().timing_quality == TimingQuality::DeviceTimestamps;
}

const Tested& tested_choice() {
  static const Tested choice = [] {
    must(register_backend(kHostMemoryBackend, [] { return make_host_memory_backend(); }));
    return Tested{environment("FELSITE_CONFORMANCE_BACKEND", "reference"),
                  environment("FELSITE_CONFORMANCE_MASK", "")};
  }();
  return choice;
}

std::unique_ptr<Backend> make_tested() {
  const auto made = [] {
    if (!tested_choice().mask.empty()) {
      return make_vulkan_backend({.mask = tested_choice().mask});
    }
    return make_backend(tested_choice().backend);
  };
  auto backend = made();
  // Not an assertion: nothing can be tested without it.
  if (!backend) throw std::runtime_error(to_string(backend.error()));
  return *std::move(backend);
}

Backend& tested() {
  static const std::unique_ptr<Backend> backend = make_tested();
  return *backend;
}

OnDevice::OnDevice(const Bytes& bytes, Backend& backend)
    : backend_(backend), handle_(must(backend.allocate_resident(bytes.size()))) {
  must(backend.upload_resident(handle_, bytes));
}

// A test may have freed it already.
OnDevice::~OnDevice() { static_cast<void>(backend_.free_resident(handle_)); }

}  // namespace felsite::test
