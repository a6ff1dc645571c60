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

// Names a buffer of one backend. A handle that was freed, or that comes from another backend or
// from before a recovery, is InvalidHandle; it never refers to another buffer.
struct ResidentHandle {
  std::uint64_t backend = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const ResidentHandle&) const = default;
};

inline constexpr std::uint64_t kWholeSize = UINT64_MAX;

struct ResidentUpload {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  ByteSpan bytes{};
};

// Sets each byte of a range. The offset must be a multiple of four, and so must the length unless
// the range reaches the end of the buffer.
struct ResidentFill {
  ResidentHandle buffer{};
  std::byte value{};
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;
};

struct ResidentRange {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;
};

// What a step binds to one buffer of its program: a resident buffer, or a range of one. The program
// sees as many elements as it declares, even in a larger range; where it declares no number, the
// length of the range decides. The offset is a multiple of the element's size.
struct ResidentResource {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;

  ResidentResource() = default;
  ResidentResource(const ResidentHandle& whole) : buffer(whole) {}
  ResidentResource(const ResidentRange& range)
      : buffer(range.buffer), offset(range.offset), length(range.length) {}
  ResidentResource(const ResidentHandle& of, std::uint64_t from, std::uint64_t bytes = kWholeSize)
      : buffer(of), offset(from), length(bytes) {}
  bool operator==(const ResidentResource&) const = default;
};

// The resources of a step; whole buffers can be given as the handles that an allocation returned.
struct ResidentResources : std::vector<ResidentResource> {
  using vector::vector;
  ResidentResources(const std::vector<ResidentHandle>& buffers)
      : vector(buffers.begin(), buffers.end()) {}
};

// Runs a program on resident buffers: one resource for each buffer of the program that is not
// workgroup memory, in the order of the bindings. Buffers keep their contents; nothing is cleared.
// A byte that the program may change must not lie in two of its resources.
struct ResidentStep {
  ir::Program program{};
  ResidentResources resources{};
  std::optional<Extent3> grid_override{};
  std::optional<Extent3> workgroup_override{};
  std::optional<ir::FloatMode> float_mode{};  // the overrides mean what they mean in DispatchConfig
  std::optional<std::uint64_t> max_output_bytes{};
  std::string label{};
};

// Runs fills, then uploads, then the prefix once, then the repeated steps `count` times, then
// reads, as one submission with one wait. Every part may be empty.
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

// A submission that is recorded once. Running it again records nothing, allocates nothing, and
// costs the host the same however many steps it has. The buffers must be alive at each run.
// Thread-safe; concurrent runs serialize. It may outlive its backend: once the backend is shut down
// or destroyed, even by another thread during a run, a run is DispatchFailed.
class RecordedSequence {
 public:
  virtual ~RecordedSequence() = default;
  // `uploads` are fresh bytes for the recorded uploads, in the same order and of the same sizes. If
  // it is empty, the recorded bytes are used, which must still be where they were.
  virtual Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                          std::span<const ByteSpan> uploads = {}) = 0;
};

// Buffers with fixed contents, kept on the device for everyone who asks for the same bytes.
struct StaticUploads {
  std::vector<ResidentHandle> handles;
  bool cache_hit = false;  // all of them were on the device already
  bool retained = false;   // all of them stay after the release, as long as the budget allows
};

// A buffer that can be passed to other code on the same device (see vulkan_interop.h).
struct DeviceBuffer {
  std::string backend;  // its id
  std::uint64_t bytes = 0;
  std::string label;
  ResidentHandle resident;
};

}  // namespace felsite
