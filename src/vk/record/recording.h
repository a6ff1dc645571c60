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

// How the runs of a block lie in command buffers: some behind the prologue, and the others in one
// that is submitted several times.
struct BlockRuns {
  std::uint32_t first = 0;
  std::uint32_t often = 0;  // in the one that is submitted
  std::uint32_t times = 0;  // so often; of a watched block nobody knows beforehand
  // Of a watched block: in one more command buffer, once so many are wanted together; 0: never.
  std::uint32_t line = 0;
};

// For one thread at a time, and one run at a time. A run is
//   submit, wait, check_status, and as long as `look` finds something left: go_on, wait,
//   check_status.
// Only a watched sequence, or one of very many runs, ever has something left.
class Recording {
 public:
  static Result<std::shared_ptr<Recording>> make(Memory& memory, Sequence sequence);

  // Puts the bytes in place and submits; `uploads` as Sequence::uploads. The ticket is of the last
  // of its submissions. Of a watched sequence this is the prologue and one run of the block.
  Result<Ticket> submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                        const WorkQueue* other = nullptr, Ticket after = 0);
  // Once that has ended: what the kernels report as an error, with the caller's step.
  Result<void> check_status();
  // Whether something is left to submit: by the watched word, or of more runs than may be ahead of
  // the host.
  Result<bool> look();
  // Submits it: more runs of the block, or at last the epilogue. `took` is how long it was from the
  // last submission to its end.
  Result<Ticket> go_on(WorkQueue& queue, std::chrono::nanoseconds took);

  // After a run: the bytes of a read, as many as it has.
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const;
  // Words in a buffer of Place::Control, which no traffic counter counts.
  Result<std::vector<std::uint32_t>> read_words(const BufferSlice& words) const;
  // Of the last submission of a watched sequence, else of all of them. The steps are the prefix,
  // then the repeated ones, of which it is the last run.
  Result<DeviceTimes> device_times() const;
  // Runs of the block that were submitted in the last run of all.
  std::uint32_t block_runs() const { return block_runs_; }
  // The clock of a block that is not watched stops with its last run only.
  bool has_times() const { return sequence_.measured && left_ == 0; }
  // Of the last submission, also where a later one of the same run failed; 0: there was none.
  Ticket last_ticket() const { return last_ticket_; }

  const Sequence& sequence() const { return sequence_; }
  const SequenceLayout& layout() const { return layout_; }
  bool uses(const Buffer* buffer) const;
  bool uses(const KernelOnDevice* kernel) const;
  // Of all buffers that go with it.
  std::uint64_t own_bytes() const;

 private:
  // The command buffers: everything in one; or the beginning, the block, many runs of it in a line,
  // and the epilogue, if there is something in it.
  enum Part : std::size_t { kBeginning, kBlock, kLine, kEpilogue };
  static constexpr std::size_t kParts = 4;
  static constexpr std::array<std::string_view, kParts> kPartNames{"", "block", "line", "epilogue"};
  // What one of them holds.
  struct Contents {
    std::uint64_t launches = 0;
    std::uint64_t barriers = 0;
    std::uint32_t block_runs = 0;
  };
  struct Portion {
    Part part = kBeginning;
    std::uint32_t times = 1;
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
  Result<void> record_line();
  template <class Body>
  Result<void> write(Part part, Body body);
  void record_block(CommandWriter& writer, std::uint32_t runs, Contents& contents);
  void record_section(CommandWriter& writer, dispatch::Section section, Contents& contents);
  void record_command(CommandWriter& writer, const Command& command, dispatch::Section section);
  const std::vector<KernelStep>& kernels(dispatch::Section section) const;

  Result<std::uint64_t> put_in_place(std::span<const ByteSpan> uploads);
  Result<Ticket> submit_counted(WorkQueue& queue, bool begins, const WorkQueue* other,
                                Ticket after);
  Result<Ticket> submit_portions(WorkQueue& queue, std::span<const Portion> portions,
                                 const WorkQueue* other, Ticket after);
  Result<void> check_steps(const std::vector<KernelStep>& steps,
                           const std::vector<ControlBlocks>& blocks);
  Result<void> clear_status();

  const Device& device_;
  Sequence sequence_;
  SequenceLayout layout_;
  BlockRuns runs_;
  std::vector<const Buffer*> buffers_;  // of the sequence, sorted
  SharedBuffer control_;                // status and parameters
  SharedBuffer upload_;                 // staging, where uploads need it
  SharedBuffer readback_;               // staging, where reads need it
  std::unique_ptr<DescriptorSets> sets_;
  StepClock clock_;
  Owned<VkCommandPool> command_pool_;
  std::array<VkCommandBuffer, kParts> commands_{};  // the pool's; null where a part is not there
  std::array<Contents, kParts> contents_{};         // of these

  // Of the last run.
  Ticket last_ticket_ = 0;
  Part last_part_ = kBeginning;
  Part next_part_ = kBeginning;
  std::uint32_t block_runs_ = 0;
  std::uint32_t left_ = 0;  // submissions of a block that is not watched
  RunPace pace_;
  bool status_unread_ = false;
};

}  // namespace felsite::vk
