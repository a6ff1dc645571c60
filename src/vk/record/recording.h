// A sequence recorded into command buffers, with all that it needs to run again and again.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "vk/record/run_pace.h"
#include "vk/record/step_clock.h"
#include "vk/record/work_queue.h"

namespace felsite::vk {

// How the runs of a block are spread over command buffers: some after the prologue, the others in
// one that is submitted several times.
struct BlockRuns {
  std::uint32_t first = 0;
  std::uint32_t often = 0;  // in the command buffer that is submitted several times
  std::uint32_t times =
      0;  // how often that one is submitted; not known beforehand for a watched block
  // For a watched block: runs in a larger command buffer, for when so many are submitted together;
  // 0: there is none.
  std::uint32_t batch = 0;
};

// For one thread at a time, and one run at a time. A run is
//   submit, wait, check_status, and as long as `poll_watch` finds something left: submit_next,
//   wait, check_status.
// Only a watched sequence, or one of very many runs, takes more than one submission.
class Recording {
 public:
  static Result<std::shared_ptr<Recording>> make(Memory& memory, Sequence sequence);

  // Writes the uploads, ordered as Sequence::uploads, and submits. The ticket is that of the last
  // submission. For a watched sequence this submits the prologue and one run of the block.
  // `before`: what comes first in the same submission, and has the uploads then.
  Result<Ticket> submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                        const WorkQueue* other = nullptr, Ticket after = 0,
                        std::span<Recording* const> before = {});
  // Whether its first submission has all of it.
  bool can_go_before_others() const {
    return !layout_.watched && runs_.times <= most_times_at_once();
  }
  // After that has ended: the error that a kernel reported, with the caller's step.
  Result<void> check_status();
  // Whether something is left to submit: because of the watched word, or because only some of many
  // runs were submitted.
  Result<bool> poll_watch();
  // Submits more runs of the block, or the epilogue. `took` is the time from the last submission to
  // its end.
  Result<Ticket> submit_next(WorkQueue& queue, std::chrono::nanoseconds took);

  // After a run: copies the bytes of a read.
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const;
  // Words in a buffer of Place::Control; traffic counters do not count them.
  Result<std::vector<std::uint32_t>> read_words(const BufferSlice& words) const;
  // Times of the last submission of a watched sequence, else of all submissions. The steps are
  // those of the prefix, then those of the last run of the block.
  Result<DeviceTimes> device_times() const;
  // Whether the last run needs nothing of the host any more.
  bool is_fully_submitted() const { return left_ == 0 && !layout_.watched; }
  // How many runs of the block the last run of the sequence submitted.
  std::uint32_t block_runs() const { return block_runs_; }
  // The clock of a block that is not watched stops only after its last run.
  bool has_times() const { return sequence_.measured && left_ == 0; }
  // The ticket of the last submission, also if a later one of the same run failed; 0: there was
  // none.
  Ticket last_ticket() const { return last_ticket_; }

  const Sequence& sequence() const { return sequence_; }
  const SequenceLayout& layout() const { return layout_; }
  bool uses(const Buffer* buffer) const;
  bool uses(const KernelOnDevice* kernel) const;
  // The size of all buffers that only this recording uses.
  std::uint64_t own_bytes() const;

 private:
  // The command buffers: one for everything; or the beginning, one run of the block, a batch of
  // runs, and the epilogue unless it is empty.
  enum Part : std::size_t { kBeginning, kBlock, kBatch, kEpilogue };
  static constexpr std::size_t kParts = 4;
  static constexpr std::array<std::string_view, kParts> kPartNames{"", "block", "batch",
                                                                   "epilogue"};
  // What a command buffer holds.
  struct Contents {
    std::uint64_t launches = 0;
    std::uint64_t barriers = 0;
    std::uint32_t block_runs = 0;
  };
  struct Portion {
    Part part = kBeginning;
    std::uint32_t times = 1;
  };
  // Of one submission. Making them allocates nothing.
  struct Portions {
    std::array<Portion, 3> all;
    std::size_t count = 0;

    void add(Part part, std::uint32_t times = 1) {
      if (times != 0) all[count++] = {part, times};
    }
    std::span<const Portion> span() const { return std::span(all).first(count); }
  };

  explicit Recording(const Device& device) : device_(device) {}
  void note_buffers();
  Result<void> make_blocks(Memory& memory);
  Result<void> make_descriptors();
  Result<void> make_clock();
  Result<void> make_commands();
  std::vector<Part> parts() const;
  bool has(Part part) const { return commands_[part] != VK_NULL_HANDLE; }
  bool records_epilogue() const;
  Result<void> record();
  Result<void> record_batch();
  template <class Body>
  Result<void> write(Part part, Body body);
  void record_block(CommandWriter& writer, std::uint32_t runs, Contents& contents);
  void record_section(CommandWriter& writer, dispatch::Section section, Contents& contents);
  void record_command(CommandWriter& writer, const Command& command, dispatch::Section section);
  const std::vector<KernelStep>& kernels(dispatch::Section section) const;

  Result<std::uint64_t> write_uploads(std::span<const ByteSpan> uploads);
  Result<std::uint64_t> begin_run(std::span<const ByteSpan> uploads);
  std::uint32_t most_times_at_once() const;
  Portions next_portions(bool begins) const;
  void note_submitted(const Portions& portions, Ticket ticket);
  Result<Ticket> submit_ahead(WorkQueue& queue, std::uint32_t most);
  Result<Ticket> submit_portions(WorkQueue& queue, const Portions& portions,
                                 const WorkQueue* other = nullptr, Ticket after = 0,
                                 std::span<Recording* const> before = {});
  Result<void> check_steps(const std::vector<KernelStep>& steps,
                           const std::vector<ControlBlocks>& blocks);
  Result<void> clear_status();

  const Device& device_;
  Sequence sequence_;
  SequenceLayout layout_;
  BlockRuns runs_;
  std::vector<const Buffer*> buffers_;  // that the sequence uses, sorted
  SharedBuffer control_;                // status and parameters
  SharedBuffer upload_;                 // staging, where uploads need it
  SharedBuffer readback_;               // staging, where reads need it
  std::unique_ptr<DescriptorSets> sets_;
  StepClock clock_;
  Owned<VkCommandPool> command_pool_;
  std::array<VkCommandBuffer, kParts>
      commands_{};                           // owned by the pool; null: there is no such part
  std::array<Contents, kParts> contents_{};  // by part

  // State of the last run.
  Ticket last_ticket_ = 0;
  Part last_part_ = kBeginning;
  Part next_part_ = kBeginning;
  std::uint32_t block_runs_ = 0;
  std::uint32_t left_ = 0;  // further submissions of a block that is not watched
  RunPace pace_;
  bool status_unread_ = false;
};

}  // namespace felsite::vk
