// Rows about dispatches from host memory to host memory, as most programs begin: one at a time,
// several under way, and batches. The peers are raw Vulkan with buffers that are used again.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "glsl.h"
#include "on_device.h"
#include "peers.h"

namespace felsite::bench {
namespace {

// y = 2.5 x + y with all that it needs, made once.
class RawSaxpy {
 public:
  RawSaxpy(const SharedRawDevice& device, std::uint32_t elements)
      : bytes_(std::uint64_t{elements} * 4),
        kernels_(device, std::array{compile_glsl(peers::saxpy)}, std::array{bytes_, bytes_}, 1) {
    kernels_.record([&] {
      kernels_.use_kernel(0);
      kernels_.push(0, std::array{elements});
      kernels_.dispatch((elements / 4 + 255) / 256);
    });
  }
  void start(const std::vector<Bytes>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(kernels_.mapped(i), inputs[i].data(), bytes_);
    }
    kernels_.submit();
  }
  void finish(Bytes& result) {
    kernels_.wait();
    result.resize(bytes_);
    std::memcpy(result.data(), kernels_.mapped(1), bytes_);
  }

 private:
  std::uint64_t bytes_;
  RawKernels kernels_;
};

// Work of both sides on the same inputs: `width` dispatches of it.
struct HostWork {
  HostWork(const Sides& sides, std::uint64_t bytes, std::size_t width)
      : backend(sides.backend), program(program_of(kSaxpy, ir::FloatMode::Fast)) {
    const auto elements = static_cast<std::uint32_t>(bytes / 4);
    inputs = workload_of(program, elements).inputs;
    config.grid_override = std::array{(elements + 255) / 256, 1u, 1u};
    compiled = must(backend->compile(program, config));
    spans.assign(inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < width; ++i) {
      raw.push_back(std::make_unique<RawSaxpy>(sides.raw, elements));
    }
    raw_results.resize(width);
    outputs.resize(width);
  }

  void run_raw() {
    for (auto& one : raw) one->start(inputs);
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i]->finish(raw_results[i]);
  }
  void dispatch() { outputs[0] = must(backend->dispatch(program, inputs, config)); }
  void dispatch_into() {
    must(backend->dispatch_borrowed_into(program, spans, outputs[0], config));
  }
  void dispatch_async() {
    std::vector<std::unique_ptr<PendingDispatch>> pending;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      pending.push_back(must(backend->dispatch_borrowed_async(program, spans, config)));
    }
    for (std::size_t i = 0; i < raw.size(); ++i) must(pending[i]->wait_into(outputs[i]));
  }
  void dispatch_batch() {
    const std::vector<std::vector<ByteSpan>> sets(raw.size(), spans);
    outputs = must(compiled->dispatch_batch(sets));
  }

  std::shared_ptr<Backend> backend;
  ir::Program program;
  DispatchConfig config;
  std::vector<Bytes> inputs;
  std::vector<ByteSpan> spans;
  std::unique_ptr<CompiledPipeline> compiled;
  std::vector<std::vector<Bytes>> outputs;  // of each dispatch
  std::vector<std::unique_ptr<RawSaxpy>> raw;
  std::vector<Bytes> raw_results;
};

Case host_case(const Sides& sides, std::string_view call, void (HostWork::*run)(),
               std::uint64_t bytes, std::size_t width, std::string peer) {
  const auto work = std::make_shared<HostWork>(sides, bytes, width);
  (work.get()->*run)();
  work->run_raw();
  for (std::size_t i = 0; i < width; ++i) {
    if (work->outputs[i].size() != 1 || !nearly_equal(work->outputs[i][0], work->raw_results[i])) {
      give_up(fmt::format("{} gives other results than raw Vulkan", call));
    }
  }
  const auto times =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kMebi / 4 / bytes / width, 1, 16));
  return {.size = width == 1 ? fmt::format("{}, {}", call, size_name(bytes))
                             : fmt::format("{}, {} × {}", call, width, size_name(bytes)),
          .felsite = [=] { return mean_ns(times, [&] { (work.get()->*run)(); }); },
          .peer = std::move(peer),
          .peer_cost = [=] { return mean_ns(times, [&] { work->run_raw(); }); },
          .compared = std::string(kNearlyEqual)};
}

std::vector<Case> host_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::string peer = "raw Vulkan, buffers kept";
  const std::uint64_t large = by_extent(extent, 1, 16, 64) * kMebi;
  return {host_case(*sides, "dispatch", &HostWork::dispatch, kMebi / 16, 1, peer),
          host_case(*sides, "dispatch", &HostWork::dispatch, large, 1, peer),
          host_case(*sides, "borrowed, into", &HostWork::dispatch_into, large, 1, peer)};
}

std::vector<Case> async_cases(Extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::string peer = "raw Vulkan, 8 submissions";
  return {host_case(*sides, "async", &HostWork::dispatch_async, kMebi / 64, 8, peer),
          host_case(*sides, "async", &HostWork::dispatch_async, kMebi, 8, peer)};
}

std::vector<Case> batch_cases(Extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  const std::string peer = "raw Vulkan, 8 submissions";
  return {host_case(*sides, "batch", &HostWork::dispatch_batch, kMebi / 64, 8, peer),
          host_case(*sides, "batch", &HostWork::dispatch_batch, kMebi, 8, peer)};
}

}  // namespace

std::vector<Row> host_rows() {
  return {
      {"host_dispatch_vs_raw", "From host memory to host memory, beside raw Vulkan", 1.10,
       host_cases},
      {"async_vs_raw", "Eight dispatches under way, beside raw Vulkan", 1.10, async_cases},
      {"batch_vs_raw", "Eight dispatches as a batch, beside raw Vulkan", 1.10, batch_cases},
  };
}

}  // namespace felsite::bench
