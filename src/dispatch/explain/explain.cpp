#include "felsite/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/host_memory.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/explain/assumed_sizes.h"
#include "dispatch/explain/explained_source.h"
#include "dispatch/explain/explained_traffic.h"
#include "dispatch/explain/schedule_text.h"
#include "dispatch/facade/host_split.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/reference/reference_run.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/schedule/step_accesses.h"
#include "felsite/validate.h"
#include "ir/analysis/workgroup_memory.h"

namespace felsite {
namespace {

using dispatch::kAssumedElements;
using dispatch::KnownSizes;
using dispatch::Route;
using dispatch::valid_configured;

class Explainer {
 public:
  Explainer(ir::ValidProgram program, const DispatchConfig& config, const ExplainInputs& inputs,
            const DeviceProfile& device)
      : program_(std::move(program)),
        config_(config),
        inputs_(inputs),
        device_(device),
        rule_(dispatch::iteration_rule(program_, config)),
        iterations_(rule_.bound) {}

  Result<Explanation> run() {
    FELSITE_CHECK(dispatch::check_config(program_, config_));
    out_.program = program_.name();
    out_.fingerprint = to_string(program_.fingerprint());
    out_.device = device_.name;
    out_.workgroup_size = program_.workgroup_size();
    FELSITE_CHECK(find_sizes());
    FELSITE_CHECK(make_schedule());
    const Route route = schedule_.route.route;
    out_.route = to_string(route);
    out_.reason = schedule_.route.reason;
    if (const auto& estimates = schedule_.route.estimates) {
      out_.estimates = {estimates->one_workgroup_ns, estimates->resident_ns,
                        dispatch::to_string(*estimates), estimates->assumptions};
    }
    FELSITE_CHECK(check_workgroup(route));
    FELSITE_CHECK(check_groups(route));
    if (!sizes_.grid) note_small_grid(route);
    if (dispatch::changes_own_grid(program_, config_) && route == Route::Resident &&
        dispatch::needs_known_grid(program_)) {
      out_.notes.push_back("The schedule is that of one iteration.");
    }
    FELSITE_CHECK(explain_cut(route));
    out_.source = dispatch::explain_source(program_, inputs_.source);
    return std::move(out_);
  }

 private:
  // Finds the lengths and the grid, as far as they follow from what was given.
  Result<void> find_sizes() {
    std::vector<std::uint64_t> bytes;
    std::vector<std::string> missing;
    bool storage_missing = false;
    for (const ir::BufferDecl& buffer : program_.buffers()) {
      const ir::Role role = ir::role_of(buffer);
      const bool is_input = ir::takes_caller_bytes(role);
      sizes_.lengths.emplace_back(buffer.count);
      if (!is_input) continue;
      const std::size_t element = ir::info(buffer.element).bytes;
      const auto given = bytes.size() < inputs_.bytes.size() ? inputs_.bytes[bytes.size()]
                                                             : std::optional<std::uint64_t>();
      bytes.push_back(given.value_or(buffer.count * element));
      if (given) sizes_.lengths.back() = *given / element;
      if (given || buffer.count != 0) continue;
      sizes_.lengths.back().reset();
      missing.push_back("`" + buffer.name + "`");
      storage_missing = storage_missing || role != ir::Role::Uniform;
    }
    if (!missing.empty()) {
      out_.assumptions.push_back(
          fmt::format("The size{} of {} {} not known: what depends on {} stands as a formula.",
                      missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                      missing.size() == 1 ? "is" : "are", missing.size() == 1 ? "it" : "them"));
    }
    FELSITE_TRY(bindings_, dispatch::plan_bindings(program_, bytes, config_));
    FELSITE_CHECK(dispatch::check_result_memory(bindings_, host_bytes()));
    return find_grid(bindings_, storage_missing);
  }

  Result<void> find_grid(const dispatch::BindingPlan& bindings, bool storage_missing) {
    sizes_.workgroup_size = program_.workgroup_size();
    const bool indirect = program_.facts().has_indirect_dispatch;
    auto words = inputs_.indirect_grid;
    if (indirect && !words) words.emplace();
    FELSITE_TRY(auto grid, dispatch::plan_grid(program_, bindings, config_, words));
    const bool is_known = indirect ? inputs_.indirect_grid.has_value()
                                   : config_.grid_override.has_value() || !storage_missing;
    if (is_known) {
      grid_ = grid;
      sizes_.grid = out_.grid = grid_;
      out_.grid_reason = dispatch::grid_reason(program_, bindings, config_);
      return {};
    }
    grid_ = dispatch::assumed_grid(program_.workgroup_size());
    out_.grid_reason = indirect ? "read from a buffer whose words are not known"
                                : "for the largest storage buffer, whose size is not known";
    out_.assumptions.push_back(
        fmt::format("The grid is taken to be one for {} elements, more than a workgroup has.",
                    kAssumedElements));
    return {};
  }

