// Rows about moving bytes, and about work on gigabytes, beside raw Vulkan.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "glsl.h"
#include "on_device.h"
#include "peers.h"
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

std::vector<Case> transfer_cases(Extent extent) {
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  std::vector<Case> cases;
  for (const std::uint64_t bytes :
       {std::uint64_t{4} << 10, kMebi, by_extent(extent, 2, 64, 256) * kMebi}) {
    const auto host = std::make_shared<HostMemory>(counted_bytes(bytes), Bytes(bytes));
    const auto times = static_cast<std::uint32_t>(std::max<std::uint64_t>(kMebi / bytes, 1));
    std::vector<std::function<double()>> felsite;
    std::vector<std::function<double()>> peer;
    for (int i = 0; i < (bytes > kMebi ? 2 : 6); ++i) {
      const auto one = std::make_shared<Transfer>(sides->backend, sides->raw, host, i % 2 == 0);
      felsite.push_back([=] { return mean_ns(times, [&] { one->felsite(); }); });
      peer.push_back([=] { return mean_ns(times, [&] { one->raw_copies(); }); });
    }
    cases.push_back({.size = size_name(bytes),
                     .felsite = in_turn(std::move(felsite)),
                     .peer = "memcpy, mapped memory",
                     .peer_cost = in_turn(std::move(peer)),
                     .compared = std::string(kSameBytes),
                     .bound = bytes < kMebi ? std::optional(1.25) : std::nullopt,
                     .most_rounds = 401});
  }
  return cases;
}

// Work on more than fits any cache, in buffers as large as every device takes them.
constexpr std::uint32_t kLargeBuffers = 16;

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
  LargeWork(std::shared_ptr<Backend> backend, SharedRawDevice raw, std::uint64_t bytes)
      : backend_(std::move(backend)),
        raw_(std::move(raw)),
        bytes_(bytes),
        elements_(static_cast<std::uint32_t>(bytes / 4)),
        groups_(elements_ / (256 * 8)),
        read_bytes_(bytes / 8),
        from_(counted_bytes(bytes)),
        program_(parsed_program(kLargeStep)),
        kernel_(raw_, compile_glsl(peers::step_large)) {}

  double felsite() {
    return time_ns([&] {
      const std::vector<std::uint64_t> sizes(kLargeBuffers, bytes_);
      const auto handles = must(backend_->allocate_resident_many(sizes));
      std::vector<ResidentStep> steps;
      std::vector<ResidentRange> reads;
      for (const ResidentHandle& handle : handles) {
        must(backend_->upload_resident(handle, from_));
        steps.push_back({.program = program_,
                         .resources = {handle},
                         .grid_override = std::array{groups_, 1u, 1u}});
        reads.push_back({.buffer = handle, .length = read_bytes_});
      }
      must(backend_->submit_resident({.prefix = steps, .reads = reads}, read_));
      for (const ResidentHandle& handle : handles) must(backend_->free_resident(handle));
    });
  }

  double raw() {
    return time_ns([&] {
      std::vector<std::unique_ptr<RawBuffer>> buffers;
      RawWork work{.elements = elements_, .groups = groups_};
      for (std::uint32_t i = 0; i < kLargeBuffers; ++i) {
        buffers.push_back(std::make_unique<RawBuffer>(raw_, bytes_));
        std::memcpy(buffers.back()->mapped, from_.data(), from_.size());
        work.buffers.push_back(buffers.back().get());
      }
      RawCommands commands(raw_, kernel_, work);
      commands.submit();
      commands.wait();
      read_.resize(kLargeBuffers);
      for (std::uint32_t i = 0; i < kLargeBuffers; ++i) {
        read_[i].resize(read_bytes_);
        std::memcpy(read_[i].data(), buffers[i]->mapped, read_bytes_);
      }
    });
  }
  const std::vector<Bytes>& results() const { return read_; }

 private:
  std::shared_ptr<Backend> backend_;
  SharedRawDevice raw_;
  std::uint64_t bytes_;  // of each buffer
  std::uint32_t elements_;
  std::uint32_t groups_;
  std::uint64_t read_bytes_;  // of each
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

std::vector<Case> large_cases(Extent extent) {
  const std::uint64_t bytes = by_extent(extent, 1, 8, 128) * kMebi;
  const std::uint64_t needed = kLargeBuffers * bytes;
  // The source, the results, and room for everybody else.
  if (available_bytes() < needed + needed / 2) {
    return {{.skipped =
                 fmt::format("The machine has too little memory for it. Fix: run it with {} free.",
                             size_name(needed + needed / 2))}};
  }
  const auto sides = open_sides();
  if (!sides) return {skipped_case(sides.error())};
  if (sides->raw->memory_bytes < needed) {
    return {
        {.skipped = "The device has too little memory for it. Fix: run it on one that has more."}};
  }
  const auto work = std::make_shared<LargeWork>(sides->backend, sides->raw, bytes);
  work->felsite();
  const std::vector<Bytes> felsite = work->results();
  work->raw();
  if (felsite != work->results()) give_up("large work gives other results than raw");
  return {{.size = fmt::format("{} in 16 buffers", size_name(needed)),
           .felsite = [work] { return work->felsite(); },
           .peer = "raw Vulkan, mapped memory",
           .peer_cost = [work] { return work->raw(); },
           .compared = std::string(kSameBytes)}};
}

}  // namespace

std::vector<Row> memory_rows() {
  return {
      {"upload_download_vs_raw", "Bytes to the device and back, beside memcpy", 1.05,
       transfer_cases},
      {"device_memory_large", "Allocate, upload, one kernel, read a part, free", 1.05, large_cases},
  };
}

}  // namespace felsite::bench
