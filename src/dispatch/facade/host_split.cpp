#include "dispatch/facade/host_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/deadline.h"
#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/spill_slots.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/schedule/grid_walk.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/counters.h"
#include "felsite/grid_sync.h"

namespace felsite::dispatch {
namespace {

using ir::BufferId;
using ir::kNone;
using Clock = std::chrono::steady_clock;

// The bytes of a buffer between two segments: the caller's until a segment changes them.
struct Live {
  ByteSpan borrowed;
  Bytes own;
  bool is_own = false;
  ByteSpan bytes() const { return is_own ? ByteSpan(own) : borrowed; }
};

class HostSplit {
 public:
  HostSplit(const SegmentRunner& runner, const ir::ValidProgram& program,
            std::span<const ByteSpan> inputs, const DispatchConfig& config)
      : runner_(runner),
        program_(program),
        inputs_(inputs),
        config_(config),
        rule_(iteration_rule(program, config)),
        deadline_(config.timeout) {}

  // Finds everything that can be wrong before anything is allocated or runs.
  Result<void> prepare(std::span<const Bytes> outputs) {
    FELSITE_CHECK(make_plan());
    FELSITE_CHECK(check_config(program_, config_));
    FELSITE_TRY(bindings_, plan_inputs(program_, inputs_, config_));
    FELSITE_CHECK(check_result_memory(bindings_, runner_.memory_limit));
    FELSITE_CHECK(check_slots(inputs_, outputs));
    FELSITE_CHECK(route_on_any_grid(program_, config_, runner_.device));
    bind_live();
    return find_grid();
  }

  Result<DispatchTiming> run(std::vector<Bytes>& outputs) {
    const auto start = Clock::now();
    FELSITE_CHECK(base::check_timeout(config_.timeout));
    if (plan_.segments.size() > 1) {
      count(Counter::GridSyncSplits);
      count(Counter::GridSyncSegments, plan_.segments.size());
    }
    for (const ByteSpan input : inputs_) count(Counter::InputBytes, input.size());
    DispatchTiming total;
    while (total.iterations_run < rule_.bound && !total.converged) {
      if (rule_.flag) clear_flag();
      if (rule_.compares) save_state();
      FELSITE_CHECK(find_grid());
      FELSITE_CHECK(one_iteration(total));
      ++total.iterations_run;
      if (rule_.compares) total.converged = state_is_as_saved();
      if (rule_.flag) total.converged = is_all_zero(live_[*rule_.flag].bytes());
    }
    count(Counter::IterationsRun, total.iterations_run);
    if (total.converged) count(Counter::IterationsSkipped, rule_.bound - total.iterations_run);
    gather(outputs);
    total.wall_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    return total;
  }

 private:
  // Where the host cannot evaluate the control flow, segments store what they decide. The plan also
  // depends on how much of all invocations and workgroups fits into one binding.
  Result<void> make_plan() {
    GridSyncOptions options{.many_iterations = rule_.is_repeated(), .spread = spread_};
    auto cut = plan_grid_sync(program_, options);
    if (cut && !cut->host_resolvable) {
      options.store_choices = true;
      cut = plan_grid_sync(program_, options);
    }
    if (!cut) return std::unexpected(std::move(cut.error()));
    plan_ = std::move(*cut);
    return {};
  }

  void clear_flag() {
    Live& live = live_[*rule_.flag];
    live.own.assign(bindings_.buffers[*rule_.flag].bytes, std::byte{0});
    live.is_own = true;
  }

  // Outputs begin as zeros, which are not allocated before something reads or keeps them.
  void bind_live() {
    live_.resize(bindings_.buffers.size());
    for (BufferId id = 0; id < live_.size(); ++id) {
      const std::uint32_t input = bindings_.buffers[id].input;
      if (input != kNone) {
        live_[id].borrowed = inputs_[input];
      } else {
        live_[id].is_own = true;
      }
    }
  }

  Result<void> find_grid() {
    const auto contents = [&](BufferId id) {
      return id == rule_.flag ? ByteSpan{} : live_[id].bytes();
    };
    FELSITE_TRY(grid_, plan_grid(program_, bindings_, config_, indirect_grid(program_, contents)));
    spread_ = spread_that_fits(program_, grid_, runner_.device.max_storage_buffer_bytes);
    if (effective_spread(plan_, spread_) != plan_.spread) {
      FELSITE_CHECK(make_plan());
      added_.clear();
    }
    return size_added();
  }

  Result<void> size_added() {
    FELSITE_TRY(sizes_,
                size_split({.plan = plan_, .bindings = bindings_, .compares = rule_.compares},
                           grid_, {runner_.memory_limit, runner_.device.max_storage_buffer_bytes}));
    return {};
  }

