#include "felsite/error.h"

#include <fmt/format.h>

#include "felsite/printable.h"

namespace felsite {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::DeviceOutOfMemory:
      return "DeviceOutOfMemory";
    case ErrorCode::UnsupportedFeature:
      return "UnsupportedFeature";
    case ErrorCode::KernelCompileFailed:
      return "KernelCompileFailed";
    case ErrorCode::DispatchFailed:
      return "DispatchFailed";
    case ErrorCode::InvalidProgram:
      return "InvalidProgram";
    case ErrorCode::CooperativeResidencyExceeded:
      return "CooperativeResidencyExceeded";
    case ErrorCode::DeviceLost:
      return "DeviceLost";
    case ErrorCode::BadInputs:
      return "BadInputs";
    case ErrorCode::Trapped:
      return "Trapped";
    case ErrorCode::Timeout:
      return "Timeout";
    case ErrorCode::InvalidHandle:
      return "InvalidHandle";
    case ErrorCode::LoopBudgetExceeded:
      return "LoopBudgetExceeded";
    case ErrorCode::Unknown:
      return "Unknown";
  }
  return "Unknown";
}

std::string to_string(const Error& error) {
  std::string text = fmt::format("{} ({}): {}", to_string(error.code),
                                 static_cast<std::uint32_t>(error.code), error.message);
  const ErrorContext& context = error.context;
  std::string where;
  const auto add = [&](std::string_view label, const auto& value) {
    where += fmt::format("{}{} {}", where.empty() ? "" : ", ", label, value);
  };
  if (!context.program.empty()) add("program", context.program);
  if (context.segment) add("segment", *context.segment);
  if (context.step) add("step", *context.step);
  if (!context.device.empty()) add("device", context.device);
  if (context.vk_result) add("VkResult", *context.vk_result);
  if (!where.empty()) text += fmt::format(" [{}]", where);
  if (!error.fix.empty()) text += fmt::format(" Fix: {}", error.fix);
  return printable(text);
}

}  // namespace felsite
