#include "dispatch/warnings.h"

#include <fmt/format.h>

#include <mutex>

namespace felsite {
namespace {

std::mutex& handler_mutex() {
  static std::mutex mutex;
  return mutex;
}
// Never destroyed: backends that are static objects may have something to say when they close.
std::function<void(std::string_view)>& current_handler() {
  static auto& handler = *new std::function<void(std::string_view)>;
  return handler;
}

}  // namespace

void set_warning_handler(std::function<void(std::string_view)> handler) {
  const std::lock_guard lock(handler_mutex());
  current_handler() = std::move(handler);
}

void dispatch::warn(std::string_view sentence) {
  const std::lock_guard lock(handler_mutex());
  if (current_handler()) {
    current_handler()(sentence);
  } else {
    fmt::print(stderr, "felsite: warning: {}\n", sentence);
  }
}

}  // namespace felsite
