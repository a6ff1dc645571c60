#include "small_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "felsite/vulkan.h"
#include "on_device.h"
#include "step.h"

namespace felsite::bench {
namespace {

constexpr int kEndedWell = 0;
constexpr int kFailed = 1;

std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::uint32_t> read_module(const std::filesystem::path& folder) {
  const std::vector<char> bytes = read_file(folder / kModuleFile);
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  return words;
}

// A program that ships its module and keeps a pipeline cache beside it.
class RawProgram {
 public:
  RawProgram(std::filesystem::path folder, SharedRawDevice device)
      : folder_(std::move(folder)), device_(std::move(device)) {
    const std::vector<char> known = read_file(cache_file());
    is_new_ = known.empty();
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = known.size();
    info.pInitialData = known.data();
    check_raw(device_->vk.vkCreatePipelineCache(device_->handle, &info, nullptr, &cache_),
              "vkCreatePipelineCache");
  }
  ~RawProgram() { device_->vk.vkDestroyPipelineCache(device_->handle, cache_, nullptr); }
  RawProgram(const RawProgram&) = delete;
  RawProgram& operator=(const RawProgram&) = delete;

  bool run() {
    const std::vector<std::uint32_t> words = read_module(folder_);
    const RawKernel kernel(device_, words, cache_);
    const Bytes from = step_contents();
    const RawBuffer buffer(device_, from.size());
    std::memcpy(buffer.mapped, from.data(), from.size());
    RawCommands commands(device_, kernel, {{&buffer}, kStepElements, 1, 1});
    commands.submit();
    commands.wait();
    if (is_new_) save();
    return !std::equal(from.begin(), from.end(), buffer.mapped);
  }

 private:
  std::filesystem::path cache_file() const { return folder_ / "raw.bin"; }
  void save() const {
    std::size_t count = 0;
    check_raw(device_->vk.vkGetPipelineCacheData(device_->handle, cache_, &count, nullptr),
              "vkGetPipelineCacheData");
    std::vector<char> data(count);
    check_raw(device_->vk.vkGetPipelineCacheData(device_->handle, cache_, &count, data.data()),
              "vkGetPipelineCacheData");
    std::ofstream(cache_file(), std::ios::binary)
        .write(data.data(), static_cast<std::streamsize>(count));
  }

  std::filesystem::path folder_;
  SharedRawDevice device_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool is_new_ = false;
};

// What the kernel says that this process had at most; 0 where it does not say.
std::uint64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
  }
  return 0;
}

int say_peak(const Bytes& result) {
  const std::vector<std::byte>& bytes = result;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[i], 4);
    sum = sum * 31 + word;
  }
  fmt::print("{} {}\n", peak_bytes(), sum);
  return kEndedWell;
}

}  // namespace

int cold_start_felsite() {
  const ir::Program program = parsed_program(kStepText);
  const auto backend = must(make_vulkan_backend());
  const Bytes from = step_contents();
  const std::vector<Bytes> results = must(backend->dispatch(program, {from}));
  return results.size() == 1 && results[0] != from ? kEndedWell : kFailed;
}

int cold_start_raw(const std::filesystem::path& folder, const RawChoice& choice) {
  return RawProgram(folder, must(RawDevice::open(choice))).run() ? kEndedWell : kFailed;
}

int peak_felsite(std::uint32_t elements) {
  const ir::Program program = program_of(kSaxpy, ir::FloatMode::Fast);
  const Workload workload = workload_of(program, elements);
  const auto backend = must(make_vulkan_backend());
  const std::vector<Bytes> results =
      must(backend->dispatch(program, workload.inputs, {.grid_override = workload.grid}));
  return say_peak(results[0]);
}

int peak_raw(const std::filesystem::path& folder, const RawChoice& choice, std::uint32_t elements) {
  const Workload workload = workload_of(program_of(kSaxpy, ir::FloatMode::Fast), elements);
  const std::uint64_t bytes = std::uint64_t{elements} * 4;
  RawKernels kernels(must(RawDevice::open(choice)), std::array{read_module(folder)},
                     std::array{bytes, bytes}, 1);
  kernels.record([&] {
    kernels.use_kernel(0);
    kernels.push(0, std::array{elements});
    kernels.dispatch(peer_grid(kSaxpy, elements)[0]);
  });
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(kernels.mapped(i), workload.inputs[i].data(), bytes);
  }
  kernels.run();
  return say_peak({kernels.mapped(1), kernels.mapped(1) + bytes});
}

}  // namespace felsite::bench
