#include "dispatch/reference/reference_backend.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/host_memory.h"
#include "base/try.h"
#include "dispatch/reference/reference_resident.h"
#include "dispatch/reference/reference_run.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/counters.h"
#include "felsite/validate.h"

namespace felsite::dispatch {
namespace {

// Enough for caches of tables and weights, and little compared with any machine's memory.
constexpr std::uint64_t kStaticBudget = std::uint64_t{256} << 20;

bool exists(WorkgroupOrder order) {
  switch (order) {
    case WorkgroupOrder::Forward:
    case WorkgroupOrder::Reversed:
    case WorkgroupOrder::Shuffled:
      return true;
  }
  return false;
}

}  // namespace

Error on_reference(Error error) noexcept {
  return base::with_device(std::move(error), "reference");
}

Error on_reference(Error error, const ir::Program& program) noexcept {
  return on_reference(base::with_program(std::move(error), program.name()));
}

Reference::Reference(const ReferenceOptions& options)
    : options_(options),
      memory_(memory_limit()),
      static_uploads_(*this, kStaticBudget, [this](const ResidentHandle& buffer, bool on) {
        memory_.protect(buffer, on);
      }) {}

Reference::~Reference() { gate_->close(); }

std::string_view Reference::version() const { return FELSITE_VERSION; }

std::string Reference::device_feature_cache_key() const {
  return fmt::format("reference-{}-subgroup{}", FELSITE_VERSION, options_.subgroup_width);
}

std::uint64_t Reference::memory_limit() const {
  return options_.memory_limit != 0 ? options_.memory_limit : base::default_memory_limit();
}

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
  profile.async_compute = true;
  profile.indirect_dispatch = true;
  profile.grid_sync = true;
  profile.resident_dispatch = true;
  profile.max_workgroup_size.fill(ir::kMaxWorkgroupInvocations);
  profile.max_workgroup_count.fill(UINT32_MAX);
  profile.max_workgroup_invocations = ir::kMaxWorkgroupInvocations;
  profile.subgroup_size = options_.subgroup_width;
  profile.max_storage_buffer_bytes = profile.memory_bytes = memory_limit();
  profile.shared_memory_bytes = ir::kMaxWorkgroupBytes;
  profile.timing_quality = "host clock";
  return profile;
}

Result<void> Reference::check_options() const {
  if (!exists(options_.order)) {
    return std::unexpected(
        base::bad_inputs(fmt::format("An order of workgroups with the number {} does not exist.",
                                     static_cast<unsigned>(options_.order)),
                         "make the backend with one of the values of WorkgroupOrder."));
  }
  if (options_.subgroup_width >= 1 && options_.subgroup_width <= 64) return {};
  return std::unexpected(base::bad_inputs(
      fmt::format("A subgroup width of {} is not from 1 to 64.", options_.subgroup_width),
      "make the backend with a width from 1 to 64."));
}

Result<std::shared_ptr<const reference::Interpreter>> Reference::interpreter_for(
    const ir::Program& program, const DispatchConfig& config) {
  FELSITE_CHECK(check_options());
  FELSITE_CHECK(check_choices(program, config));
  return programs_.get(configured(program, config));
}

void Reference::add_out_of_bounds(const reference::OutOfBounds& more) {
  const std::lock_guard lock(mutex_);
  add(out_of_bounds_, more);
}

OutOfBoundsCounts Reference::out_of_bounds() const {
  const std::lock_guard lock(mutex_);
  return {out_of_bounds_.loads, out_of_bounds_.stores, out_of_bounds_.atomics};
}

Result<std::optional<SegmentRunner>> Reference::split_runner(const ir::ValidProgram& program,
                                                             const DispatchConfig& config,
                                                             const base::StopFlag* stop) {
  if (!needs_grid_sync_form(program, config)) return std::nullopt;
  FELSITE_TRY(const auto route, choose_route(program, config, {}, device_profile()));
  if (route.route != Route::HostSplit) return std::nullopt;
  return SegmentRunner{
      .run = [this, stop](const ir::Program& segment, std::span<const ByteSpan> inputs,
                          std::vector<Bytes>& outputs,
                          const DispatchConfig& how) -> Result<DispatchTiming> {
        FELSITE_TRY(auto interpreter, interpreter_for(segment, how));
        return run(*interpreter, inputs, outputs, how, Slots::Callers, stop);
      },
      .memory_limit = memory_limit(),
      .binding_limit = memory_limit(),
      .stop = stop};
}

Result<DispatchTiming> Reference::run(const reference::Interpreter& interpreter,
                                      std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs,
                                      const DispatchConfig& config, Slots slots,
                                      const base::StopFlag* stop) {
  FELSITE_TRY(const auto runner, split_runner(interpreter.program(), config, stop));
  if (runner) {
    return dispatch_host_split(*runner, interpreter.program(), inputs, outputs, config);
  }
  ReferenceRun run(interpreter, config, options_, stop);
  FELSITE_CHECK(run.plan(inputs, outputs, memory_limit()));
  const std::vector<std::uint64_t> sizes = run.output_sizes();
  if (slots == Slots::Callers) count_slots(outputs, sizes);
  run.bind(inputs, outputs);
  count(Counter::Submissions);
  for (const ByteSpan input : inputs) {
    count(Counter::InputBytes, input.size());
    count(Counter::UploadBytes, input.size());
  }
  auto timing = run.iterations();
  add_out_of_bounds(run.out_of_bounds());
  if (!timing) return timing;
  for (const std::uint64_t size : sizes) {
    count(Counter::OutputBytes, size);
    count(Counter::DownloadBytes, size);
  }
  return timing;
}

