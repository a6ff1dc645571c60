// The backend contract: a backend is a pure function from a valid program and its input bytes to
// output bytes, the same on every backend, callable from many threads at once.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/error.h"
#include "felsite/program.h"

namespace felsite {

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

// How a fixpoint run notices that nothing changes any more.
struct Convergence {
  enum class Kind : std::uint8_t {
    Automatic,  // a pass that leaves every changing buffer as it was is the last
    Flag,       // a u32 buffer the program sets when it changed something; zero before each pass
    None,       // always run the bound
  };
  Kind kind = Kind::Automatic;
  std::string flag;  // the buffer's name, for Kind::Flag
};

// All optional.
struct DispatchConfig {
  std::optional<std::array<std::uint32_t, 3>> grid_override;  // workgroups
  std::optional<std::array<std::uint32_t, 3>> workgroup_override;
  std::optional<std::uint32_t> fixpoint_iterations;  // absent: 1; 0 is an error
  Convergence convergence;
  std::string label;
  std::optional<std::chrono::nanoseconds> timeout;
  std::optional<std::uint64_t> max_output_bytes;
  bool cooperative = false;  // a native grid barrier over many workgroups
  bool profile = false;
};

struct DispatchTiming {
  std::optional<std::uint64_t> wall_ns;
  std::optional<std::uint64_t> device_ns;
  std::optional<std::uint64_t> enqueue_ns;
  std::optional<std::uint64_t> wait_ns;
  std::uint32_t passes_run = 0;
  bool converged = false;
};

struct TimedOutputs {
  std::vector<Bytes> outputs;
  DispatchTiming timing;
};

// `true` is a promise that the native path is taken; an emulation reports false.
struct DeviceProfile {
  std::string name;
  bool subgroup_ops = false;
  bool f16 = false;
  bool bf16 = false;
  bool f64 = false;
  bool int64 = false;
  bool tensor_cores = false;
  bool async_compute = false;
  bool indirect_dispatch = false;
  bool speculation = false;
  bool persistent_threads = false;
  bool grid_sync = false;
  bool cooperative_grid_sync_fits = false;
  bool allows_host_grid_sync_split = false;
  bool resident_dispatch = false;
  bool distributed = false;
  bool collectives = false;
  std::array<std::uint32_t, 3> max_workgroup_size{};
  std::array<std::uint32_t, 3> max_workgroup_count{};
  std::uint32_t max_workgroup_invocations = 0;
  std::uint32_t subgroup_size = 0;
  std::uint64_t max_storage_buffer_bytes = 0;
  std::uint64_t shared_memory_bytes = 0;
  std::string timing_quality;
  std::vector<std::string> quirks;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view id() const = 0;
  virtual std::string_view version() const = 0;
  // Names of the node and expression kinds it runs.
  virtual std::vector<std::string> supported_ops() const = 0;
  virtual DeviceProfile device_profile() const = 0;
  // Plans made for one capability set are never replayed on another.
  virtual std::string device_feature_cache_key() const = 0;

  // The one call behind all forms of dispatch. Inputs are the caller's, in declaration order, and
  // must not lie in the output slots; `outputs` is filled in declaration order, its allocations
  // reused. After an error the contents of the slots are unspecified.
  virtual Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                        std::span<const ByteSpan> inputs,
                                                        std::vector<Bytes>& outputs,
                                                        const DispatchConfig& config = {}) = 0;

  Result<std::vector<Bytes>> dispatch(const ir::Program& program, const std::vector<Bytes>& inputs,
                                      const DispatchConfig& config = {});
  Result<std::vector<Bytes>> dispatch_borrowed(const ir::Program& program,
                                               std::span<const ByteSpan> inputs,
                                               const DispatchConfig& config = {});
  Result<TimedOutputs> dispatch_borrowed_timed(const ir::Program& program,
                                               std::span<const ByteSpan> inputs,
                                               const DispatchConfig& config = {});
};

// The ids of the backends that this build has, and one of them by its id.
std::vector<std::string> backend_ids();
Result<std::unique_ptr<Backend>> make_backend(std::string_view id);

}  // namespace felsite