  // The schedule of a dispatch, where unknown inputs are taken to be large.
  Result<void> make_schedule() {
    const dispatch::AssumedInputs assumed = dispatch::assumed_inputs(program_, inputs_);
    FELSITE_TRY(const auto bindings, dispatch::plan_bindings(program_, assumed.bytes, config_));
    FELSITE_TRY(schedule_,
                dispatch::schedule_with(program_, config_, bindings, grid_, device_, inputs_));
    barriers_ = dispatch::plan_barriers(dispatch::sequence_of(schedule_));
    if (schedule_.kernels.empty()) return {};  // the host or the backend runs it
    if (!assumed.missing.empty()) {
      out_.assumptions.push_back(
          fmt::format("In the schedule {} {} {} elements.", fmt::join(assumed.missing, ", "),
                      assumed.missing.size() == 1 ? "has" : "have", kAssumedElements));
    }
    for (const auto line : std::views::split(to_string(schedule_, barriers_), '\n')) {
      out_.schedule.emplace_back(line.begin(), line.end());
    }
    out_.schedule.pop_back();  // after the last line's end
    return {};
  }

  // Where the grid was assumed to be large, says what a small one would change.
  void note_small_grid(Route route) {
    const auto small = dispatch::choose_route(program_, config_, {1, 1, 1}, device_);
    if (!small || small->route == route) return;
    out_.notes.push_back(fmt::format("On a grid of one workgroup the route is {}. {}",
                                     to_string(small->route), small->reason));
  }

  GridSyncOptions options(bool for_device, bool store_choices) const {
    return {.many_iterations = iterations_ > 1,
            .report_changes = for_device && rule_.compares,
            .store_choices = store_choices,
            .one_dimensional = grid_[1] == 1 && grid_[2] == 1,
            .spread = dispatch::spread_that_fits(program_, grid_, binding_bytes())};
  }

  std::uint64_t device_bytes() const {
    return device_.memory_bytes != 0 ? device_.memory_bytes : UINT64_MAX;
  }

  // What the host has for results, and for what it hands on between the segments of a host split.
  // The reference is the host.
  std::uint64_t host_bytes() const {
    return device_.grid_sync ? device_bytes() : base::default_memory_limit();
  }

  std::uint64_t binding_bytes() const {
    return device_.max_storage_buffer_bytes != 0 ? device_.max_storage_buffer_bytes : UINT64_MAX;
  }

  Result<GridSyncPlan> cut(bool for_device) const {
    auto plan = plan_grid_sync(program_, options(for_device, false));
    if (!plan || plan->host_resolvable) return plan;
    return plan_grid_sync(program_, options(for_device, true));
  }

  // A host split that keeps too much is not explained as if it could run. The schedules of all
  // other forms have been checked for that.
  Result<void> check_split(const GridSyncPlan& split, Route route) const {
    if (!sizes_.grid || route != Route::HostSplit) return {};
    const auto sizes =
        dispatch::size_split({.plan = split, .bindings = bindings_, .compares = rule_.compares},
                             grid_, {host_bytes(), binding_bytes()});
    if (!sizes) return std::unexpected(sizes.error());
    return {};
  }

  // A grid that is folded into one workgroup does not run with the program's workgroups.
  Result<void> check_workgroup(Route route) const {
    if (device_.max_workgroup_invocations == 0) return {};  // the profile states no limits
    if (route == Route::OneWorkgroup && grid_ != Extent3{1, 1, 1}) return {};
    const std::uint64_t bytes =
        device_.shared_memory_bytes != 0 ? device_.shared_memory_bytes : UINT64_MAX;
    auto fits = ir::check_workgroup(
        program_, {device_.max_workgroup_size, device_.max_workgroup_invocations, bytes});
    if (!fits) return std::unexpected(base::with_device(std::move(fits.error()), device_.name));
    return {};
  }

