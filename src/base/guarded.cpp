#include "base/guarded.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace felsite::base {
namespace {

Error with_text(ErrorCode code, std::string_view message, std::string_view fix,
                std::string_view short_message, std::string_view short_fix) noexcept {
  Error error{.code = code, .message = {}, .fix = {}, .context = {}};
  try {
    error.message = message;
    error.fix = fix;
  } catch (const std::bad_alloc&) {
    // These are short enough for a string to store in place.
    error.message = short_message;
    error.fix = short_fix;
  }
  return error;
}

Error failed(ErrorCode code, const char* what) noexcept {
  std::string message;
  const bool has_message =
      best_effort([&] { message.append("The system failed: ").append(what).append("."); });
  return with_text(code, has_message ? std::string_view(message) : "The call failed.",
                   "free memory, threads or files of the process, and try again.",
                   "System failure.", "try again.");
}

}  // namespace

Error host_out_of_memory() noexcept {
  return with_text(ErrorCode::DeviceOutOfMemory, "The host is out of memory.",
                   "use a smaller grid or smaller buffers.", "Out of memory.", "free memory.");
}

Error caught_error() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return host_out_of_memory();
  } catch (const std::length_error&) {  // a container that would exceed the possible memory
    return host_out_of_memory();
  } catch (const std::system_error& error) {
    return failed(ErrorCode::DispatchFailed, error.what());
  } catch (const std::exception& error) {
    return failed(ErrorCode::Unknown, error.what());
  } catch (...) {
    return failed(ErrorCode::Unknown, "something was thrown that is no exception");
  }
}

void set_if_possible(std::string& text, std::string_view value) noexcept {
  best_effort([&] { text = value; });
}

}  // namespace felsite::base