  // What the program can change is the state that an iteration starts from.
  void save_state() {
    saved_.resize(plan_.evolving.size());
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      const ByteSpan bytes = full(plan_.evolving[i]);
      saved_[i].assign(bytes.begin(), bytes.end());
    }
  }
  bool state_is_as_saved() {
    for (std::size_t i = 0; i < saved_.size(); ++i) {
      if (!std::ranges::equal(saved_[i], full(plan_.evolving[i]))) return false;
    }
    return true;
  }

  ByteSpan full(BufferId id) {
    Live& live = live_[id];
    if (live.is_own) live.own.resize(bindings_.buffers[id].bytes);
    return live.bytes();
  }

  std::vector<std::uint64_t> lengths() const {
    std::vector<std::uint64_t> lengths;
    for (const BoundBuffer& buffer : bindings_.buffers) lengths.push_back(buffer.count);
    return lengths;
  }

  Result<void> one_iteration(DispatchTiming& total) {
    GridWalk walk(plan_, lengths(), grid_);
    choices_.assign(plan_.choice_words, 0);
    std::optional<std::uint32_t> at = 0;
    std::uint64_t launched = 0;
    while (at) {
      // Checked here too: an empty segment launches nothing that would check the time.
      if (auto reason = base::reason_to_end(deadline_, runner_.stop)) {
        return std::unexpected(in_segment(std::move(*reason), *at));
      }
      if (!plan_.segments[*at].empty) {
        FELSITE_CHECK(run_segment(*at, walk, total));
        ++launched;
      }
      const std::uint32_t before = *at;
      at = walk.next(before, choices_);
      // Cleared after use: where all invocations have returned, nobody stores a choice, and zeros
      // take no branch.
      const NextSegment& next = plan_.segments[before].next;
      const bool forks =
          next.kind == NextSegment::Kind::Branch || next.kind == NextSegment::Kind::EnterLoop;
      if (forks && !plan_.host_resolvable) {
        std::fill_n(choices_.begin() + plan_.forks[next.fork].choice, 2, 0u);
      }
    }
    if (launched > 1) count(Counter::GridSyncPoints, launched - 1);
    return {};
  }

  Bytes& own_bytes(const SegmentBuffer& buffer) {
    using Kind = SegmentBuffer::Kind;
    auto found = std::ranges::find(added_, buffer, &Added::buffer);
    if (found == added_.end()) found = added_.insert(added_.end(), {buffer, {}});
    Bytes& bytes = found->bytes;
    if (buffer.kind == Kind::Spill) bytes.resize(sizes_.spills[buffer.source]);
    if (buffer.kind == Kind::WorkgroupSpill) bytes.resize(sizes_.workgroup_spills[buffer.source]);
    if (buffer.kind == Kind::Kept) {
      const auto place = static_cast<std::size_t>(std::ranges::find(plan_.kept, buffer.source) -
                                                  plan_.kept.begin());
      const std::uint64_t element = ir::info(program_.buffer(buffer.source).element).bytes;
      bytes.resize(sizes_.kept[place][buffer.part] / element * element);
    }
    return bytes;
  }

  static void put_words(Bytes& bytes, std::span<const std::uint32_t> words) {
    const auto from = std::as_bytes(words);
    bytes.assign(from.begin(), from.end());
  }

  Result<void> run_segment(std::uint32_t number, const GridWalk& walk, DispatchTiming& total) {
    const GridSegment& segment = plan_.segments[number];
    using Kind = SegmentBuffer::Kind;
    std::vector<ByteSpan> inputs;
    for (BufferId id = 0; id < segment.buffers.size(); ++id) {
      const SegmentBuffer& buffer = segment.buffers[id];
      if (buffer.kind == Kind::Trips) put_words(own_bytes(buffer), walk.trips());
      if (buffer.kind == Kind::Choices) put_words(own_bytes(buffer), choices_);
      if (!ir::takes_caller_bytes(ir::role_of(segment.program.buffer(id)))) continue;
      inputs.push_back(buffer.kind == Kind::Program ? full(buffer.source)
                                                    : ByteSpan(own_bytes(buffer)));
    }
    DispatchConfig config;
    config.grid_override = grid_;
    config.profile = config_.profile;
    config.label = config_.label.empty() ? std::string(segment.program.name()) : config_.label;
    if (config_.timeout) config.timeout = deadline_.remaining();
    auto timing = [&] {
      const PartOfDispatch part;
      return runner_.run(segment.program, inputs, slots_, config);
    }();
    if (!timing) return std::unexpected(in_segment(std::move(timing.error()), number));
    std::size_t slot = 0;
    for (BufferId id = 0; id < segment.buffers.size(); ++id) {
      if (!ir::gives_result(ir::role_of(segment.program.buffer(id)))) continue;
      const SegmentBuffer& buffer = segment.buffers[id];
      if (buffer.kind == Kind::Choices) {
        std::memcpy(choices_.data(), slots_[slot].data(), slots_[slot].size());
      }
      if (buffer.kind == Kind::Program) {
        live_[buffer.source].is_own = true;
        live_[buffer.source].own.swap(slots_[slot]);
      } else {
        own_bytes(buffer).swap(slots_[slot]);
      }
      ++slot;
    }
    // The device time of each segment, summed over its runs.
    std::vector<std::uint64_t> segments = std::move(total.step_device_ns);
    segments.resize(timing->device_ns ? plan_.segments.size() : 0);
    if (timing->device_ns) segments[number] += *timing->device_ns;
    const std::uint32_t iterations = total.iterations_run;
    total = std::exchange(launched_any_, true) ? sum(total, *timing) : std::move(*timing);
    total.step_device_ns = std::move(segments);
    total.iterations_run = iterations;
    total.converged = false;
    return {};
  }

