// Bytes to and from buffers, outside of sequences: by the host itself where the memory allows it,
// else through staging memory in pieces, so that copying on the host and on the device overlap.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>

#include "vk/record/command_writer.h"
#include "vk/record/work_queue.h"

namespace felsite::vk {

struct UploadRange {
  BufferSlice target;
  ByteSpan bytes;
};
struct DownloadRange {
  BufferSlice source;
  std::span<std::byte> bytes;
};

// Thread-safe; calls that need staging memory take turns.
class Transfers {
 public:
  // Copies run on `queue`; kernels on `compute`, which may be the same.
  static Result<std::unique_ptr<Transfers>> make(Memory& memory, WorkQueue& queue,
                                                 WorkQueue& compute);

  // Work submitted later sees the bytes; the call does not wait for the device.
  Result<void> upload(std::span<const UploadRange> uploads);
  // Reads what finished work left there, with one wait for all ranges that fit the staging memory.
  Result<void> download(std::span<const DownloadRange> downloads,
                        std::chrono::nanoseconds timeout = kNoTimeout);

  // What work on the compute queue has to wait for.
  Ticket last_upload() const { return last_upload_; }
  bool has_own_queue() const { return &queue_ != &compute_; }

 private:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{4} << 20;
  // Two: while the device copies one, the host fills or empties the other.
  struct Piece {
    SharedBuffer upload;
    SharedBuffer readback;
    Owned<VkCommandPool> pool;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Ticket ticket = 0;
  };
  struct Copy {
    const BufferSlice* slice;
    std::uint64_t offset = 0;  // in the slice
    std::uint64_t staged = 0;  // in the piece
    std::uint64_t bytes = 0;
    std::byte* host = nullptr;  // of a download
  };

  Transfers(Memory& memory, WorkQueue& queue, WorkQueue& compute)
      : memory_(memory), queue_(queue), compute_(compute) {}
  std::uint32_t queue_family() const;  // of the queue that copies
  Result<void> make_piece(Piece& piece);
  Result<void> upload_staged(std::span<const UploadRange> uploads);
  Result<void> download_staged(std::span<const DownloadRange> downloads,
                               std::chrono::nanoseconds timeout);
  Result<Piece*> next_piece(std::chrono::nanoseconds timeout);
  Result<void> submit(Piece& piece, std::span<const Copy> copies, bool is_upload);
  void record(CommandWriter& writer, const Piece& piece, std::span<const Copy> copies,
              bool is_upload) const;
  Result<void> finish_download(Piece& piece, std::span<const Copy> copies,
                               std::chrono::nanoseconds timeout);

  Memory& memory_;
  WorkQueue& queue_;
  WorkQueue& compute_;
  std::mutex mutex_;  // guards the pieces
  std::array<Piece, 2> pieces_;
  std::size_t turn_ = 0;
  std::atomic<Ticket> last_upload_ = 0;
};

}  // namespace felsite::vk
