// The connection to Vulkan: one instance for the whole process, open as long as somebody uses it.
//
// One, because volk keeps the functions of an instance in global variables: they are written only
// while no device is open, so devices can be opened from many threads.
#pragma once

#include <volk.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "felsite/error.h"

namespace felsite::vk {

// What the validation layer complained about. FELSITE_VALIDATION=1, read when the instance is
// made, turns the layer on where it is installed.
class ValidationLog {
 public:
  void add(std::string message);
  std::uint64_t count() const { return count_; }
  // The first few; a broken program can repeat one a million times.
  std::vector<std::string> messages() const;

 private:
  static constexpr std::size_t kMostKept = 32;
  std::atomic<std::uint64_t> count_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> kept_;
};

class Instance {
 public:
  // The one that is open, or a new one.
  static Result<std::shared_ptr<Instance>> shared();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return handle_; }
  Result<std::vector<VkPhysicalDevice>> physical_devices() const;
  bool validated() const { return messenger_ != VK_NULL_HANDLE; }
  const ValidationLog& validation_log() const { return validation_log_; }

 private:
  Instance() = default;
  Result<void> create();
  void watch_validation();

  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  ValidationLog validation_log_;
};

}  // namespace felsite::vk
