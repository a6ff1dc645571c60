#include "on_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "felsite/kernel.h"
#include "glsl.h"

namespace felsite::bench {
namespace {

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

bool nearly(float a, float b) { return std::fabs(a - b) <= 1e-5F * std::max(1.0F, std::fabs(b)); }

bool same_results(const ir::Program& program, const std::vector<Bytes>& felsite,
                  const std::vector<Bytes>& peer) {
  // All outputs of one program of the benchmarks are of one type.
  const bool floats = program.buffer(0).element == ir::Type::F32;
  if (!floats || felsite.size() != peer.size()) return felsite == peer;
  for (std::size_t i = 0; i < peer.size(); ++i) {
    if (!std::ranges::equal(values_of<float>(felsite[i]), values_of<float>(peer[i]), nearly)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void give_up(const std::string& why) {
  fmt::print(stderr, "felsite bench: {}\n", why);
  std::abort();
}

int rounds_for(double round_ns, int most) {
  constexpr double kBudget = 1e9;
  const double fit =
      std::clamp(kBudget / round_ns, static_cast<double>(kLeastRounds), static_cast<double>(most));
  return static_cast<int>(fit) | 1;
}

std::string size_name(std::uint64_t bytes) {
  return bytes < kMebi ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

Result<SharedDevice> open_shared_device(const vk::DeviceWish& wish) {
  auto device = vk::open_device(wish);
  if (!device) return std::unexpected(std::move(device.error()));
  return SharedDevice(std::move(*device));
}

Runner DeviceKernel::make(SharedDevice device, codegen::Kernel kernel, const ir::Program& program,
                          const Workload& workload) {
  const auto prepared = vk::PreparedKernel::prepare(*device, std::move(kernel), program);
  if (!prepared) return std::unexpected(prepared.error());
  const std::vector<ByteSpan> inputs(workload.inputs.begin(), workload.inputs.end());
  auto bound = prepared->bind(inputs, vk::Launch{.grid = workload.grid});
  if (!bound) return std::unexpected(std::move(bound.error()));
  return std::shared_ptr<DeviceKernel>(new DeviceKernel(std::move(device), std::move(*bound)));
}

double DeviceKernel::run(std::uint32_t times) {
  const vk::SubmissionTiming timing = must(bound_.submit_and_wait(times));
  return static_cast<double>(timing.wall.count()) / times;
}

std::vector<Bytes> DeviceKernel::outputs() const { return must(bound_.read_outputs()); }

Runner felsite_on(const SharedDevice& device, const ir::Program& program,
                  const Workload& workload) {
  auto kernel = codegen::lower(codegen::Segment(program), device->capabilities());
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  return DeviceKernel::make(device, std::move(*kernel), program, workload);
}

Runner glsl_on(const SharedDevice& device, std::string_view source, const ir::Program& program,
               const Workload& workload) {
  codegen::Kernel kernel;
  kernel.words = compile_glsl(source);
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    const ir::BufferDecl& buffer = program.buffer(id);
    if (buffer.access == ir::Access::Workgroup) {
      kernel.shared_bytes += buffer.count * ir::info(buffer.element).bytes;
    } else {
      kernel.buffers.push_back(
          {.buffer = id, .binding = id, .written = buffer.access != ir::Access::ReadOnly});
    }
  }
  kernel.parameters = {{codegen::ParameterKind::Length, 0}};
  kernel.workgroup_size = program.workgroup_size();
  return DeviceKernel::make(device, std::move(kernel), program, workload);
}

Case skipped_case(const Error& reason) { return {.skipped = to_string(reason)}; }

Case contest(std::string size, const ir::Program& program, const Runner& felsite, std::string peer,
             const Runner& other, bool quick) {
  if (!felsite) return skipped_case(felsite.error());
  if (!other) return skipped_case(other.error());
  (*felsite)->run(1);
  (*other)->run(1);
  if (!same_results(program, (*felsite)->outputs(), (*other)->outputs())) {
    give_up(fmt::format("{}: Felsite and {} give different results.", size, peer));
  }
  const std::uint32_t times = quick ? 1 : 3;
  const double round = ((*felsite)->run(times) + (*other)->run(times)) * times;
  return {.size = std::move(size),
          .felsite = [runner = *felsite, times] { return runner->run(times); },
          .peer = std::move(peer),
          .peer_cost = [runner = *other, times] { return runner->run(times); },
          .rounds = rounds_for(round)};
}

}  // namespace felsite::bench
