#include "vk/record/transfers.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::vk {

Result<std::unique_ptr<Transfers>> Transfers::make(Memory& memory, WorkQueue& queue,
                                                   WorkQueue& compute) {
  std::unique_ptr<Transfers> made(new Transfers(memory, queue, compute));
  const MemoryStrategy& strategy = memory.device().plan().memory;
  // Only buffers that a caller shares with Felsite need staging then.
  if (strategy.writes_in_place && strategy.reads_in_place) return made;
  for (Piece& piece : made->pieces_) {
    FELSITE_CHECK(made->make_piece(piece));
  }
  return made;
}

std::uint32_t Transfers::queue_family() const {
  const DevicePlan& plan = memory_.device().plan();
  return has_own_queue() ? plan.transfer_family.value_or(plan.compute_family) : plan.compute_family;
}

Result<void> Transfers::make_piece(Piece& piece) {
  const Device& device = memory_.device();
  const DeviceFunctions& functions = device.functions();
  FELSITE_TRY(auto upload, memory_.make(Place::Upload, kPieceBytes, "staging upload"));
  FELSITE_TRY(auto readback, memory_.make(Place::Readback, kPieceBytes, "staging readback"));
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  info.queueFamilyIndex = queue_family();
  FELSITE_TRY(auto pool,
              device.make<VkCommandPool>(functions.vkCreateCommandPool,
                                         functions.vkDestroyCommandPool, info, "transfer"));
  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = pool.get();
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  const VkResult result =
      functions.vkAllocateCommandBuffers(device.handle(), &allocation, &commands);
  if (result != VK_SUCCESS) {
    return std::unexpected(device.error(result, "allocate a command buffer"));
  }
  device.name(commands, "transfer");
  piece = {.upload = std::move(upload),
           .readback = std::move(readback),
           .pool = std::move(pool),
           .commands = commands};
  return {};
}

// The piece whose turn it is, once the device is done with it.
Result<Transfers::Piece*> Transfers::next_piece(std::chrono::nanoseconds timeout) {
  Piece& piece = pieces_[turn_];
  if (piece.commands == VK_NULL_HANDLE) {
    FELSITE_CHECK(make_piece(piece));
  }
  if (piece.ticket != 0) {
    dispatch::count(Counter::Waits);
    FELSITE_CHECK(queue_.wait(piece.ticket, timeout));
    piece.ticket = 0;
  }
  turn_ = (turn_ + 1) % pieces_.size();
  return &piece;
}

// Uploads may overlap each other; the later one must be copied later.
void Transfers::record(CommandWriter& writer, const Piece& piece, std::span<const Copy> copies,
                       bool is_upload) const {
  using dispatch::Stage;
  using dispatch::StageSet;
  // For kernels on another queue a semaphore does this.
  StageSet earlier = Stage::Transfer;
  if (!has_own_queue()) earlier |= Stage::Compute;
  writer.barrier({.from = earlier, .writes_from = earlier, .to = Stage::Transfer});
  dispatch::SequencePlan plan;
  std::vector<const Buffer*> buffers;
  for (const Copy& copy : copies) {
    const Buffer* const buffer = copy.slice->buffer.get();
    auto known = std::ranges::find(buffers, buffer);
    if (known == buffers.end()) known = buffers.insert(known, buffer);
    const std::uint64_t at = copy.slice->offset + copy.offset;
    plan.prologue.push_back({"copy",
                             {{static_cast<std::uint32_t>(known - buffers.begin()), at,
                               at + copy.bytes, Stage::Transfer, is_upload}}});
  }
  const dispatch::BarrierPlan barriers = dispatch::plan_barriers(plan);
  auto next = barriers.barriers.begin();
  for (std::uint32_t i = 0; i < copies.size(); ++i) {
    for (; next != barriers.barriers.end() && next->before == i; ++next) writer.barrier(*next);
    const Copy& copy = copies[i];
    const VkBuffer buffer = copy.slice->buffer->handle();
    const std::uint64_t at = copy.slice->offset + copy.offset;
    if (is_upload) {
      writer.copy(piece.upload->handle(), copy.staged, buffer, at, copy.bytes);
    } else {
      writer.copy(buffer, at, piece.readback->handle(), copy.staged, copy.bytes);
    }
  }
  if (!is_upload) {
    writer.barrier({.from = Stage::Transfer, .writes_from = Stage::Transfer, .to = Stage::Host});
  }
}

