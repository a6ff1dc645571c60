#include "reference/interpreter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <random>
#include <system_error>
#include <thread>

#include "base/checked.h"
#include "base/errors.h"
#include "base/host_memory.h"
#include "reference/independence.h"

namespace felsite::reference {
namespace {

std::uint64_t group_count(const Extent3& grid) {
  // The caller has checked that invocation ids fit 32 bits per axis; the product may overflow 64
  // bits. No run would ever complete that many.
  return base::volume(grid).value_or(UINT64_MAX);
}

// The workgroup at each position of the run order.
class GroupOrder {
 public:
  explicit GroupOrder(const RunOptions& options)
      : grid_(options.part.value_or(options.grid)),
        base_(options.base),
        count_(group_count(grid_)),
        order_(options.reference.order) {
    if (order_ != WorkgroupOrder::Shuffled) return;
    shuffled_.resize(count_);
    for (std::uint64_t i = 0; i < count_; ++i) shuffled_[i] = static_cast<std::uint32_t>(i);
    std::mt19937_64 random(options.reference.seed);
    // Not std::shuffle, which differs between standard libraries: a seed must give the same order
    // everywhere.
    for (std::uint64_t i = count_; i > 1; --i) std::swap(shuffled_[i - 1], shuffled_[random() % i]);
  }

  std::uint64_t count() const { return count_; }

  Extent3 at(std::uint64_t position) const {
    std::uint64_t linear = position;
    if (order_ == WorkgroupOrder::Reversed) linear = count_ - 1 - position;
    if (order_ == WorkgroupOrder::Shuffled) linear = shuffled_[position];
    return {base_[0] + static_cast<std::uint32_t>(linear % grid_[0]),
            base_[1] + static_cast<std::uint32_t>(linear / grid_[0] % grid_[1]),
            base_[2] + static_cast<std::uint32_t>(linear / grid_[0] / grid_[1])};
  }

 private:
  Extent3 grid_;  // of the part that runs
  Extent3 base_;
  std::uint64_t count_;
  WorkgroupOrder order_;
  std::vector<std::uint32_t> shuffled_;
};

Error out_of_memory(std::string_view what, const std::optional<std::uint64_t>& requested,
                    std::uint64_t available) {
  return base::with_amounts(
      base::out_of_memory(fmt::format("{} needs {}, {} are available.", what,
                                      base::bytes_text(requested), available),
                          "use a smaller grid or smaller buffers, or raise the memory limit."),
      requested.value_or(UINT64_MAX), available);
}

// The number of expressions and nodes that one invocation evaluates, with a guess for loops. It is
// accurate enough to decide whether threads are worth starting.
std::uint64_t estimate_work(const ir::Program& program) {
  constexpr std::uint64_t kTrips = 32;
  constexpr std::uint64_t kMax = std::uint64_t{1} << 30;
  std::uint64_t work = 1;
  std::uint64_t weight = 1;
  std::vector<std::pair<ir::NodeId, std::uint64_t>> loops;  // end of the body, weight outside
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    while (!loops.empty() && loops.back().first <= id) {
      weight = loops.back().second;
      loops.pop_back();
    }
    const std::uint64_t rows = 1 + program.rows_of_node(id).size();
    work = std::min(kMax, work + rows * weight);
    if (program.node(id).kind == ir::NodeKind::Loop) {
      loops.emplace_back(program.node(id).end, weight);
      weight = std::min(kMax, weight * kTrips);
    }
  }
  return work;
}

// Called before workgroup `i`. Small workgroups need not check the clock each time.
std::optional<Error> look_at(std::uint64_t i, const RunOptions& options) {
  if (i % 64 != 0) return std::nullopt;
  return base::reason_to_end(options.deadline, options.stop);
}

}  // namespace

Interpreter::Interpreter(const ir::ValidProgram& program)
    : program_(program), bytecode_(compile(program)), work_per_lane_(estimate_work(program)) {}

bool Interpreter::keeps_every_group() const {
  const ir::Facts& facts = program_.facts();
  return facts.has_grid_sync || facts.has_collectives;
}

