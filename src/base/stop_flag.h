// Tells work on another thread that its result is no longer wanted.
#pragma once

#include <atomic>
#include <cstdint>

namespace felsite::base {

class StopFlag {
 public:
  enum class Reason : std::uint8_t { None, Dropped, Closing };

  // `closing` is raised for all work when its owner closes. It must outlive this flag.
  explicit StopFlag(const std::atomic<bool>* closing = nullptr) : closing_(closing) {}

  void drop() { dropped_.store(true, std::memory_order_relaxed); }
  Reason reason() const {
    if (dropped_.load(std::memory_order_relaxed)) return Reason::Dropped;
    const bool closes = closing_ != nullptr && closing_->load(std::memory_order_relaxed);
    return closes ? Reason::Closing : Reason::None;
  }

 private:
  std::atomic<bool> dropped_ = false;
  const std::atomic<bool>* const closing_;
};

}  // namespace felsite::base
