// Who uses compiled kernels. Kernels whose owners are all destroyed are not kept.
#pragma once

#include <utility>

namespace felsite::dispatch {

class KernelOwner {
 public:
  virtual ~KernelOwner() = default;

  // While it lives, what its thread compiles, or finds compiled, counts as used by the owner.
  class Scope {
   public:
    explicit Scope(KernelOwner* owner) : before_(std::exchange(current_, owner)) {}
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    KernelOwner* const before_;
  };
  // Null where nobody claims what is compiled.
  static KernelOwner* current() { return current_; }

 private:
  static inline thread_local KernelOwner* current_ = nullptr;
};

}  // namespace felsite::dispatch
