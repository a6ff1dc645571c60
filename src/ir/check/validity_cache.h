// Remembers which programs are valid, by fingerprint. A program remembers it too, but programs that
// each dispatch makes again, such as segments and those with another workgroup size, do not.
// Usable from many threads.
#pragma once

#include <mutex>
#include <variant>

#include "base/lru.h"
#include "felsite/validate.h"
#include "ir/fingerprint.h"

namespace felsite::ir {

class ValidityCache {
 public:
  // Keeps at most `most` programs.
  explicit ValidityCache(std::size_t most = 4096) : valid_({.entries = most}) {}

  // InvalidProgram with the findings if it does not validate.
  Result<ValidProgram> get(Program program);
  std::uint64_t size() const;
  std::uint64_t bytes() const;

 private:
  using Valid = base::Lru<Fingerprint, std::monostate, FingerprintHash>;

  mutable std::mutex mutex_;
  Valid valid_;
};

}  // namespace felsite::ir