  Error in_segment(Error error, std::uint32_t number) const {
    error.message = fmt::format("In segment {} of {}, counted from 0: {}", number,
                                plan_.segments.size(), error.message);
    error.context.segment = number;
    error.context.program = program_.name();
    return error;
  }

  // Fills the caller's slots and reuses their allocations.
  void gather(std::vector<Bytes>& outputs) {
    std::vector<std::uint64_t> sizes(bindings_.output_count);
    for (const BoundBuffer& buffer : bindings_.buffers) {
      if (buffer.output != kNone) sizes[buffer.output] = buffer.bytes;
    }
    count_slots(outputs, sizes);
    count(Counter::OutputBytes, bindings_.output_bytes);
    outputs.resize(sizes.size());
    for (BufferId id = 0; id < live_.size(); ++id) {
      const std::uint32_t output = bindings_.buffers[id].output;
      if (output == kNone) continue;
      const ByteSpan bytes = full(id);
      if (live_[id].is_own && outputs[output].capacity() < bytes.size()) {
        outputs[output] = std::move(live_[id].own);
      } else {
        outputs[output].assign(bytes.begin(), bytes.end());
      }
    }
  }

  // A buffer that the plan adds.
  struct Added {
    SegmentBuffer buffer;
    Bytes bytes;
  };

  const SegmentRunner& runner_;
  const ir::ValidProgram& program_;
  const std::span<const ByteSpan> inputs_;
  const DispatchConfig& config_;
  const IterationRule rule_;
  const base::Deadline deadline_;
  SpillSpread spread_;
  GridSyncPlan plan_;
  BindingPlan bindings_;
  KeptSizes sizes_;
  Extent3 grid_{};
  std::vector<Live> live_;  // by BufferId
  std::vector<Added> added_;
  std::vector<Bytes> saved_;  // state before the iteration, in the order of GridSyncPlan::evolving
  bool launched_any_ = false;
  std::vector<std::uint32_t> choices_;
  std::vector<Bytes> slots_;  // outputs of a segment, reused by the next
};

}  // namespace

Result<KeptSizes> size_split(const SplitParts& parts, const Extent3& grid,
                             const KeptLimits& limits) {
  auto sizes = size_kept(parts.plan, grid, limits);
  if (!sizes) return sizes;
  auto needed = base::checked_product({sizes->total, 2});
  for (const BufferId id : parts.plan.evolving) {
    const std::uint64_t saved = parts.compares ? parts.bindings.buffers[id].bytes : 0;
    needed = needed ? base::checked_sum({*needed, saved}) : std::nullopt;
  }
  needed = needed ? base::checked_sum({*needed, parts.bindings.output_bytes}) : std::nullopt;
  if (needed && *needed <= limits.memory) return sizes;
  return std::unexpected(base::with_amounts(
      base::out_of_memory(
          fmt::format("The host split needs {} of host memory for results and for what it hands on "
                      "between segments, and {} are available.",
                      base::bytes_text(needed), limits.memory),
          "use a smaller grid, keep fewer values across grid barriers, or leave the form "
          "to the backend.",
          parts.plan.program.name()),
      needed.value_or(UINT64_MAX), limits.memory));
}

Result<DispatchTiming> dispatch_host_split(const SegmentRunner& runner,
                                           const ir::ValidProgram& program,
                                           std::span<const ByteSpan> inputs,
                                           std::vector<Bytes>& outputs,
                                           const DispatchConfig& config) {
  HostSplit split(runner, program, inputs, config);
  FELSITE_CHECK(split.prepare(outputs));
  return split.run(outputs);
}

Result<void> check_host_split(const SegmentRunner& runner, const ir::ValidProgram& program,
                              std::span<const ByteSpan> inputs, const DispatchConfig& config) {
  return HostSplit(runner, program, inputs, config).prepare({});
}

}  // namespace felsite::dispatch
