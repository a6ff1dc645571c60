// What happens each time a recording runs: bytes and words in, submissions, results out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "vk/kernel/kernel_status.h"
#include "vk/record/recording.h"
#include "vk/record/sequence_checks.h"

namespace felsite::vk {
namespace {

// Most runs of a block in one submission, for the sake of displays and watchdogs.
constexpr std::uint32_t kMaxRunsAtOnce = 64;
// Most such submissions in flight: a driver keeps each of them in memory, and a caller's timeout
// takes effect only where the host waits.
constexpr std::uint32_t kMaxAhead = 64;

void name_segment(Error& error, const dispatch::SegmentPlace& segment) {
  error.context.segment = segment.index;
  if (error.message.ends_with('.')) error.message.pop_back();
  error.message +=
      fmt::format(", in segment {} of {}, counted from 0.", segment.index, segment.count);
}

}  // namespace

// Returns the number of uploaded bytes.
Result<std::uint64_t> Recording::write_uploads(std::span<const ByteSpan> uploads) {
  std::uint64_t uploaded = 0;
  for (std::size_t i = 0; i < sequence_.uploads.size(); ++i) {
    const std::uint64_t staged = layout_.upload_offsets[i];
    Buffer& target = staged == kNotStaged ? *sequence_.uploads[i].buffer : *upload_;
    const std::uint64_t at = staged == kNotStaged ? sequence_.uploads[i].offset : staged;
    FELSITE_CHECK(target.write(at, uploads[i]));
    uploaded += uploads[i].size();
  }
  for (const HostWords& words : sequence_.host_words) {
    const auto bytes = std::as_bytes(std::span(words.words));
    FELSITE_CHECK(words.target.buffer->write(words.target.offset, bytes));
  }
  return uploaded;
}

// Returns the number of uploaded bytes.
Result<std::uint64_t> Recording::begin_run(std::span<const ByteSpan> uploads) {
  block_runs_ = 0;
  pace_ = {};
  // The last run ended in another error before the reports of its kernels were read.
  if (status_unread_) {
    FELSITE_CHECK(clear_status());
  }
  FELSITE_TRY(const auto uploaded, write_uploads(uploads));
  status_unread_ = true;
  left_ = runs_.times;
  return uploaded;
}

Result<Ticket> Recording::submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                                 const WorkQueue* other, Ticket after,
                                 std::span<Recording* const> before) {
  std::uint64_t uploaded = 0;
  for (Recording* const one : before) {
    FELSITE_TRY(const auto bytes, one->begin_run(std::exchange(uploads, {})));
    uploaded += bytes;
  }
  FELSITE_TRY(const auto bytes, begin_run(uploads));
  uploaded += bytes;
  auto ticket = submit_portions(queue, next_portions(/*begins=*/true), other, after, before);
  if (ticket) dispatch::count(Counter::UploadBytes, uploaded);
  if (!ticket || left_ == 0) return ticket;
  return submit_ahead(queue, kMaxAhead - 1);
}

std::uint32_t Recording::most_times_at_once() const {
  return std::max(kMaxRunsAtOnce / std::max(runs_.often, 1u), 1u);
}

Recording::Portions Recording::next_portions(bool begins) const {
  Portions next;
  if (begins) next.add(kBeginning);
  const std::uint32_t times = std::min(left_, most_times_at_once());
  next.add(kBlock, times);
  if (times == left_ && runs_.times != 0) next.add(kEpilogue);
  return next;
}

// Further runs of a block that is not watched.
Result<Ticket> Recording::submit_ahead(WorkQueue& queue, std::uint32_t most) {
  while (true) {
    auto ticket = submit_portions(queue, next_portions(/*begins=*/false));
    if (!ticket || left_ == 0 || --most == 0) return ticket;
  }
}

// Makes one submission. It is counted, however the run ends.
Result<Ticket> Recording::submit_portions(WorkQueue& queue, const Portions& portions,
                                          const WorkQueue* other, Ticket after,
                                          std::span<Recording* const> before) {
  std::vector<VkCommandBuffer> batch;
  const auto add = [&](const Recording& of, const Portions& added) {
    for (const auto& [part, times] : added.span()) {
      batch.insert(batch.end(), times, of.commands_[part]);
    }
  };
  std::span<const VkCommandBuffer> commands(&commands_[portions.all[0].part], 1);
  const bool is_one = before.empty() && portions.count == 1 &&
                      portions.all[0].times == 1;  // this case does not allocate
  if (!is_one) {
    for (const Recording* const one : before) add(*one, one->next_portions(/*begins=*/true));
    add(*this, portions);
    commands = batch;
  }
  auto ticket = queue.submit(commands, other, after);
  if (!ticket) return ticket;
  for (Recording* const one : before) {
    one->note_submitted(one->next_portions(/*begins=*/true), *ticket);
  }
  note_submitted(portions, *ticket);
  return ticket;
}

