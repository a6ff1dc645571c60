#include "cold_start.h"

#include <algorithm>
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
    const std::vector<char> bytes = read_file(folder_ / kColdStartModule);
    std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
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

}  // namespace felsite::bench
