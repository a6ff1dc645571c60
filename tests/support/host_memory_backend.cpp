#include "support/host_memory_backend.h"

#include <algorithm>
#include <mutex>

#include "base/align.h"
#include "base/errors.h"
#include "base/try.h"
#include "dispatch/facade/open_backend.h"
#include "dispatch/reference/schedule_execution.h"
#include "dispatch/telemetry/counters.h"
#include "support/schedule_of.h"

namespace felsite::test {
namespace {

using namespace dispatch;

struct Figures {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> in_flight = 0;
};

// Whole words, and a few bytes for an empty buffer.
struct HostMemory final : Allocation {
  HostMemory(std::uint64_t size, std::shared_ptr<Figures> all)
      : data(base::align_up(std::max<std::uint64_t>(size, 8), 4), std::byte{0xA5}),
        asked(size),
        figures(std::move(all)) {
    figures->bytes += size;
    ++figures->allocations;
  }
  ~HostMemory() override { figures->bytes -= asked; }
  std::uint64_t bytes() const override { return asked; }

  Bytes data;
  const std::uint64_t asked;
  const std::shared_ptr<Figures> figures;
};

std::span<std::byte> bytes_at(const MemoryRange& range) {
  if (range.memory == nullptr) return {};
  return std::span(static_cast<HostMemory&>(*range.memory).data).subspan(range.offset, range.bytes);
}

struct HostKernel final : CompiledKernel {
  std::vector<Use> uses() const override { return used; }
  std::vector<Use> used;
};

struct HostRecorded final : Recorded {
  bool uses(const Allocation& memory) const override {
    const auto is_it = [&](const MemoryRange& range) { return range.memory.get() == &memory; };
    return std::ranges::any_of(submission.uploads, is_it) ||
           std::ranges::any_of(submission.reads, is_it) ||
           std::ranges::any_of(submission.fills, is_it, &Submission::Fill::target) ||
           std::ranges::any_of(submission.stages, [&](const PlacedStage& stage) {
             return std::ranges::any_of(stage.memory, is_it);
           });
  }
  bool uses(const CompiledKernel&) const override { return false; }
  std::uint64_t own_bytes() const override { return submission.own_bytes; }
  std::vector<std::uint64_t> read_sizes() const override {
    std::vector<std::uint64_t> sizes;
    for (const MemoryRange& read : submission.reads) sizes.push_back(read.bytes);
    return sizes;
  }
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const override {
    std::ranges::copy(results[index], bytes.begin());
    count(Counter::DownloadBytes, bytes.size());
    return {};
  }

  Submission submission;
  std::vector<Bytes> results;
};

class HostService final : public Service, public std::enable_shared_from_this<HostService> {
 public:
  explicit HostService(bool allows_split) {
    profile_ = profile_for_schedules();
    profile_.backend = kHostMemoryBackend;
    profile_.name = "host memory";
    profile_.traps = profile_.mul_high = true;
    profile_.memory_bytes = base::default_memory_limit();
    profile_.memory_heaps = {{profile_.memory_bytes, true, true}};
    profile_.shared_memory_bytes = ir::kMaxWorkgroupBytes;
    profile_.ideal_workgroup_size = {64, 1, 1};
    profile_.cache_bytes = base::host_cache_bytes();
    profile_.allows_host_grid_sync_split = allows_split;
  }

  const DeviceProfile& profile() const override { return profile_; }
  std::string feature_key() const override { return "host-memory"; }
  bool runs_in_wait() const override { return true; }
  std::uint64_t memory_left() const override {
    return profile_.memory_bytes - std::min(profile_.memory_bytes, figures_->bytes.load());
  }

  Result<SharedAllocation> allocate(std::uint64_t bytes, std::string_view,
                                    std::string_view) override {
    if (bytes <= memory_left()) return std::make_shared<HostMemory>(bytes, figures_);
    return std::unexpected(
        base::with_amounts(base::out_of_memory("The host has not so much memory.", "ask for less."),
                           bytes, memory_left()));
  }
  Result<void> write(std::span<const WriteRange> writes) override {
    const std::lock_guard lock(queue_);
    for (const auto& [target, bytes] : writes) {
      std::ranges::copy(bytes, bytes_at(target).begin());
      count(Counter::UploadBytes, bytes.size());
    }
    return {};
  }
  Result<void> read(std::span<const ReadRange> reads) override {
    const std::lock_guard lock(queue_);
    for (const auto& [source, bytes] : reads) {
      std::ranges::copy(bytes_at(source), bytes.begin());
      count(Counter::DownloadBytes, bytes.size());
    }
    return {};
  }

  Result<SharedCompiledKernel> compile(const codegen::Segment& segment) override {
    FELSITE_CHECK(programs_.get(segment.program));
    auto kernel = std::make_shared<HostKernel>();
    for (ir::BufferId id = 0; id < segment.program.buffers().size(); ++id) {
      const ir::Role role = role_of(segment.program.buffer(id));
      if (role != ir::Role::Shared) kernel->used.push_back({id, ir::gives_result(role)});
    }
    return kernel;
  }

  Result<std::shared_ptr<Recorded>> record(Submission submission) override {
    auto made = std::make_shared<HostRecorded>();
    made->submission = std::move(submission);
    return made;
  }
  Result<std::unique_ptr<Run>> start(const std::shared_ptr<Recorded>& recorded,
                                     std::span<const ByteSpan> uploads,
                                     std::chrono::nanoseconds timeout) override;
  PipelineCacheSnapshot pipeline_cache() const override { return programs_.snapshot(); }
  void report(MetricSnapshot& figures) const override {
    figures.device_bytes = figures_->bytes;
    figures.allocations = figures_->allocations;
    figures.in_flight = figures_->in_flight;
  }

