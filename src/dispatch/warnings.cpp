#include "dispatch/warnings.h"

#include <cstdio>
#include <mutex>

#include "base/guarded.h"

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

void dispatch::warn(std::string_view sentence) noexcept {
  base::best_effort([&] {
    const std::lock_guard lock(handler_mutex());
    if (current_handler()) {
      current_handler()(sentence);
    } else {
      // Not with fmt, which throws where standard error is full or closed.
      std::fprintf(stderr, "felsite: warning: %.*s\n", static_cast<int>(sentence.size()),
                   sentence.data());
    }
  });
}

}  // namespace felsite