  // Only the reference has native grid barriers; it keeps every workgroup across them.
  Result<void> check_groups(Route route) const {
    const bool on_reference = device_.grid_sync && route != Route::HostSplit;
    if (!on_reference || !sizes_.grid) return {};
    return dispatch::check_kept_groups(program_, grid_, device_bytes());
  }

  Result<void> explain_cut(Route route) {
    explain_convergence(route);
    out_.traffic = dispatch::resident_traffic(program_, sizes_, rule_.flag.value_or(ir::kNone));
    auto plan = cut(true);
    if (!plan) {
      // A backend with native barriers also runs what cannot be cut.
      const bool is_needed = route != Route::Native && route != Route::Plain;
      if (is_needed || plan.error().code != ErrorCode::UnsupportedFeature) {
        return std::unexpected(std::move(plan.error()));
      }
      out_.has_plan = false;
      out_.notes.push_back("It cannot be cut into segments: " + plan.error().message);
      return {};
    }
    FELSITE_TRY(const auto split, cut(false));
    FELSITE_CHECK(check_split(split, route));
    explain_plan(*plan, route);
    dispatch::add_split_traffic(split, sizes_, visits_, iterations_, out_.segments, out_.traffic);
    return {};
  }

  void explain_plan(const GridSyncPlan& plan, Route route) {
    dispatch::BufferList buffers(plan, sizes_);
    out_.host_resolvable = plan.host_resolvable;
    out_.grid_barriers = plan.grid_syncs;
    out_.spill_words = plan.spill_words;
    out_.group_words = plan.group_words;
    const auto path = dispatch::known_path(plan, sizes_);
    if (path) {
      visits_.assign(plan.segments.size(), 0);
      for (const std::uint32_t s : *path) ++visits_[s];
    }
    out_.segments = dispatch::explain_segments(plan, buffers);
    std::uint64_t launches = 0;
    for (std::size_t s = 0; path && s < visits_.size(); ++s) {
      out_.segments[s].launches = plan.segments[s].empty ? 0 : visits_[s];
      launches += *out_.segments[s].launches;
    }
    if (path) out_.launches = launches;
    out_.order = dispatch::explain_order(plan, visits_);
    out_.spills = dispatch::explain_spills(plan);
    out_.barriers = dispatch::explain_barriers(schedule_, barriers_, out_.segments);
    dispatch::ByteSum kept;
    kept += {std::uint64_t{plan.spill_words} * 4, "invocations", sizes_.invocations()};
    kept += {std::uint64_t{plan.group_words} * 4, "workgroups", sizes_.workgroups()};
    for (const ir::BufferId id : plan.kept) {
      const ir::BufferDecl& buffer = plan.program.buffer(id);
      kept += {buffer.count * ir::info(buffer.element).bytes, "workgroups", sizes_.workgroups()};
    }
    out_.kept = kept.value();
    out_.buffers = buffers.take();
    for (const ir::BufferId id : plan.reported) {
      if (!compares_all(route)) out_.convergence.reported.push_back(program_.buffer(id).name);
    }
    if (out_.convergence.kind == "automatic") {
      for (const ir::BufferId id : plan.evolving) {
        const bool reported = std::ranges::binary_search(plan.reported, id);
        if (compares_all(route) || !reported) {
          out_.convergence.compared.push_back(program_.buffer(id).name);
        }
      }
    }
    note_form(plan, route);
    if (is_one_dispatch(out_)) as_one_dispatch();
  }

  // Removes what only a cut needs: barriers between launches, and what is kept across them.
  void as_one_dispatch() {
    out_.launches = 1;
    out_.barriers.clear();
    out_.spills.clear();
    out_.spill_words = out_.group_words = 0;
    out_.kept = dispatch::ByteSum().value();
    const auto is_own = [&](std::uint32_t place) {
      return out_.buffers[place].kind == ExplainedBuffer::Kind::Program;
    };
    for (ExplainedSegment& segment : out_.segments) {
      std::erase_if(segment.uses, [&](const ExplainedUse& use) {
        return !is_own(use.buffer) || use.role == "carried";
      });
      segment.recomputed.clear();
      segment.loaded.clear();
      segment.stored.clear();
    }
    // The program's buffers come first, so their positions stay.
    std::erase_if(out_.buffers, [](const ExplainedBuffer& buffer) {
      return buffer.kind != ExplainedBuffer::Kind::Program;
    });
  }

  // Only the kernels that a device runs for a known grid report on stores.
  bool compares_all(Route route) const {
    return route == Route::HostSplit || route == Route::Native ||
           dispatch::changes_own_grid(program_, config_);
  }

