// A sequence recorded into command buffers, with all that it needs to run again and again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "vk/command_writer.h"
#include "vk/work_queue.h"

namespace felsite::vk {

// How the runs of a block lie in command buffers: some behind the prologue, and the others in one
// that is submitted several times.
struct BlockRuns {
  std::uint32_t first = 0;
  std::uint32_t often = 0;  // in the one that is submitted
  std::uint32_t times = 0;  // so often
};

// For one thread at a time, and one run at a time.
class Recording {
 public:
  static Result<std::shared_ptr<Recording>> make(Memory& memory, Sequence sequence);

  // Puts the bytes in place and submits; `uploads` as Sequence::uploads. The ticket is of the last
  // of its submissions.
  Result<Ticket> submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                        const WorkQueue* other = nullptr, Ticket after = 0);
  // Once that has ended: what the kernels report as an error, with the caller's step.
  Result<void> check_status();
  // The bytes of a read, as many as it has.
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const;
  // Of the last run; nothing in it where nothing was measured.
  struct DeviceTimes {
    std::optional<std::uint64_t> total_ns;
    std::vector<std::uint64_t> step_ns;     // prefix, then the repeated steps of their last run
    std::vector<std::uint64_t> step_begin;  // after the beginning of all, in nanoseconds
  };
  Result<DeviceTimes> device_times() const;
  // Of the last submission, also where a later one of the same run failed; 0: there was none.
  Ticket last_ticket() const { return last_ticket_; }

  const Sequence& sequence() const { return sequence_; }
  const SequenceLayout& layout() const { return layout_; }
  bool uses(const Buffer* buffer) const;

 private:
  explicit Recording(const Device& device) : device_(device) {}
  void note_buffers();
  Result<void> make_blocks(Memory& memory);
  Result<void> make_descriptors();
  Result<void> make_queries();
  Result<void> make_commands();
  Result<void> record();
  void record_section(CommandWriter& writer, dispatch::Section section, std::uint32_t times);
  void record_command(CommandWriter& writer, const Command& command, dispatch::Section section);
  const std::vector<KernelStep>& kernels(dispatch::Section section) const;
  Result<void> check_steps(const std::vector<KernelStep>& steps,
                           const std::vector<ControlBlocks>& blocks);
  Result<Ticket> submit_commands(WorkQueue& queue, const WorkQueue* other, Ticket after);

  const Device& device_;
  Sequence sequence_;
  SequenceLayout layout_;
  BlockRuns runs_;
  std::vector<const Buffer*> buffers_;  // of the sequence, sorted
  SharedBuffer control_;                // status and parameters
  SharedBuffer upload_;                 // staging, where uploads need it
  SharedBuffer readback_;               // staging, where reads need it
  std::unique_ptr<DescriptorSets> sets_;
  Owned<VkQueryPool> queries_;
  Owned<VkCommandPool> command_pool_;
  // The pool's. One for all, or prologue, block and epilogue where the block runs often.
  std::vector<VkCommandBuffer> commands_;
  Ticket last_ticket_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t barriers_ = 0;
};

}  // namespace felsite::vk