Result<DispatchTiming> Reference::dispatch_borrowed_into(const ir::Program& program,
                                                         std::span<const ByteSpan> inputs,
                                                         std::vector<Bytes>& outputs,
                                                         const DispatchConfig& config) {
  auto timing = call("dispatch", [&]() -> Result<DispatchTiming> {
    FELSITE_TRY(auto interpreter, interpreter_for(program, config));
    const Counted in_flight(in_flight_);
    return run(*interpreter, inputs, outputs, config);
  });
  if (!timing) return std::unexpected(on_reference(std::move(timing.error()), program));
  return timing;
}

Result<std::vector<ResidentHandle>> Reference::allocate_resident_many(
    std::span<const std::uint64_t> sizes) {
  return call("allocate_resident", [&] {
    auto handles = memory_.allocate(sizes);
    // Static uploads that nobody holds make room for what a caller asks for.
    if (!handles) {
      static_uploads_.free_unused();
      handles = memory_.allocate(sizes);
    }
    return handles;
  });
}

Result<std::uint64_t> Reference::resident_size(ResidentHandle buffer) const {
  return call("resident_size", [&]() -> Result<std::uint64_t> {
    FELSITE_TRY(const auto found, memory_.find(buffer));
    return found->bytes.size();
  });
}

Result<void> Reference::upload_resident_at_many(std::span<const ResidentUpload> uploads) {
  return call("upload_resident", [&]() -> Result<void> {
    FELSITE_TRY(const auto ready, prepare_uploads(uploads, memory_));
    const std::lock_guard lock(queue_);
    run_uploads(ready);
    return {};
  });
}

Result<void> Reference::download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                                      std::vector<Bytes>& outputs) {
  return call("download_resident", [&]() -> Result<void> {
    FELSITE_TRY(const auto ready, prepare_reads(ranges, memory_));
    const std::lock_guard lock(queue_);
    run_reads(ready, outputs);
    return {};
  });
}

Result<void> Reference::free_resident(ResidentHandle buffer) {
  return call("free_resident", [&] { return memory_.free(buffer); });
}

Result<DispatchTiming> Reference::submit_resident(const ResidentSubmission& submission,
                                                  std::vector<Bytes>& outputs,
                                                  const SubmissionConfig& config) {
  return call("submit_resident", [&]() -> Result<DispatchTiming> {
    FELSITE_CHECK(check_options());
    FELSITE_TRY(const auto ready, prepare_submission(submission, memory_, programs_));
    const Counted in_flight(in_flight_);
    reference::OutOfBounds out_of_bounds;
    const std::lock_guard lock(queue_);
    auto timing = run_submission(ready, outputs, config, options_, out_of_bounds);
    add_out_of_bounds(out_of_bounds);
    return timing;
  });
}

Result<StaticUploads> Reference::acquire_static_uploads(std::string_view domain,
                                                        std::span<const ByteSpan> payloads) {
  return call("acquire_static_uploads", [&] { return static_uploads_.acquire(domain, payloads); });
}

Result<void> Reference::release_static_uploads(const StaticUploads& uploads) {
  return call("release_static_uploads", [&] { return static_uploads_.release(uploads); });
}

Result<void> Reference::prepare() {
  return call("prepare", []() -> Result<void> { return {}; });
}

// Does not enter the gate: it would wait for itself.
Result<void> Reference::flush() {
  const HostSlice slice("flush");
  auto flushed = base::guarded([&]() -> Result<void> {
    if (gate_->closed()) return std::unexpected(after_shutdown());
    gate_->wait_for_earlier();
    return {};
  });
  if (!flushed) return std::unexpected(on_reference(std::move(flushed.error())));
  return flushed;
}

Result<void> Reference::shutdown() {
  const HostSlice slice("shutdown");
  gate_->close();
  static_uploads_.forget();
  memory_.clear();
  programs_.clear();
  return {};
}

Result<void> Reference::try_recover() {
  return call("try_recover", []() -> Result<void> { return {}; });
}

MetricSnapshot Reference::metric_snapshot() const {
  MetricSnapshot figures;
  memory_.report(figures);
  figures.in_flight = *in_flight_;
  figures.recordings = recordings_;
  figures.recordings_kept = *recordings_kept_;
  const StaticUploadCache::Figures statics = static_uploads_.figures();
  figures.static_bytes = statics.bytes;
  figures.static_hits = statics.hits;
  figures.static_misses = statics.misses;
  return figures;
}

}  // namespace felsite::dispatch

namespace felsite {

std::unique_ptr<ReferenceBackend> make_reference_backend(ReferenceOptions options) {
  std::unique_ptr<ReferenceBackend> made;
  base::best_effort([&] { made = std::make_unique<dispatch::Reference>(options); });
  return made;
}

}  // namespace felsite
