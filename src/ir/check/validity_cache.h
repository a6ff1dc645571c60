// Remembers which programs are valid, by fingerprint. A program remembers it too, but programs that
// each dispatch makes again, such as segments and those with another workgroup size, do not.
// Usable from many threads.
#pragma once

#include <mutex>
#include <unordered_set>

#include "felsite/validate.h"
#include "ir/fingerprint.h"

namespace felsite::ir {

class ValidityCache {
 public:
  // Beyond this many programs it forgets all of them and starts again.
  explicit ValidityCache(std::size_t most = 4096) : most_(most) {}

  // InvalidProgram with the findings if it does not validate.
  Result<ValidProgram> get(Program program);

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::unordered_set<Fingerprint, FingerprintHash> valid_;
};

}  // namespace felsite::ir