 private:
  friend class HostRun;

  DeviceProfile profile_;
  PreparedPrograms programs_;
  std::mutex queue_;  // submissions run one after the other
  const std::shared_ptr<Figures> figures_ = std::make_shared<Figures>();
};

// Everything happens in the wait.
class HostRun final : public Run {
 public:
  HostRun(std::shared_ptr<HostService> service, std::shared_ptr<HostRecorded> recorded,
          std::span<const ByteSpan> uploads)
      : service_(std::move(service)), recorded_(std::move(recorded)) {
    for (const ByteSpan bytes : uploads) uploads_.emplace_back(bytes.begin(), bytes.end());
    ++service_->figures_->in_flight;
  }
  ~HostRun() override { --service_->figures_->in_flight; }
  bool advance() override { return false; }

  Result<DispatchTiming> wait(std::chrono::nanoseconds timeout,
                              const base::StopFlag* stop) override {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(service_->queue_);
    if (timeout != kNoTimeout) options_.deadline = base::Deadline(timeout);
    options_.stop = stop;
    options_.device = service_->profile_;
    const Submission& submission = recorded_->submission;
    timing_.blocks = submission.block_timings;
    timing_.iterations_run = 1;
    count(Counter::Submissions);
    count(Counter::Waits);
    for (const auto& [target, value] : submission.fills) {
      std::ranges::fill(bytes_at(target), value);
    }
    for (std::size_t i = 0; i < uploads_.size(); ++i) {
      std::ranges::copy(uploads_[i], bytes_at(submission.uploads[i]).begin());
      count(Counter::UploadBytes, uploads_[i].size());
    }
    FELSITE_CHECK(run_stages(submission, lock));
    recorded_->results.clear();
    for (const MemoryRange& read : submission.reads) {
      const auto bytes = bytes_at(read);
      recorded_->results.emplace_back(bytes.begin(), bytes.end());
    }
    const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
    timing_.wall_ns = static_cast<std::uint64_t>(wall.count());
    return timing_;
  }

 private:
  Result<void> run_stages(const Submission& submission, std::unique_lock<std::mutex>& lock) {
    std::uint32_t loop_runs = 0;
    for (std::uint32_t stage = 0; stage < submission.stages.size(); ++stage) {
      const auto loop = std::ranges::find(submission.loops, stage + 1, &HostLoop::end);
      const bool ends_loop = loop != submission.loops.end();
      bool changed = true;
      const PlacedStage* placed = &submission.stages[stage];
      std::shared_ptr<Recorded> late;
      if (placed->late) {
        count(Counter::Waits);
        count(Counter::DownloadBytes, placed->late->words.bytes);
        const auto words = bytes_at(placed->late->words);
        const Bytes now(words.begin(), words.end());
        lock.unlock();  // it may evict what other threads upload
        auto made = placed->late->record(now);
        lock.lock();
        if (!made) return std::unexpected(std::move(made.error()));
        late = std::move(*made);
        placed = &static_cast<HostRecorded&>(*late).submission.stages.front();
      }
      FELSITE_CHECK(run_stage(*placed, ends_loop ? loop->changed : std::nullopt, changed));
      if (!ends_loop) continue;
      timing_.blocks[loop->block] = {++loop_runs, !changed};
      if (changed && loop_runs < loop->bound) {
        stage = loop->first - 1;
        continue;
      }
      loop_runs = 0;
    }
    return {};
  }

  Result<void> run_stage(const PlacedStage& placed, const std::optional<BufferRef>& changed_word,
                         bool& changed) {
    std::vector<std::span<std::byte>> memory;
    for (MemoryRange range : placed.memory) {
      // Whole words, as far as they exist.
      if (range.memory != nullptr) range.bytes = base::align_up(range.bytes, 4);
      memory.push_back(bytes_at(range));
    }
    options_.after = [&](const ReadWords& read) -> Result<void> {
      for (const auto& [block, outcome] : placed.stage.outcomes) {
        FELSITE_TRY(const auto run, read_outcome(outcome, read));
        count(Counter::Launches, run.launches);
        if (block == BlockOutcome::kNoBlock) continue;
        timing_.blocks[block] = {run.iterations, run.converged};
      }
      if (!changed_word) return {};
      FELSITE_TRY(const auto word, read(*changed_word));
      changed = word.front() != 0;
      return {};
    };
    const Schedule& schedule = placed.stage.schedule;
    FELSITE_TRY(const auto run, execute(schedule, memory, service_->programs_, options_));
    if (schedule.outcome) {
      count_iterations(*schedule.outcome, run);
      timing_.iterations_run = run.iterations;
      timing_.converged = run.converged;
    } else {
      count(Counter::Launches, run.launches);
    }
    return {};
  }

  const std::shared_ptr<HostService> service_;
  const std::shared_ptr<HostRecorded> recorded_;
  std::vector<Bytes> uploads_;
  ExecutionOptions options_;
  DispatchTiming timing_;
};

Result<std::unique_ptr<Run>> HostService::start(const std::shared_ptr<Recorded>& recorded,
                                                std::span<const ByteSpan> uploads,
                                                std::chrono::nanoseconds) {
  return std::make_unique<HostRun>(shared_from_this(),
                                   std::static_pointer_cast<HostRecorded>(recorded), uploads);
}

}  // namespace

Result<std::unique_ptr<Backend>> make_host_memory_backend(bool allows_split) {
  return open_backend({.id = kHostMemoryBackend, .open = [=]() -> Result<std::shared_ptr<Service>> {
                         return std::make_shared<HostService>(allows_split);
                       }});
}

}  // namespace felsite::test
