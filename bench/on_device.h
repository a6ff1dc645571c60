// Kernels of the rows that run on a Vulkan device, and cases that set one against another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness.h"
#include "kernels.h"
#include "vk/run_kernel.h"

namespace felsite::bench {

// A benchmark whose work fails measures nothing.
[[noreturn]] void give_up(const std::string& why);
template <class T>
T must(Result<T> result) {
  if (!result) give_up(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Short rounds and many, where they are short: a software driver shares its cores with all else
// that runs. A slow device must not make the whole take minutes.
int rounds_for(double round_ns, int most = 41);

inline constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
// 4 KiB, 64 MiB
std::string size_name(std::uint64_t bytes);

// Shared by the cases that run on it; gone with the last of them.
using SharedDevice = std::shared_ptr<vk::Device>;
Result<SharedDevice> open_shared_device(const vk::DeviceWish& wish = {});

// A kernel with its own buffers, ready to run over and over.
class DeviceKernel {
 public:
  static Result<std::shared_ptr<DeviceKernel>> make(SharedDevice device, codegen::Kernel kernel,
                                                    const ir::Program& program,
                                                    const Workload& workload);
  // Nanoseconds of one submission, waiting included.
  double run(std::uint32_t times);
  std::vector<Bytes> outputs() const;

 private:
  DeviceKernel(SharedDevice device, vk::BoundKernel bound)
      : device_(std::move(device)), bound_(std::move(bound)) {}
  SharedDevice device_;  // outlives the kernel
  vk::BoundKernel bound_;
};
using Runner = Result<std::shared_ptr<DeviceKernel>>;

// What Felsite makes of a program for this device.
Runner felsite_on(const SharedDevice& device, const ir::Program& program, const Workload& workload);
// The GLSL peer instead: the same buffers, workgroups and grid, and the number of elements as its
// only parameter. Only the module differs.
Runner glsl_on(const SharedDevice& device, std::string_view source, const ir::Program& program,
               const Workload& workload);

// The two sides of a case. They must give the same results, which is checked here, once: the bits
// of integers, and floats to a tolerance. Skipped where the device refuses one of them.
Case contest(std::string size, const ir::Program& program, const Runner& felsite, std::string peer,
             const Runner& other, bool quick);
Case skipped_case(const Error& reason);

}  // namespace felsite::bench
