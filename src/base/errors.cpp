#include "base/errors.h"

#include <fmt/format.h>

#include "base/guarded.h"

namespace felsite::base {

Error make_error(ErrorCode code, std::string message, std::string fix, std::string_view program) {
  Error error{.code = code, .message = std::move(message), .fix = std::move(fix)};
  error.context.program = program;
  return error;
}

Error trapped(TrapInfo trap) {
  const auto& [x, y, z] = trap.invocation;
  Error error =
      make_error(ErrorCode::Trapped,
                 fmt::format("Trap `{}` at address {} in invocation ({}, {}, {}).", trap.tag,
                             trap.address, x, y, z),
                 "the program itself reports this condition: look at what it checks there.");
  error.context.trap = std::move(trap);
  return error;
}

Error over_limit(std::string_view what, std::uint64_t requested, std::uint64_t available,
                 std::string fix, std::string_view program) {
  return with_amounts(unsupported(fmt::format("The program takes {} {}, and the device has {}.",
                                              requested, what, available),
                                  std::move(fix), program),
                      requested, available);
}

Error with_amounts(Error error, std::uint64_t requested, std::uint64_t available) noexcept {
  error.context.requested = requested;
  error.context.available = available;
  return error;
}

Error with_program(Error error, std::string_view program) noexcept {
  set_if_possible(error.context.program, program);
  return error;
}

Error with_device(Error error, std::string_view device) noexcept {
  set_if_possible(error.context.device, device);
  return error;
}

Error with_step(Error error, std::size_t step, std::string_view program) noexcept {
  error.context.step = static_cast<std::uint32_t>(step);
  return with_program(std::move(error), program);
}

}  // namespace felsite::base
