#include "on_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/try.h"
#include "felsite/kernel.h"
#include "felsite/vulkan.h"
#include "glsl.h"

namespace felsite::bench {
namespace {

bool nearly(float a, float b) { return std::fabs(a - b) <= 1e-5F * std::max(1.0F, std::fabs(b)); }

std::vector<float> floats_of(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// All outputs of one program of the benchmarks are of one type.
bool has_floats(const ir::Program& program) { return program.buffer(0).element == ir::Type::F32; }

bool same_results(const ir::Program& program, const std::vector<Bytes>& felsite,
                  const std::vector<Bytes>& peer) {
  if (!has_floats(program)) return felsite == peer;
  return std::ranges::equal(felsite, peer, nearly_equal);
}

}  // namespace

bool nearly_equal(const Bytes& a, const Bytes& b) {
  return std::ranges::equal(floats_of(a), floats_of(b), nearly);
}

void give_up(const std::string& why) {
  std::fflush(stdout);
  fmt::print(stderr, "felsite: {}\n", why);
  std::fflush(stderr);
  // Other threads may be at work, with no one to end them in order.
  std::_Exit(3);
}

std::string size_name(std::uint64_t bytes) {
  return bytes < kMebi ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

Result<SharedDevice> open_shared_device(const vk::DeviceWish& wish) {
  FELSITE_TRY(auto device, vk::open_device(wish));
  return SharedDevice(std::move(device));
}

Result<Sides> open_sides(bool with_conditions) {
  FELSITE_TRY(auto raw, with_conditions ? RawDevice::open_with_conditions() : RawDevice::open());
  FELSITE_TRY(auto backend, make_vulkan_backend());
  return Sides{std::move(backend), std::move(raw)};
}

Result<std::shared_ptr<DeviceKernel>> DeviceKernel::make(SharedDevice device,
                                                         codegen::Kernel kernel,
                                                         const ir::Program& program,
                                                         const Workload& workload) {
  FELSITE_TRY(const auto prepared,
              vk::PreparedKernel::prepare(*device, std::move(kernel), program));
  const std::vector<ByteSpan> inputs(workload.inputs.begin(), workload.inputs.end());
  FELSITE_TRY(auto bound, prepared.bind(inputs, vk::Launch{.grid = workload.grid}));
  return std::shared_ptr<DeviceKernel>(new DeviceKernel(std::move(device), std::move(bound)));
}

double DeviceKernel::run(std::uint32_t times) {
  const vk::SubmissionTiming timing = must(bound_.submit_and_wait(times));
  return static_cast<double>(timing.wall.count()) / times;
}

std::vector<Bytes> DeviceKernel::outputs() const { return must(bound_.read_outputs()); }

Runner felsite_on(const SharedDevice& device, const ir::Program& program,
                  const Workload& workload) {
  FELSITE_TRY(auto valid, ir::require_valid(program));
  FELSITE_TRY(auto kernel,
              codegen::lower(codegen::Segment(std::move(valid)), device->capabilities()));
  FELSITE_TRY(const auto made, DeviceKernel::make(device, std::move(kernel), program, workload));
  return Contestant{.run = [one = made](std::uint32_t times) { return one->run(times); },
                    .outputs = [one = made] { return one->outputs(); }};
}

Runner raw_peer_on(const SharedRawDevice& device, const BenchKernel& kernel,
                   const ir::Program& program, const Workload& workload, std::uint32_t elements) {
  std::vector<std::uint64_t> sizes;
  std::vector<std::size_t> written;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (buffer.access == ir::Access::Workgroup) continue;
    if (buffer.access != ir::Access::ReadOnly) written.push_back(sizes.size());
    sizes.push_back(workload.inputs[sizes.size()].size());
  }
  const auto kernels =
      std::make_shared<RawKernels>(device, std::array{compile_glsl(kernel.peer)}, sizes, 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::memcpy(kernels->mapped(i), workload.inputs[i].data(), sizes[i]);
  }
  kernels->record([&] {
    const auto [columns, rows] = peer_grid(kernel, elements);
    kernels->use_kernel(0);
    kernels->push(0, std::array{elements});
    kernels->dispatch(columns, rows);
  });
  return Contestant{
      .run = [kernels](std::uint32_t times) { return mean_ns(times, [&] { kernels->run(); }); },
      .outputs =
          [kernels, sizes, written] {
            std::vector<Bytes> outputs;
            for (const std::size_t i : written) {
              const std::byte* const from = kernels->mapped(i);
              outputs.emplace_back(from, from + sizes[i]);
            }
            return outputs;
          }};
}

Case skipped_case(const Error& reason) { return {.skipped = to_string(reason)}; }

Case contest(std::string size, const ir::Program& program, const Runner& felsite, std::string peer,
             const Runner& other, Extent extent) {
  if (!felsite) return skipped_case(felsite.error());
  if (!other) return skipped_case(other.error());
  felsite->run(1);
  other->run(1);
  if (!same_results(program, felsite->outputs(), other->outputs())) {
    give_up(fmt::format("{}: Felsite and {} give different results.", size, peer));
  }
  const std::uint32_t times = extent == Extent::Whole ? 3 : 1;
  return {.size = std::move(size),
          .felsite = [run = felsite->run, times] { return run(times); },
          .peer = std::move(peer),
          .peer_cost = [run = other->run, times] { return run(times); },
          .compared = std::string(has_floats(program) ? kNearlyEqual : kSameBytes)};
}

}  // namespace felsite::bench
