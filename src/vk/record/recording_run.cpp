// What happens each time a recording runs: bytes and words in, submissions, results out.
#include <fmt/format.h>

#include <algorithm>
#include <array>

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

Result<Ticket> Recording::submit(WorkQueue& queue, std::span<const ByteSpan> uploads,
                                 const WorkQueue* other, Ticket after) {
  block_runs_ = 0;
  pace_ = {};
  // The last run ended in another error before the reports of its kernels were read.
  if (status_unread_) {
    FELSITE_CHECK(clear_status());
  }
  FELSITE_TRY(const auto uploaded, write_uploads(uploads));
  status_unread_ = true;
  left_ = runs_.times;
  auto ticket = submit_counted(queue, /*begins=*/true, other, after);
  if (ticket) dispatch::count(Counter::UploadBytes, uploaded);
  return ticket;
}

// Submits the beginning, and as many runs of a block that is not watched as may be in flight.
Result<Ticket> Recording::submit_counted(WorkQueue& queue, bool begins, const WorkQueue* other,
                                         Ticket after) {
  const std::uint32_t most = std::max(kMaxRunsAtOnce / std::max(runs_.often, 1u), 1u);
  for (std::uint32_t ahead = 1;; ++ahead) {
    std::array<Portion, 3> portions;
    std::size_t count = 0;
    if (begins) portions[count++] = {.part = kBeginning};
    const std::uint32_t times = std::min(left_, most);
    if (times != 0) portions[count++] = {.part = kBlock, .times = times};
    left_ -= times;
    if (left_ == 0 && runs_.times != 0) portions[count++] = {.part = kEpilogue};
    auto ticket = submit_portions(queue, std::span(portions).first(count), other, after);
    if (!ticket || left_ == 0 || ahead == kMaxAhead) return ticket;
    begins = false;
    other = nullptr;
  }
}

// Makes one submission. It is counted, however the run ends.
Result<Ticket> Recording::submit_portions(WorkQueue& queue, std::span<const Portion> portions,
                                          const WorkQueue* other, Ticket after) {
  Contents all;
  std::vector<VkCommandBuffer> batch;
  std::span<const VkCommandBuffer> commands(&commands_[portions[0].part], 1);
  const bool is_one =
      portions.size() == 1 && portions[0].times == 1;  // this case does not allocate
  for (const auto& [part, times] : portions) {
    if (!is_one) batch.insert(batch.end(), times, commands_[part]);
    all.launches += times * contents_[part].launches;
    all.barriers += times * contents_[part].barriers;
    all.block_runs += times * contents_[part].block_runs;
  }
  if (!is_one) commands = batch;
  auto ticket = queue.submit(commands, other, after);
  if (!ticket) return ticket;
  last_ticket_ = *ticket;
  last_part_ = portions.back().part;
  block_runs_ += all.block_runs;
  dispatch::count(Counter::Launches, all.launches);
  dispatch::count(Counter::Barriers, all.barriers);
  return ticket;
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
  if (left_ != 0) return submit_counted(queue, /*begins=*/false, nullptr, 0);
  // The clock has room for one run.
  std::uint32_t runs = 1;
  if (next_part_ == kBlock && !sequence_.measured) {
    runs = pace_.next(took, sequence_.count - block_runs_);
  }
  std::array<Portion, 2> portions;
  std::size_t count = 0;
  if (runs_.batch != 0 && runs >= runs_.batch) {
    FELSITE_CHECK(record_batch());
    portions[count++] = {.part = kBatch, .times = runs / runs_.batch};
    runs %= runs_.batch;
  }
  if (runs != 0) portions[count++] = {.part = next_part_, .times = runs};
  return submit_portions(queue, std::span(portions).first(count), nullptr, 0);
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
