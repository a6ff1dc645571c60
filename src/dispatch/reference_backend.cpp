#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "dispatch/caller_memory.h"
#include "felsite/reference.h"
#include "felsite/validate.h"
#include "ir/effects.h"
#include "reference/interpreter.h"

namespace felsite {
namespace {

using namespace dispatch;
using reference::BufferView;
using reference::Interpreter;
using Clock = std::chrono::steady_clock;

// Programs made ready, by fingerprint: dispatching one again neither validates nor compiles it.
class PreparedPrograms {
 public:
  Result<std::shared_ptr<const Interpreter>> get(const ir::Program& program) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = ready_.find(program.fingerprint()); found != ready_.end()) {
        return found->second;
      }
    }
    // Outside the lock: a large program must not hold up the others.
    if (const ir::Findings findings = ir::validate(program); !findings.empty()) {
      return std::unexpected(ir::to_error(findings, program.name()));
    }
    auto interpreter = std::make_shared<const Interpreter>(program);
    const std::lock_guard lock(mutex_);
    if (ready_.size() >= kMost) ready_.clear();
    return ready_.emplace(program.fingerprint(), std::move(interpreter)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Hash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  std::mutex mutex_;
  std::unordered_map<ir::Fingerprint, std::shared_ptr<const Interpreter>, Hash> ready_;
};

// One dispatch: its buffers in place, and its passes.
class Run {
 public:
  Run(const Interpreter& interpreter, const DispatchConfig& config, ReferenceOptions options)
      : interpreter_(interpreter), program_(interpreter.program()), config_(config) {
    options_.reference = options;
    // The longest timeouts reach past the end of the clock: the same as none.
    const Clock::time_point now = Clock::now();
    if (config.timeout && *config.timeout < Clock::time_point::max() - now) {
      options_.deadline = now + *config.timeout;
    }
  }

  Result<void> bind(std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs);
  Result<DispatchTiming> passes();
  const reference::OutOfBounds& out_of_bounds() const { return out_of_bounds_; }

 private:
  Result<void> one_pass();
  bool flag_is_clear() const;
  void clear_flag();
  void save_state();
  bool state_is_as_saved() const;

  const Interpreter& interpreter_;
  const ir::Program& program_;
  const DispatchConfig& config_;
  reference::RunOptions options_;
  BindingPlan plan_;
  std::vector<BufferView> views_;
  std::vector<ir::BufferId> evolving_;  // storage buffers the program changes
  std::vector<Bytes> saved_;            // their bytes before the pass
  reference::OutOfBounds out_of_bounds_;
};

Error with_program(Error error, const ir::Program& program) {
  error.context.program = program.name();
  error.context.device = "reference";
  return error;
}

Result<void> Run::bind(std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs) {
  auto plan = plan_inputs(program_, inputs, config_);
  if (!plan) return std::unexpected(std::move(plan.error()));
  plan_ = std::move(*plan);
  const std::uint64_t limit = options_.reference.memory_limit != 0
                                  ? options_.reference.memory_limit
                                  : reference::default_memory_limit();
  if (auto fits = check_result_memory(plan_, limit); !fits) return fits;
  if (auto apart = check_slots(inputs, outputs); !apart) return apart;
  outputs.resize(plan_.output_count);
  for (const BoundBuffer& bound : plan_.buffers) {
    BufferView view{.data = nullptr, .count = bound.count};
    if (bound.output != ir::kNone) {
      Bytes& slot = outputs[bound.output];
      if (bound.input != ir::kNone) {
        slot.assign(inputs[bound.input].begin(), inputs[bound.input].end());
      } else {
        slot.assign(bound.bytes, std::byte{0});
      }
      view.data = slot.data();
    } else if (bound.input != ir::kNone) {
      // Only read: validation has seen to that.
      view.data = const_cast<std::byte*>(inputs[bound.input].data());
    }
    views_.push_back(view);
  }
  return {};
}

Result<void> Run::one_pass() {
  const auto contents = [&](ir::BufferId id) {
    return ByteSpan(views_[id].data, plan_.buffers[id].bytes);
  };
  auto grid = plan_grid(program_, plan_, config_, indirect_grid(program_, contents));
  if (!grid) return std::unexpected(std::move(grid.error()));
  options_.grid = *grid;
  auto stats = interpreter_.run(views_, options_);
  if (!stats) return std::unexpected(std::move(stats.error()));
  out_of_bounds_.loads += stats->out_of_bounds.loads;
  out_of_bounds_.stores += stats->out_of_bounds.stores;
  out_of_bounds_.atomics += stats->out_of_bounds.atomics;
  return {};
}

bool Run::flag_is_clear() const {
  const BufferView view = views_[*program_.find_buffer(config_.convergence.flag)];
  return std::all_of(view.data, view.data + view.count * 4,
                     [](std::byte b) { return b == std::byte{0}; });
}

void Run::clear_flag() {
  const BufferView view = views_[*program_.find_buffer(config_.convergence.flag)];
  std::fill_n(view.data, view.count * 4, std::byte{0});
}

void Run::save_state() {
  saved_.resize(evolving_.size());
  for (std::size_t i = 0; i < evolving_.size(); ++i) {
    const BufferView view = views_[evolving_[i]];
    saved_[i].assign(view.data, view.data + plan_.buffers[evolving_[i]].bytes);
  }
}

bool Run::state_is_as_saved() const {
  for (std::size_t i = 0; i < evolving_.size(); ++i) {
    if (!std::equal(saved_[i].begin(), saved_[i].end(), views_[evolving_[i]].data)) return false;
  }
  return true;
}

Result<DispatchTiming> Run::passes() {
  const auto start = Clock::now();
  const std::uint32_t bound = config_.fixpoint_iterations.value_or(1);
  const Convergence::Kind kind = config_.convergence.kind;
  const bool compares = kind == Convergence::Kind::Automatic && bound > 1;
  const bool flags = kind == Convergence::Kind::Flag;
  if (compares) {
    const ir::Effects effects = ir::effects_of(program_, program_.entry());
    for (const auto* list : {&effects.writes, &effects.atomics}) {
      for (const ir::BufferId id : *list) {
        if (program_.buffer(id).access != ir::Access::Workgroup) evolving_.push_back(id);
      }
    }
  }
  DispatchTiming timing;
  while (timing.passes_run < bound && !timing.converged) {
    if (compares) save_state();
    if (flags) clear_flag();
    if (auto pass = one_pass(); !pass) return std::unexpected(std::move(pass.error()));
    ++timing.passes_run;
    timing.converged = (compares && state_is_as_saved()) || (flags && flag_is_clear());
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  timing.wall_ns = static_cast<std::uint64_t>(elapsed.count());
  return timing;
}

class Reference final : public ReferenceBackend {
 public:
  explicit Reference(ReferenceOptions options) : options_(options) {}

  std::string_view id() const override { return "reference"; }
  std::string_view version() const override { return FELSITE_VERSION; }
  std::vector<std::string> supported_ops() const override;
  DeviceProfile device_profile() const override;
  std::string device_feature_cache_key() const override {
    return fmt::format("reference-{}-subgroup{}", FELSITE_VERSION, options_.subgroup_width);
  }
  Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs,
                                                const DispatchConfig& config) override;
  OutOfBoundsCounts out_of_bounds() const override {
    const std::lock_guard lock(mutex_);
    return out_of_bounds_;
  }

 private:
  Result<DispatchTiming> try_dispatch(const ir::Program& program, std::span<const ByteSpan> inputs,
                                      std::vector<Bytes>& outputs, const DispatchConfig& config);

  const ReferenceOptions options_;
  PreparedPrograms programs_;
  mutable std::mutex mutex_;
  OutOfBoundsCounts out_of_bounds_;
};

std::vector<std::string> Reference::supported_ops() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ir::kExprKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::ExprKind>(i)).name);
  }
  for (std::size_t i = 0; i < ir::kNodeKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::NodeKind>(i)).name);
  }
  return names;
}