  void note_form(const GridSyncPlan& plan, Route route) {
    const bool in_one = route == Route::Native || route == Route::OneWorkgroup;
    if (in_one && plan.segments.size() > 1) {
      out_.notes.push_back(
          "All of it is one dispatch: the segments are its parts, with native barriers between "
          "them, and nothing is spilled.");
    }
    if (!in_one && !plan.host_resolvable) {
      out_.notes.push_back(
          route == Route::HostSplit
              ? "Bounds or conditions are in memory: the host reads what each segment decided."
              : "Bounds or conditions are in memory: a small kernel after each segment decides "
                "what "
                "runs next, with its own barriers.");
    }
  }

  void explain_convergence(Route route) {
    ExplainedConvergence& convergence = out_.convergence;
    convergence.iterations = iterations_;
    switch (config_.convergence.kind) {
      case Convergence::Kind::Automatic:
        convergence.kind = iterations_ > 1 ? "automatic" : "once";
        break;
      case Convergence::Kind::Flag:
        convergence.kind = "flag";
        convergence.flag = config_.convergence.flag;
        break;
      case Convergence::Kind::None:
        convergence.kind = iterations_ > 1 ? "none" : "once";
        break;
    }
    for (const ir::BufferId id : dispatch::changed_buffers(program_)) {
      convergence.evolving.push_back(program_.buffer(id).name);
    }
    if (config_.cooperative && route == Route::Native) {
      out_.notes.push_back("It is a cooperative dispatch: all workgroups run at once.");
    }
  }

  const ir::ValidProgram program_;
  const DispatchConfig& config_;
  const ExplainInputs& inputs_;
  const DeviceProfile& device_;
  const dispatch::IterationRule rule_;
  const std::uint32_t iterations_;
  KnownSizes sizes_;
  dispatch::BindingPlan bindings_;  // inputs of unknown size have none
  Extent3 grid_{};                  // known or assumed
  dispatch::Schedule schedule_;
  dispatch::BarrierPlan barriers_;
  std::vector<std::uint64_t> visits_;
  Explanation out_;
};

}  // namespace

std::string_view to_string(ExplainedBuffer::Kind kind) {
  switch (kind) {
    case ExplainedBuffer::Kind::Program:
      return "program";
    case ExplainedBuffer::Kind::Spill:
      return "spill";
    case ExplainedBuffer::Kind::WorkgroupSpill:
      return "workgroup spill";
    case ExplainedBuffer::Kind::Kept:
      return "kept";
    case ExplainedBuffer::Kind::Control:
      return "control";
  }
  return "?";
}

bool is_one_dispatch(const Explanation& explanation) {
  return explanation.route == "plain" || explanation.route == "native" ||
         explanation.route == "one workgroup";
}

std::string_view to_string(ExplainedHazard::Kind kind) {
  switch (kind) {
    case ExplainedHazard::Kind::ReadAfterWrite:
      return "RAW";
    case ExplainedHazard::Kind::WriteAfterRead:
      return "WAR";
    case ExplainedHazard::Kind::WriteAfterWrite:
      return "WAW";
  }
  return "?";
}

Result<Explanation> explain(const ir::Program& program, const DispatchConfig& config,
                            const ExplainInputs& inputs, const DeviceProfile& device) {
  auto explained = base::guarded([&]() -> Result<Explanation> {
    FELSITE_TRY(auto configured, valid_configured(program, config));
    return Explainer(std::move(configured), config, inputs, device).run();
  });
  if (explained) return explained;
  return std::unexpected(base::with_program(std::move(explained.error()), program.name()));
}

Result<GridChoice> choose_grid(const ir::Program& program, const DispatchConfig& config,
                               const std::vector<std::uint64_t>& input_bytes) {
  return base::guarded([&]() -> Result<GridChoice> {
    // The workgroup size may be the caller's, and none to divide by.
    FELSITE_TRY(const auto configured, valid_configured(program, config));
    FELSITE_TRY(const auto plan, dispatch::plan_bindings(configured, input_bytes, config));
    GridChoice choice{.grid = {},
                      .reason = dispatch::grid_reason(configured, plan, config),
                      .is_inferred = false};
    if (configured.facts().has_indirect_dispatch) return choice;
    FELSITE_TRY(const auto grid, dispatch::plan_grid(configured, plan, config, std::nullopt));
    choice.grid = grid;
    choice.is_inferred = !config.grid_override;
    return choice;
  });
}

}  // namespace felsite
