// Kernels of the rows that run on a Vulkan device, and cases that set one against another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "give_up.h"
#include "harness.h"
#include "kernels.h"
#include "raw_kernels.h"
#include "support/run_kernel.h"

namespace felsite::bench {

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
// Either side of a case: what costs the given number of runs, each waited for, and what they leave.
struct Contestant {
  std::function<double(std::uint32_t times)> run;
  std::function<std::vector<Bytes>()> outputs;
};
using Runner = Result<Contestant>;

// What Felsite makes of a program for this device.
Runner felsite_on(const SharedDevice& device, const ir::Program& program, const Workload& workload);
// The peer of a kernel in raw Vulkan on a device of its own, which has no robust access.
Runner raw_peer_on(const SharedRawDevice& device, const BenchKernel& kernel,
                   const ir::Program& program, const Workload& workload, std::uint32_t elements);

// The two sides of a case. They must give the same results, which is checked here, once: the bits
// of integers, and floats to a tolerance. Skipped where the device refuses one of them.
Case contest(std::string size, const ir::Program& program, const Runner& felsite, std::string peer,
             const Runner& other, Extent extent);
Case skipped_case(const Error& reason);

// The backend and raw Vulkan on the same device, for rows that set one beside the other.
struct Sides {
  std::shared_ptr<Backend> backend;
  SharedRawDevice raw;
};
Result<Sides> open_sides(bool with_conditions = false);

// Floats that differ by a hundred thousandth at most: the peers are neither exact nor in order.
bool nearly_equal(const Bytes& a, const Bytes& b);
inline constexpr std::string_view kNearlyEqual = "floats to 1e-5";

}  // namespace felsite::bench
