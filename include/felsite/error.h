// The one error type of the runtime. Functions that can fail return Result<T> and do not throw,
// even when the host runs out of memory. Only functions that return plain values in containers of
// the standard library, such as strings, can throw std::bad_alloc.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "felsite/extent.h"

namespace felsite {

// Codes are stable: they are only ever added.
enum class ErrorCode : std::uint32_t {
  DeviceOutOfMemory = 1001,
  UnsupportedFeature = 1002,
  KernelCompileFailed = 1004,
  DispatchFailed = 1005,
  InvalidProgram = 1006,
  CooperativeResidencyExceeded = 1007,
  DeviceLost = 1008,
  BadInputs = 1009,
  Trapped = 1010,
  Timeout = 1011,
  InvalidHandle = 1012,
  LoopBudgetExceeded = 1013,
  Unknown = 1999,
};

struct TrapInfo {
  std::string tag;
  std::uint32_t address = 0;
  Extent3 invocation{};
};

struct ErrorContext {
  std::string program;
  std::string device;
  // Counted from 0, as everywhere: `felsite explain` shows segment 0 as [0].
  std::optional<std::uint32_t> segment;
  std::optional<std::uint32_t> step;
  std::optional<std::int32_t> vk_result;
  std::optional<std::uint64_t> requested;  // of a limit or a memory, in its own unit
  std::optional<std::uint64_t> available;
  std::optional<TrapInfo> trap;
};

struct Error {
  ErrorCode code = ErrorCode::Unknown;
  std::string message;  // one sentence: what is wrong
  std::string fix;      // one sentence: what the caller can do
  ErrorContext context{};
};

template <class T>
using Result = std::expected<T, Error>;

std::string_view to_string(ErrorCode code);
// "BadInputs (1009): message [program saxpy]. Fix: sentence"
std::string to_string(const Error& error);

}  // namespace felsite
