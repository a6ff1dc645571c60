// Rows about moving bytes, and about work on gigabytes, beside raw Vulkan.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "felsite/vulkan.h"
#include "glsl.h"
#include "on_device.h"
#include "peers.h"
#include "raw_vulkan.h"
#include "step.h"

namespace felsite::bench {
namespace {

// Of a transfer. Both sides have the same host memory, so that neither has the better pages.
struct HostMemory {
  Bytes from;
  Bytes to;
};

// One of several buffers that take turns. Which side allocates first alternates among them: the
// same raw copies are up to 5 % faster in memory that was allocated later.
class Transfer {
 public:
  Transfer(std::shared_ptr<Backend> backend, const SharedRawDevice& raw,
           std::shared_ptr<HostMemory> host, bool raw_first)
      : backend_(std::move(backend)), host_(std::move(host)) {
    const auto allocate_raw = [&] { raw_ = std::make_unique<RawBuffer>(raw, host_->from.size()); };
    if (raw_first) allocate_raw();
    handle_ = must(backend_->allocate_resident(host_->from.size()));
    if (!raw_first) allocate_raw();
    check([&] { felsite(); });
    check([&] { raw_copies(); });
  }
  void felsite() {
    must(backend_->upload_resident(handle_, host_->from));
    must(backend_->download_resident_into(handle_, host_->to));
  }
  void raw_copies() {
    std::memcpy(raw_->mapped, host_->from.data(), host_->from.size());
    std::memcpy(host_->to.data(), raw_->mapped, host_->to.size());
  }

 private:
  void check(const std::function<void()>& copies) {
    std::ranges::fill(host_->to, std::byte{0});
    copies();
    if (host_->from != host_->to) give_up("bytes do not come back as they were sent");
  }

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<HostMemory> host_;
  ResidentHandle handle_;
  std::unique_ptr<RawBuffer> raw_;
};

std::vector<Case> transfer_cases(bool quick) {
  const auto raw = RawDevice::open();
  if (!raw) return {skipped_case(raw.error())};
  auto made = make_vulkan_backend();
  if (!made) return {skipped_case(made.error())};
  const std::shared_ptr<Backend> backend = std::move(*made);
  std::vector<Case> cases;
  for (const std::uint64_t bytes :
       {std::uint64_t{4} << 10, kMebi, quick ? 64 * kMebi : 256 * kMebi}) {
    const auto host = std::make_shared<HostMemory>(counted_bytes(bytes), Bytes(bytes));
    const auto times = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMebi / bytes, 1));
    std::vector<std::function<double()>> felsite;
    std::vector<std::function<double()>> peer;
    for (int i = 0; i < (bytes > kMebi ? 2 : 6); ++i) {
      const auto one = std::make_shared<Transfer>(backend, *raw, host, i % 2 == 0);
      felsite.push_back([=] { return mean_ns(times, [&] { one->felsite(); }); });
      peer.push_back([=] { return mean_ns(times, [&] { one->raw_copies(); }); });
    }
    cases.push_back({.size = size_name(bytes),
                     .felsite = in_turn(std::move(felsite)),
                     .peer = "memcpy, mapped memory",
                     .peer_cost = in_turn(std::move(peer)),
                     .rounds = bytes > kMebi ? 41 : 401,
                     .bound = bytes < kMebi ? std::optional(0.0) : std::nullopt});
  }
  return cases;
}

// Work on more than fits any cache, in buffers as large as every device takes them.
constexpr std::uint32_t kLargeBuffers = 16;
constexpr std::uint64_t kLargeBytes = 128 * kMebi;
constexpr std::uint32_t kLargeElements = kLargeBytes / sizeof(std::uint32_t);
constexpr std::uint32_t kLargeGroups = kLargeElements / (256 * 8);
constexpr std::uint64_t kReadBytes = 16 * kMebi;  // of each

constexpr std::string_view kLargeStep = R"(
program step_large workgroup(256) {
  readwrite v: u32[];
  let first = workgroup_id.x * 2048 + local.x;
  loop k in 0..8 {
    let i = first + k * 256;
    if i < len(v) {
      v[i] = v[i] * 3 + 1;
    }
  }
})";

