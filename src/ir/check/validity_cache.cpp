#include "ir/check/validity_cache.h"

#include "base/try.h"

namespace felsite::ir {

Result<ValidProgram> ValidityCache::get(Program program) {
  if (ValidProgram::is_known(program)) return ValidProgram(std::move(program));
  const Fingerprint fingerprint = program.fingerprint();
  {
    const std::lock_guard lock(mutex_);
    if (valid_.find(fingerprint) != nullptr) return ValidProgram(std::move(program));
  }
  // Without the lock: a large program must not hold up the others.
  FELSITE_TRY(auto valid, require_valid(std::move(program)));
  // In the list, and in the table behind its pointers.
  constexpr std::uint64_t kBytes = sizeof(Valid::Entry) + sizeof(Fingerprint) + 5 * sizeof(void*);
  Valid::Entries evicted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (valid_.find(fingerprint) == nullptr) evicted = valid_.add(fingerprint, {}, kBytes);
  return valid;
}

std::uint64_t ValidityCache::size() const {
  const std::lock_guard lock(mutex_);
  return valid_.size();
}

std::uint64_t ValidityCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return valid_.bytes();
}

}  // namespace felsite::ir