DeviceProfile Reference::device_profile() const {
  DeviceProfile profile;
  profile.name = "reference interpreter";
  profile.subgroup_ops = profile.f16 = profile.bf16 = profile.f64 = profile.int64 = true;
  profile.indirect_dispatch = true;
  profile.grid_sync = true;
  profile.max_workgroup_size.fill(ir::kMaxWorkgroupInvocations);
  profile.max_workgroup_count.fill(UINT32_MAX);
  profile.max_workgroup_invocations = ir::kMaxWorkgroupInvocations;
  profile.subgroup_size = options_.subgroup_width;
  profile.max_storage_buffer_bytes =
      options_.memory_limit != 0 ? options_.memory_limit : reference::default_memory_limit();
  profile.shared_memory_bytes = ir::kMaxWorkgroupBytes;
  profile.timing_quality = "host clock";
  return profile;
}

Result<DispatchTiming> Reference::try_dispatch(const ir::Program& program,
                                               std::span<const ByteSpan> inputs,
                                               std::vector<Bytes>& outputs,
                                               const DispatchConfig& config) {
  if (options_.subgroup_width < 1 || options_.subgroup_width > 64) {
    return std::unexpected(Error{
        .code = ErrorCode::BadInputs,
        .message =
            fmt::format("A subgroup width of {} is not from 1 to 64.", options_.subgroup_width),
        .fix = "make the backend with a width from 1 to 64.",
        .context = {}});
  }
  auto interpreter = programs_.get(configured(program, config));
  if (!interpreter) return std::unexpected(std::move(interpreter.error()));
  if (auto sane = check_config((*interpreter)->program(), config); !sane) {
    return std::unexpected(std::move(sane.error()));
  }
  Run run(**interpreter, config, options_);
  if (auto bound = run.bind(inputs, outputs); !bound)
    return std::unexpected(std::move(bound.error()));
  auto timing = run.passes();
  const std::lock_guard lock(mutex_);
  out_of_bounds_.loads += run.out_of_bounds().loads;
  out_of_bounds_.stores += run.out_of_bounds().stores;
  out_of_bounds_.atomics += run.out_of_bounds().atomics;
  return timing;
}

Result<DispatchTiming> Reference::dispatch_borrowed_into(const ir::Program& program,
                                                         std::span<const ByteSpan> inputs,
                                                         std::vector<Bytes>& outputs,
                                                         const DispatchConfig& config) {
  try {
    auto timing = try_dispatch(program, inputs, outputs, config);
    if (!timing) return std::unexpected(with_program(std::move(timing.error()), program));
    return timing;
  } catch (const std::bad_alloc&) {
    return std::unexpected(with_program(host_out_of_memory(), program));
  }
}

}  // namespace

std::unique_ptr<ReferenceBackend> make_reference_backend(ReferenceOptions options) {
  return std::make_unique<Reference>(options);
}

}  // namespace felsite