class LargeWork {
 public:
  LargeWork(std::shared_ptr<Backend> backend, SharedRawDevice raw)
      : backend_(std::move(backend)),
        raw_(std::move(raw)),
        from_(counted_bytes(kLargeBytes)),
        program_(parsed_program(kLargeStep)),
        kernel_(raw_, compile_glsl(peers::step_large)) {}

  double felsite() {
    return time_ns([&] {
      const std::vector<std::uint64_t> sizes(kLargeBuffers, kLargeBytes);
      const auto handles = must(backend_->allocate_resident_many(sizes));
      std::vector<ResidentStep> steps;
      std::vector<ResidentRange> reads;
      for (const ResidentHandle& handle : handles) {
        must(backend_->upload_resident(handle, from_));
        steps.push_back({.program = program_,
                         .resources = {handle},
                         .grid_override = std::array{kLargeGroups, 1u, 1u}});
        reads.push_back({.buffer = handle, .length = kReadBytes});
      }
      must(backend_->submit_resident({.prefix = steps, .reads = reads}, read_));
      for (const ResidentHandle& handle : handles) must(backend_->free_resident(handle));
    });
  }

  double raw() {
    return time_ns([&] {
      std::vector<std::unique_ptr<RawBuffer>> buffers;
      RawWork work{.elements = kLargeElements, .groups = kLargeGroups};
      for (std::uint32_t i = 0; i < kLargeBuffers; ++i) {
        buffers.push_back(std::make_unique<RawBuffer>(raw_, kLargeBytes));
        std::memcpy(buffers.back()->mapped, from_.data(), from_.size());
        work.buffers.push_back(buffers.back().get());
      }
      RawCommands commands(raw_, kernel_, work);
      commands.submit();
      commands.wait();
      read_.resize(kLargeBuffers);
      for (std::uint32_t i = 0; i < kLargeBuffers; ++i) {
        read_[i].resize(kReadBytes);
        std::memcpy(read_[i].data(), buffers[i]->mapped, kReadBytes);
      }
    });
  }
  const std::vector<Bytes>& results() const { return read_; }

 private:
  std::shared_ptr<Backend> backend_;
  SharedRawDevice raw_;
  Bytes from_;
  ir::Program program_;
  RawKernel kernel_;
  std::vector<Bytes> read_;  // of both sides, which take turns
};

// What the machine could give away now; 0 where it does not say.
std::uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) << 10;
  }
  return 0;
}

std::vector<Case> large_cases(bool quick) {
  if (quick) return {{.skipped = "It takes minutes. Fix: run it without --quick."}};
  const std::uint64_t needed = kLargeBuffers * kLargeBytes;
  // The source, the results, and room for everybody else.
  if (available_bytes() < needed + needed / 2) {
    return {{.skipped = "The machine has too little memory for it. Fix: run it with 3 GiB free."}};
  }
  const auto raw = RawDevice::open();
  if (!raw) return {skipped_case(raw.error())};
  if ((*raw)->memory_bytes < needed) {
    return {{.skipped = "The device has less than 2 GiB. Fix: run it on one that has more."}};
  }
  auto backend = make_vulkan_backend();
  if (!backend) return {skipped_case(backend.error())};
  const auto work = std::make_shared<LargeWork>(std::move(*backend), *raw);
  work->felsite();
  const std::vector<Bytes> felsite = work->results();
  work->raw();
  if (felsite != work->results()) give_up("large work gives other results than raw");
  return {{.size = "2 GiB in 16 buffers",
           .felsite = [work] { return work->felsite(); },
           .peer = "raw Vulkan, mapped memory",
           .peer_cost = [work] { return work->raw(); }}};
}

}  // namespace

std::vector<Row> memory_rows() {
  return {
      {"upload_download_vs_raw", "Bytes to the device and back, beside memcpy", 1.05,
       transfer_cases},
      {"device_memory_large", "2 GiB: allocate, upload, one kernel, read a part, free", 0,
       large_cases},
  };
}

}  // namespace felsite::bench
