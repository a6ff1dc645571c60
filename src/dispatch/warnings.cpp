#include "dispatch/warnings.h"

#include <cstdio>
#include <mutex>

#include "base/guarded.h"
#include "felsite/printable.h"

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

// Paths and names of drivers are not ours. What the validation layer says has several lines.
std::string printable_lines(std::string_view text) {
  std::string result;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    result += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return result + printable(text);
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
      std::fprintf(stderr, "felsite: warning: %s\n", printable_lines(sentence).c_str());
    }
  });
}

}  // namespace felsite
