#include "ir/check/validity_cache.h"

#include "base/try.h"

namespace felsite::ir {

Result<ValidProgram> ValidityCache::get(Program program) {
  if (ValidProgram::is_known(program)) return ValidProgram(std::move(program));
  const Fingerprint fingerprint = program.fingerprint();
  {
    const std::lock_guard lock(mutex_);
    if (valid_.contains(fingerprint)) return ValidProgram(std::move(program));
  }
  // Without the lock: a large program must not hold up the others.
  FELSITE_TRY(auto valid, require_valid(std::move(program)));
  const std::lock_guard lock(mutex_);
  if (valid_.size() >= most_) valid_.clear();
  valid_.insert(fingerprint);
  return valid;
}

}  // namespace felsite::ir