Result<void> Transfers::submit(Piece& piece, std::span<const Copy> copies, bool is_upload) {
  const Device& device = memory_.device();
  const VkResult reset =
      device.functions().vkResetCommandPool(device.handle(), piece.pool.get(), 0);
  if (reset != VK_SUCCESS) return std::unexpected(device.error(reset, "reset a command pool"));
  FELSITE_TRY(const auto no_sets, DescriptorSets::make(device, {}, "transfer"));
  CommandWriter writer(device, piece.commands, device.snapshot().queue_families[queue_family()],
                       no_sets);
  FELSITE_CHECK(writer.begin(false));
  record(writer, piece, copies, is_upload);
  FELSITE_CHECK(writer.end());
  const VkCommandBuffer commands = piece.commands;
  // The buffers may be freed before the copies have ended.
  auto buffers = std::make_shared<std::vector<SharedBuffer>>();
  for (const Copy& copy : copies) buffers->push_back(copy.slice->buffer);
  WorkQueue::Place place = WorkQueue::make_place();
  FELSITE_TRY(const auto ticket,
              has_own_queue() ? queue_.submit({&commands, 1}, &compute_, compute_.last_ticket())
                              : queue_.submit({&commands, 1}));
  piece.ticket = ticket;
  if (is_upload) last_upload_ = ticket;
  queue_.keep(ticket, std::move(buffers), std::move(place));
  return {};
}

// All uploads into one buffer are written in place, or all are staged, so they keep their order.
Result<void> Transfers::upload(std::span<const UploadRange> uploads) {
  std::uint64_t total = 0;
  std::vector<UploadRange> staged;
  for (const UploadRange& upload : uploads) {
    total += upload.bytes.size();
    if (!upload.target.buffer->is_written_in_place()) {
      staged.push_back(upload);
      continue;
    }
    FELSITE_CHECK(upload.target.buffer->write(upload.target.offset, upload.bytes));
  }
  if (!staged.empty()) {
    FELSITE_CHECK(upload_staged(staged));
  }
  dispatch::count(Counter::UploadBytes, total);
  return {};
}

Result<void> Transfers::upload_staged(std::span<const UploadRange> uploads) {
  const std::lock_guard lock(mutex_);
  Piece* piece = nullptr;
  std::vector<Copy> copies;
  std::uint64_t used = 0;
  const auto flush = [&]() -> Result<void> {
    if (copies.empty()) return {};
    Result<void> done = submit(*piece, copies, true);
    copies.clear();
    used = 0;
    piece = nullptr;
    return done;
  };
  for (const UploadRange& upload : uploads) {
    for (std::uint64_t at = 0; at < upload.bytes.size();) {
      if (used == kPieceBytes) {
        FELSITE_CHECK(flush());
      }
      if (piece == nullptr) {
        FELSITE_TRY(piece, next_piece(kNoTimeout));
      }
      const std::uint64_t bytes = std::min(kPieceBytes - used, upload.bytes.size() - at);
      FELSITE_CHECK(piece->upload->write(used, upload.bytes.subspan(at, bytes)));
      copies.push_back({&upload.target, at, used, bytes, nullptr});
      used += bytes;
      at += bytes;
    }
  }
  return flush();
}

Result<void> Transfers::finish_download(Piece& piece, std::span<const Copy> copies,
                                        std::chrono::nanoseconds timeout) {
  dispatch::count(Counter::Waits);
  FELSITE_CHECK(queue_.wait(piece.ticket, timeout));
  piece.ticket = 0;
  for (const Copy& copy : copies) {
    FELSITE_CHECK(piece.readback->read(copy.staged, {copy.host, copy.bytes}));
  }
  return {};
}

Result<void> Transfers::download(std::span<const DownloadRange> downloads,
                                 std::chrono::nanoseconds timeout) {
  std::uint64_t total = 0;
  std::vector<DownloadRange> staged;
  for (const DownloadRange& download : downloads) {
    total += download.bytes.size();
    if (!download.source.buffer->is_read_in_place()) {
      staged.push_back(download);
      continue;
    }
    FELSITE_CHECK(download.source.buffer->read(download.source.offset, download.bytes));
  }
  if (!staged.empty()) {
    FELSITE_CHECK(download_staged(staged, timeout));
  }
  dispatch::count(Counter::DownloadBytes, total);
  return {};
}

Result<void> Transfers::download_staged(std::span<const DownloadRange> downloads,
                                        std::chrono::nanoseconds timeout) {
  const std::lock_guard lock(mutex_);
  struct Batch {
    Piece* piece = nullptr;
    std::vector<Copy> copies;
    std::uint64_t used = 0;
  };
  Batch current;
  Batch earlier;  // being copied by the device while the host collects the next one
  const auto flush = [&]() -> Result<void> {
    if (!current.copies.empty()) {
      FELSITE_CHECK(submit(*current.piece, current.copies, false));
    }
    std::swap(current, earlier);
    if (current.piece == nullptr) return {};
    auto done = finish_download(*current.piece, current.copies, timeout);
    current = {};
    return done;
  };
  for (const DownloadRange& download : downloads) {
    for (std::uint64_t at = 0; at < download.bytes.size();) {
      if (current.used == kPieceBytes) {
        FELSITE_CHECK(flush());
      }
      if (current.piece == nullptr) {
        FELSITE_TRY(current.piece, next_piece(timeout));
      }
      const std::uint64_t bytes = std::min(kPieceBytes - current.used, download.bytes.size() - at);
      current.copies.push_back(
          {&download.source, at, current.used, bytes, download.bytes.data() + at});
      current.used += bytes;
      at += bytes;
    }
  }
  FELSITE_CHECK(flush());
  return flush();
}

}  // namespace felsite::vk
