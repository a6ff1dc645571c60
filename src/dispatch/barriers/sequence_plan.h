// A sequence of device work as plain data: what each step touches, in which order.
//
// The prologue runs once, the block `count` times, the epilogue once. The barrier planner, the
// hazard oracle and the recorder all work on this; none of it knows a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace felsite::dispatch {

// The part of the device, or the host, that makes an access.
enum class Stage : std::uint8_t {
  Compute,
  Transfer,
  Indirect,  // reads the grid of a dispatch
  Host,
  Condition,  // reads the word that decides whether a dispatch happens
};
inline constexpr std::size_t kStageCount = 5;

// A set of stages.
class StageSet {
 public:
  constexpr StageSet() = default;
  constexpr StageSet(Stage stage) : bits_(bit(stage)) {}
  constexpr bool has(Stage stage) const { return (bits_ & bit(stage)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr StageSet& operator|=(StageSet other) {
    bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return *this;
  }
  bool operator==(const StageSet&) const = default;

 private:
  static constexpr std::uint8_t bit(Stage stage) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(stage));
  }
  std::uint8_t bits_ = 0;
};

// Bytes [begin, end) of a buffer. An access that reads and writes is a write.
struct BufferAccess {
  std::uint32_t buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Stage stage = Stage::Compute;
  bool writes = false;
  bool operator==(const BufferAccess&) const = default;
};

// Accesses of one step are never in conflict with each other.
struct PlannedStep {
  std::string name;
  std::vector<BufferAccess> accesses;
};

struct SequencePlan {
  std::vector<PlannedStep> prologue;
  std::vector<PlannedStep> block;
  std::uint32_t count = 1;  // runs of the block; 0: like an empty block
  std::vector<PlannedStep> epilogue;
};

enum class Section : std::uint8_t { Prologue, Block, Epilogue };

}  // namespace felsite::dispatch