Result<void> Interpreter::check_memory(const Extent3& grid, std::uint64_t limit) const {
  const std::uint64_t group_bytes = Machine::group_bytes(program_, bytecode_);
  const auto all = base::checked_product({group_bytes, grid[0], grid[1], grid[2]});
  const auto needed =
      all == 0u || keeps_every_group() ? all : std::optional<std::uint64_t>(group_bytes);
  if (needed && *needed <= limit) return {};
  return std::unexpected(out_of_memory(
      keeps_every_group() ? "Keeping every workgroup across a grid barrier" : "One workgroup",
      needed, limit));
}

Result<RunStats> Interpreter::run(std::span<const BufferView> buffers,
                                  const RunOptions& options) const {
  const ReferenceOptions& reference = options.reference;
  const Launch launch{
      program_,         bytecode_,   buffers, options.grid, reference.subgroup_width,
      options.deadline, options.stop};
  const std::uint64_t groups = group_count(options.part.value_or(options.grid));
  if (groups == 0) return RunStats{};
  constexpr std::uint64_t kMaxShuffled = std::uint64_t{1} << 28;
  if (reference.order == WorkgroupOrder::Shuffled && groups > kMaxShuffled) {
    return std::unexpected(out_of_memory("Shuffling the workgroups",
                                         base::checked_product({groups, 4}), kMaxShuffled * 4));
  }
  const std::uint64_t memory_limit =
      reference.memory_limit != 0 ? reference.memory_limit : base::default_memory_limit();
  if (auto fits = check_memory(options.grid, memory_limit); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  if (keeps_every_group()) return run_all_at_once(launch, options);

  const std::uint64_t group_bytes = Machine::group_bytes(program_, bytecode_);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto threads = static_cast<unsigned>(
      std::min<std::uint64_t>({reference.threads == 0 ? cores : reference.threads, groups,
                               std::max<std::uint64_t>(1, memory_limit / group_bytes)}));
  // With less work than this, starting threads costs more than it saves.
  constexpr std::uint64_t kMinWork = 1 << 18;
  const auto& size = program_.workgroup_size();
  const std::uint64_t group_work = std::uint64_t{size[0]} * size[1] * size[2] * work_per_lane_;
  const bool worthwhile = groups >= (kMinWork + group_work - 1) / group_work;
  if (threads > 1 && worthwhile && workgroups_are_independent(program_, options.grid)) {
    return run_in_parallel(launch, options, threads);
  }
  return run_one_by_one(launch, options);
}

Result<RunStats> Interpreter::run_one_by_one(const Launch& launch,
                                             const RunOptions& options) const {
  const GroupOrder order(options);
  Machine machine(launch);
  Group group;
  for (std::uint64_t i = 0; i < order.count(); ++i) {
    if (auto reason = look_at(i, options)) return std::unexpected(std::move(*reason));
    machine.start(group, order.at(i));
    if (machine.run(group) == Stop::Failed) return std::unexpected(machine.error());
  }
  if (machine.trap()) return std::unexpected(base::trapped(*machine.trap()));
  return RunStats{.out_of_bounds = machine.out_of_bounds(), .threads = 1};
}

// Threads take workgroups in order. The first failure in that order is reported, and nothing after
// it is started, so the outcome is the same as when running one by one. A trap is not such a
// failure: the lowest one is known only when all workgroups have run.
Result<RunStats> Interpreter::run_in_parallel(const Launch& launch, const RunOptions& options,
                                              unsigned threads) const {
  const GroupOrder order(options);
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> stop_at{order.count()};
  std::mutex mutex;
  std::uint64_t failed_at = order.count();
  std::optional<Error> failure;
  std::optional<TrapInfo> trap;
  RunStats stats{.out_of_bounds = {}, .threads = threads};
  const std::uint64_t batch = std::clamp<std::uint64_t>(order.count() / (threads * 16), 1, 64);

  const auto work = [&] {
    Machine machine(launch);
    Group group;
    const auto fail = [&](std::uint64_t position, const Error& error) {
      const std::lock_guard lock(mutex);
      if (position >= failed_at) return;
      failed_at = position;
      failure = error;
      stop_at = position;
    };
    while (true) {
      const std::uint64_t begin = next.fetch_add(batch);
      if (begin >= stop_at) break;
      if (const auto reason = base::reason_to_end(options.deadline, options.stop)) {
        fail(begin, *reason);
        break;
      }
      for (std::uint64_t i = begin; i < std::min(begin + batch, stop_at.load()); ++i) {
        machine.start(group, order.at(i));
        if (machine.run(group) == Stop::Failed) {
          fail(i, machine.error());
          break;
        }
      }
    }
    const std::lock_guard lock(mutex);
    stats.out_of_bounds.add(machine.out_of_bounds());
    if (machine.trap() && (!trap || comes_before(*machine.trap(), *trap))) trap = machine.trap();
  };
  // No exception may leave a thread.
  std::atomic<bool> starved{false};
  const auto guarded = [&] {
    try {
      work();
    } catch (const std::bad_alloc&) {
      starved = true;
      stop_at = 0;
    }
  };
  {
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < threads; ++i) {
      try {
        pool.emplace_back(guarded);
      } catch (const std::system_error&) {
        break;  // fewer threads do the same work
      }
    }
    guarded();
  }
  if (starved) throw std::bad_alloc();  // the caller of run() turns it into an error
  if (failure) return std::unexpected(*failure);
  if (trap) return std::unexpected(base::trapped(*trap));
  return stats;
}

