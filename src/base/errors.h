// How errors are made: a code with a sentence that says what is wrong and one that says what to do,
// and then what is known of where it happened.
//
//   return std::unexpected(bad_inputs("The input `x` is missing.", "add it.", program.name()));
//   return std::unexpected(with_amounts(out_of_memory("…", "…"), requested, available));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "felsite/error.h"

namespace felsite::base {

Error make_error(ErrorCode code, std::string message, std::string fix,
                 std::string_view program = {});

inline Error bad_inputs(std::string message, std::string fix, std::string_view program = {}) {
  return make_error(ErrorCode::BadInputs, std::move(message), std::move(fix), program);
}
inline Error unsupported(std::string message, std::string fix, std::string_view program = {}) {
  return make_error(ErrorCode::UnsupportedFeature, std::move(message), std::move(fix), program);
}
inline Error dispatch_failed(std::string message, std::string fix, std::string_view program = {}) {
  return make_error(ErrorCode::DispatchFailed, std::move(message), std::move(fix), program);
}
inline Error invalid_handle(std::string message, std::string fix, std::string_view program = {}) {
  return make_error(ErrorCode::InvalidHandle, std::move(message), std::move(fix), program);
}
inline Error out_of_memory(std::string message, std::string fix, std::string_view program = {}) {
  return make_error(ErrorCode::DeviceOutOfMemory, std::move(message), std::move(fix), program);
}
Error trapped(TrapInfo trap);
// UnsupportedFeature: "The program takes 2048 invocations, and the device has 1024."
Error over_limit(std::string_view what, std::uint64_t requested, std::uint64_t available,
                 std::string fix, std::string_view program = {});

// The same error with more context. Where there is no memory for a name, the error lacks it: that
// is better than another error in its place.
Error with_amounts(Error error, std::uint64_t requested, std::uint64_t available) noexcept;
Error with_program(Error error, std::string_view program) noexcept;
Error with_device(Error error, std::string_view device) noexcept;
// A step of a submission, and its program.
Error with_step(Error error, std::size_t step, std::string_view program) noexcept;

}  // namespace felsite::base