void Recording::note_submitted(const Portions& portions, Ticket ticket) {
  last_ticket_ = ticket;
  for (const auto& [part, times] : portions.span()) {
    last_part_ = part;
    if (part == kBlock) left_ -= std::min(left_, times);
    block_runs_ += times * contents_[part].block_runs;
    dispatch::count(Counter::Launches, times * contents_[part].launches);
    dispatch::count(Counter::Barriers, times * contents_[part].barriers);
  }
}

Result<bool> Recording::poll_watch() {
  if (left_ != 0) return true;
  if (!layout_.watched || last_part_ == kEpilogue) return false;
  next_part_ = kEpilogue;
  if (block_runs_ < sequence_.count) {
    FELSITE_TRY(const auto word, read_words(*sequence_.watch));
    if (word.front() != 0) next_part_ = kBlock;
  }
  return has(next_part_);
}

Result<Ticket> Recording::submit_next(WorkQueue& queue, std::chrono::nanoseconds took) {
  if (left_ != 0) return submit_ahead(queue, kMaxAhead);
  // The clock has room for one run.
  std::uint32_t runs = 1;
  if (next_part_ == kBlock && !sequence_.measured) {
    runs = pace_.next(took, sequence_.count - block_runs_);
  }
  Portions portions;
  if (runs_.batch != 0 && runs >= runs_.batch) {
    FELSITE_CHECK(record_batch());
    portions.add(kBatch, runs / runs_.batch);
    runs %= runs_.batch;
  }
  portions.add(next_part_, runs);
  return submit_portions(queue, portions);
}

Result<void> Recording::check_status() {
  Result<void> done = check_steps(sequence_.prefix, layout_.prefix_control);
  if (done) done = check_steps(sequence_.repeated, layout_.repeated_control);
  if (done) status_unread_ = false;
  return done;
}

Result<void> Recording::check_steps(const std::vector<KernelStep>& steps,
                                    const std::vector<ControlBlocks>& blocks) {
  if (control_ == nullptr) return {};
  std::optional<std::size_t> lowest;  // among the parts of the first grid that reported
  std::uint32_t highest_key = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (lowest && !steps[i].is_further_part) break;
    if (!blocks[i].status) continue;
    std::uint32_t key = 0;
    const auto bytes = std::as_writable_bytes(std::span(&key, 1));
    FELSITE_CHECK(control_->read(*blocks[i].status, bytes));
    if (key <= highest_key) continue;
    highest_key = key;
    lowest = i;
  }
  if (!lowest) return {};
  const KernelStep& step = steps[*lowest];
  std::vector<std::uint32_t> words(step.kernel->kernel.status_words());
  const auto bytes = std::as_writable_bytes(std::span(words));
  FELSITE_CHECK(control_->read(*blocks[*lowest].status, bytes));
  Error failed = error_of(words, step.kernel->kernel);
  // The next run must start with a clear status.
  FELSITE_CHECK(clear_status());
  failed.context.step = step.caller_step;
  if (step.segment) name_segment(failed, *step.segment);
  return std::unexpected(step.kernel->with_context(std::move(failed)));
}

Result<void> Recording::clear_status() {
  const auto clear = [&](const std::vector<KernelStep>& steps,
                         const std::vector<ControlBlocks>& blocks) -> Result<void> {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i].status) continue;
      const Bytes zeros(status_bytes(steps[i].kernel->kernel));
      FELSITE_CHECK(control_->write(*blocks[i].status, zeros));
    }
    return {};
  };
  Result<void> done = clear(sequence_.prefix, layout_.prefix_control);
  if (done) done = clear(sequence_.repeated, layout_.repeated_control);
  if (done && layout_.reports) done = control_->write(*layout_.reports, Bytes(kReportBytes));
  if (done) status_unread_ = false;
  return done;
}

Result<void> Recording::read(std::size_t index, std::span<std::byte> bytes) const {
  dispatch::count(Counter::DownloadBytes, bytes.size());
  const std::uint64_t staged = layout_.read_offsets[index];
  if (staged != kNotStaged) return readback_->read(staged, bytes);
  return sequence_.reads[index].buffer->read(sequence_.reads[index].offset, bytes);
}

Result<std::vector<std::uint32_t>> Recording::read_words(const BufferSlice& words) const {
  FELSITE_CHECK(check_host_words(words, device_));
  std::vector<std::uint32_t> values(words.bytes / sizeof(std::uint32_t));
  const auto bytes = std::as_writable_bytes(std::span(values));
  FELSITE_CHECK(words.buffer->read(words.offset, bytes));
  return values;
}

Result<DeviceTimes> Recording::device_times() const {
  const std::size_t prefix = sequence_.prefix.size();
  const std::size_t all = prefix + (layout_.plan.count != 0 ? sequence_.repeated.size() : 0);
  if (!layout_.watched || last_part_ == kBeginning) return clock_.read(device_, 0, all);
  return clock_.read(device_, last_part_ == kBlock ? prefix : all, all);
}

}  // namespace felsite::vk
