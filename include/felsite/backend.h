// The backend contract. A backend is a pure function from a valid program and its input bytes to
// output bytes. Every backend gives the same bytes, and all calls are thread-safe. The class is the
// same for all of them; what differs is the service of the device below it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/compiled.h"
#include "felsite/device_profile.h"
#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "felsite/figures.h"
#include "felsite/program.h"
#include "felsite/resident.h"

namespace felsite {

namespace dispatch {
class BackendCore;
}  // namespace dispatch

class Backend {
 public:
  virtual ~Backend();
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  std::string_view id() const;
  std::string_view version() const;
  // Names of the node and expression kinds that it runs.
  std::vector<std::string> supported_ops() const;
  DeviceProfile device_profile() const;
  // A plan made for one capability set is never replayed on another.
  std::string device_feature_cache_key() const;
  // Whether a dispatch of the program as `cooperative` runs with a native barrier of the whole
  // grid. Fails where a dispatch would because of the program or the configuration. A grid that is
  // known from inputs alone counts as one that fits.
  Result<bool> cooperative_grid_sync_fits(const ir::Program& program,
                                          const DispatchConfig& config = {}) const;

  // Dispatch. Inputs belong to the caller, come in declaration order, and must not lie in the
  // output slots. `outputs` is filled in declaration order, and its allocations are reused. After
  // an error the contents of the slots are unspecified.
  Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs,
                                                const DispatchConfig& config = {});
  Result<std::vector<Bytes>> dispatch(const ir::Program& program, const std::vector<Bytes>& inputs,
                                      const DispatchConfig& config = {});
  Result<std::vector<Bytes>> dispatch_borrowed(const ir::Program& program,
                                               std::span<const ByteSpan> inputs,
                                               const DispatchConfig& config = {});
  Result<TimedOutputs> dispatch_borrowed_timed(const ir::Program& program,
                                               std::span<const ByteSpan> inputs,
                                               const DispatchConfig& config = {});

  Result<std::unique_ptr<CompiledPipeline>> compile(const ir::Program& program,
                                                    const DispatchConfig& config = {});
  // Does ahead of time what the first dispatch of a program would do.
  Result<void> prepare(const ir::Program& program, const DispatchConfig& config);
  Result<void> prepare(const ir::Program& program) { return prepare(program, {}); }

  // The inputs are read before the call returns. What the caller did wrong, and DeviceOutOfMemory
  // before the work has begun, are errors of the call; whatever goes wrong after that is one of the
  // wait, and so is every timeout, even one of no time.
  Result<std::unique_ptr<PendingDispatch>> dispatch_borrowed_async(
      const ir::Program& program, std::span<const ByteSpan> inputs,
      const DispatchConfig& config = {});
  Result<std::unique_ptr<PendingDispatch>> dispatch_async(const ir::Program& program,
                                                          const std::vector<Bytes>& inputs,
                                                          const DispatchConfig& config = {});

