#include "dispatch/reference/reference_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"

namespace felsite::dispatch {
namespace {

// What a fresh buffer holds is unspecified; zeros would let a program pass that relies on them.
constexpr std::byte kFresh{0xA5};

Error out_of_memory(std::uint64_t requested, std::uint64_t available) {
  return base::with_amounts(
      base::out_of_memory(fmt::format("Resident buffers of {} bytes were asked for, {} are left.",
                                      requested, available),
                          "free resident buffers, or raise the memory limit."),
      requested, available);
}

}  // namespace

// No vector holds more than PTRDIFF_MAX bytes, whatever the caller allows.
HostMemory::HostMemory(std::uint64_t limit) : limit_(std::min<std::uint64_t>(limit, PTRDIFF_MAX)) {}

Result<MemoryShare> HostMemory::take(std::uint64_t bytes) {
  std::uint64_t taken = taken_;
  do {
    if (bytes > limit_ - taken) return std::unexpected(out_of_memory(bytes, limit_ - taken));
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return MemoryShare(taken_, bytes);
}

Result<std::vector<ResidentHandle>> HostMemory::allocate(std::span<const std::uint64_t> sizes) {
  std::uint64_t total = 0;
  std::vector<MemoryShare> shares;
  shares.reserve(sizes.size());
  for (const std::uint64_t size : sizes) total += std::min(size, UINT64_MAX - total);
  // Takes all shares before the first buffer: what does not fit is refused without touching memory.
  for (const std::uint64_t size : sizes) {
    auto share = take(size);
    if (!share) {
      shares.clear();
      return std::unexpected(out_of_memory(total, limit_ - taken_));
    }
    shares.push_back(std::move(*share));
  }
  std::vector<ResidentHandle> handles;
  handles.reserve(sizes.size());
  try {
    std::vector<std::shared_ptr<HostBuffer>> buffers;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      buffers.push_back(
          std::make_shared<HostBuffer>(std::move(shares[i]), Bytes(sizes[i], kFresh)));
    }
    for (auto& buffer : buffers) {
      const std::uint64_t bytes = buffer->bytes.size();
      handles.push_back(table_.add(std::move(buffer)));
      resident_ += bytes;
      ++allocations_;
    }
  } catch (const std::bad_alloc&) {
    for (const ResidentHandle handle : handles) static_cast<void>(free(handle));
    shares.clear();
    return std::unexpected(out_of_memory(total, limit_ - taken_));
  }
  return handles;
}

Result<void> HostMemory::free(const ResidentHandle& handle) {
  FELSITE_TRY(auto buffer, table_.remove(handle));
  resident_ -= buffer->bytes.size();
  return {};
}

void HostMemory::clear() {
  table_.clear();
  resident_ = 0;
}

void HostMemory::report(MetricSnapshot& figures) const {
  figures.resident_buffers = table_.size();
  figures.resident_bytes = resident_;
  figures.device_bytes = taken_;
  figures.allocations = allocations_;
}

}  // namespace felsite::dispatch
