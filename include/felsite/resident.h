// Memory that stays on the device between calls, and work on it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "felsite/program.h"

namespace felsite {

// Names a buffer of one backend. A handle that was freed, or comes from another backend or from
// before a recovery, is InvalidHandle: it never means another buffer.
struct ResidentHandle {
  std::uint64_t backend = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const ResidentHandle&) const = default;
};

inline constexpr std::uint64_t kToTheEnd = UINT64_MAX;

struct ResidentUpload {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  ByteSpan bytes{};
};

// Sets each byte of a range. The offset is a multiple of four; the length is one too, unless the
// range reaches to the end of the buffer.
struct ResidentFill {
  ResidentHandle buffer{};
  std::byte value{};
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;
};

struct ResidentRange {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;
};

// One program on resident buffers: one for each buffer of the program that is not workgroup memory,
// in the order of their bindings. Buffers keep what they hold; nothing is cleared. A buffer that
// the program changes may not stand for two of its buffers.
struct ResidentStep {
  ir::Program program{};
  std::vector<ResidentHandle> resources{};
  std::optional<std::array<std::uint32_t, 3>> grid_override{};
  std::optional<std::array<std::uint32_t, 3>> workgroup_override{};
  std::optional<ir::FloatMode> float_mode{};  // these as in DispatchConfig
  std::optional<std::uint64_t> max_output_bytes{};
  std::string label{};
};

// Fills, then uploads, then the prefix once, then the repeated steps `count` times, then reads: one
// submission with one wait. Every part may be empty.
struct ResidentSubmission {
  std::span<const ResidentFill> fills{};
  std::span<const ResidentUpload> uploads{};
  std::span<const ResidentStep> prefix{};
  std::span<const ResidentStep> repeated{};
  std::uint32_t count = 1;
  std::span<const ResidentRange> reads{};
};

struct SubmissionConfig {
  std::optional<std::chrono::nanoseconds> timeout{};
  bool profile = false;
  std::string label{};
};

// A submission made ready once. Running it again records nothing, allocates nothing, and costs the
// host the same however many steps it has. The buffers must be alive at each run. Of any thread,
// also of several at once: they then wait for each other. It may outlive its backend: once that is
// shut down or destroyed, also by another thread meanwhile, a run is DispatchFailed.
class RecordedSequence {
 public:
  virtual ~RecordedSequence() = default;
  // `uploads`: fresh bytes for the recorded uploads, in their order and of their sizes. Empty: the
  // bytes that were recorded, which must then still be where they were.
  virtual Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                          std::span<const ByteSpan> uploads = {}) = 0;
};

// Buffers with fixed contents, kept on the device for all who ask for the same bytes.
struct StaticUploads {
  std::vector<ResidentHandle> handles;
  bool cache_hit = false;  // all of them were there
  bool retained = false;   // all of them stay after the release, as long as the budget allows
};

// A buffer to pass on to others that work on the same device (see vulkan_interop.h).
struct DeviceBuffer {
  std::string backend;  // its id
  std::uint64_t bytes = 0;
  std::string label;
  ResidentHandle resident;
};

}  // namespace felsite