  // Resident memory. The contents of a fresh buffer are unspecified. A grouped allocation allocates
  // all buffers or none.
  Result<std::vector<ResidentHandle>> allocate_resident_many(std::span<const std::uint64_t> sizes);
  Result<ResidentHandle> allocate_resident(std::uint64_t bytes);
  Result<std::uint64_t> resident_size(ResidentHandle buffer) const;
  // Uploads a whole buffer: `bytes` has the size of the buffer.
  Result<void> upload_resident(ResidentHandle buffer, ByteSpan bytes);
  // The same for several buffers; all uploads are checked before any is written.
  Result<void> upload_resident_many(std::span<const ResidentUpload> uploads);
  Result<void> upload_resident_at(ResidentHandle buffer, std::uint64_t offset, ByteSpan bytes);
  Result<void> upload_resident_at_many(std::span<const ResidentUpload> uploads);
  Result<void> fill_resident(ResidentHandle buffer, std::byte value);
  Result<Bytes> download_resident(ResidentHandle buffer);
  Result<void> download_resident_into(ResidentHandle buffer, Bytes& out);
  Result<Bytes> download_resident_range(ResidentHandle buffer, std::uint64_t offset,
                                        std::uint64_t length);
  Result<void> download_resident_range_into(ResidentHandle buffer, std::uint64_t offset,
                                            std::uint64_t length, Bytes& out);
  // Fills one slot for each range, in the caller's order, with a single wait.
  Result<void> download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                             std::vector<Bytes>& outputs);
  Result<void> free_resident(ResidentHandle buffer);

  // Work on resident memory. All other forms are built on the one-submission form.
  Result<DispatchTiming> submit_resident(const ResidentSubmission& submission,
                                         std::vector<Bytes>& outputs,
                                         const SubmissionConfig& config = {});
  // The same without waiting: the uploads are read before it returns, errors come from it or from
  // the wait as those of dispatch_borrowed_async, and the wait also fills the reads. Until
  // then nothing else may use its buffers: in place, uploads land at the start and reads at the
  // wait, whatever else is under way.
  Result<std::unique_ptr<PendingDispatch>> submit_resident_async(
      const ResidentSubmission& submission, const SubmissionConfig& config = {});
  Result<std::unique_ptr<RecordedSequence>> record_resident(const ResidentSubmission& submission,
                                                            const SubmissionConfig& config = {});
  // Also runs fixpoints (DispatchConfig::fixpoint_iterations); the convergence flag is then one of
  // the resources.
  Result<void> dispatch_resident(const ir::Program& program,
                                 std::span<const ResidentResource> resources,
                                 const DispatchConfig& config = {});
  Result<void> dispatch_resident(const ir::Program& program,
                                 std::span<const ResidentHandle> resources,
                                 const DispatchConfig& config = {});
  Result<DispatchTiming> dispatch_resident_timed(const ir::Program& program,
                                                 std::span<const ResidentResource> resources,
                                                 const DispatchConfig& config = {});
  Result<DispatchTiming> dispatch_resident_timed(const ir::Program& program,
                                                 std::span<const ResidentHandle> resources,
                                                 const DispatchConfig& config = {});
  Result<void> dispatch_resident_sequence_read_ranges_into(std::span<const ResidentStep> steps,
                                                           std::span<const ResidentRange> ranges,
                                                           std::vector<Bytes>& outputs);
  Result<DispatchTiming> dispatch_resident_sequence_read_ranges_timed_into(
      std::span<const ResidentStep> steps, std::span<const ResidentRange> ranges,
      std::vector<Bytes>& outputs);
  Result<void> dispatch_resident_repeated_sequence_read_ranges_into(
      std::span<const ResidentStep> prefix, std::span<const ResidentStep> repeated,
      std::uint32_t count, std::span<const ResidentRange> ranges, std::vector<Bytes>& outputs);
  Result<DispatchTiming> dispatch_resident_repeated_sequence_read_ranges_timed_into(
      std::span<const ResidentStep> prefix, std::span<const ResidentStep> repeated,
      std::uint32_t count, std::span<const ResidentRange> ranges, std::vector<Bytes>& outputs);

  // Equal bytes within one domain are uploaded once. They stay on the device within the backend's
  // budget; the least recently used ones that nobody holds are evicted first. Changing or freeing
  // one is BadInputs.
  Result<StaticUploads> acquire_static_uploads(std::string_view domain,
                                               std::span<const ByteSpan> payloads);
  Result<void> release_static_uploads(const StaticUploads& uploads);

  // A resident buffer with a name, which can be passed to other code on the same device.
  Result<DeviceBuffer> allocate_device_buffer(std::uint64_t bytes, std::string label);
  Result<void> free_device_buffer(const DeviceBuffer& buffer);
  Result<DispatchTiming> dispatch_device_buffers(const ir::Program& program,
                                                 std::span<const DeviceBuffer> buffers,
                                                 const DispatchConfig& config = {});

  // Lifecycle. `prepare` readies the backend for its first call. `flush` waits for all work and
  // writes caches. `shutdown` also frees everything, and later calls are DispatchFailed. When the
  // device is lost, every call is DeviceLost until `try_recover` has opened a new device; older
  // handles are then InvalidHandle.
  Result<void> prepare();
  Result<void> flush();
  Result<void> shutdown();
  bool device_lost() const;
  Result<void> try_recover();

  PipelineCacheSnapshot pipeline_cache_snapshot() const;
  MetricSnapshot metric_snapshot() const;

 protected:
  explicit Backend(std::unique_ptr<dispatch::BackendCore> core);

 private:
  friend class dispatch::BackendCore;
  Result<DispatchTiming> run_resident(const ir::Program& program,
                                      std::span<const ResidentResource> resources,
                                      const DispatchConfig& config);

  const std::unique_ptr<dispatch::BackendCore> core_;
};

// The ids of all backends that are known, and a backend by its id, with default options.
std::vector<std::string> backend_ids();
Result<std::unique_ptr<Backend>> make_backend(std::string_view id);

// Makes another kind of backend known, from then on for the whole process. BadInputs if the id is
// empty, or known already.
using MakeBackend = std::function<Result<std::unique_ptr<Backend>>()>;
Result<void> register_backend(std::string id, MakeBackend make);

}  // namespace felsite