// Every workgroup runs to the grid barrier before any continues. Workgroups whose invocations have
// all returned skip barriers under conditions, so they may wait at a later one than the rest.
Result<RunStats> Interpreter::run_all_at_once(const Launch& launch,
                                              const RunOptions& options) const {
  const GroupOrder order(options);
  Machine machine(launch);
  std::vector<Group> groups(order.count());
  std::vector<bool> done(order.count(), false);
  for (std::uint64_t i = 0; i < order.count(); ++i) {
    if (auto reason = look_at(i, options)) return std::unexpected(std::move(*reason));
    machine.start(groups[i], order.at(i));
  }
  std::uint32_t barrier = ir::kNone;  // the instruction after the barrier that all wait at
  while (true) {
    for (std::uint64_t i = 0; i < order.count(); ++i) {
      const bool waits_elsewhere = barrier != ir::kNone && groups[i].next != barrier;
      if (done[i] || waits_elsewhere) continue;
      if (auto reason = look_at(i, options)) return std::unexpected(std::move(*reason));
      const Stop stop = machine.run(groups[i]);
      if (stop == Stop::Failed) return std::unexpected(machine.error());
      done[i] = stop == Stop::Done;
    }
    // All workgroups have run to the end of the segment; a run that trapped ends here.
    if (machine.trap()) return std::unexpected(base::trapped(*machine.trap()));
    // The next barrier is the one where running workgroups wait, or, with none left, the first one.
    std::uint32_t living = ir::kNone;
    std::uint32_t first = ir::kNone;
    for (std::uint64_t i = 0; i < order.count(); ++i) {
      if (done[i]) continue;
      first = std::min(first, groups[i].next);
      if (!machine.any_alive(groups[i])) continue;
      if (living != ir::kNone && living != groups[i].next) {
        return std::unexpected(
            base::dispatch_failed("Workgroups reached different grid barriers.",
                                  "validate the program: its control flow is not uniform."));
      }
      living = groups[i].next;
    }
    barrier = living != ir::kNone ? living : first;
    if (barrier == ir::kNone) break;
    const Instruction& sync = bytecode_.code[barrier - 1];
    if (sync.b != ir::kNone) {
      const BufferView to = launch.buffers[sync.b];
      const BufferView from = launch.buffers[sync.c];
      const std::uint64_t bytes =
          std::min(to.count, from.count) * ir::info(program_.buffer(sync.b).element).bytes;
      std::copy_n(from.data, bytes, to.data);
    }
  }
  return RunStats{.out_of_bounds = machine.out_of_bounds(), .threads = 1};
}

}  // namespace felsite::reference
