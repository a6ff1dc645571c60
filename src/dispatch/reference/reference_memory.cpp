#include "dispatch/reference/reference_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/errors.h"

namespace felsite::dispatch {
namespace {

// What fresh memory holds is unspecified; zeros would let a program pass that relies on them.
constexpr std::byte kFresh{0xA5};

Error out_of_memory(std::uint64_t requested, const MemoryLimit& limit) {
  const std::uint64_t left = limit.limit - limit.taken;
  return base::with_amounts(
      base::out_of_memory(
          fmt::format("Memory of {} bytes was asked for, {} are left.", requested, left),
          "free resident buffers, or raise the memory limit."),
      requested, left);
}

}  // namespace

Result<std::shared_ptr<HostBuffer>> HostBuffer::make(std::shared_ptr<MemoryLimit> limit,
                                                     std::uint64_t bytes) {
  std::uint64_t taken = limit->taken;
  do {
    if (bytes > limit->limit - taken) return std::unexpected(out_of_memory(bytes, *limit));
  } while (!limit->taken.compare_exchange_weak(taken, taken + bytes));
  const auto give_back = [&] { limit->taken -= bytes; };
  std::shared_ptr<HostBuffer> made;
  try {
    made.reset(new HostBuffer);
    made->own_.assign(bytes, kFresh);
  } catch (const std::bad_alloc&) {
    made.reset();
    give_back();
    return std::unexpected(out_of_memory(bytes, *limit));
  }
  made->data_ = made->own_.data();
  made->bytes_ = bytes;
  ++limit->allocations;
  made->limit_ = std::move(limit);
  return made;
}

std::shared_ptr<HostBuffer> HostBuffer::borrow(ByteSpan bytes) {
  std::shared_ptr<HostBuffer> made(new HostBuffer);
  // Never written: kernels only read it.
  made->data_ = const_cast<std::byte*>(bytes.data());
  made->bytes_ = bytes.size();
  return made;
}

HostBuffer::~HostBuffer() {
  if (limit_ != nullptr) limit_->taken -= bytes_;
}

}  // namespace felsite::dispatch
