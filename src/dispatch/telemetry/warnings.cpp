#include "dispatch/telemetry/warnings.h"

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>

#include "base/guarded.h"
#include "felsite/printable.h"

namespace felsite {
namespace {

struct Handler {
  std::function<void(std::string_view)> call;
  std::size_t running = 0;  // calls in progress
};

struct Warnings {
  std::mutex mutex;
  std::condition_variable ended;  // a call of a handler
  std::shared_ptr<Handler> handler;
};

// Never destroyed: backends that are static objects may warn when they close.
Warnings& warnings() {
  static auto& all = *new Warnings;
  return all;
}

// Handlers that this thread is in.
thread_local std::size_t handlers_around = 0;

// The current handler, counted as running until its call has ended, even by an exception.
class Running {
 public:
  Running() {
    const std::lock_guard lock(warnings().mutex);
    handler_ = warnings().handler;
    if (handler_ == nullptr) return;
    ++handler_->running;
    ++handlers_around;
  }
  ~Running() {
    if (handler_ == nullptr) return;
    --handlers_around;
    const std::lock_guard lock(warnings().mutex);
    --handler_->running;
    warnings().ended.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Handler* handler() const { return handler_.get(); }

 private:
  std::shared_ptr<Handler> handler_;
};

// Escapes paths and driver names. Messages of the validation layer have several lines.
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
  std::shared_ptr<Handler> replaced;  // destroyed without the lock: what it holds is the caller's
  if (handler) replaced = std::make_shared<Handler>(Handler{std::move(handler)});
  std::unique_lock lock(warnings().mutex);
  std::swap(replaced, warnings().handler);
  if (replaced == nullptr || handlers_around != 0) return;
  warnings().ended.wait(lock, [&] { return replaced->running == 0; });
  lock.unlock();
}

void dispatch::warn(std::string_view sentence) noexcept {
  base::best_effort([&] {
    // Called without the lock: a handler may warn and set another handler.
    const Running now;
    if (now.handler() != nullptr) {
      now.handler()->call(sentence);
    } else {
      // Not with fmt, which throws where standard error is full or closed.
      std::fprintf(stderr, "felsite: warning: %s\n", printable_lines(sentence).c_str());
    }
  });
}

}  // namespace felsite
