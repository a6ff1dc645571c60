// The calls of the contract on resident memory and static uploads, and the backend's life.
#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/open_backend.h"
#include "dispatch/facade/resident_submission.h"
#include "dispatch/telemetry/counters.h"

namespace felsite {

using dispatch::BackendCore;
using dispatch::OpenDevice;
using dispatch::SharedDevice;

namespace {

// A group that does not fit is refused before its first buffer takes memory.
Result<void> check_room(std::span<const std::uint64_t> sizes, std::uint64_t left) {
  std::uint64_t total = 0;
  for (const std::uint64_t size : sizes) total += std::min(size, UINT64_MAX - total);
  if (sizes.size() < 2 || total <= left) return {};
  return std::unexpected(base::with_amounts(
      base::out_of_memory(fmt::format("{} resident buffers of {} bytes together were asked for, {} "
                                      "are left.",
                                      sizes.size(), total, left),
                          "free resident buffers, or allocate fewer."),
      total, left));
}

}  // namespace

Backend::Backend(std::unique_ptr<dispatch::BackendCore> core) : core_(std::move(core)) {
  core_->attach(*this);
}
Backend::~Backend() = default;

std::string_view Backend::id() const { return core_->id(); }
std::string_view Backend::version() const { return FELSITE_VERSION; }

std::vector<std::string> Backend::supported_ops() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ir::kExprKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::ExprKind>(i)).name);
  }
  for (std::size_t i = 0; i < ir::kNodeKindCount; ++i) {
    names.emplace_back(info(static_cast<ir::NodeKind>(i)).name);
  }
  return names;
}

DeviceProfile Backend::device_profile() const { return core_->profile(); }
std::string Backend::device_feature_cache_key() const { return core_->feature_key(); }

Result<std::vector<ResidentHandle>> Backend::allocate_resident_many(
    std::span<const std::uint64_t> sizes) {
  const auto allocate = [&](OpenDevice& open) -> Result<std::vector<ResidentHandle>> {
    FELSITE_CHECK(check_room(sizes, open.service->memory_left()));
    std::vector<dispatch::SharedAllocation> buffers;
    for (const std::uint64_t size : sizes) {
      FELSITE_TRY(auto buffer, open.service->allocate(size, "resident", {}));
      buffers.push_back(std::move(buffer));
    }
    // All or nothing; removing handles again does not allocate.
    std::vector<ResidentHandle> handles;
    handles.reserve(buffers.size());
    auto added = base::guarded([&]() -> Result<void> {
      for (auto& buffer : buffers) handles.push_back(open.buffers.add(std::move(buffer)));
      return {};
    });
    if (added) return handles;
    for (const ResidentHandle& handle : handles) static_cast<void>(open.buffers.remove(handle));
    return std::unexpected(std::move(added.error()));
  };
  return core_->call("allocate_resident", [&](const SharedDevice& open) {
    return open->with_eviction([&] { return allocate(*open); });
  });
}

Result<std::uint64_t> Backend::resident_size(ResidentHandle handle) const {
  return core_->call("resident_size", [&](const SharedDevice& open) -> Result<std::uint64_t> {
    FELSITE_TRY(const auto buffer, open->buffers.find(handle));
    return buffer->bytes();
  });
}

Result<void> Backend::upload_resident_at_many(std::span<const ResidentUpload> uploads) {
  return core_->call("upload_resident", [&](const SharedDevice& open) -> Result<void> {
    FELSITE_TRY(const auto targets, dispatch::resolve_uploads(*open, uploads));
    std::vector<dispatch::WriteRange> writes;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      writes.push_back({targets[i], uploads[i].bytes});
    }
    return open->service->write(writes);
  });
}

Result<void> Backend::download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                                    std::vector<Bytes>& outputs) {
  return core_->call("download_resident", [&](const SharedDevice& open) -> Result<void> {
    FELSITE_TRY(const auto sources, dispatch::resolve_reads(*open, ranges));
    std::vector<std::uint64_t> sizes;
    for (const dispatch::MemoryRange& source : sources) sizes.push_back(source.bytes);
    dispatch::count_slots(outputs, sizes);
    outputs.resize(sources.size());
    std::vector<dispatch::ReadRange> reads;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      outputs[i].resize(sources[i].bytes);
      reads.push_back({sources[i], outputs[i]});
    }
    return open->service->read(reads);
  });
}

Result<void> Backend::free_resident(ResidentHandle handle) {
  return core_->call("free_resident", [&](const SharedDevice& open) -> Result<void> {
    FELSITE_TRY(const auto buffer, open->buffers.remove(handle));
    open->drop_users(*buffer);
    return {};
  });
}

Result<StaticUploads> Backend::acquire_static_uploads(std::string_view domain,
                                                      std::span<const ByteSpan> payloads) {
  return core_->call("acquire_static_uploads", [&](const SharedDevice&) {
    return core_->static_uploads().acquire(domain, payloads);
  });
}

Result<void> Backend::release_static_uploads(const StaticUploads& uploads) {
  return core_->call("release_static_uploads",
                     [&](const SharedDevice&) { return core_->static_uploads().release(uploads); });
}

// Also names the buffer for debuggers.
Result<DeviceBuffer> Backend::allocate_device_buffer(std::uint64_t bytes, std::string label) {
  return base::guarded([&]() -> Result<DeviceBuffer> {
    DeviceBuffer made{
        .backend = std::string(id()), .bytes = bytes, .label = std::move(label), .resident = {}};
    FELSITE_TRY(made.resident, allocate_resident(bytes));
    base::best_effort([&] {
      const auto open = core_->current();
      if (open == nullptr) return;
      if (const auto buffer = open->buffers.find(made.resident)) (*buffer)->set_label(made.label);
    });
    return made;
  });
}

Result<void> Backend::prepare() {
  return core_->call("prepare", [](const SharedDevice&) -> Result<void> { return {}; });
}

Result<void> Backend::flush() { return core_->flush(); }
Result<void> Backend::shutdown() { return core_->shutdown(); }
bool Backend::device_lost() const { return core_->is_lost(); }
Result<void> Backend::try_recover() { return core_->recover(); }

PipelineCacheSnapshot Backend::pipeline_cache_snapshot() const {
  const auto open = core_->current();
  return open != nullptr ? open->service->pipeline_cache() : PipelineCacheSnapshot{};
}

MetricSnapshot Backend::metric_snapshot() const {
  MetricSnapshot figures;
  core_->report(figures);
  return figures;
}

namespace dispatch {
namespace {

struct OpenedBackend final : Backend {
  using Backend::Backend;
  explicit OpenedBackend(std::unique_ptr<BackendCore> core) : Backend(std::move(core)) {}
};

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(BackendSettings settings) {
  return base::guarded([&]() -> Result<std::unique_ptr<Backend>> {
    FELSITE_TRY(auto core, BackendCore::make(std::move(settings)));
    return std::make_unique<OpenedBackend>(std::move(core));
  });
}

}  // namespace dispatch
}  // namespace felsite
