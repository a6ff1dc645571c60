#include "vk/kernel_status.h"

#include <fmt/format.h>

namespace felsite::vk {

std::optional<Error> error_of(const codegen::Status& status, const codegen::Kernel& kernel) {
  using codegen::Status;
  if (status.state == Status::Clean) return std::nullopt;
  const auto& [x, y, z] = status.invocation;
  if (status.state == Status::LoopBudgetExceeded) {
    return Error{.code = ErrorCode::LoopBudgetExceeded,
                 .message = fmt::format(
                     "Invocation ({}, {}, {}) ran into the driver's limit on loop trips.", x, y, z),
                 .fix = "give each invocation less to do, or use another driver.",
                 .context = {}};
  }
  if (status.state == Status::Trapped && status.tag < kernel.trap_tags.size()) {
    TrapInfo trap{.tag = kernel.trap_tags[status.tag],
                  .address = status.address,
                  .invocation = status.invocation};
    Error error{.code = ErrorCode::Trapped,
                .message = fmt::format("Trap `{}` at address {} in invocation ({}, {}, {}).",
                                       trap.tag, trap.address, x, y, z),
                .fix = "the program itself reports this condition: look at what it checks there.",
                .context = {}};
    error.context.trap = std::move(trap);
    return error;
  }
  return Error{.code = ErrorCode::DispatchFailed,
               .message = fmt::format("The kernel left a status that means nothing: state {}, tag "
                                      "{}.",
                                      status.state, status.tag),
               .fix = "update the driver, or choose another device.",
               .context = {}};
}

}  // namespace felsite::vk
