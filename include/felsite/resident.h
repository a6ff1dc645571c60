// Memory that stays on the device between calls, and work on it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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

// What a step binds to one buffer of its program: a resident buffer, a range of one, or bytes of
// the caller. The program sees as many elements as it declares, even in a larger range; where it
// declares no number, the length of the range decides. The offset is a multiple of the element's
// size.
struct ResidentResource {
  ResidentHandle buffer{};
  std::uint64_t offset = 0;
  std::uint64_t length = kWholeSize;
  std::optional<ByteSpan> bytes{};  // instead of a buffer

  ResidentResource() = default;
  ResidentResource(const ResidentHandle& whole) : buffer(whole) {}
  ResidentResource(const ResidentRange& range)
      : buffer(range.buffer), offset(range.offset), length(range.length) {}
  ResidentResource(const ResidentHandle& of, std::uint64_t from, std::uint64_t bytes = kWholeSize)
      : buffer(of), offset(from), length(bytes) {}
  // Bytes of the caller, which the program only reads. They are uploaded for each run.
  static ResidentResource of(ByteSpan bytes) {
    ResidentResource resource;
    resource.bytes = bytes;
    return resource;
  }
  bool operator==(const ResidentResource& other) const {
    const auto place = [](const std::optional<ByteSpan>& bytes) {
      return bytes ? std::pair(bytes->data(), bytes->size())
                   : std::pair<const std::byte*, std::size_t>();
    };
    return buffer == other.buffer && offset == other.offset && length == other.length &&
           bytes.has_value() == other.bytes.has_value() && place(bytes) == place(other.bytes);
  }
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

// How often a block runs.
struct Repeat {
  enum class Kind : std::uint8_t {
    Times,
    UntilFlagIsZero,  // until an iteration leaves the words of the flag zero
    UntilUnchanged,   // until an iteration changes no byte that its steps could change
  };
  // A flag is the cheap way for several steps: to find that nothing has changed, each iteration
  // compares all that they could change with a copy. Only where the block is a single step without
  // grid barriers, each invocation of which stores at most once, at its own place, the store itself
  // reports a change.
  Kind kind = Kind::Times;
  std::uint32_t bound = 1;  // how often it runs, at most if it may end before; 0 is an error
  ResidentResource flag{};  // u32 words, zeroed before each iteration; a step must write them

  static Repeat once() { return {}; }
  static Repeat times(std::uint32_t count) { return {.bound = count}; }
  static Repeat until_zero(ResidentResource flag, std::uint32_t bound) {
    return {.kind = Kind::UntilFlagIsZero, .bound = bound, .flag = std::move(flag)};
  }
  static Repeat until_unchanged(std::uint32_t bound) {
    return {.kind = Kind::UntilUnchanged, .bound = bound};
  }
};

// Steps that run in order, as one iteration of several. The device itself decides when a block has
// converged.
struct ResidentBlock {
  std::span<const ResidentStep> steps{};
  Repeat repeat{};
};

// Runs fills, then uploads, then the prefix once, then the repeated steps `count` times, then the
// blocks in order, then reads, as one submission with one wait. A fixed number of runs takes more
// submissions where they are more than one holds, but no more waits. Only what the device alone
// knows takes the host more waits: iterations beyond those that one recording holds, programs with
// grid barriers in loops or conditions that depend on memory, and the grids of programs with grid
// barriers. Every part may be empty.
struct ResidentSubmission {
  std::span<const ResidentFill> fills{};
  std::span<const ResidentUpload> uploads{};
  std::span<const ResidentStep> prefix{};
  std::span<const ResidentStep> repeated{};
  std::uint32_t count = 1;
  std::span<const ResidentRange> reads{};
  std::span<const ResidentBlock> blocks{};
};

struct SubmissionConfig {
  std::optional<std::chrono::nanoseconds> timeout{};
  bool profile = false;
  std::string label{};
};

class PendingDispatch;

// A submission that is recorded once. Running it again records nothing, allocates nothing, and
// costs the host the same however many steps it has. The buffers must be alive at each run.
// Thread-safe; concurrent runs serialize. It may outlive its backend: once the backend is shut down
// or destroyed, even by another thread during a run, a run is DispatchFailed.
class RecordedSequence {
 public:
  virtual ~RecordedSequence() = default;
  // `uploads` are fresh bytes for the recorded uploads, in the same order and of the same sizes;
  // `lent` the same for the bytes that were lent to steps, in the order of the steps and their
  // resources. Of what is empty the recorded bytes are used, which must still be where they were.
  virtual Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                          std::span<const ByteSpan> uploads = {},
                                          std::span<const ByteSpan> lent = {}) = 0;
  // The same without waiting. The bytes are read before it returns, and every error of the work is
  // one of the wait, except DeviceOutOfMemory where it could not begin. Until then another run is
  // DispatchFailed. After a run that was dropped before its end, or could not begin, the recording
  // cannot run again.
  virtual Result<std::unique_ptr<PendingDispatch>> start(std::span<const ByteSpan> uploads = {},
                                                         std::span<const ByteSpan> lent = {}) = 0;
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
